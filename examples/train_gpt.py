#!/usr/bin/env python3
"""Trains a small GPT for a few steps on random tokens: a program to try `vramscope dryrun` on. It knows nothing of vramscope.

    python3 examples/train_gpt.py                                                     on a GPU
    vramscope dryrun --gpu 24GiB -- python3 examples/train_gpt.py                     without one: does it fit?
    vramscope dryrun --gpu 4GiB -- python3 examples/train_gpt.py                      it does not: who holds the memory?
    vramscope dryrun --find-smallest -- python3 examples/train_gpt.py --batch 4       and with smaller batches?
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary, length, width, heads, layers):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=12)
    options = parser.parse_args()

    vocabulary = 50304
    with torch.device("cuda"):
        model = GPT(vocabulary, options.length, width=768, heads=12, layers=options.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {torch.cuda.get_device_name()}")

    for step in range(options.steps):
        tokens = torch.randint(vocabulary, (options.batch, options.length + 1)).to("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step + 1}: loss {loss.item():.3f}, peak {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
