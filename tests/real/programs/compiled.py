"""torch.compile of a small GPT's training step: compiled.py MODE."""

import sys

import torch
import truth
from torch.nn import functional

MODE = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))
        return x + self.down(functional.gelu(self.up(self.second(x))))


model = torch.nn.Sequential(torch.nn.Embedding(50304, 768), Block(), Block(), torch.nn.Linear(768, 50304)).cuda()
compiled = torch.compile(model, mode=MODE)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(6):
    tokens = torch.randint(50304, (8, 513)).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        logits = compiled(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks("triton")
