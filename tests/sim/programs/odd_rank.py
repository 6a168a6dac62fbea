"""FSDP2 on several ranks, of which rank 2 keeps the activations of its steps: each rank writes its own snapshot to the folder given."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


def main(folder):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    torch.cuda.memory._record_memory_history(stacks="python")
    model = nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(4))).cuda()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = []
    for _ in range(3):
        out = model(torch.zeros(256, 512, device="cuda"))
        if rank == 2:
            kept.append(out.detach().clone())
        out.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.memory._dump_snapshot(f"{folder}/rank{rank}_memory_snapshot.pickle")
    dist.destroy_process_group()


main(sys.argv[1])
