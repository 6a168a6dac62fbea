"""Small snapshots, and the program that reads them, each test in a folder of its own.

The snapshots are plain dicts with the keys that PyTorch writes. `Recording` plays a program: it hands out memory the
simplest way there is (a segment for each allocation, used again for one of the same size) and keeps the events.
"""

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import starter  # noqa: E402

MiB = 1 << 20
START_US = 1_700_000_000_000_000
BINARY = os.environ.get("VRAMSCOPE", "")


# Stacks, innermost frame first.


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


MAIN = [frame("main", "/home/me/job/train.py", 40), frame("<module>", "/home/me/job/train.py", 60)]
MODULE = frame("_call_impl", "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", 1750)
LINEAR = frame("forward", "/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125)
WEIGHTS = [LINEAR, frame("__init__", "/home/me/job/model.py", 12), *MAIN]
FORWARD = [LINEAR, MODULE, frame("forward", "/home/me/job/model.py", 31), MODULE, *MAIN]
ATTENTION = [frame("softmax", "/home/me/job/attention.py", 9), MODULE, frame("forward", "/home/me/job/model.py", 33), *MAIN]
LOSSES = [frame("update", "/home/me/job/metrics.py", 19), *MAIN]
BACKWARD = [
    frame("torch::unwind::unwind()", "??", 0),
    frame("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)", "", 0),
    frame("at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>)", "??", 108146796),
    frame("torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)", "??", 108146800),
    frame("torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&)", "??", 108146900),
]


class Device:
    """One GPU's memory: segments of one block each."""

    def __init__(self, number=0):
        self.number = number
        self.next_address = 0x7F00_0000_0000
        self.segments = []  # address, size, requested, stack, state
        self.events = []

    def event(self, action, address, size, stack, **more):
        place = "device_free" if action == "oom" else "addr"
        event = {"action": action, place: address, "size": size, "stream": 0}
        event["time_us"] = START_US + 500 * len(self.events)
        if stack is not None:
            event["frames"] = stack
        self.events.append({**event, **more})

    def alloc(self, size, stack):
        rounded = max(512, -(-size // 512) * 512)
        for segment in self.segments:
            if segment["state"] == "inactive" and segment["size"] == rounded:
                break
        else:
            segment = {"address": self.next_address, "size": rounded}
            self.next_address += -(-rounded // (2 * MiB)) * 2 * MiB
            self.segments.append(segment)
            self.event("segment_alloc", segment["address"], rounded, stack)
        segment.update(requested=size, stack=stack, state="active_allocated")
        self.event("alloc", segment["address"], size, stack)
        return segment

    def free(self, segment):
        for action in ("free_requested", "free_completed"):
            self.event(action, segment["address"], segment["requested"], segment["stack"])
        segment["state"] = "inactive"

    def out_of_memory(self, size, free, stack):
        self.event("oom", free, size, stack)

    def end(self, with_stacks):
        for segment in self.segments:
            active = segment["state"] != "inactive"
            frames = (segment["stack"] or []) if active and with_stacks else []
            block = {
                "address": segment["address"],
                "size": segment["size"],
                "requested_size": segment["requested"],
                "state": segment["state"],
                "frames": frames,
            }
            yield {
                "device": self.number,
                "address": segment["address"],
                "total_size": segment["size"],
                "allocated_size": segment["size"] if segment["state"] == "active_allocated" else 0,
                "active_size": segment["size"] if active else 0,
                "requested_size": segment["requested"] if active else 0,
                "stream": 0,
                "segment_type": "large" if segment["size"] > MiB else "small",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": [],
                "blocks": [block],
            }


def snapshot(*devices, first=0, with_stacks=True, **more):
    return {
        "segments": [segment for device in devices for segment in device.end(with_stacks)],
        "device_traces": [device.events[first:] for device in devices],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False},
        "external_annotations": [],
        **more,
    }


def train(device, steps=6, leak=True):
    """Weights, then steps of forward and backward; what metrics.py keeps is never freed."""
    for _ in range(4):
        device.alloc(16 * MiB, WEIGHTS)
    for step in range(steps):
        activations = [device.alloc(size * MiB, stack) for size, stack in ((24, FORWARD), (8, ATTENTION), (24, FORWARD))]
        gradients = [device.alloc(12 * MiB, BACKWARD) for _ in range(2)]
        if leak:
            device.alloc(3 * MiB + step, LOSSES)
        for block in activations + gradients:
            device.free(block)
    return device


def training():
    return snapshot(train(Device()))


def out_of_memory():
    device = train(Device(), leak=False)
    kept = [device.alloc(6 * MiB, FORWARD) for _ in range(3)]
    device.out_of_memory(512 * MiB, 96 * MiB, ATTENTION)
    assert kept
    return snapshot(device)


def in_pieces():
    """Enough memory is cached, but in pieces."""
    device = Device()
    device.alloc(10 * MiB, WEIGHTS)
    blocks = [device.alloc((20 + i) * MiB, FORWARD) for i in range(8)]
    for block in blocks:
        device.free(block)
    device.out_of_memory(64 * MiB, 2 * MiB, ATTENTION)
    return snapshot(device)


def late():
    device = train(Device(), leak=False)
    return snapshot(device, first=30)


def end_only():
    device = train(Device())
    device.events = []
    return snapshot(device)


def stackless():
    device = train(Device())
    device.events = []
    return snapshot(device, with_stacks=False)


def two_gpus():
    small = Device(1)
    small.alloc(2 * MiB, WEIGHTS)
    host = Device(-1)
    host.alloc(4 * MiB, WEIGHTS)
    recorded = snapshot(train(Device(0), leak=False), small)
    return {**recorded, "host_segments": list(host.end(True)), "host_traces": host.events}


def one_of_three_fails():
    """GPU 0 has the most events, GPU 1 the highest peak reserved, GPU 2 ran out of memory."""
    wide, short = Device(1), Device(2)
    wide.alloc(900 * MiB, WEIGHTS)
    short.alloc(2 * MiB, WEIGHTS)
    short.out_of_memory(64 * MiB, 2 * MiB, ATTENTION)
    return snapshot(train(Device(0), leak=False), wide, short)


def nothing():
    return {"segments": [], "device_traces": []}


def hostile_names():
    """Escapes that would clear a screen, retitle a window, reverse a line; bytes that are no text."""
    name = "x\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202egnp.exe\udcff"
    device = Device()
    device.alloc(MiB, [frame(name, "/home/me/" + name + ".py", 3), *MAIN])
    return snapshot(device)


SNAPSHOTS = {
    make.__name__: make
    for make in (training, out_of_memory, in_pieces, late, end_only, stackless, two_gpus, one_of_three_fails, nothing, hostile_names)
}


# Running the program.


@dataclass
class Run:
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path):
    """An empty folder with the snapshot of a training run in it."""
    write(tmp_path / "snapshot.pickle", training())
    return tmp_path


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else pickle.dumps(data, protocol=4))
    return path


ENVIRONMENT = {"LC_ALL": "C.UTF-8", "COLUMNS": "80", "TERM": "xterm", "PATH": os.environ.get("PATH", "")}
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")  # how a build with sanitizers is run


def wait_for_output(process, folder):
    """Until the process has opened the file that it makes in the folder: it has no name yet, or a hidden one."""
    began = ("#", ".vramscope-")
    place = os.path.realpath(folder)
    for _ in range(200_000):
        for link in Path(f"/proc/{process.pid}/fd").glob("*"):
            try:
                where, name = os.path.split(os.readlink(link))
            except OSError:  # closed meanwhile
                continue
            if where == place and name.startswith(began):
                return
        assert process.poll() is None
    raise AssertionError("it made no file")


def environment(**changes):
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**ENVIRONMENT, **passed, **changes}


