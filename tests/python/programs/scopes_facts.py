"""Scopes by known sizes, on two simulated GPUs: the figures of each, and the notes when other code
resets peaks."""

import ctypes
import json
import platform
import struct

import torch

import vramscope
from vramscope import _native
from vramscope.scopes import Scope, device_number, scope_source

MB = 2**20
facts = {}


def block(megabytes, device="cuda"):
    return torch.empty(megabytes * MB, dtype=torch.uint8, device=device)


# Before CUDA has begun all is 0, and a scope does not begin it.
early = Scope().begin()
facts["lazy"] = not torch.cuda.is_initialized() and early.allocated == (0, 0, 0, 0)
first = block(30)
second = block(50)
del second
early.end()
facts["early"] = [early.allocated.used // MB, early.allocated.peak // MB, early.allocated.peaked // MB, early.is_exact]

with Scope() as outer:
    with Scope() as left:
        a = block(100)
        del a
    with Scope() as right:
        b = block(40)
    facts["open"] = [outer.is_open, outer.allocated.peak // MB]
    del b
facts["nested"] = [scope.allocated.peak // MB for scope in (outer, left, right)]
facts["used"] = [scope.allocated.used // MB for scope in (outer, left, right)]
facts["user"] = torch.cuda.max_memory_allocated() // MB
facts["source"] = scope_source()

# Overlapping, ended in the order of beginning; a scope may begin again; an exception passes.
one, two = Scope().begin(), Scope()
a = block(10)
two.begin()
b = block(20)
one.end()
c = block(30)
two.end()
del a, b, c
facts["overlapping"] = [scope.allocated.peak // MB - 30 for scope in (one, two)]
facts["overlapping"].append(two.begin().end().allocated.peak // MB - 30)
try:
    with Scope() as failed:
        a = block(64)
        del a
        raise KeyError("x")
except KeyError:
    facts["failed"] = [failed.is_open, failed.allocated.peaked // MB]

# Each device has its own.
with Scope() as here, Scope("cuda:1") as there, Scope(torch.device("cuda", 1)) as same:
    a = block(5, "cuda:1")
    with torch.cuda.device(1):
        with Scope() as current:
            b = block(7)
del a, b
facts["devices"] = [scope.allocated.peak // MB for scope in (here, there, same, current)]
facts["numbers"] = [*map(device_number, (None, 1, "cuda", "cuda:1")), here.device, current.device]
try:
    Scope("cpu")
except ValueError as error:
    facts["cpu"] = str(error)

# The user's reset takes nothing from a scope; a scope takes nothing from the user.
torch.cuda.reset_peak_memory_stats()
with Scope() as scope:
    a = block(11)
    del a
    torch.cuda.reset_peak_memory_stats()
    a = block(3)
facts["reset"] = [scope.allocated.peak // MB - 30, torch.cuda.max_memory_allocated() // MB - 30]
del a

# A reset that does not come through torch._C: the scope does not claim to know.
beneath = torch._C._cuda_resetPeakMemoryStats.__wrapped__
with Scope() as scope:
    a = block(200)
    del a
    scope.figures()
    a = block(250)
    del a
    beneath(0)
figures = scope.allocated
facts["behind"] = [scope.is_exact, figures.peak // MB - 30, figures.most // MB - 30, scope.note]

# A place in memory that differs from PyTorch's dict once is not used again.
told, lie = torch._C._cuda_memoryStats.__wrapped__, [0]


def liar(device):
    stats = told(device)
    stats["inactive_split_bytes"]["small_pool"]["freed"] += lie[0]
    return stats


other = _native.TorchStatistics(liar, beneath, beneath)
for size in (1, 2, 3):
    scope = other.begin(0, True)
    a = block(size)
    scope.end(True)
trusted = other.state(0)[0]
lie[0] = 8
for _ in range(1100):
    scope.read(True)
    other.begin(0, True).end(True)
distrusted = other.state(0)[0]
lie[0] = 0
for _ in range(1100):
    other.begin(0, True).end(True)
facts["trust"] = [trusted, distrusted, other.state(0)[0]]
facts["repr"] = repr(left)


def forbid_reading():
    """From here on the kernel refuses process_vm_readv, as the filters of some containers do."""
    number = {"x86_64": 310, "aarch64": 270}[platform.machine()]
    rows = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


forbid_reading()
for _ in range(3):
    with Scope() as outer:
        a = block(90)
        del a
        with Scope() as inner:
            a = block(10)
            del a
facts["forbidden"] = [scope_source(), outer.allocated.peaked // MB, inner.allocated.peaked // MB, inner.is_exact]
facts["lazy_name"] = vramscope.Scope is Scope
facts["leak"] = sum(not block.is_open for block in (one, two, early))
print(json.dumps(facts))
