"""An allocator from a C library in place of PyTorch's own: pluggable.py LIBRARY"""

import ctypes
import json
import sys

import torch

if not hasattr(torch.cuda, "use_mem_pool"):
    print(json.dumps({"torch": torch.__version__, "absent": "torch.cuda has no use_mem_pool"}))
    sys.exit()
library = ctypes.CDLL(sys.argv[1])
plugin = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "plugin_malloc", "plugin_free")
inside = torch.cuda.MemPool(plugin.allocator())
with torch.cuda.use_mem_pool(inside):
    pooled = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
in_pool = library.plugin_given()
segments = [s["total_size"] for s in inside.snapshot()]
del pooled, inside
print(json.dumps({"in_pool": in_pool, "segments": segments}))

code = """
import ctypes, json, sys, torch
library = ctypes.CDLL(sys.argv[1])
torch.cuda.memory.change_current_allocator(
    torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "plugin_malloc", "plugin_free"))
kept = [torch.ones(1000, device="cuda") for _ in range(5)]
given, taken = library.plugin_given(), library.plugin_taken()
kept.clear()
print(json.dumps({"given": given, "taken": taken, "then": library.plugin_taken()}))
"""
import subprocess  # noqa: E402

whole = json.loads(subprocess.check_output([sys.executable, "-c", code, sys.argv[1]], text=True).splitlines()[-1])
print(json.dumps({"in_pool": in_pool, "segments": segments, **whole}))
