"""A mixture of experts: Mixtral's layers, small, in bfloat16."""

import torch
import truth
from transformers import MixtralConfig, MixtralForCausalLM

config = MixtralConfig(vocab_size=32000, hidden_size=1024, intermediate_size=3584, num_hidden_layers=4, num_attention_heads=16,
                       num_key_value_heads=4, use_cache=False)
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = MixtralForCausalLM(config)
weights = sum(p.numel() * 2 for p in model.parameters())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(2):
    tokens = torch.randint(32000, (2, 1024)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
truth.near(torch.cuda.memory_allocated(), 3 * weights, 0.05, "weights and two states")
truth.torch_peaks("transformers")
