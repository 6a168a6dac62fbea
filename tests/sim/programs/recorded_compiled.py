"""A compiled model that `vramscope run` records, with PyTorch's own history beside it. Prints how many graphs TorchInductor took from
its cache.

    recorded_compiled.py HISTORY
"""

import json
import pickle
import sys

import torch
from torch._dynamo.utils import counters


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(256, 1024)
        self.down = torch.nn.Linear(1024, 256)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.up(x))
        return x + self.down(hidden)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.square().mean()


@torch.compile
def spread(x):
    return torch.cat([x, x.exp()]).softmax(-1)


torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
model = Model().cuda()
compiled = torch.compile(model)
for _ in range(3):
    compiled(torch.randn(64, 256, device="cuda")).backward()
    model.zero_grad()
kept = spread(torch.randn(300, 256, device="cuda"))
torch.cuda.synchronize()
with open(sys.argv[1], "wb") as file:
    pickle.dump(torch.cuda.memory._snapshot(), file)
print(json.dumps({"pid": 0, "hits": counters["inductor"]["fxgraph_cache_hit"]}))
