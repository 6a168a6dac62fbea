"""Our allocator inside a MemPool, beside PyTorch's own, and where it comes too late."""

import json
import sys

import torch

import vramscope
import vramscope.torch as vt

outside = torch.ones(1000, device="cuda")
found = {}
try:
    vramscope.use_allocator()
except RuntimeError as error:
    found["too_late"] = str(error)
allocator = vramscope.use_allocator(pool=True)
found["active"] = vt.active() is None
own = torch.cuda.memory_reserved()
with allocator:
    inside = torch.ones(3 * 2**20, device="cuda")
    small = torch.ones(10, device="cuda")
found["ours"] = [allocator.flat_stats()["allocated_bytes.all.current"], torch.cuda.memory_reserved() - own]
found["where"] = [inside.data_ptr() % 512, outside.data_ptr() % 512]
with allocator:
    try:
        torch.empty(2**40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        found["oom"] = "MemPool returned nullptr" in str(error)
    works = torch.ones(10, device="cuda")
del inside, small, works
torch.cuda.empty_cache()
found["backend"] = torch.cuda.memory.get_allocator_backend()
found["stats"] = torch.cuda.memory_allocated() > 0
print(json.dumps(found))
