"""A Mamba language model of transformers, by its path in plain PyTorch."""

import torch
import truth
from transformers import MambaConfig, MambaForCausalLM

with torch.device("cuda"):
    model = MambaForCausalLM(MambaConfig(hidden_size=768, num_hidden_layers=4, vocab_size=50280, use_mambapy=False))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(2):
    tokens = torch.randint(50280, (2, 64)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks("transformers")
