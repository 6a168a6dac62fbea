"""Hugging Face's Llama, small: two steps of training with checkpointing, then generation with a cache of keys and values."""

import books
import torch

try:
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM
except ModuleNotFoundError as error:
    books.tell(absent=str(error))
    raise SystemExit(0) from None

books.begin()
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4,
    max_position_embeddings=256,
)
with torch.device("cuda"):
    model = LlamaForCausalLM(config).to(torch.bfloat16)
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    tokens = torch.randint(512, (2, 128)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()

# Token after token. (generate() asks the GPU after each one whether to stop: a question that zeros answer with "no", for ever.)
model.eval()
cache, out = DynamicCache(), tokens[:, :16]
with torch.no_grad():
    for _ in range(24):
        logits = model(input_ids=out if cache.get_seq_length() == 0 else out[:, -1:], past_key_values=cache, use_cache=True).logits
        out = torch.cat([out, logits[:, -1:].argmax(-1)], dim=1)
books.tell(shape=list(out.shape), cached=cache.get_seq_length(), parameters=sum(p.numel() for p in model.parameters()), books=books.check())
