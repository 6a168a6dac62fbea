"""Training on 8 GPUs with DistributedDataParallel, which has the whole model on each of them: fsdp.py [mended].

Weights, gradients, the buckets in which gradients are reduced, and Adam's state are there eight times. With FSDP each GPU has an eighth of them, and
the whole weights of the layers that are computed at the moment.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

WIDTH, LAYERS, BATCH, STEPS = 8192, 16, 2048, 2


def main(is_mended):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    with torch.device("meta"):
        model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU()) for _ in range(LAYERS)))
    if is_mended:
        from torch.distributed.fsdp import fully_shard

        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    model.to_empty(device="cuda")
    trained = model if is_mended else nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        trained(torch.ones(BATCH, WIDTH, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    dist.destroy_process_group()


main("mended" in sys.argv[1:])
