"""A model of 1.34 billion parameters and what its optimizer takes: optimizer_state.py [mended | bfloat16 | adafactor].

Adam keeps two numbers for each parameter, and the default way of a step (foreach) makes temporaries of the size of all gradients. The mend is the fused
step, which makes none and computes the same. The others have another price: see docs/stories.md.
"""

import sys

import torch
from torch import nn

WIDTH, LAYERS, BATCH, STEPS = 8192, 20, 512, 2


def main(how):
    with torch.device("meta"):
        model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
    dtype = torch.bfloat16 if how == "bfloat16" else torch.float32
    model.to(dtype).to_empty(device="cuda")
    make = {"mended": lambda of: torch.optim.AdamW(of, fused=True), "adafactor": torch.optim.Adafactor}.get(how, torch.optim.AdamW)
    optimizer = make(model.parameters())
    for _ in range(STEPS):
        model(torch.ones(BATCH, WIDTH, device="cuda", dtype=dtype)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


main(*sys.argv[1:] or ["foreach"])
