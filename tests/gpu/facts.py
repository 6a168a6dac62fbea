#!/usr/bin/env python3
"""Facts of a real card from which rules of the simulated one are made: one line of JSON for each, on a real GPU.

    facts.py PART > PART.jsonl        facts.py --list
"""

import ctypes
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from probe import MiB, context  # noqa: E402

PARTS = {}


def part(function):
    PARTS[function.__name__] = function
    return function


def tell(**fact):
    print(json.dumps(fact), flush=True)


@part
def addresses():
    """Where cuMemAlloc places blocks, of sizes as PyTorch asks for, when they come and go."""
    driver, used = context()
    for seed in range(4):
        rng, held = random.Random(seed), []
        for step in range(400):
            if held and rng.random() < 0.35:
                address, size = held.pop(rng.randrange(len(held)))
                driver.cuMemFree_v2(ctypes.c_ulonglong(address))
                tell(seed=seed, free=address, size=size)
            else:
                kind = rng.random()
                size = (2 * MiB if kind < 0.3 else 20 * MiB if kind < 0.6 else 2 * MiB * rng.randint(5, 60) if kind < 0.9
                        else rng.choice((512, 70_000, MiB, 700 * MiB)))
                pointer = ctypes.c_ulonglong()
                driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
                held.append((pointer.value, size))
                tell(seed=seed, alloc=pointer.value, size=size, used=used())
        for address, size in held:
            driver.cuMemFree_v2(ctypes.c_ulonglong(address))
            tell(seed=seed, free=address, size=size)


@part
def streams():
    driver, used = context()
    for flags, priority in ((0, 0), (1, 0), (1, -5)):
        before = used()
        for count in range(1, 101):
            driver.cuStreamCreateWithPriority(ctypes.byref(ctypes.c_void_p()), flags, priority)
            if used() != before:
                tell(flags=flags, priority=priority, streams=count, used=used() - before)
                before = used()
    before = used()
    for count in range(1, 5001):
        driver.cuEventCreate(ctypes.byref(ctypes.c_void_p()), 0)
        if used() != before:
            tell(events=count, used=used() - before)
            before = used()


@part
def pools():
    driver, used = context()
    pool = ctypes.c_void_p()
    driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0)

    def attribute(number):
        value = ctypes.c_ulonglong()
        driver.cuMemPoolGetAttribute(pool, number, ctypes.byref(value))
        return value.value

    for keep in (0, 1 << 40):
        value = ctypes.c_ulonglong(keep)
        driver.cuMemPoolSetAttribute(pool, 4, ctypes.byref(value))
        rng, held, before = random.Random(3), [], used()
        for step in range(300):
            if held and rng.random() < 0.4:
                address, size = held.pop(rng.randrange(len(held)))
                driver.cuMemFreeAsync(ctypes.c_ulonglong(address), None)
                driver.cuStreamSynchronize(None)
                tell(keep=keep, free=address, size=size, reserved=attribute(5), pool_used=attribute(7), used=used() - before)
            else:
                size = rng.choice((512, 5000, MiB, 3 * MiB, 20 * MiB, 31 * MiB, 33 * MiB, 50 * MiB, 100 * MiB))
                pointer = ctypes.c_ulonglong()
                driver.cuMemAllocAsync(ctypes.byref(pointer), ctypes.c_size_t(size), None)
                held.append((pointer.value, size))
                tell(keep=keep, alloc=pointer.value, size=size, reserved=attribute(5), pool_used=attribute(7), used=used() - before)


SOURCE = """
template <int N> __global__ void work(float *x, int n) {
  float a[8]; for (int i = 0; i < 8; i++) a[i] = x[threadIdx.x + i * N];
  #pragma unroll
  for (int k = 0; k < UNROLL; k++) { for (int i = 0; i < 8; i++) a[i] = a[i] * a[(i + k + N) % 8] + k * N; }
  for (int i = 0; i < 8; i++) x[threadIdx.x + i * N] = a[i];
}
"""


