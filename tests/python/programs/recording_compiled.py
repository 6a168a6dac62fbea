"""A compiled model that is recorded from its middle, twice, with PyTorch's own history beside the recordings. More is compiled in
each.

    recording_compiled.py FOLDER
"""

import pickle
import sys

import torch

import vramscope


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(256, 1024)
        self.down = torch.nn.Linear(1024, 256)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


@torch.compile
def spread(x):
    return torch.cat([x, x.exp()]).softmax(-1)


@torch.compile
def shrink(x):
    return torch.cat([x, x.log()]).softmax(0)


def step():
    compiled(torch.randn(64, 256, device="cuda")).square().mean().backward()
    model.zero_grad()


def record(name, run):
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
    with vramscope.record(f"{sys.argv[1]}/{name}.vram"):
        step()
        run(torch.randn(300, 256, device="cuda"))
        with open(f"{sys.argv[1]}/{name}.pickle", "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)
    torch.cuda.memory._record_memory_history(enabled=None)


model = Model().cuda()
compiled = torch.compile(model)
step()
record("first", spread)
record("second", shrink)
