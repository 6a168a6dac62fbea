"""One rank of 64 that makes a process group for each purpose: nccl.py [mended].

Each group is an NCCL communicator with buffers of its own on the GPU, and PyTorch's allocator does not know of them. The mend is to use one group
for all that the same ranks do.
"""

import os
import sys

import torch
import torch.distributed as dist

PURPOSES = ("gradients", "weights", "clipping", "metrics", "checkpoints", "data")


def main(is_mended):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    groups = {purpose: dist.group.WORLD if is_mended else dist.new_group() for purpose in PURPOSES}
    gradient = torch.ones(64 << 20, device="cuda")
    for group in groups.values():
        dist.all_reduce(gradient, group=group)
    torch.cuda.synchronize()
    dist.destroy_process_group()


main("mended" in sys.argv[1:])