@pytest.fixture
def vramscope(folder):
    """vramscope("report", "snapshot.pickle", env={...}, input=bytes) -> Run. In the test's folder; no terminal."""

    def run(*args, env=None, encoding="utf-8", **more):
        done = starter.run([BINARY, *args], environment(**(env or {})), folder, **more)
        out = (done.stdout or b"").decode(encoding, "surrogateescape")
        return Run(done.returncode, out, done.stderr.decode(encoding, "surrogateescape"))

    if not BINARY:
        pytest.skip("VRAMSCOPE does not name the program")
    return run


@pytest.fixture(scope="session")
def build():
    """The features of this build: {"zlib": version or None, "sqlite": version or None, ...}."""
    if not BINARY:
        pytest.skip("VRAMSCOPE does not name the program")
    return json.loads(starter.run([BINARY, "doctor", "--json"], environment()).stdout)


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    """The file that `vramscope demo` keeps, recorded once."""
    kept = tmp_path_factory.mktemp("demo") / "recording.vram"
    done = starter.run([BINARY, "demo", "--keep", kept], environment())
    assert done.returncode == 0, done.stderr
    return kept


@pytest.fixture
def zlib_built(build):
    if build["zlib"] is None:
        pytest.skip("this build cannot read gzip")


class Served:
    """`vramscope view` while it runs: what it has printed up to the end of its words, and where it is."""

    def __init__(self, process, is_quiet):
        self.process = process
        self.printed = ""
        for line in process.stdout:
            self.printed += line
            if is_quiet or line.startswith("Ctrl-C"):
                break
        found = re.search(r"http://127\.0\.0\.1:(\d+)/(?:([0-9a-f]+)/)?", self.printed)
        self.address, self.port, self.token = (found[0], int(found[1]), found[2]) if found else (None, None, None)

    def end(self, number=signal.SIGINT):
        """Ends it, if it still runs; returns its exit code and its standard error."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, self.errors = self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def view(build, folder):
    """with view("snapshot.pickle", "--port", 8000) as server: ...   in the test's folder; it has to end well."""

    @contextlib.contextmanager
    def run(*args, env=None, **more):
        process = subprocess.Popen([BINARY, "view", *map(str, args)], cwd=folder, env=environment(**(env or {})),
                                   stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        server = Served(process, "-q" in args or "--quiet" in args)
        try:
            yield server
            assert server.end() == 0, server.errors
        finally:
            if process.poll() is None:
                process.kill()

    if build["microhttpd"] is None:
        pytest.skip("this build has no server")
    return run


@pytest.fixture
def golden(request):
    """golden("name", text): equal to tests/cli/golden/name.txt; UPDATE_GOLDEN=1 rewrites the file instead."""

    def compare(name, text):
        path = Path(__file__).parent / "golden" / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.write_text(text)
        assert path.exists(), f"no {path.name}: run with UPDATE_GOLDEN=1 and look at it"
        assert text == path.read_text()

    return compare


# Dry runs.


@pytest.fixture
def tmp(folder):
    """Where temporary folders go."""
    path = folder / "tmp"
    path.mkdir()
    return path


@pytest.fixture
def dryrun(vramscope, tmp):
    """dryrun(options, program...) -> Run. Nothing may be left behind."""

    def run(options, *program, env=None, **more):
        done = vramscope("dryrun", *options, "--", *program, env={"TMPDIR": str(tmp), **(env or {})}, **more)
        assert os.listdir(tmp) == []
        return done

    return run


@pytest.fixture
def figures(dryrun):
    """figures(options, program...) -> the JSON."""

    def run(options, *program, **more):
        done = dryrun(["--json", *options], *program, **more)
        reply = json.loads(done.out)
        assert reply["schema"] == 1 and reply["method"] == "dryrun" and reply["simulated"] is True
        answers = {"fits": 0, "handled": 0, "does_not_fit": 1, "stopped": 6, "no_cuda": 6}
        assert done.code == answers[reply["verdict"]]
        return reply

    return run
