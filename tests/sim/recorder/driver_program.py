"""Takes memory from the driver by several libraries in all ways that driver.c has, at random, and keeps an account of its own; beside them the
allocator of c10_cuda.c takes segments. Prints, as JSON, the account at each event of that allocator: [{library: bytes}, ...].

    driver_program.py FOLDER SEED STEPS [reset NAME] [other] [odd] [storm] [fork]
    driver_program.py FOLDER SEED STEPS alone [reset NAME] [other] [fork]

alone: without that allocator, as a program without PyTorch. Then it prints, of the account over time, {"peak": bytes, "at_peak": {library: bytes},
"peaks": {library: bytes}, "end": {library: bytes}}.
"""

import ctypes
import json
import os
import random
import sys
from pathlib import Path

NAMES = {"libnccl.so.2": "NCCL", "libextension.so": "libextension.so", "libold.so": "libold.so", "libper_thread.so": "libper_thread.so"}
FUNCTIONS = "alloc pitch async create reserve retain".split()
KiB = 1024
MiB = 1024 * KiB
folder, seed, steps = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)


def load(name):
    library = ctypes.CDLL(str(folder / name))  # what it needs is seen by it alone (RTLD_LOCAL)
    for function in FUNCTIONS:
        getattr(library, f"test_{function}").restype = ctypes.c_ulonglong
    library.test_pitch.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    library.test_context.restype = ctypes.c_void_p
    library.test_context_end.argtypes = [ctypes.c_void_p]
    library.test_map.argtypes = [ctypes.c_ulonglong, ctypes.c_size_t, ctypes.c_ulonglong]
    library.test_unmap.argtypes = [ctypes.c_ulonglong, ctypes.c_size_t]
    for function in "give give_async release retain".split():
        getattr(library, f"test_{function}").argtypes = [ctypes.c_ulonglong]
    for function in "alloc async create reserve context".split():
        getattr(library, f"test_{function}").argtypes = [ctypes.c_size_t]
    assert library.test_begin() == 0
    return library


libraries = {name: load(name) for name in NAMES}
is_alone = "alone" in sys.argv[4:]
if not is_alone:
    pytorch = ctypes.CDLL(str(folder / "libc10_cuda.so"))
    pytorch.test_allocate.restype = ctypes.c_void_p
    pytorch.test_allocate.argtypes, pytorch.test_free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
account = dict.fromkeys(NAMES.values(), 0)
mapped = dict.fromkeys(NAMES.values(), 0)  # what of that does not belong to the primary context
live = []  # functions that give something back
told = []
course = {"peak": 0, "at_peak": {}, "peaks": dict.fromkeys(NAMES.values(), 0)}


def with_memory(by_name):
    return {name: count for name, count in by_name.items() if count != 0}


def add(name, count, outside=False):
    account[NAMES[name]] += count
    course["peaks"][NAMES[name]] = max(course["peaks"][NAMES[name]], account[NAMES[name]])
    if sum(account.values()) > course["peak"]:
        course.update(peak=sum(account.values()), at_peak=with_memory(account))
    if outside:
        mapped[NAMES[name]] += count


def by_address(name, library):
    size = rng.choice([1, 512, 100 * KiB, 3 * MiB + 5])
    address = library.test_alloc(size)
    add(name, size)

    def give():
        other = rng.choice(list(libraries.values()))  # whoever gives it back
        assert other.test_give(address) == 0
        add(name, -size)

    live.append(give)


def in_order(name, library):
    size = rng.choice([4096, MiB])
    address = library.test_async(size)
    add(name, size)
    live.append(lambda: (library.test_give_async(address), add(name, -size)))


def physical(name, library):
    """Two ranges of one reservation. Their memory is there while it has a handle or is mapped: handles go away before or after the
    mappings, and that of the first one may be taken once more."""
    size = rng.choice([2, 4]) * MiB
    handles = [library.test_create(size) for _ in range(2)]
    add(name, 2 * size, True)
    address = library.test_reserve(2 * size)
    for i, handle in enumerate(handles):
        assert library.test_map(address + i * size, size, handle) == 0
    again = library.test_retain(address) if rng.random() < 0.5 else None
    is_early = rng.random() < 0.5

    def release():
        assert [library.test_release(handle) for handle in handles] == [0, 0]

    def give():
        if not is_early:
            release()
            snapshot()  # the mappings keep it
        assert library.test_unmap(address, 2 * size) == 0
        add(name, -size if again else -2 * size, True)
        if again:
            snapshot()
            assert library.test_release(again) == 0
            add(name, -size, True)

    def give_late():
        assert library.test_unmap(address, 2 * size) == 0
        snapshot()
        release()
        add(name, -size if again else -2 * size, True)
        if again:
            snapshot()
            assert library.test_release(again) == 0
            add(name, -size, True)

    if is_early:
        release()
    live.append(rng.choice([give, give_late]) if not is_early else give)


def rows(name, library):
    height = rng.choice([1, 7])
    pitch = library.test_pitch(1000, height)
    assert pitch >= 1000
    add(name, pitch * height)


def a_context(name, library):
    context = library.test_context(5 * MiB)
    assert context and library.test_begin() == 0
    add(name, 5 * MiB, True)
    live.append(lambda: (library.test_context_end(context), library.test_begin(), add(name, -5 * MiB, True)))


held = []


def snapshot():
    """An event of the allocator, at which the account is this one."""
    if is_alone:
        return
    held.append(pytorch.test_allocate(MiB))
    told.append(with_memory(account))


def fork():
    """A child that gives back what its parent took, which CUDA does not allow, and ends."""
    child = os.fork()
    if child == 0:
        for library in libraries.values():
            library.test_give(live_address)
        ctypes.CDLL(None).exit(0)  # as a C program ends: with the destructors of its libraries
    assert os.waitpid(child, 0)[1] == 0


ways = [by_address, in_order, physical, rows, a_context]
snapshot()
for _ in range(steps):
    if live and rng.random() < 0.45:
        live.pop(rng.randrange(len(live)))()
    else:
        name = rng.choice(list(libraries))
        rng.choice(ways)(name, libraries[name])
    snapshot()
if "fork" in sys.argv[4:]:
    live_address = libraries["libold.so"].test_alloc(MiB)
    add("libold.so", MiB)
    fork()
if "reset" in sys.argv[4:]:
    assert libraries[sys.argv[sys.argv.index("reset") + 1]].test_reset() == 0
    account = mapped
    snapshot()
if "other" in sys.argv[4:]:
    _ = ctypes.CDLL(str(folder / "libother.so")).cuMemAlloc_v2  # which the program finds, and perhaps calls
    libraries["libnccl.so.2"].test_alloc(100)
    snapshot()
if "odd" in sys.argv[4:]:
    assert pytorch.test_allocate(1000)  # which is rounded
if "storm" in sys.argv[4:]:
    for _ in range(100_000):
        pytorch.test_free(pytorch.test_allocate(512))
course.update(peaks=with_memory(course["peaks"]), end=with_memory(account))
print(json.dumps(course if is_alone else told))