@part
def modules():
    """What loading kernels costs: modules of different counts and sizes of kernels, loaded at once and by need."""
    with tempfile.TemporaryDirectory() as folder:
        builds = []
        for kernels, unroll in ((1, 1), (1, 2000), (16, 1), (16, 400), (256, 1), (256, 100)):
            path = Path(folder, f"{kernels}_{unroll}.cu")
            path.write_text(SOURCE + "".join(f"template __global__ void work<{n + 1}>(float *, int);\n" for n in range(kernels)))
            builds.append((kernels, unroll, path, subprocess.Popen(
                ["nvcc", "-cubin", "-arch=sm_90", f"-DUNROLL={unroll}", "-o", path.with_suffix(".cubin"), path],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)))
        for kernels, unroll, path, build in builds:
            if build.wait() != 0:
                tell(kernels=kernels, unroll=unroll, error=build.stderr.read().decode()[:300])
        for loading in ("EAGER", "LAZY"):
            for kernels, unroll, path, _ in builds:
                done = subprocess.run([sys.executable, __file__, "--load", str(path.with_suffix(".cubin")), str(kernels)],
                                      capture_output=True, text=True, env={**os.environ, "CUDA_MODULE_LOADING": loading}, check=False)
                sizes = subprocess.run(["cuobjdump", "-elf", path.with_suffix(".cubin")], capture_output=True, text=True, check=False)
                text = [line.split() for line in sizes.stdout.splitlines() if ".text." in line][:1]
                tell(loading=loading, kernels=kernels, unroll=unroll, file=path.with_suffix(".cubin").stat().st_size
                     if path.with_suffix(".cubin").exists() else None, first_text=text, steps=done.stdout.strip().splitlines()[-1:],
                     error=done.stderr[-200:])


def load(cubin, kernels):
    driver, used = context()
    steps, before = [], used()

    def step(name):
        nonlocal before
        if used() != before:
            steps.append((name, used() - before))
            before = used()

    image = Path(cubin).read_bytes()
    for copy in range(4):
        module = ctypes.c_void_p()
        driver.cuModuleLoadData(ctypes.byref(module), image)
        step(f"load {copy}")
        memory = ctypes.c_ulonglong()
        if copy == 0:
            driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64 * MiB))
            step("64 MiB")
        for n in range(int(kernels)):
            function = ctypes.c_void_p()
            driver.cuModuleGetFunction(ctypes.byref(function), module, f"_Z4workILi{n + 1}EEvPfi".encode())
            step(f"function {copy} {n}")
            if copy == 0:
                address, count = ctypes.c_void_p(memory.value), ctypes.c_int(1)
                arguments = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.byref(address), ctypes.c_void_p),
                                                  ctypes.cast(ctypes.byref(count), ctypes.c_void_p))
                driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
                driver.cuCtxSynchronize()
                step(f"launch {copy} {n}")
    print(json.dumps(steps))


