#!/usr/bin/env python3
"""What a card says of itself and what things cost on it: run on a real GPU and on the simulated one, and compare.

    tests/gpu/probe.py > real.json                                     on a machine with a GPU (PyTorch is needed)
    vramscope dryrun --gpu H200 -- tests/gpu/probe.py > simulated.json
    tests/gpu/probe.py --compare real.json simulated.json              a table of both

No other program may use the card meanwhile: "used" is what the driver says of the whole card. Each part runs in a process of its
own, because what a library takes stays taken.
"""

import argparse
import ctypes
import json
import subprocess
import sys

MiB = 1 << 20
PARTS = {}
found = {}


def part(function):
    PARTS[function.__name__] = function
    return function


class Library:
    """Calls by name that have to succeed."""

    def __init__(self, name, good=0):
        self.library, self.good = ctypes.CDLL(name), good

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            code = function(*arguments)
            assert code == self.good, f"{name}: {code}"

        return call


class Memory(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), *((name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used"))]


def nvml_memory():
    nvml, device = Library("libnvidia-ml.so.1"), ctypes.c_void_p()
    nvml.nvmlInit_v2()
    nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
    memory = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
    nvml.nvmlDeviceGetMemoryInfo_v2(device, ctypes.byref(memory))
    return memory


def context():
    """(driver, used): a bare context, and a function that returns what is used of the card"""
    driver, device, made = Library("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    driver.cuInit(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(made), device)
    driver.cuCtxSetCurrent(made)

    def used():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value

    return driver, used


@part
def properties():
    import torch

    p = torch.cuda.get_device_properties(0)
    for key in ("name", "major", "minor", "total_memory", "multi_processor_count", "max_threads_per_multi_processor",
                "L2_cache_size", "regs_per_multiprocessor", "shared_memory_per_block", "shared_memory_per_block_optin",
                "shared_memory_per_multiprocessor", "warp_size", "clock_rate", "memory_clock_rate", "memory_bus_width"):
        found[key] = getattr(p, key, None)
    found["PyTorch"] = torch.__version__


@part
def attributes():
    """Every attribute of the device that the driver knows, by number."""
    driver, device, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_int()
    assert driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0
    for number in range(1, 160):
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0:
            found[f"attribute {number}"] = value.value


@part
def card():
    memory = nvml_memory()
    for name in ("total", "reserved", "free", "used"):
        found[f"NVML {name}, no context"] = getattr(memory, name)
    driver, used = context()
    found["used by a bare context"] = used()
    after = nvml_memory()
    found["NVML used, with a bare context"] = after.used
    found["NVML free, with a bare context"] = after.free
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    found["driver's CUDA version"] = version.value


@part
def second_context():
    _, used = context()
    before = used()
    child = subprocess.Popen([sys.executable, __file__, "--wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    found["used by the context of a second process"] = used() - before
    child.communicate()


@part
def granularity():
    driver, _ = context()

    class Properties(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int), ("device", ctypes.c_int),
                    ("meta", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]

    size = ctypes.c_size_t()
    for name, flag in (("minimum", 0), ("recommended", 1)):
        driver.cuMemGetAllocationGranularity(ctypes.byref(size), ctypes.byref(Properties(type=1, place=1)), flag)
        found[f"granularity of cuMemCreate, {name}"] = size.value


@part
def allocations():
    driver, used = context()
    for size, count in ((1, 64), (512, 64), (4096, 64), (64 << 10, 64), (128 << 10, 64), (256 << 10, 32), (512 << 10, 16), (768 << 10, 16),
                        (MiB - 512, 16), (MiB, 16), (MiB + 1, 16), (3 * MiB // 2, 16), (2 * MiB, 16), (2 * MiB + 1, 16), (3 * MiB, 16),
                        (5 * MiB, 16), (20 * MiB, 16), (20 * MiB + 1, 16)):
        before, pointers, steps = used(), [], []
        for _ in range(count):
            pointer = ctypes.c_ulonglong()
            driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
            pointers.append(pointer.value)
            steps.append(used() - before)
        found[f"cuMemAlloc of {size} bytes, {count} times"] = used() - before
        found[f"cuMemAlloc of {size} bytes, {count} times: the first"] = steps[0]
        found[f"cuMemAlloc of {size} bytes, {count} times: addresses lie apart"] = min(
            b - a for a, b in zip(sorted(pointers), sorted(pointers)[1:]))
        for pointer in pointers:
            driver.cuMemFree_v2(ctypes.c_ulonglong(pointer))
        found[f"cuMemAlloc of {size} bytes, {count} times: kept after all are freed"] = used() - before


@part
def largest():
    driver, used = context()
    free, total, pointer = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_ulonglong()
    driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    low, high = 0, total.value // (2 * MiB)
    while low + 1 < high:
        middle = (low + high) // 2
        if driver.library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(middle * 2 * MiB)) == 0:
            low = middle
            driver.cuMemFree_v2(pointer)
        else:
            high = middle
    found["free less the largest allocation"] = free.value - low * 2 * MiB
    pointers = []
    while driver.library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1024 * MiB)) == 0:
        pointers.append(pointer.value)
    while driver.library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(2 * MiB)) == 0:
        pointers.append(pointer.value)
    driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    found["free when no 2 MiB can be allocated"] = free.value


@part
def other_memory():
    driver, used = context()
    before, value = used(), ctypes.c_void_p()

    def step(name):
        nonlocal before
        found[name] = used() - before
        before = used()

    for _ in range(32):
        driver.cuStreamCreate(ctypes.byref(value), 1)
    step("32 streams")
    for _ in range(224):
        driver.cuStreamCreate(ctypes.byref(value), 1)
    step("224 more streams")
    for _ in range(1000):
        driver.cuEventCreate(ctypes.byref(value), 2)
    step("1,000 events")
    driver.cuMemHostAlloc(ctypes.byref(value), ctypes.c_size_t(64 * MiB), 0)
    step("64 MiB of pinned host memory")
    driver.cuMemAllocManaged(ctypes.byref(ctypes.c_ulonglong()), ctypes.c_size_t(64 * MiB), 1)
    step("64 MiB of managed memory, not touched")
    pooled, device, pool = ctypes.c_ulonglong(), ctypes.c_int(), ctypes.c_void_p()
    driver.cuMemAllocAsync(ctypes.byref(pooled), ctypes.c_size_t(512), None)
    step("cuMemAllocAsync of 512 bytes")
    driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device)
    reserved = ctypes.c_ulonglong()
    driver.cuMemPoolGetAttribute(pool, 5, ctypes.byref(reserved))
    found["reserved by the pool of cuMemAllocAsync"] = reserved.value
    driver.cuMemAllocAsync(ctypes.byref(pooled), ctypes.c_size_t(33 * MiB), None)
    step("cuMemAllocAsync of 33 MiB more")
    limit = ctypes.c_size_t()
    for number, name in ((0, "stack"), (1, "printf"), (2, "heap")):
        driver.cuCtxGetLimit(ctypes.byref(limit), number)
        found[f"limit of {name}"] = limit.value
    driver.cuCtxSetLimit(0, ctypes.c_size_t(8192))
    step("a stack of 8 KiB for each thread")


@part
def torch_kernels():
    import torch

    def used():
        free, total = torch.cuda.mem_get_info()
        return total - free

    found["used by PyTorch's context"] = before = used()
    last = before

    def step(what, run):
        """What a first use costs beyond what PyTorch's allocator took for it."""
        nonlocal last
        torch.cuda.reset_peak_memory_stats()
        reserved, kept = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
        try:
            run()
        except (RuntimeError, ImportError) as error:
            found[f"outside: {what}"] = str(error).split("\n")[0][:60]
            return
        torch.cuda.synchronize()
        now = used()
        found[f"outside: {what}"] = now - last - (torch.cuda.memory_reserved() - reserved)
        found[f"stays allocated: {what}"] = torch.cuda.memory_allocated() - kept
        last = now

    x = torch.ones(1024, 1024)
    held = []
    step("first tensor", lambda: held.append(x.cuda()))
    x = held[0]
    step("first addition", lambda: x + x)
    step("same addition again", lambda: x + x)
    step("first random tensor", lambda: torch.randn(1024, device="cuda"))
    step("first reduction", lambda: x.sum())
    step("first matrix product", lambda: x @ x)
    step("first matrix product in bf16", lambda: x.bfloat16() @ x.bfloat16())
    step("first linear with a bias", lambda: torch.nn.functional.linear(x, x, x[0]))
    step("first sort", lambda: x.flatten().sort())
    step("first softmax", lambda: torch.softmax(x, 1))
    step("first layer norm", lambda: torch.nn.functional.layer_norm(x, (1024,)))
    image, weight = torch.ones(32, 64, 56, 56, device="cuda"), torch.ones(64, 64, 3, 3, device="cuda")
    step("first convolution", lambda: torch.nn.functional.conv2d(image, weight))
    q = torch.ones(2, 8, 512, 64, device="cuda", dtype=torch.bfloat16)
    step("first attention", lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q))
    step("first LSTM", lambda: torch.nn.LSTM(64, 64).cuda()(torch.ones(4, 4, 64, device="cuda")))
    step("first FFT", lambda: torch.fft.fft(x))
    step("first solve", lambda: torch.linalg.solve(x[:64, :64] + torch.eye(64, device="cuda"), x[:64, :2]))
    step("first svd", lambda: torch.linalg.svd(x[:64, :64]))
    step("first sparse product", lambda: torch.eye(64, device="cuda").to_sparse_csr() @ x[:64, :64])
    graph = torch.cuda.CUDAGraph()

    def capture():
        with torch.cuda.graph(graph):
            for _ in range(100):
                torch.neg_(x)

    step("graph of 100 kernels", capture)
    step("its first launch", graph.replay)
    side = [torch.cuda.Stream() for _ in range(8)]

    def streams():
        for stream in side:
            with torch.cuda.stream(stream):
                x.neg()

    step("eight streams used", streams)
    step("backward pass", lambda: (x.clone().requires_grad_() * 2).sum().backward())
    net = torch.nn.Linear(1024, 1024).cuda()
    step("AdamW", lambda: (net(x).sum().backward(), torch.optim.AdamW(net.parameters()).step()))
    found["outside PyTorch's allocator at the end"] = used() - torch.cuda.memory_reserved()


