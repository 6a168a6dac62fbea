"""A training loop that goes on until its input ends, with checks of its own: each step has the memory and the loss of the first ones. Prints, as
JSON, all that were found, what was expected, how many steps there were, and PyTorch's reserved bytes."""

import json
import select
import sys

import torch


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()


def train_step(model, optimizer):
    kept = torch.randn(640, 512, device="cuda")
    loss = model(kept).sum()
    during = torch.cuda.memory_allocated()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return during, torch.cuda.max_memory_allocated(), float(loss.detach().cpu())


model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    expected = train_step(model, optimizer)
print("ready", flush=True)
found, steps = set(), 0
while not select.select([sys.stdin], [], [], 0.01)[0]:
    found.add(train_step(model, optimizer))
    steps += 1
print(json.dumps({"found": sorted(map(list, found)), "expected": [list(expected)], "steps": steps, "reserved": torch.cuda.memory_reserved()}))
