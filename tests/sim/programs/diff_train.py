"""Trains a small model for three steps: the program whose edits test_diff.py plants. It says its peak at the end."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def mix(self, x):
        return self.down(torch.relu(self.up(x)))

    def forward(self, x):
        return x + self.mix(x)


def main():
    model = nn.Sequential(*(Block(256) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.zeros(2048, 256, device="cuda")
    for _ in range(3):
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(torch.cuda.max_memory_allocated())


main()
