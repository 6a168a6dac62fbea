"""FSDP2 on several ranks, each of which writes its snapshots to FOLDER/good after steps that are alike on all of them, and to FOLDER/bad after
one more, in which the rank ODD has a batch of four times the size, which its GPU has no room for: oom_ranks.py FOLDER ODD."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

ROWS, WIDTH, LAYERS = 65536, 512, 8


def step(model, rows):
    batch = torch.zeros(rows, WIDTH, device="cuda")
    loss = model(batch).sum()
    loss.backward()
    model.zero_grad()


def main(folder, odd):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    torch.cuda.memory._record_memory_history(stacks="python")
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))).cuda()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    for _ in range(2):
        step(model, ROWS)
    torch.cuda.memory._dump_snapshot(f"{folder}/good/rank{rank}_memory_snapshot.pickle")
    try:
        step(model, ROWS * (4 if rank == odd else 1))
    except torch.OutOfMemoryError:
        print(f"rank {rank} ran out of memory", file=sys.stderr)
    torch.cuda.memory._dump_snapshot(f"{folder}/bad/rank{rank}_memory_snapshot.pickle")
    dist.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]))