@part
def kernels():
    """What each first operation of PyTorch takes outside of its allocator."""
    import torch
    import torch.nn.functional as F

    def outside():
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    tell(what="context", outside=outside())
    before, x = outside(), None

    def step(what, run):
        nonlocal before
        kept = run()
        torch.cuda.synchronize()
        tell(what=what, outside=outside() - before)
        before = outside()
        return kept

    x = step("copy to the GPU", lambda: torch.ones(1024, 1024).cuda())
    step("fill", lambda: x.fill_(1))
    for name in ("neg", "exp", "sin", "relu", "sigmoid", "erf", "lgamma"):
        step(name, lambda: getattr(torch, name)(x))
    step("add", lambda: x + x)
    step("bf16", lambda: x.bfloat16())
    step("add in bf16", lambda: x.bfloat16() + x.bfloat16())
    step("half", lambda: x.half() * 2)
    step("int", lambda: x.int() + 1)
    step("sum", lambda: x.sum())
    step("mean over rows", lambda: x.mean(1))
    step("argmax", lambda: x.argmax(1))
    step("softmax", lambda: torch.softmax(x, 1))
    step("log_softmax", lambda: torch.log_softmax(x, 1))
    step("layer_norm", lambda: F.layer_norm(x, (1024,)))
    step("gelu", lambda: F.gelu(x))
    step("dropout", lambda: F.dropout(x))
    step("randn", lambda: torch.randn(10, device="cuda"))
    step("embedding", lambda: F.embedding(torch.zeros(10, dtype=torch.long, device="cuda"), x))
    step("index", lambda: x[torch.zeros(10, dtype=torch.long, device="cuda")])
    step("cat", lambda: torch.cat([x, x]))
    step("transpose and copy", lambda: x.t().contiguous())
    step("cuBLAS handle and product in float32", lambda: x @ x)
    step("product in bf16", lambda: x.bfloat16() @ x.bfloat16())
    step("batched product", lambda: torch.bmm(x.view(4, 256, 1024), x.view(4, 1024, 256)))
    step("linear with a bias", lambda: F.linear(x, x, x[0]))
    step("linear with a bias in bf16", lambda: F.linear(x.bfloat16(), x.bfloat16(), x[0].bfloat16()))
    step("large product in bf16", lambda: torch.ones(8192, 8192, device="cuda", dtype=torch.bfloat16) @ torch.ones(
        8192, 8192, device="cuda", dtype=torch.bfloat16))
    step("sort", lambda: x.flatten().sort())
    step("topk", lambda: x.topk(5))
    step("cumsum", lambda: x.cumsum(0))
    q = torch.ones(2, 8, 512, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    from torch.nn.attention import SDPBackend, sdpa_kernel
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION):
        with sdpa_kernel(backend):
            out = step(f"attention {backend.name}", lambda: F.scaled_dot_product_attention(q, q, q))
            step(f"attention {backend.name} backward", lambda: out.sum().backward())
    image, weight = torch.ones(8, 64, 56, 56, device="cuda", requires_grad=True), torch.ones(64, 64, 3, 3, device="cuda", requires_grad=True)
    out = step("convolution", lambda: F.conv2d(image, weight, padding=1))
    step("convolution backward", lambda: out.sum().backward())
    step("convolution in bf16", lambda: F.conv2d(image.bfloat16(), weight.bfloat16(), padding=1))
    step("batch norm", lambda: torch.nn.BatchNorm2d(64).cuda()(image))
    step("max pool", lambda: F.max_pool2d(image, 2))
    net = torch.nn.Linear(1024, 1024).cuda()
    step("backward of linear", lambda: net(x).sum().backward())
    step("SGD", lambda: torch.optim.SGD(net.parameters(), 0.1).step())
    step("AdamW", lambda: torch.optim.AdamW(net.parameters()).step())
    step("AdamW fused", lambda: torch.optim.AdamW(net.parameters(), fused=True).step())
    step("clip_grad_norm_", lambda: torch.nn.utils.clip_grad_norm_(net.parameters(), 1))
    step("cross entropy", lambda: F.cross_entropy(x, torch.zeros(1024, dtype=torch.long, device="cuda")))
    step("LSTM", lambda: torch.nn.LSTM(64, 64).cuda()(torch.ones(4, 4, 64, device="cuda")))
    step("FFT", lambda: torch.fft.fft(x))
    small = x[:64, :64] + torch.eye(64, device="cuda")
    for name in ("inv", "cholesky", "qr", "eigh", "svd"):
        step(name, lambda: getattr(torch.linalg, name)(small))
    step("sparse product", lambda: small.to_sparse_csr() @ small)
    step("a stream of PyTorch's pool", lambda: torch.cuda.Stream())
    step("an event", lambda: torch.cuda.Event().record())
    for count in (1, 100, 1000, 10000):
        graph = torch.cuda.CUDAGraph()

        def capture(graph=graph, count=count):
            with torch.cuda.graph(graph):
                for _ in range(count):
                    torch.neg_(x)

        step(f"graph of {count} kernels", capture)
        step(f"graph of {count} kernels, launched", graph.replay)
        step(f"graph of {count} kernels, deleted", graph.reset)
    step("pinned memory", lambda: torch.empty(64 * MiB, dtype=torch.uint8, pin_memory=True))


