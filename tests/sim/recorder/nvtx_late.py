"""Recordings that begin while a program with several NVTX runs: nvtx_late.py C10_CUDA MODULE RECORDER FILE NVTX...

The first of them has been called before the first recording, the last one is loaded while that goes on. FILE.0 and FILE.1 are the recordings;
TOOL in the environment is a tool that the first one finds, and that the environment does not name any more when the recording begins.
"""

import ctypes
import importlib.util
import os
import sys

allocator, module, path, recording = ctypes.CDLL(sys.argv[1]), *sys.argv[2:5]
allocator.test_allocate.restype, allocator.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
spec = importlib.util.spec_from_file_location("recorder", module)
recorder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recorder)
late = recorder.load(path)
libraries = [ctypes.CDLL(library) for library in sys.argv[5:-1]]
tool = os.environ.pop("TOOL", None)
if tool:
    os.environ["NVTX_INJECTION64_PATH"] = tool
first = libraries[0].nvtxRangePushA(b"before")
assert first == (0 if tool else -2)
if tool:
    del os.environ["NVTX_INJECTION64_PATH"]
for i in range(2):
    recorder.begin(late, f"{recording}.{i}")
    if len(libraries) < len(sys.argv) - 5:
        libraries.append(ctypes.CDLL(sys.argv[-1]))
        assert "colorsys" not in sys.modules
        import colorsys  # noqa: F401  (any that was not imported before)
    libraries[0].nvtxRangePop()  # began before
    for number, library in enumerate(libraries):
        library.nvtxRangePushA(f"{i}: {number}".encode())
    allocator.test_allocate(1000)
    for library in libraries[::-1]:
        library.nvtxRangePop()
        library.nvtxRangePop()  # there is none
    libraries[0].nvtxRangePushA(b"cut off")
    recorder.end(late)
    assert [library.nvtxRangePushA(b"between") for library in libraries[1:]] == [-2] * (len(libraries) - 1)
    assert [library.nvtx_functions() for library in libraries] == [int(bool(tool))] + [0] * (len(libraries) - 1)
if tool:
    assert ctypes.CDLL(tool).nvtx_pushes() == 1 + 2 * 2, ctypes.CDLL(tool).nvtx_pushes()
