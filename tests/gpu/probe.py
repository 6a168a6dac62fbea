#!/usr/bin/env python3
"""What a card says of itself and what things cost on it: run on a real GPU and on the simulated one, and compare.

    tests/gpu/probe.py > real.json                                     on a machine with a GPU (PyTorch is needed)
    vramscope dryrun --gpu H200 -- tests/gpu/probe.py > simulated.json
    tests/gpu/probe.py --compare real.json simulated.json              a table of both

The figures outside of PyTorch's allocator (context, small allocations, libraries) are what the profiles are calibrated by.
"""

import argparse
import ctypes
import json
import sys

MiB = 1 << 20


def probe():
    import torch

    found = {"torch": torch.__version__}
    p = torch.cuda.get_device_properties(0)
    for key in ("name", "major", "minor", "total_memory", "multi_processor_count", "max_threads_per_multi_processor",
                "L2_cache_size", "regs_per_multiprocessor", "shared_memory_per_block", "shared_memory_per_block_optin",
                "shared_memory_per_multiprocessor", "warp_size", "clock_rate", "memory_clock_rate", "memory_bus_width"):
        found[key] = getattr(p, key, None)

    def used():
        free, total = torch.cuda.mem_get_info()
        return total - free

    found["used by a bare context"] = used()

    # cudaMalloc as it is, without PyTorch's cache.
    runtime = ctypes.CDLL("libcudart.so.13") if (torch.version.cuda or "").startswith("13") else ctypes.CDLL("libcudart.so.12")
    for size, count in ((512, 8), (64 << 10, 64), (1 << 20, 8), ((1 << 20) + 1, 8), (2 << 20, 8), (3 << 20, 8)):
        before, pointers = used(), []
        for _ in range(count):
            pointer = ctypes.c_void_p()
            assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
            pointers.append(pointer)
        found[f"cudaMalloc of {size} bytes, {count} times"] = used() - before
        for pointer in pointers:
            assert runtime.cudaFree(pointer) == 0

    def outside(what, run):
        """What a first use costs beyond what PyTorch's allocator took for it."""
        before, reserved = used(), torch.cuda.memory_reserved()
        kept = run()
        torch.cuda.synchronize()
        found[f"outside after the first {what}"] = used() - before - (torch.cuda.memory_reserved() - reserved)
        found[f"allocated by the first {what}"] = torch.cuda.memory_stats()["allocated_bytes.all.peak"]
        torch.cuda.reset_peak_memory_stats()
        return kept

    x = outside("tensor", lambda: torch.ones(1024, 1024, device="cuda"))
    outside("matrix product", lambda: x @ x)
    outside("matrix product in bf16", lambda: x.bfloat16() @ x.bfloat16())
    outside("sort", lambda: x.flatten().sort())
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        image, weight = torch.ones(32, 64, 56, 56, device="cuda", dtype=dtype), torch.ones(64, 64, 3, 3, device="cuda", dtype=dtype)
        torch.cuda.reset_peak_memory_stats()
        base = torch.cuda.memory_allocated()
        out = torch.nn.functional.conv2d(image, weight, padding=1)
        found[f"convolution 3x3, {dtype}, beyond its tensors"] = (
            torch.cuda.max_memory_allocated() - base - out.numel() * out.element_size()
        )
        del out
    print(json.dumps(found, indent=1))


def compare(real, simulated):
    with open(real) as a, open(simulated) as b:
        a, b = json.load(a), json.load(b)
    print(f"| {'what':50} | {'real':>40} | {'simulated':>40} |\n|{'-' * 52}|{'-' * 41}:|{'-' * 41}:|")
    for key in a:
        print(f"| {key:50} | {a[key]!s:>40} | {b.get(key)!s:>40} |")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--compare", nargs=2, metavar=("REAL", "SIMULATED"))
    options = options.parse_args()
    if options.compare:
        compare(*options.compare)
    else:
        probe()


if __name__ == "__main__":
    sys.exit(main())
