"""Calls NVTX by all of its functions for ranges: nvtx_calls.py C10_CUDA NVTX TOLD [TOOL]. TOLD: what the ranges are called, as they begin and
end, as JSON. With LATE="MODULE:RECORDER:FILE" it is recorded from the inside, by python/vramscope/_recorder.py, with CALLED=1 after a first call
of NVTX.
"""

import ctypes
import importlib.util
import json
import os
import sys


class Event(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32), ("color_type", ctypes.c_int32),
                ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32), ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64),
                ("message_type", ctypes.c_int32), ("message", ctypes.c_void_p)]


allocator, nvtx = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
allocator.test_allocate.restype, allocator.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
handles = "nvtxDomainCreateA", "nvtxDomainCreateW", "nvtxDomainRegisterStringA", "nvtxDomainRegisterStringW"
for name in handles:
    getattr(nvtx, name).restype = ctypes.c_void_p
for name in ("nvtxRangeStartEx", "nvtxRangeStartA", "nvtxRangeStartW", "nvtxDomainRangeStartEx"):
    getattr(nvtx, name).restype = ctypes.c_uint64
kept, told = [], []
late = None
if "LATE" in os.environ:
    if "CALLED" in os.environ:
        assert nvtx.nvtxRangePushA(b"before") == -2
    module, path, recording = os.environ["LATE"].split(":")
    spec = importlib.util.spec_from_file_location("recorder", module)
    recorder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorder)
    late = recorder.load(path)
    recorder.begin(late, recording)


def pointer(text):
    kept.append(ctypes.create_string_buffer(text) if isinstance(text, bytes) else ctypes.create_unicode_buffer(text))
    return ctypes.cast(kept[-1], ctypes.c_void_p)


def event(kind, message, size=ctypes.sizeof(Event)):
    return ctypes.byref(Event(version=3, size=size, message_type=kind, message=message))


def push(name, call):
    told.append([name, "START"])
    assert call() == -2, name


def pop(name, call):
    told.append([name, "END"])
    assert call() == -2, name


domain, same = (ctypes.c_void_p(nvtx.nvtxDomainCreateA(b"NCCL")) for _ in range(2))
wide = ctypes.c_void_p(nvtx.nvtxDomainCreateW("größe"))
registered = ctypes.c_void_p(nvtx.nvtxDomainRegisterStringA(domain, b"all-reduce")).value
registered_wide = ctypes.c_void_p(nvtx.nvtxDomainRegisterStringW(wide, "大")).value
if len(sys.argv) == 4:  # no other tool
    assert domain.value == same.value and len({domain.value, wide.value, registered, registered_wide, None}) == 5
    push("a", lambda: nvtx.nvtxRangePushA(b"a"))
    started = [("b", nvtx.nvtxRangeStartA(b"b"))]
    told.append(["b", "START"])
    allocator.test_allocate(1)  # the recording begins here
    push("wide 😀", lambda: nvtx.nvtxRangePushW("wide 😀"))
    push("event", lambda: nvtx.nvtxRangePushEx(event(1, pointer(b"event"))))
    push("wide event", lambda: nvtx.nvtxRangePushEx(event(2, pointer("wide event"))))
    push("NCCL: all-reduce", lambda: nvtx.nvtxDomainRangePushEx(domain, event(3, registered)))
    pop("wide event", nvtx.nvtxRangePop)  # each domain has a stack of its own
    push("größe: 大", lambda: nvtx.nvtxDomainRangePushEx(wide, event(3, registered_wide)))
    pop("NCCL: all-reduce", lambda: nvtx.nvtxDomainRangePop(same))
    assert nvtx.nvtxDomainRangePop(domain) == -2  # there is none
    pop("event", nvtx.nvtxRangePop)
    for name, number in (("c", nvtx.nvtxRangeStartW("c")), ("d", nvtx.nvtxRangeStartEx(event(1, pointer(b"d")))),
                         ("NCCL: e", nvtx.nvtxDomainRangeStartEx(domain, event(1, pointer(b"e"))))):
        told.append([name, "START"])
        started.append((name, number))
    assert len({number for _, number in started} - {0}) == 4
    for name, number in started:
        told.append([name, "END"])
        if name == "NCCL: e":
            nvtx.nvtxDomainRangeEnd(domain, ctypes.c_uint64(number))
        else:
            nvtx.nvtxRangeEnd(ctypes.c_uint64(number))
    nvtx.nvtxRangeEnd(ctypes.c_uint64(started[0][1]))  # it has ended
    nvtx.nvtxRangeEnd(ctypes.c_uint64(1 << 63))
    for text, call in (("", lambda: nvtx.nvtxRangePushA(None)), ("", lambda: nvtx.nvtxRangePushW(None)), ("", lambda: nvtx.nvtxRangePushEx(None)),
                       ("", lambda: nvtx.nvtxRangePushEx(event(1, pointer(b"short"), size=8))), ("", lambda: nvtx.nvtxRangePushEx(event(3, None))),
                       ("", lambda: nvtx.nvtxRangePushEx(event(99, pointer(b"?")))), ("x" * 256, lambda: nvtx.nvtxRangePushA(b"x" * 100000)),
                       ("😀" * 64, lambda: nvtx.nvtxRangePushW("😀" * 100000)), ("\udcff\udcc3", lambda: nvtx.nvtxRangePushA(b"\xff\xc3"))):
        push(text, call)
        pop(text, nvtx.nvtxRangePop)
    pop("wide 😀", nvtx.nvtxRangePop)
    pop("a", nvtx.nvtxRangePop)
    pop("größe: 大", lambda: nvtx.nvtxDomainRangePop(wide))
    for i in range(3000):  # more than are kept: the newest count
        nvtx.nvtxRangePushA(b"never ends")
    push("last", lambda: nvtx.nvtxRangePushA(b"last"))
    pop("last", nvtx.nvtxRangePop)
    if late is not None:
        recorder.end(late)
        assert nvtx.nvtxRangeStartA(b"after") == 0 and nvtx.nvtxRangePushA(b"after") == -2  # there is no tool any more
        assert not hasattr(nvtx, "nvtx_functions") or nvtx.nvtx_functions() == 0
else:
    allocator.test_allocate(1)
    assert nvtx.nvtxRangePushA(b"another tool's") == 0 and ctypes.CDLL(sys.argv[4]).nvtx_pushes() == 1
with open(sys.argv[3], "w") as file:
    json.dump(told, file)
