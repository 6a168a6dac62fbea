"""A loop that keeps the loss of each step as a tensor, and with it all that the step's backward pass would need: leak.py [mended].

The mend is to keep a number, `loss.item()`.
"""

import sys

import torch
from torch import nn

STEPS, BATCH, WIDTH = 30, 4096, 4096


def main(is_mended):
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4))).cuda()
    losses = []
    for _ in range(STEPS):
        loss = model(torch.ones(BATCH, WIDTH, device="cuda")).relu().mean()
        losses.append(loss.item() if is_mended else loss)
    print(f"{len(losses)} losses")


main("mended" in sys.argv[1:])