@part
def solvers():
    """Workspaces of cuSOLVER's dense functions, as the library answers without data."""
    import torch

    torch.cuda.init()
    torch.ones(1, device="cuda")
    library = ctypes.CDLL("libcusolver.so.12") if (torch.version.cuda or "").startswith("13") else ctypes.CDLL("libcusolver.so.11")
    handle, pointer, size = ctypes.c_void_p(), ctypes.c_void_p(256), ctypes.c_int()
    assert library.cusolverDnCreate(ctypes.byref(handle)) == 0
    sizes = (1, 2, 7, 16, 32, 33, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 4096)
    for letter in "SDCZ":
        for m, n in [(n, n) for n in sizes] + [(1000, 100), (100, 1000), (4096, 64)]:
            for name, arguments in (("potrf", (0, n, pointer, n)), ("getrf", (m, n, pointer, m)), ("geqrf", (m, n, pointer, m)),
                                    ("gesvd", (m, n)), ("potri", (0, n, pointer, n))):
                function = getattr(library, f"cusolverDn{letter}{name}_bufferSize")
                code = function(handle, *arguments, ctypes.byref(size))
                tell(function=letter + name, m=m, n=n, code=code, size=size.value)
            name = f"cusolverDn{letter}{'orgqr' if letter in 'SD' else 'ungqr'}_bufferSize"
            k = min(m, n)
            code = getattr(library, name)(handle, m, k, k, pointer, m, pointer, ctypes.byref(size))
            tell(function=letter + "orgqr", m=m, n=k, code=code, size=size.value)
            if m == n:
                name = f"cusolverDn{letter}{'syevd' if letter in 'SD' else 'heevd'}_bufferSize"
                for mode in (0, 1):
                    code = getattr(library, name)(handle, mode, 0, n, pointer, n, pointer, ctypes.byref(size))
                    tell(function=letter + "syevd", n=n, m=mode, code=code, size=size.value)


def requests(run):
    import torch

    torch.cuda.memory._record_memory_history(context=None, clear_history=True)
    kept = run()
    torch.cuda.synchronize()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return kept, [(event["action"][0], event["size"]) for event in events if event["action"] in ("alloc", "free_requested")]


@part
def linear_algebra():
    import torch

    for n, batch in itertools.product((2, 16, 32, 33, 64, 100, 128, 256, 512, 1000), (None, 3)):
        shape = (n, n) if batch is None else (batch, n, n)
        for dtype in (torch.float32, torch.float64, torch.complex64):
            a = torch.eye(n).expand(shape).to("cuda", dtype).contiguous() + 0.01
            for name in ("inv", "cholesky", "det", "eigh", "svd", "qr", "lu_factor", "slogdet", "pinv"):
                try:
                    _, told = requests(lambda: getattr(torch.linalg, name)(a))
                except RuntimeError as error:
                    told = str(error)[:100]
                tell(name=name, n=n, batch=batch, dtype=str(dtype)[6:], requests=told)
            b = torch.ones(*shape[:-1], 3).to("cuda", dtype)
            _, told = requests(lambda: torch.linalg.solve(a, b))
            tell(name="solve", n=n, batch=batch, dtype=str(dtype)[6:], requests=told)


@part
def recurrent():
    import torch
    from torch import nn

    for kind, both, layers in itertools.product((nn.LSTM, nn.GRU, nn.RNN), (False, True), (1, 2, 3)):
        for inside, hidden, batch, length in ((64, 64, 4, 16), (256, 512, 32, 200), (256, 512, 1, 200), (100, 300, 7, 33), (512, 512, 64, 50)):
            for dtype in (torch.float32, torch.float16, torch.bfloat16):
                for dropout in (0.0, 0.1):
                    if dropout and layers == 1:
                        continue
                    net = kind(inside, hidden, num_layers=layers, bidirectional=both, dropout=dropout).to("cuda", dtype)
                    x = torch.randn(length, batch, inside).to("cuda", dtype)
                    _, first = requests(lambda: net(x)[0].sum().backward())
                    net.eval()
                    with torch.no_grad():
                        _, second = requests(lambda: net(x))
                    tell(kind=kind.__name__, both=both, layers=layers, inside=inside, hidden=hidden, batch=batch, length=length,
                         dtype=str(dtype)[6:], dropout=dropout, training=first, inference=second)


