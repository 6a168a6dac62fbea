"""Every kind of tensor: what MemTracker counts for it, and how many bytes PyTorch's allocator
allocated for it."""

import gc
import json
import warnings

import torch

from vramscope.gpu_mem_track import MemTracker

warnings.simplefilter("ignore")
GPU = "cuda"
tracker = MemTracker(path="kinds-")
rows = {}


def asked_for():
    return torch.cuda.memory_stats().get("requested_bytes.all.current", 0)


def case(name, make):
    before, counted = asked_for(), tracker.get_tensor_usage()
    kept = make()
    rows[name] = [(tracker.get_tensor_usage() - counted) * 2**20, asked_for() - before]
    del kept


class Pair(torch.Tensor):
    """A wrapper: two tensors that pretend to be one, as quantised and distributed ones do."""

    @staticmethod
    def __new__(cls, data, scale):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=torch.float32, device=data.device)

    def __init__(self, data, scale):
        self.data_part, self.scale_part = data, scale

    def __tensor_flatten__(self):
        return ["data_part", "scale_part"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Pair(inner["data_part"], inner["scale_part"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return Pair(function(args[0].data_part), function(args[0].scale_part))
        args = tuple(each.data_part if isinstance(each, Pair) else each for each in args)
        return function(*args, **(kwargs or {}))


class Named(torch.Tensor):
    """A subclass with memory of its own."""


class Liar(torch.Tensor):
    """Answers wrongly whatever it is asked."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("not for you")

    is_cuda = property(lambda self: 1 / 0)
    shape = property(lambda self: "no shape")
    untyped_storage = None


class Proxy:
    """No tensor, whatever its __class__ says."""

    __class__ = property(lambda self: torch.Tensor)

    def __getattr__(self, name):
        raise RuntimeError(f"touched: {name}")


def compressed(make, block=()):
    ends, places = torch.tensor([0, 1, 2]).to(GPU), torch.tensor([0, 1]).to(GPU)
    extent = 2 * (block[0] if block else 1)
    return make(ends, places, torch.zeros(2, *block, device=GPU), (extent, extent), check_invariants=False)


def with_gradient(seen):
    weight = torch.zeros(1000, device=GPU, requires_grad=True)
    (weight * 2).sum().backward()
    return (weight, weight.grad) if seen else weight


def retained():
    leaf = torch.zeros(100, device=GPU, requires_grad=True)
    inner = leaf * 2
    inner.retain_grad()
    (inner * 2).sum().backward()
    return leaf, inner


def emptied():
    tensor = torch.zeros(5000, device=GPU)
    tensor.untyped_storage().resize_(0)
    return tensor


def in_vmap():
    kept = []
    whole = torch.zeros(3, 400, device=GPU)
    torch.func.vmap(lambda row: kept.append(tracker.get_tensor_usage()) or row.clone())(whole)
    return whole


def with_view():
    whole = torch.zeros(100, 100, device=GPU)
    return whole, whole[3], whole.t(), whole.detach(), whole.view(torch.int32)


for dtype in sorted({value for value in vars(torch).values() if isinstance(value, torch.dtype)}, key=str):
    case(str(dtype), lambda: torch.empty(1024, dtype=dtype, device=GPU))
case("no elements", lambda: torch.empty(0, 4, device=GPU))
case("a number", lambda: torch.zeros((), device=GPU))
case("views", with_view)
case("view of a base that is gone", lambda: torch.zeros(100, 100, device=GPU)[7, :3])
case("empty view of a base that is gone", lambda: torch.zeros(100, 100, device=GPU)[:0])
case("expanded", lambda: torch.zeros(1, device=GPU).expand(1000))
case("strided with holes", lambda: torch.empty_strided((10, 10), (100, 1), device=GPU))
case("channels last", lambda: torch.zeros(2, 3, 8, 8, device=GPU).to(memory_format=torch.channels_last))
case("another storage over the same memory", lambda: [
    x := torch.zeros(999, device=GPU), torch.from_dlpack(x), torch.from_dlpack(x[500:])])
case("lazy copy", lambda: [x := torch.zeros(999, device=GPU), torch._lazy_clone(x), torch._lazy_clone(x)])
case("parameter and its data", lambda: [x := torch.nn.Parameter(torch.zeros(64, device=GPU)), x.data])
case("emptied storage", emptied)
case("COO", lambda: torch.sparse_coo_tensor(
    torch.zeros(2, 5, dtype=torch.int64, device=GPU), torch.zeros(5, device=GPU), (9, 9)))
case("CSR", lambda: compressed(torch.sparse_csr_tensor))
case("CSC", lambda: compressed(torch.sparse_csc_tensor))
case("BSR", lambda: compressed(torch.sparse_bsr_tensor, (3, 3)))
case("BSC", lambda: compressed(torch.sparse_bsc_tensor, (3, 3)))
case("nested", lambda: torch.nested.nested_tensor([torch.zeros(3, 4), torch.zeros(5, 4)], device=GPU))
case("nested, jagged", lambda: torch.nested.nested_tensor(
    [torch.zeros(3, 4, device=GPU), torch.zeros(5, 4, device=GPU)], layout=torch.jagged))
case("quantised", lambda: torch.quantize_per_tensor(torch.zeros(800, device=GPU), 1.0, 0, torch.qint8))
case("wrapper", lambda: Pair(torch.zeros(100, dtype=torch.int8, device=GPU), torch.zeros(10, device=GPU)))
case("wrapper as parameter", lambda: torch.nn.Parameter(
    Pair(torch.zeros(100, device=GPU), torch.zeros(10, device=GPU))))
case("wrapper in a wrapper", lambda: Pair(
    Pair(torch.zeros(100, device=GPU), torch.zeros(9, device=GPU)), torch.zeros(8, device=GPU)))
case("subclass", lambda: torch.zeros(77, device=GPU).as_subclass(Named))
case("misbehaving subclass", lambda: torch.zeros(77, device=GPU).as_subclass(Liar))
case("misbehaving object", lambda: [Proxy(), torch.zeros(5, device=GPU)])
case("gradient that nobody saw", lambda: with_gradient(False))
case("gradient that was seen", lambda: with_gradient(True))
case("retained gradient", retained)
case("function transform", in_vmap)
case("no memory: zeros for autograd", lambda: torch._efficientzerotensor((1000,), device=GPU))
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

with FakeTensorMode():
    case("no memory: fake", lambda: torch.zeros(1000, device=GPU))
case("no memory: meta and CPU", lambda: [torch.zeros(1000, device="meta"), torch.zeros(1000)])
case("cycle that waits for the collector", lambda: [x := torch.zeros(500, device=GPU), setattr(x, "me", x)])
gc.collect()
gc.disable()
case("without the collector", lambda: [torch.zeros(500, device=GPU) for _ in range(50)])
gc.enable()

lines = {}
kept = torch.nested.nested_tensor([torch.zeros(3, 4), torch.zeros(5, 4)], device=GPU)
lines["nested"] = [str(row.size) for row in tracker.tensors() if row.name == "kept"]
kept = torch.nested.nested_tensor([torch.zeros(3, 4, device=GPU), torch.zeros(5, 4, device=GPU)], layout=torch.jagged)
lines["jagged"] = [str(row.size) for row in tracker.tensors() if row.name == "kept"]
whole = torch.zeros(100, 100, device=GPU)
piece, kept = whole[3], None
lines["shared"] = sorted([row.name, row.bytes] for row in tracker.tensors())
del whole
lines["left"] = sorted([row.name, row.bytes] for row in tracker.tensors())
piece = torch.empty(0, device=GPU)  # older than what it will be a piece of
whole = torch.zeros(1000, device=GPU)
piece.set_(whole.untyped_storage(), 0, (3,), (1,))
lines["older"] = sorted([row.name, row.bytes] for row in tracker.tensors())
weight = torch.nn.Parameter(whole)
lines["parameter"] = sorted([row.name, row.bytes] for row in tracker.tensors())
del piece, whole, weight
pair = Pair(torch.zeros(100, dtype=torch.int8, device=GPU), torch.zeros(10, device=GPU))
lines["wrapper"] = sorted([row.name, row.bytes, row.type.__name__] for row in tracker.tensors())
print(json.dumps({"rows": rows, "lines": lines}))
