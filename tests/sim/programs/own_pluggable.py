"""Our allocator in place of PyTorch's, by its name in the C library alone: own_pluggable.py LIBVRAMSCOPE"""

import ctypes
import json
import sys

import torch

library = ctypes.CDLL(sys.argv[1])
library.vs_torch_live.restype = ctypes.c_void_p
library.vs_live_memory_of_sized.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]


def allocated():
    """The first member of vs_live_memory, which has the size that this program knows."""
    value = ctypes.c_uint64()
    assert library.vs_live_memory_of_sized(library.vs_torch_live(), 0, ctypes.byref(value), 8) == 0
    return value.value


torch.cuda.memory.change_current_allocator(
    torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "vs_torch_alloc", "vs_torch_free"))
assert library.vs_torch_live() is None  # no memory was requested yet
first = torch.empty(20 << 20, dtype=torch.uint8, device="cuda")
second = torch.empty(10 << 20, dtype=torch.uint8, device="cuda")
found = [allocated()]
del second
found.append(allocated())
try:
    torch.empty(100 << 30, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print(json.dumps({"allocated": found, "error": type(error).__name__, "text": str(error)}))