@part
def attention():
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shapes = ((4, 16, 16, 1024, 1024, 64), (4, 16, 16, 1000, 1000, 64), (4, 16, 16, 1024, 1024, 128), (4, 16, 4, 1024, 1024, 128),
              (1, 16, 16, 128, 128, 64), (4, 16, 16, 1, 2000, 128), (4, 16, 16, 77, 300, 64), (2, 8, 8, 4096, 4096, 128), (3, 5, 5, 99, 99, 32),
              (1, 32, 8, 8192, 8192, 128), (4, 16, 16, 1024, 1024, 96), (4, 16, 16, 1024, 1024, 256), (4, 16, 16, 33, 1024, 80))
    for shape, causal, dtype, masked in itertools.product(shapes, (False, True), (torch.bfloat16, torch.float16), (False, True)):
        batch, heads, key_heads, queries, keys, width = shape
        if masked and causal:
            continue
        q = torch.randn(batch, heads, queries, width).to("cuda", dtype).requires_grad_()
        k, v = (torch.randn(batch, key_heads, keys, width).to("cuda", dtype).requires_grad_() for _ in range(2))
        mask = torch.zeros(queries, keys, device="cuda", dtype=dtype) if masked else None
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, None):
            try:
                with sdpa_kernel(backend or [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
                                             SDPBackend.CUDNN_ATTENTION]):
                    out, forward = requests(lambda: F.scaled_dot_product_attention(
                        q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=heads != key_heads))
                    gradient = torch.ones_like(out)
                    _, backward = requests(lambda: torch.autograd.grad(out, (q, k, v), gradient))
            except RuntimeError as error:
                forward, backward = str(error)[:80], None
            tell(shape=shape, causal=causal, dtype=str(dtype)[6:], masked=masked, backend=backend.name if backend else "default",
                 forward=forward, backward=backward)


@part
def collectives():
    for settings in ({}, {"NCCL_CUMEM_ENABLE": "0"}, {"NCCL_NVLS_ENABLE": "0"}, {"CUDA_MODULE_LOADING": "EAGER"}, {"NCCL_MAX_NCHANNELS": "4"}):
        done = subprocess.run([sys.executable, __file__, "--collective"], capture_output=True, text=True,
                              env={**os.environ, **settings}, check=False)
        tell(settings=settings, steps=done.stdout.strip().splitlines()[-1:], error=done.stderr[-200:] if done.returncode else "")


def collective():
    import torch
    import torch.distributed as dist

    def outside():
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    x = torch.ones(MiB, device="cuda")
    x += 1
    torch.cuda.Stream()
    steps = [outside()]
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda", 0))
    steps.append(outside())
    for run in (lambda: dist.all_reduce(x), lambda: dist.all_gather_into_tensor(torch.empty_like(x), x), lambda: dist.barrier()):
        run()
        torch.cuda.synchronize()
        steps.append(outside())
    dist.new_group([0], backend="nccl")
    steps.append(outside())
    print(json.dumps(steps))

FEATURES = r"""
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#ifdef GLOBAL
__device__ float global[GLOBAL / 4];
#endif
template <int N> __global__ void work(float *x, int n) {
#ifdef GLOBAL
  x[0] += global[n];
#endif
#ifdef STACK
  volatile float a[STACK / 4]; for (int i = 0; i < STACK / 4; i++) a[i] = x[i % 7]; x[1] = a[n];
#endif
#ifdef PRINT
  if (n == 12345) printf("%d", n);
#endif
#ifdef MALLOC
  if (n == 12345) x[2] = *(float *)malloc(n);
#endif
  x[threadIdx.x] *= N + x[n];
}
template <int N> struct every { static void get(void **f) { f[N] = (void *)work<N>; every<N - 1>::get(f); } };
template <> struct every<-1> { static void get(void **) {} };
static size_t used() { size_t f, t; cudaMemGetInfo(&f, &t); return t - f; }
int main() {
  static void *kernels[KERNELS]; every<KERNELS - 1>::get(kernels);
  cudaFree(0); size_t before = used();
  float *x; cudaMalloc(&x, 2 << 20); int n = 0; void *arguments[] = {&x, &n};
  size_t after = used();
  cudaLaunchKernel(kernels[0], dim3(1), dim3(32), arguments, 0, 0); cudaDeviceSynchronize();
  size_t first = used();
  for (int k = 1; k < KERNELS; k++) cudaLaunchKernel(kernels[k], dim3(1), dim3(32), arguments, 0, 0);
  cudaDeviceSynchronize();
  std::printf("[%zu, %zu, %zu, %zu, %d]\n", before, after - before, first - after, used() - first, (int)cudaGetLastError());
}
"""


