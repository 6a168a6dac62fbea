"""sentence-transformers: a random BERT of the size "base" with mean pooling embeds sentences, and is trained with the batch's negatives."""

import torch
import truth
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizerFast

with open("vocab.txt", "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]))
BertModel(BertConfig()).save_pretrained("bert")
BertTokenizerFast("vocab.txt").save_pretrained("bert")
words = models.Transformer("bert", max_seq_length=128)
model = SentenceTransformer(modules=[words, models.Pooling(words.get_embedding_dimension())], device="cuda")
found = model.encode(["a b c d e f g h"] * 256, batch_size=64, convert_to_tensor=True)
assert found.shape == (256, 768) and found.is_cuda
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(2):
    batch = {name: value.cuda() for name, value in model.tokenize(["a b c " * 30] * 32).items() if torch.is_tensor(value)}
    one, other = model(dict(batch))["sentence_embedding"], model(dict(batch))["sentence_embedding"]
    torch.nn.functional.cross_entropy(one @ other.T, torch.arange(32, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks("sentence-transformers", "transformers")
