"""A training that is recorded from its middle, twice, with PyTorch's own history beside the first recording. Prints what PyTorch says of
itself, as JSON.

    recording_late.py FOLDER [--keeps-cache]
"""

import ctypes
import json
import pickle
import subprocess
import sys

import torch

import vramscope

folder = sys.argv[1]


def slots():
    """What the linkage table of libc10_cuda.so has for the calls that are led elsewhere, and the allocator's virtual table."""
    with open("/proc/self/maps") as maps:
        base, path = next((int(line.split("-")[0], 16), line.split()[-1]) for line in maps if "libc10_cuda.so" in line)
    found = [ctypes.c_uint64.from_address(base + offset).value for offset in offsets(path)]
    library = ctypes.CDLL(path)
    allocator = ctypes.c_uint64.in_dll(library, "_ZN3c104cuda20CUDACachingAllocator9allocatorE").value
    return [*found, ctypes.c_uint64.from_address(allocator).value]


def offsets(path):
    """Where its table has these calls."""
    names = {"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
             "cudaMalloc", "cudaFree"}
    rows = [line.split() for line in subprocess.check_output(["readelf", "-rW", path], text=True).splitlines()]
    return [int(row[0], 16) for row in rows if len(row) > 4 and row[4].split("@")[0] in names]


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()


def train_step(model, optimizer, i):
    loss = model(torch.randn(64 + i, 512, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def figures():
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    return {name: stats[f"{name}_bytes.all.current"] for name in ("requested", "allocated", "reserved")}


model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for i in range(3):
    train_step(model, optimizer, i)
older = torch.empty(3_000_000, device="cuda")
cached = torch.empty(30_000_000, device="cuda")
del cached
train_step(model, optimizer, 0)
untouched = slots()
before = figures()

torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
with vramscope.record(f"{folder}/first.vram") as first:
    during = slots()
    for i in range(5):
        train_step(model, optimizer, i)
    del older
    if "--keeps-cache" not in sys.argv:
        torch.cuda.empty_cache()
    newer = torch.empty(5_000_000, device="cuda")
    after = figures()
    with open(f"{folder}/history.pickle", "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)
    torch.cuda.memory._record_memory_history(enabled=None)
    try:
        vramscope.record(f"{folder}/other.vram")
        twice = None
    except ValueError as error:
        twice = str(error)
restored = slots()
unseen = torch.empty(7_000_000, device="cuda")
with vramscope.record(f"{folder}/second.vram") as second:
    last = torch.empty(1_000_000, device="cuda")
    at_end = figures()
print(json.dumps({"before": before, "after": after, "at_end": at_end, "restored": restored == untouched, "slots": len(untouched),
                  "changed": sum(a != b for a, b in zip(untouched, during, strict=True)), "twice": twice,
                  "is_on": [first.is_on, second.is_on], "path": first.path}))
