"""The recorder alone: on an allocator that calls what PyTorch's calls (recorder/c10_cuda.c), below several versions of Python, and where
what it needs is missing. That PyTorch calls these, and which events follow, is in test_run.py.

VRAMSCOPE_PYTHONS=/usr/bin/python3.13:... names more interpreters.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from answers import ask
from conftest import BINARY, ROOT, environment_of, finish

HERE = Path(__file__).parent / "recorder"
RECORDER = Path(BINARY).parent / "preload" / "libvramscope-record.so"
PYTHONS = [sys.executable, *(path for path in os.environ.get("VRAMSCOPE_PYTHONS", "").split(":") if path)]
DEPTH = 128  # frames of a stack


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """{variant: libc10_cuda.so}"""
    root = tmp_path_factory.mktemp("libraries")

    def build(variant, definitions):
        folder = root / variant
        folder.mkdir()
        words = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-rpath,$ORIGIN", "-L", folder]
        for name, others in (("c10", []), ("cudart", []), ("c10_cuda", ["-lc10", "-lcudart"])):
            output = ["-o", folder / f"lib{name}.so", HERE / f"{name}.c"]
            subprocess.run([*words, *definitions, *output, *others], check=True, timeout=60)
        return folder / "libc10_cuda.so"

    return {"new": build("new", []), "old": build("old", ["-DIS_OLD=1"]), "other": build("other", ["-DIS_OTHER=1"]),
            "static": build("static", ["-DIS_STATIC=1"]), "read_only": build("read_only", ["-Wl,-z,relro,-z,now"])}


def record(folder, library, python=sys.executable, arguments=(), is_late=False):
    """(what the program says of its stacks, the events of the recording, its report)"""
    settings = {"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": folder / "run.vram", "PYTHONPATH": None}
    if is_late:
        settings = {"LATE": f"{ROOT / 'python/vramscope/_recorder.py'}:{RECORDER}:{folder / 'run.vram'}", "PYTHONPATH": None}
    env = environment_of(settings)
    env.pop("PYTHONPATH")
    done = finish([python, str(HERE / "program.py"), library, folder / "told.json", *arguments], env, folder)
    assert done.code == 0, done.err
    subprocess.run([BINARY, "export", "-q", folder / "run.vram", "pickle", "-o", folder / "run.pickle"], check=True, timeout=60)
    with open(folder / "run.pickle", "rb") as file:
        (trace,) = pickle.load(file)["device_traces"]
    (device,) = ask(folder / "run.vram", "report")["devices"]
    return json.loads((folder / "told.json").read_text()), trace, device, done


def kinds(device):
    return {finding["kind"] for finding in device["trust"]["findings"]}


def stacks_of(trace):
    return [[e["size"], [[f["filename"], f["line"], f["name"]] for f in e["frames"]]] for e in trace if e["action"] == "alloc"]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("python", PYTHONS)
def test_stacks_are_pythons(libraries, tmp_path, python, is_late):
    """Whether the recorder was there before the interpreter, or comes while it runs."""
    told, trace, device, _ = record(tmp_path, libraries["new"], python, is_late=is_late)
    got = stacks_of(trace)
    assert got.pop() == [1024, told.pop()[1]]  # it did not come through `allocate`
    assert len(told) >= 380 and [n for n, _ in got] == [n for n, _ in told]
    for mine, its in zip(got, told, strict=True):
        assert mine == [its[0], its[1][:DEPTH]]
    assert kinds(device) == {"frees_at_request", "rounded_requests"}


def test_a_thread_without_frames_comes_first(libraries, tmp_path):
    """It has a native stack, and says nothing about the layout of the others."""
    told, trace, device, _ = record(tmp_path, libraries["new"], arguments=["64"])
    first, *got = stacks_of(trace)
    assert first[0] == 64 and first[1][0][2] == "test_allocate"
    assert got[:-1] == [[n, frames[:DEPTH]] for n, frames in told[:-1]]
    assert "native_stacks" not in kinds(device)


def test_events(libraries, tmp_path):
    _, trace, device, done = record(tmp_path, libraries["new"])
    allocs, frees = ([e for e in trace if e["action"] == action] for action in ("alloc", "free_requested"))
    by_size = {e["size"]: e["addr"] for e in allocs}
    blocks = [(1, 0), (100, 0), (101, 0), (50, 48)]  # their streams, whichever is the current one
    assert [(e["addr"], e["size"], e["stream"]) for e in frees] == [(by_size[size], size, stream) for size, stream in blocks]
    assert len([e for e in trace if e["action"] == "segment_alloc"]) == len(allocs)
    assert [e["addr"] for e in trace if e["action"] == "segment_free"] == [e["addr"] for e in frees]
    assert [e["stream"] for e in allocs[-2:]] == [48, 80] and {e["stream"] for e in allocs[:-2]} == {0}
    (oom,) = [e for e in trace if e["action"] == "oom"]
    assert (oom["size"], oom["device_free"]) == (1 << 40, 12345)
    assert device["end"]["reserved_bytes"] == sum(e["size"] for e in trace if e["action"] == "segment_alloc") - 4 * (2 << 20)
    assert done.err.count("vramscope: some requests are seen only after they were rounded") == 1


def test_a_release_that_does_not_register_its_allocator(libraries, tmp_path):
    """The first request is seen when it is reported; all others before."""
    told, trace, device, _ = record(tmp_path, libraries["old"])
    got = [n for n, _ in stacks_of(trace)]
    assert got[0] == 512 and got[1:-1] == [n for n, _ in told][1:-1]
    assert (trace[0]["action"], trace[0]["size"]) == ("segment_alloc", 2 << 20)
    assert kinds(device) == {"frees_at_request", "rounded_requests"}


def test_another_virtual_table_is_left_alone(libraries, tmp_path):
    told, trace, device, done = record(tmp_path, libraries["other"])
    assert stacks_of(trace) == [[(n + 511) // 512 * 512, frames[:DEPTH]] for n, frames in told]
    assert "rounded_requests" in kinds(device) and done.err.count("vramscope: ") == 1


def test_segments_that_are_not_seen(libraries, tmp_path):
    _, _, device, done = record(tmp_path, libraries["static"])
    assert "inferred_segments" in kinds(device)
    assert "vramscope: not all segments are seen" in done.err
    assert not [finding for finding in device["trust"]["findings"] if finding["severity"] == "contradiction"]


FORKS = """
import ctypes, os, sys, threading

library = ctypes.CDLL(sys.argv[1])
library.test_allocate.restype, library.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.test_free.argtypes = [ctypes.c_void_p]
runs_on = True

def storm():
    while runs_on:
        library.test_free(library.test_allocate(512))

threads = [threading.Thread(target=storm) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(300):
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).exit(0)  # as a C program ends: with the destructors of its libraries
    assert os.waitpid(child, 0)[1] == 0
runs_on = False
for thread in threads:
    thread.join()
"""


def test_forks_while_other_threads_allocate(libraries, tmp_path):
    """A child inherits locks that threads hold which it does not have."""
    (tmp_path / "forks.py").write_text(FORKS)
    env = environment_of({"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": tmp_path / "run.vram", "PYTHONPATH": None})
    env.pop("PYTHONPATH")
    done = finish([sys.executable, tmp_path / "forks.py", libraries["new"]], env, tmp_path)
    assert done.code == 0, done.err
    assert [path.name for path in tmp_path.glob("*.vram")] == ["run.vram"]
