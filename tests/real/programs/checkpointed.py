"""torch.utils.checkpoint: a deep transformer with activation checkpointing, and saved tensors in host memory: checkpointed.py HOW."""

import contextlib
import sys

import torch
import truth
from torch.utils.checkpoint import checkpoint

WIDTH, TOKENS, LAYERS = 1024, 8192, 12


def layer():
    wide = 4 * WIDTH
    return torch.nn.Sequential(torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, wide), torch.nn.GELU(), torch.nn.Linear(wide, WIDTH))


layers = torch.nn.ModuleList(layer() for _ in range(LAYERS)).cuda()
x = torch.randn(TOKENS, WIDTH, device="cuda", requires_grad=True)
before = torch.cuda.memory_allocated()
with torch.autograd.graph.save_on_cpu(pin_memory=True) if sys.argv[1] == "offload" else contextlib.nullcontext():
    for part in layers:
        x = x + (checkpoint(part, x, use_reentrant=False) if sys.argv[1] == "checkpoint" else part(x))
held = torch.cuda.memory_allocated() - before
kept = {"checkpoint": LAYERS, "offload": 1}[sys.argv[1]]
truth.near(held, kept * 4 * TOKENS * WIDTH, 0.01, "what is kept for the backward pass")
x.square().mean().backward()
truth.torch_peaks()
