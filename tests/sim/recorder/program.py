"""Calls the allocator of c10_cuda.c from all kinds of Python; prints the stack of each allocation as Python sees it, as JSON.

With LATE="MODULE:RECORDER:FILE" it is recorded from the inside, once it runs: MODULE is python/vramscope/_recorder.py.
"""

import ctypes
import importlib.util
import json
import os
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
for function in (library.test_allocate, library.test_raw_alloc):
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_size_t]
library.test_free.argtypes = [ctypes.c_void_p]
library.test_refuse.argtypes = [ctypes.c_size_t]
library.test_thread.argtypes = [ctypes.c_size_t]
if len(sys.argv) > 3:
    library.test_thread(int(sys.argv[3]))
if "LATE" in os.environ:
    module, path, recording = os.environ["LATE"].split(":")
    spec = importlib.util.spec_from_file_location("recorder", module)
    recorder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorder)
    late = recorder.load(path)
    recorder.begin(late, recording)
told = []  # [bytes, [[file, line, function], ...] innermost first]


def stack(frame):
    found = []
    while frame is not None:
        found.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
        frame = frame.f_back
    return found


def get(n):
    told.append([n, stack(sys._getframe())]); return library.test_allocate(n)  # noqa: E702  (one line)


def recurse(depth, n):
    return get(n) if depth == 0 else recurse(depth - 1, n)


def generate():
    for i in range(3):
        yield get(100 + i)


class Body:
    block = get(200)


def größe(n):
    return get(n)


def 大小(n):
    return get(n)


def made(rounds):
    """Code objects that are freed and made again, at the same address, with other lines, names and files."""
    for i in range(rounds):
        lines = "\n" * (i % 7)
        exec(compile(f"{lines}get({300 + i})", "<made>", "exec"), {"get": get})
        exec(compile(f"def f{i % 5}():\n    pass{lines}\n    get({600 + i})\nf{i % 5}()", "<made>", "exec"), {"get": get})
        exec(compile(f"get({900 + i})", f"/made/{i % 3}.py", "exec"), {"get": get})


held = [get(1), *generate(), *(get(n) for n in (10, 11)), *[get(n) for n in (12, 13)], (lambda: get(14))()]
recurse(40, 20)
recurse(200, 21)
größe(30)
大小(31)
eval(compile("get(32)", "/tmp/\U0001f40d.py", "eval"))
get(
    33
    if held else
    34
)
made(120)
for n in range(40, 43):
    thread = threading.Thread(target=recurse, args=(n - 40, n))
    thread.start()
    thread.join()
library.test_set_stream(3)
on_another_stream = get(50)
library.test_set_stream(5)
told.append([1000, stack(sys._getframe())]); library.test_raw_alloc(1000)  # noqa: E702
library.test_refuse(1 << 40)
for address in [*held[:3], on_another_stream]:
    library.test_free(address)
with open(sys.argv[2], "w") as file:
    json.dump(told, file)
if "LATE" in os.environ:
    recorder.end(late)
    library.test_allocate(4000)
