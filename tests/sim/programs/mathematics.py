"""Every kind of mathematics that PyTorch hands to a library: what of it fails, as JSON on the last line."""

import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

warnings.simplefilter("ignore")
failed, done = {}, []


def step(name, function):
    try:
        function()
        torch.cuda.synchronize()
        done.append(name)
    except Exception as error:  # whatever it is, the test wants to see it
        failed[name] = f"{type(error).__name__}: {error}"[:300]


def g(*shape, **more):
    return torch.randn(*shape, device="cuda", **more)


def fp8(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.float8_e4m3fn)


def products():
    one = torch.ones((), device="cuda")
    step("matmul", lambda: g(64, 32) @ g(32, 16))
    step("bmm", lambda: torch.bmm(g(4, 64, 32).bfloat16(), g(4, 32, 16).bfloat16()))
    step("einsum", lambda: torch.einsum("bij,bjk->bik", g(2, 3, 4), g(2, 4, 5)))
    step("linear", lambda: F.linear(g(64, 32).half(), g(16, 32).half(), g(16).half()))
    step("complex", lambda: g(8, 8, dtype=torch.cfloat) @ g(8, 8, dtype=torch.cfloat))
    step("dot", lambda: torch.dot(g(8), g(8)))
    step("fp8", lambda: torch._scaled_mm(fp8(64, 64), fp8(64, 64).t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16))
    offsets = torch.tensor([32, 64], device="cuda", dtype=torch.int32)
    step("grouped", lambda: torch._grouped_mm(g(64, 64).bfloat16(), g(2, 64, 64).bfloat16(), offs=offsets))


def attention():
    for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):

        def run(backend=backend):
            q, k, v = (g(2, 4, 128, 64, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()

        step(f"sdpa {backend.name}", run)


def networks():
    for benchmark in (False, True):
        torch.backends.cudnn.benchmark = benchmark
        for n, layer in enumerate((nn.Conv1d, nn.Conv2d, nn.Conv3d), 1):
            step(f"conv{n}d {benchmark}", lambda: layer(8, 16, 3, padding=1).cuda()(
                g(2, 8, *[16] * n, requires_grad=True)).sum().backward())
    step("batch norm", lambda: nn.BatchNorm2d(8).cuda()(g(2, 8, 9, 9)).sum().backward())
    for layer in (nn.LSTM, nn.GRU, nn.RNN):
        for both in (False, True):
            step(f"{layer.__name__} {both}", lambda: layer(10, 20, 2, bidirectional=both, dropout=0.1).cuda()(
                g(7, 3, 10, requires_grad=True))[0].sum().backward())
    step("LSTM projected", lambda: nn.LSTM(10, 20, 2, proj_size=5).cuda()(g(7, 3, 10))[0].sum().backward())
    lengths = torch.full((4,), 50, dtype=torch.int32), torch.full((4,), 10, dtype=torch.int32)
    targets = torch.randint(1, 20, (4, 10), dtype=torch.int32, device="cuda")
    step("ctc", lambda: F.ctc_loss(g(50, 4, 20, requires_grad=True).log_softmax(2), targets, *lengths).backward())
    step("multinomial", lambda: torch.multinomial(torch.ones(5, 10, device="cuda"), 3))


def linear_algebra():
    a = torch.eye(8, device="cuda") + 0.1
    for name in ("inv", "cholesky", "det", "eigh", "eigvals", "svd", "qr", "pinv", "lu_factor", "slogdet"):
        step(name, lambda: getattr(torch.linalg, name)(a))
        step(f"{name} batch", lambda: getattr(torch.linalg, name)(a.expand(3, 8, 8).contiguous()))
    step("solve", lambda: torch.linalg.solve(a, g(8, 2)))
    step("lstsq", lambda: torch.linalg.lstsq(g(9, 8), g(9, 2)))
    step("ormqr", lambda: torch.ormqr(g(8, 8), g(8), g(8, 3)))
    step("cdouble", lambda: torch.linalg.eigh(a.cdouble()))
    for name in ("fft", "ifft", "rfft", "irfft", "fft2", "fftn", "rfft2", "irfftn", "hfft"):
        step(name, lambda: getattr(torch.fft, name)(g(3, 4, 16)))


def sparse():
    three = torch.sparse_csr_tensor(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3), (3, 3)).cuda()
    coo = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.ones(3), (3, 3)).cuda()
    step("csr mm", lambda: three @ g(3, 4))
    step("csr mv", lambda: three @ g(3))
    step("csr csr", lambda: three @ three)
    step("csr add", lambda: torch.add(three, three))
    step("coo mm", lambda: torch.sparse.mm(coo, g(3, 4)))
    step("sampled", lambda: torch.sparse.sampled_addmm(three, g(3, 4), g(4, 3)))


def captured():
    graph, x = torch.cuda.CUDAGraph(), g(64, 64)
    x @ x
    with torch.cuda.graph(graph):
        x @ x
    graph.replay()


for part in (products, attention, networks, linear_algebra, sparse):
    part()
step("graph", captured)
print(json.dumps({"failed": failed, "done": len(done)}))
