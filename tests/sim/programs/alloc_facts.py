"""What PyTorch makes of settings strings, of statistics, and of requests that fail: the peer of tests/programs/alloc_settings.c.

Reads the questions as JSON from the file that is named first, uses the allocator plugin that is named second (it never has
memory), and prints the answers."""

import json
import sys

import torch

MiB, GiB = 1 << 20, 1 << 30
with open(sys.argv[1], encoding="utf-8") as file:
    questions = json.load(file)
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
IS_NEWEST, HAS_POOLS = VERSION >= (2, 15), hasattr(torch.cuda, "use_mem_pool")
apply = getattr(torch._C, "_accelerator_setAllocatorSettings", None) or torch._C._cuda_cudaCachingAllocator_set_allocator_settings
torch.cuda.init()


def empty(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def settings(text):
    try:
        apply(text)
    except (ValueError, RuntimeError, IndexError) as error:
        return {"error": str(error).splitlines()[0]}
    found = dict(torch.cuda.memory._snapshot()["allocator_settings"])
    found["roundup_power2_divisions"] = list(found["roundup_power2_divisions"].values())
    return found


def summaries(statistics):
    real = torch.cuda.memory.memory_stats
    torch.cuda.memory.memory_stats = lambda device=None: statistics
    try:
        return [torch.cuda.memory_summary(abbreviated=short) for short in (False, True)]
    finally:
        torch.cuda.memory.memory_stats = real


def private_free():
    segments = torch.cuda.memory._snapshot()["segments"]
    blocks = [b for s in segments if s["segment_pool_id"] != (0, 0) for b in s["blocks"]]
    return sum(b["size"] for b in blocks if b["state"] == "inactive")


def failure(size, **said):
    """The message of a request that fails, with the figures that the message is made from."""
    try:
        empty(size)
    except torch.OutOfMemoryError as error:
        stats, (free, total) = torch.cuda.memory_stats(), torch.cuda.mem_get_info()
        figures = {"requested": size, "driver": -(-size // (2 * MiB)) * 2 * MiB, "free": free, "total": total}
        figures |= {"allocated": stats["allocated_bytes.all.current"], "reserved": stats["reserved_bytes.all.current"]}
        return {"message": str(error), "private": private_free(), **figures, **said}
    raise AssertionError(f"{size} bytes were there")


def failures_of_pools(found, kept, pool):
    with torch.cuda.use_mem_pool(pool):
        kept += [empty(50 * MiB), empty(40 * MiB)]
        del kept[-2]
        found.append(failure(18 * GiB))
    found.append(failure(19 * GiB))


def failures_of_custom(found, custom, **said):
    with torch.cuda.use_mem_pool(custom):
        found.append(failure(64 * MiB, custom=True, **said))


def failures():
    found, kept = [], [empty(3 * MiB + 5), empty(100 * MiB)]
    found += [failure(20 * GiB), failure(20 * GiB + 12345), failure((1 << 60) - 1), failure(1 << 60)]
    if HAS_POOLS:
        pool = torch.cuda.MemPool()
        failures_of_pools(found, kept, pool)
    if VERSION >= (2, 11):  # 2.6 and 2.8 have lost the pool's memory before the figures are read
        plugin = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[2], "none", "nothing")
        custom = torch.cuda.MemPool(plugin.allocator())
        failures_of_custom(found, custom)
    if IS_NEWEST:
        apply("throw_on_cudamalloc_oom:True")
        found.append(failure(20 * GiB, rejected=True))
        apply("throw_on_cudamalloc_oom:False")
    apply("expandable_segments:True")
    found.append(failure(21 * GiB, expandable=True))
    reserve = {}
    if IS_NEWEST:
        failures_of_custom(found, custom, expandable=True)
        apply("expandable_segments_reserve:1G")
        reserve = {"reserve": GiB}
        found += [failure(2 * GiB, expandable=True, **reserve), failure(22 * GiB, expandable=True, **reserve)]
    torch.cuda.set_per_process_memory_fraction(0.25)
    total = torch.cuda.mem_get_info()[1]
    found.append(failure(5 * GiB, expandable=True, limit=total // 4, **reserve))
    apply("expandable_segments:False")
    found.append(failure(5 * GiB, limit=total // 4))
    torch.cuda.set_per_process_memory_fraction(1.0)
    return found


def real_statistics():
    pools = [torch.cuda.MemPool() for _ in range(11)] if HAS_POOLS else []
    kept = []
    for i, pool in enumerate(pools):
        with torch.cuda.use_mem_pool(pool):
            kept += [empty((i + 1) * 100_000), empty((i + 1) * 3 * MiB)]
    kept += [empty(n) for n in (1, 1000, 5 * MiB, 30 * MiB, 700 * MiB)]
    del kept[::3]
    stats = dict(torch.cuda.memory_stats())
    return {"stats": stats, "summaries": [torch.cuda.memory_summary(abbreviated=short) for short in (False, True)]}


oom = failures()
real = real_statistics()
answers = {
    "settings": [settings(text) for text in questions["settings"]],
    "summaries": [summaries(statistics) for statistics in questions["statistics"]],
    "failures": oom,
    "real": real,
    "keys": [settings(text) for text in questions["keys"]],
}
print(json.dumps(answers))