@part
def all_kernels():
    """CUDA_MODULE_LOADING=EAGER: every kernel of PyTorch's libraries."""
    import os

    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    import torch

    free, total = torch.cuda.mem_get_info()
    found["used by PyTorch's context, all kernels loaded"] = total - free
    torch.ones(1, device="cuda")
    free, total = torch.cuda.mem_get_info()
    found["and after the first tensor"] = total - free


@part
def collectives():
    import torch
    import torch.distributed as dist

    def used():
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    x = torch.ones(MiB, device="cuda")
    before = used()
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda", 0))
    found["outside: NCCL communicator of one rank"] = used() - before
    dist.all_reduce(x)
    torch.cuda.synchronize()
    found["outside: NCCL communicator of one rank, after all_reduce"] = used() - before


def probe():
    failed = 0
    for name in PARTS:
        done = subprocess.run([sys.executable, __file__, "--part", name], capture_output=True, text=True, timeout=300, check=False)
        try:
            found.update(json.loads(done.stdout.splitlines()[-1]))
        except (IndexError, ValueError):
            failed = 1
        if done.returncode:
            failed = 1
            found[f"part {name}"] = f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    print(json.dumps(found, indent=1))
    return failed


def compare(real, simulated):
    with open(real) as a, open(simulated) as b:
        a, b = json.load(a), json.load(b)
    print(f"| {'what':70} | {'real':>16} | {'simulated':>16} |\n|{'-' * 72}|{'-' * 17}:|{'-' * 17}:|")
    for key in a:
        print(f"| {key:70} | {a[key]!s:>16} | {b.get(key)!s:>16} |")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--compare", nargs=2, metavar=("REAL", "SIMULATED"))
    options.add_argument("--part", choices=sorted(PARTS))
    options.add_argument("--wait", action="store_true")
    options = options.parse_args()
    if options.compare:
        return compare(*options.compare)
    if options.wait:
        _, used = context()
        used()
        print("ready", flush=True)
        sys.stdin.read()
        return 0
    if options.part:
        try:
            PARTS[options.part]()
        finally:
            print(json.dumps(found))
        return 0
    return probe()


if __name__ == "__main__":
    sys.exit(main())
