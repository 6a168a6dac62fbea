"""Training a transformer, with all that its 16 blocks keep for the backward pass: checkpointing.py [mended].

With activation checkpointing a block keeps its input alone, and computes the rest again in the backward pass: the same results for another forward pass.
"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

LAYERS, WIDTH, HEADS, BATCH, TOKENS, STEPS = 16, 2048, 16, 8, 2048, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        query, key, value = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, dim=2))
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


def main(is_mended):
    with torch.device("cuda"):
        blocks = nn.ModuleList(Block() for _ in range(LAYERS)).bfloat16()
    for _ in range(STEPS):
        x = torch.ones(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False) if is_mended else block(x)
        x.sum().backward()
        blocks.zero_grad()
    torch.cuda.synchronize()


main("mended" in sys.argv[1:])