@part
def features():
    """What the first kernel of a program costs, by what kernels use and how many there are."""
    cases = {"plain": [], "300 kernels": ["-DKERNELS=300"], "800 kernels": ["-DKERNELS=800"], "global of 32 MiB": ["-DGLOBAL=33554432"],
             "printf": ["-DPRINT"], "malloc": ["-DMALLOC"],
             **{f"stack of {size}": [f"-DSTACK={size}"] for size in (512, 1024, 1280, 1536, 2048, 4096, 16384)}}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.cu").write_text(FEATURES)
        builds = {name: subprocess.Popen(["nvcc", "-arch=sm_90", "-ftemplate-depth=2000", *([] if any("KERNELS" in o for o in options) else ["-DKERNELS=1"]),
                                          *options, "-o", f"{folder}/{n}", f"{folder}/a.cu"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                  for n, (name, options) in enumerate(cases.items())}
        for n, (name, build) in enumerate(builds.items()):
            if build.wait() != 0:
                tell(case=name, error=build.stderr.read().decode()[-300:])
                continue
            done = subprocess.run([f"{folder}/{n}"], capture_output=True, text=True, check=False)
            tell(case=name, context_allocation_first_others_error=done.stdout.strip(), error=done.stderr)


@part
def handles():
    """What the handles of libraries cost, each library in a process of its own."""
    for library in ("cublas", "cublasLt", "cudnn", "cusolver", "cufft", "cusparse", "curand"):
        done = subprocess.run([sys.executable, __file__, "--handle", library], capture_output=True, text=True, check=False)
        tell(library=library, steps=done.stdout.strip().splitlines()[-1:], error=done.stderr[-200:] if done.returncode else "")


def handle(name):
    import torch

    torch.cuda.init()
    x = torch.ones(MiB, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()

    def outside():
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    major = 13 if (torch.version.cuda or "").startswith("13") else 12
    names = {"cublas": (f"libcublas.so.{major}", "cublasCreate_v2"), "cublasLt": (f"libcublasLt.so.{major}", "cublasLtCreate"),
             "cudnn": ("libcudnn.so.9", "cudnnCreate"), "cusolver": ("libcusolver.so.12" if major == 13 else "libcusolver.so.11", "cusolverDnCreate"),
             "cufft": ("libcufft.so.12" if major == 13 else "libcufft.so.11", "cufftCreate"), "cusparse": ("libcusparse.so.12", "cusparseCreate"),
             "curand": ("libcurand.so.10", "curandCreateGenerator")}
    library, function = ctypes.CDLL(names[name][0]), names[name][1]
    steps = [outside()]
    for _ in range(3):
        arguments = [ctypes.byref(ctypes.c_void_p())] + ([100] if name == "curand" else [])
        code = getattr(library, function)(*arguments)
        torch.cuda.synchronize()
        steps.append(outside() if code == 0 else f"error {code}")
    if name == "cublas":
        handle = arguments[0]._obj
        one = ctypes.c_float(1)
        for n in (64, 1024, 4096):
            a = torch.ones(n * n, device="cuda")
            torch.cuda.synchronize()
            before = outside()
            library.cublasSgemm_v2(handle, 0, 0, n, n, n, ctypes.byref(one), ctypes.c_void_p(a.data_ptr()), n, ctypes.c_void_p(a.data_ptr()), n,
                                   ctypes.byref(one), ctypes.c_void_p(a.data_ptr()), n)
            torch.cuda.synchronize()
            steps.append(f"product of {n}: {outside() - before}")
        library.cublasDestroy_v2(handle)
        steps.append(f"destroyed: {outside()}")
    print(json.dumps(steps))


@part
def transforms():
    """Work areas of cuFFT's plans, as the library answers without data."""
    import torch

    torch.ones(1, device="cuda").add_(1)
    major = 12 if (torch.version.cuda or "").startswith("13") else 11
    library = ctypes.CDLL(f"libcufft.so.{major}")
    lengths = (2, 8, 30, 64, 100, 127, 128, 131, 256, 500, 512, 1000, 1009, 1024, 2000, 2048, 3000, 4096, 4099, 5000, 8192, 10007, 16384, 32768,
               50000, 65536, 100000, 1 << 17, 1 << 18, 1 << 20, 1000003, 1 << 22)
    shapes = [(n,) for n in lengths] + [(n, n) for n in (2, 16, 64, 100, 127, 131, 256, 500, 1000, 1024, 2048, 4096)] + [
        (n, n, n) for n in (4, 16, 32, 50, 64, 100, 128, 256)] + [(16, 1000), (1000, 16), (1024, 4096)]
    for shape, batch, kind in itertools.product(shapes, (1, 3, 16, 100), (0x29, 0x2A, 0x2C, 0x69, 0x6A)):  # C2C R2C C2R Z2Z D2Z
        if batch * torch.Size(shape).numel() > 1 << 26:
            continue
        plan, size = ctypes.c_int(), ctypes.c_size_t()
        library.cufftCreate(ctypes.byref(plan))
        library.cufftSetAutoAllocation(plan, 0)
        code = library.cufftMakePlanMany(plan, len(shape), (ctypes.c_int * len(shape))(*shape), None, 1, 0, None, 1, 0, kind, batch,
                                         ctypes.byref(size))
        tell(shape=shape, batch=batch, kind=kind, code=code, size=size.value)
        library.cufftDestroy(plan)


@part
def more_solvers():
    """Sizes of cuSOLVER between those of `solvers`."""
    import torch

    torch.ones(1, device="cuda")
    library = ctypes.CDLL("libcusolver.so.12") if (torch.version.cuda or "").startswith("13") else ctypes.CDLL("libcusolver.so.11")
    handle, pointer, size = ctypes.c_void_p(), ctypes.c_void_p(256), ctypes.c_int()
    assert library.cusolverDnCreate(ctypes.byref(handle)) == 0
    for letter in "SDCZ":
        real = letter in "SD"
        for m, n in [(m, m) for m in (*range(65, 130, 7), *range(513, 1000, 61), 1025, 1100, 1536, 2049, 3000, 4095, 6000, 8192)] + [
                (1000, n) for n in (10, 50, 200, 300, 500, 700, 900)] + [(m, 64) for m in (65, 100, 200, 500, 1000, 2000, 8192)]:
            for name, arguments in (("getrf", (m, n, pointer, m)), ("geqrf", (m, n, pointer, m)), ("gesvd", (m, n)), ("gebrd", (m, n)),
                                    ("potrf", (0, n, pointer, n)), ("sytrf", (n, pointer, n))):
                code = getattr(library, f"cusolverDn{letter}{name}_bufferSize")(handle, *arguments, ctypes.byref(size))
                tell(function=letter + name, m=m, n=n, code=code, size=size.value)
            k = min(m, n)
            code = getattr(library, f"cusolverDn{letter}{'orgqr' if real else 'ungqr'}_bufferSize")(
                handle, m, k, k, pointer, m, pointer, ctypes.byref(size))
            tell(function=letter + "orgqr", m=m, n=k, code=code, size=size.value)
            code = getattr(library, f"cusolverDn{letter}{'ormqr' if real else 'unmqr'}_bufferSize")(
                handle, 0, 1, m, n, k, pointer, m, pointer, pointer, m, ctypes.byref(size))
            tell(function=letter + "ormqr", m=m, n=n, code=code, size=size.value)
            if m == n:
                for mode in (0, 1):
                    code = getattr(library, f"cusolverDn{letter}{'syevd' if real else 'heevd'}_bufferSize")(
                        handle, mode, 0, n, pointer, n, pointer, ctypes.byref(size))
                    tell(function=letter + "syevd", m=mode, n=n, code=code, size=size.value)


def main():
    if sys.argv[1] == "--list":
        print("\n".join(PARTS))
    elif sys.argv[1] == "--load":
        load(*sys.argv[2:])
    elif sys.argv[1] == "--handle":
        handle(sys.argv[2])
    elif sys.argv[1] == "--collective":
        collective()
    else:
        PARTS[sys.argv[1]]()


if __name__ == "__main__":
    sys.exit(main())
