"""Sequences of varying lengths, each a little longer than the one before: lengths.py [mended].

Each length requests blocks of a size that no free block has, so the cache fills with blocks that are just too small. The mend is to round lengths up to a
multiple of 512, which makes few sizes; another one is segments that grow (expandable_segments:True).
"""

import sys

import torch
from torch import nn

STEPS, BATCH, WIDTH, SHORTEST = 48, 16, 4096, 512


def main(is_mended):
    model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(8))).cuda().bfloat16()
    for step in range(STEPS):
        length = SHORTEST + 29 * step
        if is_mended:
            length = -(-length // 512) * 512
        batch = torch.ones(BATCH, length, WIDTH, device="cuda", dtype=torch.bfloat16)
        model(batch).sum().backward()
        model.zero_grad()


main("mended" in sys.argv[1:])
