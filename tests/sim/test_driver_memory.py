"""What libraries take from the CUDA driver, as the recorder sees it: against the account of the program that takes it, at every event of the
allocator. The libraries are recorder/driver.c, which asks the driver as a CUDA runtime does; the driver is the simulated one."""

import array
import itertools
import json
import math
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from answers import ask, query
from conftest import BINARY, LIBRARIES, ROOT, environment_of, finish
from test_recorder import HERE, RECORDER, kinds

MiB = 1 << 20
PROGRAM = HERE / "driver_program.py"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder with PyTorch's allocator above a CUDA runtime, and libraries that take memory of the driver in their ways."""
    folder = tmp_path_factory.mktemp("libraries")
    words = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-rpath,$ORIGIN", "-L", folder]
    linked = ["-DIS_LINKED=1", f"-Wl,-rpath,{LIBRARIES}", f"{LIBRARIES}/libcuda.so.1", "-Wl,--allow-shlib-undefined"]
    for name, source, more in (("libc10.so", "c10", []), ("libcudart.so", "cudart", ["-DHAS_DRIVER=1"]),
                               ("libc10_cuda.so", "c10_cuda", ["-lc10", "-lcudart"]), ("libnccl.so.2", "driver", []),
                               ("libold.so", "driver", ["-DIS_OLD=1"]), ("libper_thread.so", "driver", ["-DIS_PER_THREAD=1"]),
                               ("libextension.so", "driver", linked)):
        subprocess.run([*words, "-o", folder / name, HERE / f"{source}.c", *more], check=True, timeout=60)
    return folder


def run(libraries, folder, *arguments, **more):
    """What the program says, and the path of its recording."""
    env = environment_of({"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": folder / "run.vram", "LD_LIBRARY_PATH": LIBRARIES,
                          "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None, **more})
    env.pop("PYTHONPATH")
    done = finish([sys.executable, str(PROGRAM), libraries, *map(str, arguments)], env, folder)
    assert done.code == 0, done.err
    return json.loads(done.out), folder / "run.vram"


def totals_at(recording, moment="end"):
    told = ask(recording, "reserved", at=moment)["libraries"]
    assert told == sorted(told, key=lambda row: (-row["bytes"], row["library"]))
    return {row["library"]: row["bytes"] for row in told}


@pytest.mark.parametrize("seed", range(4))
def test_totals_are_those_of_the_program(libraries, tmp_path, seed):
    """At every event, whatever way the library asks the driver in, and whoever gives the memory back."""
    told, recording = run(libraries, tmp_path, seed, 60)
    events = [event["event"] for event in ask(recording, "events", top=10000)["events"] if event["action"] == "alloc"]
    assert len(events) == len(told) > 60
    assert set().union(*told) == {"NCCL", "libextension.so", "libold.so", "libper_thread.so"}
    for moment, account in zip(events, told, strict=True):
        assert totals_at(recording, moment) == account
    (device,) = ask(recording, "report")["devices"]
    assert kinds(device) == set()


def test_the_file_has_the_card(libraries, tmp_path):
    _, recording = run(libraries, tmp_path, 1, 3)
    reserved = ask(recording, "reserved")
    assert (reserved["card_name"], reserved["card_bytes"]) == ("NVIDIA GeForce RTX 4090 (simulated)", 8 << 30)
    done = finish([BINARY, "where", recording], environment_of({}), tmp_path)
    assert done.code == 0 and "GPU 0, NVIDIA GeForce RTX 4090 (simulated), at the" in done.out and "      NCCL  " in done.out, done.out


@pytest.mark.parametrize("name", ["libnccl.so.2", "libold.so"])
def test_a_context_that_is_reset_has_nothing(libraries, tmp_path, name):
    """Of the primary one; physical memory outlives it, and that of other contexts."""
    told, recording = run(libraries, tmp_path, 2, 60, "reset", name)
    events = [event["event"] for event in ask(recording, "events", top=10000)["events"] if event["action"] == "alloc"]
    assert totals_at(recording, events[-2]) == told[-2]
    assert totals_at(recording) == told[-1] and 0 < sum(told[-1].values()) < sum(told[-2].values())


def test_a_ring_file_repeats_them(libraries, tmp_path):
    """So they are known although the file does not have its beginning any more."""
    told, recording = run(libraries, tmp_path, 3, 20, "storm", VRAMSCOPE_RECORD_RING=str(MiB))
    (device,) = ask(recording, "report")["devices"]
    assert "ring_wrapped" in kinds(device)
    assert totals_at(recording) == told[-1] != {}
    assert ask(recording, "reserved")["card_bytes"] == 8 << 30


def test_without_the_driver_they_are_unknown(libraries, tmp_path):
    """A program whose runtime does not reach the driver through the recorder: nothing is told, rather than 0."""
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-rpath,$ORIGIN", "-o", tmp_path / "libcudart.so", HERE / "cudart.c"], check=True,
                   timeout=60)
    _, recording = run(libraries, tmp_path, 1, 10, LD_LIBRARY_PATH=f"{tmp_path}:{LIBRARIES}")
    assert ask(recording, "reserved")["libraries"] is None


def test_another_driver_is_not_seen(libraries, tmp_path):
    """From the moment on at which a program finds a function that the recorder does not call on, nothing is told."""
    (tmp_path / "other.c").write_text("int cuMemAlloc_v2(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", libraries / "libother.so", tmp_path / "other.c"], check=True, timeout=60)
    told, recording = run(libraries, tmp_path, 1, 10, "other")
    events = [event["event"] for event in ask(recording, "events", top=10000)["events"] if event["action"] == "alloc"]
    assert totals_at(recording, events[-2]) == told[-2] != {}
    assert ask(recording, "reserved")["libraries"] is None


def test_conversions_keep_them(libraries, tmp_path):
    told, recording = run(libraries, tmp_path, 1, 20)
    subprocess.run([BINARY, "compact", "-q", "-f", recording, "-o", tmp_path / "small.vram"], check=True, timeout=60)
    subprocess.run([BINARY, "export", "-q", "-f", recording, "vram", "-o", tmp_path / "again.vram"], check=True, timeout=60)
    for name in ("small.vram", "again.vram"):
        assert totals_at(tmp_path / name) == told[-1] != {}


# ---- programs without PyTorch


@pytest.mark.parametrize("seed", range(4))
def test_a_program_without_pytorch(libraries, tmp_path, seed):
    """The first allocation of a library begins its recording, which has each library's memory over time as the program counts it."""
    told, recording = run(libraries, tmp_path, seed, 60, "alone")
    (device,) = ask(recording, "libraries")["devices"]
    assert (device["device"], device["has_pytorch"]) == (0, False)
    assert (device["card_name"], device["card_bytes"]) == ("NVIDIA GeForce RTX 4090 (simulated)", 8 << 30)
    assert (device["peak_bytes"], device["end_bytes"]) == (told["peak"], sum(told["end"].values()))
    assert 0 < told["peak"] and 0 <= device["peak_after_us"] < 60_000_000

    def column(key):
        return {row["library"]: row[key] for row in device["libraries"] if row[key] != 0}

    assert column("at_peak_bytes") == told["at_peak"]
    assert column("peak_bytes") == told["peaks"] and set(told["peaks"]) == {"NCCL", "libextension.so", "libold.so", "libper_thread.so"}
    assert column("end_bytes") == told["end"]
    order = [(-row["at_peak_bytes"], -row["peak_bytes"], row["library"]) for row in device["libraries"]]
    assert order == sorted(order)


def show(command, *arguments, folder, code=0):
    done = finish([BINARY, command, *arguments], environment_of({}), folder)
    assert done.code == code and "Traceback" not in done.err, (done.out, done.err)
    return done.out if code == 0 else done.err


def rows_of(text):
    """{name: bytes} of a table whose sizes are bytes, the first column of figures."""
    return {name.strip(): int(size.replace(",", "")) for name, size in re.findall(r"^ *(\S.*?)  +([\d,]+) B\b", text, re.MULTILINE)}


def test_commands_show_what_there_is(libraries, tmp_path):
    told, recording = run(libraries, tmp_path, 1, 60, "alone")
    report = show("report", "--bytes", recording.name, folder=tmp_path)
    assert "PyTorch's CUDA allocator was not used" in report and max(map(len, report.splitlines())) <= 80
    assert rows_of(report) == {"all libraries": told["peak"], **dict.fromkeys(told["peaks"], 0), **told["at_peak"]}
    for at, expected in (("peak", told["at_peak"]), ("end", told["end"])):
        where = rows_of(show("where", "--bytes", "--at", at, recording, folder=tmp_path))
        assert where == {"total": 8 << 30, "the unknown rows, together": 8 << 30, **expected}
    assert show("where", recording, folder=tmp_path) == show("where", "--at", "peak", "--device", "0", recording, folder=tmp_path)
    assert "--at takes peak (of all libraries) or end" in show("where", "--at", "oom", recording, folder=tmp_path, code=2)
    for command in ("stats", "tree", "blocks", "events", "oom", "whatif"):
        assert "allocator was not used: the recording has" in show(command, recording, folder=tmp_path, code=2)
    assert "allocator was not used: the recording has" in show("diff", recording, recording, folder=tmp_path, code=2)
    several = finish([BINARY, "report", recording.name, recording.name], environment_of({}), tmp_path).out
    assert "2 of 2 could not be read" in several and "allocator was not used" in several
    document = json.loads(show("where", "--json", recording, folder=tmp_path))
    (used,) = [row for row in document["devices"][0]["rows"] if row["kind"] == "used"]
    (pytorch,) = [row for row in used["rows"] if row["kind"] == "pytorch"]
    assert pytorch["bytes"] is None and "was not seen" in pytorch["why"]


def test_without_pytorch_what_is_missed_is_said(libraries, tmp_path):
    (tmp_path / "other.c").write_text("int cuMemAlloc_v2(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", libraries / "libother.so", tmp_path / "other.c"], check=True, timeout=60)
    _, recording = run(libraries, tmp_path, 1, 10, "alone", "other")
    (device,) = ask(recording, "libraries")["devices"]
    assert (device["libraries"], device["peak_bytes"], device["end_bytes"]) == (None, None, None)
    assert "unknown: a call of the driver was missed" in show("report", recording, folder=tmp_path)
    assert re.search(r"other libraries +unknown", show("where", recording, folder=tmp_path))


@pytest.mark.parametrize("name", ["libnccl.so.2", "libold.so"])
def test_a_reset_without_pytorch(libraries, tmp_path, name):
    told, recording = run(libraries, tmp_path, 2, 60, "alone", "reset", name)
    (device,) = ask(recording, "libraries")["devices"]
    assert {row["library"]: row["end_bytes"] for row in device["libraries"] if row["end_bytes"]} == told["end"] != {}


def test_a_child_that_only_gives_back_has_no_recording(libraries, tmp_path):
    told, recording = run(libraries, tmp_path, 1, 20, "alone", "fork")
    assert [path.name for path in tmp_path.glob("*.vram")] == ["run.vram"]
    assert ask(recording, "libraries")["devices"][0]["end_bytes"] == sum(told["end"].values())


CHILDREN = """
import ctypes, os, sys

library = ctypes.CDLL(f"{sys.argv[1]}/libnccl.so.2")
library.test_alloc.argtypes, library.test_alloc.restype = [ctypes.c_size_t], ctypes.c_ulonglong

def take(size):
    assert library.test_begin() == 0 and library.test_alloc(size) != 0

child = os.fork()
if child == 0:
    take(3 << 20)
    ctypes.CDLL(None).exit(0)
assert os.waitpid(child, 0)[1] == 0
take(5 << 20)
"""


def test_each_process_has_its_own(libraries, tmp_path):
    env = environment_of({"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": tmp_path / "run.vram", "LD_LIBRARY_PATH": LIBRARIES,
                          "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None})
    env.pop("PYTHONPATH")
    done = finish([sys.executable, "-c", CHILDREN, str(libraries)], env, tmp_path)
    assert done.code == 0, done.err
    sums = [ask(path, "libraries")["devices"][0]["end_bytes"] for path in tmp_path.glob("*.vram")]
    assert sorted(sums) == [3 * MiB, 5 * MiB]


ON_OOM = """
import ctypes, os, sys

library = ctypes.CDLL(f"{sys.argv[1]}/libnccl.so.2")
library.test_alloc.argtypes, library.test_alloc.restype = [ctypes.c_size_t], ctypes.c_ulonglong
assert library.test_begin() == 0 and library.test_alloc(3 << 20) != 0
print(os.listdir("."))
"""


def test_on_oom_has_nothing_to_keep(libraries, tmp_path):
    """Nor a file while the program runs."""
    env = environment_of({"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": tmp_path / "run.vram", "LD_LIBRARY_PATH": LIBRARIES,
                          "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None, "VRAMSCOPE_RECORD_ON_OOM": "1"})
    env.pop("PYTHONPATH")
    done = finish([sys.executable, "-c", ON_OOM, str(libraries)], env, tmp_path)
    assert (done.code, done.out) == (0, "[]\n"), done.err


def test_a_simulated_gpu_tells_itself(libraries, tmp_path):
    """Where it is loaded with the program, as `vramscope run --gpu` does, the driver's calls are not looked at: they would count twice. The totals
    are what the driver gave: at least what was requested, rounded up to 2 MiB, and all of a memory pool."""
    core = LIBRARIES / "libvramscope-sim.so"
    told, recording = run(libraries, tmp_path, 1, 10, "alone", LD_PRELOAD=f"{RECORDER}:{core}")
    (device,) = ask(recording, "libraries")["devices"]
    ours = {row["library"]: row["end_bytes"] for row in device["libraries"] if row["end_bytes"]}
    assert ours.keys() == told["end"].keys() and all(told["end"][name] <= ours[name] for name in ours)
    assert all(bytes_ % (2 * MiB) == 0 for bytes_ in ours.values()), ours


def test_a_ring_file_without_pytorch(libraries, tmp_path):
    told, recording = run(libraries, tmp_path, 3, 60, "alone", VRAMSCOPE_RECORD_RING=str(MiB))
    (device,) = ask(recording, "libraries")["devices"]
    assert {row["library"]: row["end_bytes"] for row in device["libraries"] if row["end_bytes"]} == told["end"] != {}


def test_pytorch_comes_later(libraries, tmp_path):
    """The report of a recording with both has a line of the libraries."""
    told, recording = run(libraries, tmp_path, 1, 20)
    (device,) = ask(recording, "libraries")["devices"]
    assert device["has_pytorch"] and device["end_bytes"] == sum(told[-1].values())
    assert re.search(r"^Libraries +peak [\d.]+ MiB \(", show("report", recording, folder=tmp_path), re.MULTILINE)


def test_run_shows_a_program_without_pytorch(libraries, tmp_path):
    env = environment_of({"LD_LIBRARY_PATH": LIBRARIES, "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None})
    env.pop("PYTHONPATH")
    command = ["--", sys.executable, str(PROGRAM), str(libraries), "1", "20", "alone"]
    done = finish([BINARY, "run", "--bytes", "-o", "run.vram", *command], env, tmp_path)
    assert done.code == 0, done.err
    told = json.loads(done.out.splitlines()[0])
    assert rows_of(done.out)["all libraries"] == told["peak"]
    done = finish([BINARY, "run", "--json", "-f", "-o", "run.vram", *command], env, tmp_path)
    reply = json.loads(done.out)
    assert reply["libraries"]["devices"][0]["peak_bytes"] == told["peak"] and reply["report"]["devices"] == []


BOTH = """
import ctypes, os, sys

library = ctypes.CDLL(f"{sys.argv[1]}/libnccl.so.2")
library.test_alloc.argtypes, library.test_alloc.restype = [ctypes.c_size_t], ctypes.c_ulonglong
child = os.fork()
assert child == 0 or os.waitpid(child, 0)[1] == 0
assert library.test_begin() == 0
if child == 0:
    assert library.test_alloc(3 << 20) != 0
    ctypes.CDLL(None).exit(0)
pytorch = ctypes.CDLL(f"{sys.argv[1]}/libc10_cuda.so")
pytorch.test_allocate.restype, pytorch.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
assert pytorch.test_allocate(1 << 20)
"""


def test_run_shows_the_processes_with_pytorch(libraries, tmp_path):
    """One without it began before; the program's exit status stays."""
    env = environment_of({"LD_LIBRARY_PATH": LIBRARIES, "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None})
    env.pop("PYTHONPATH")
    command = ["-o", "run.vram", "--", sys.executable, "-c", BOTH, str(libraries)]
    done = finish([BINARY, "run", *command], env, tmp_path)
    assert done.code == 0 and "Peak           1.00 MiB allocated" in done.out, (done.out, done.err)
    assert re.search(r"2 recordings:\n  \S+/run.vram  \(process \d+, without PyTorch\)\n  \S+  \(process \d+\)\n", done.out)
    reply = json.loads(finish([BINARY, "run", "--json", "-f", *command], env, tmp_path).out)
    assert [row["has_pytorch"] for row in reply["recordings"]] == [False, True]
    assert reply["report"]["devices"][0]["trace"]["allocs"] == 1


SETTINGS = """
import ctypes, os, sys

library = ctypes.CDLL(f"{sys.argv[1]}/libnccl.so.2")
library.test_alloc.argtypes, library.test_alloc.restype = [ctypes.c_size_t], ctypes.c_ulonglong
assert library.test_begin() == 0 and library.test_alloc(3 << 20) != 0
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:64"
pytorch = ctypes.CDLL(f"{sys.argv[1]}/libc10_cuda.so")
pytorch.test_allocate.restype, pytorch.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
assert pytorch.test_allocate(1 << 20)
"""


def test_settings_are_those_that_pytorch_reads(libraries, tmp_path):
    """When its allocator is used first, although a library began the recording."""
    env = environment_of({"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": tmp_path / "run.vram", "LD_LIBRARY_PATH": LIBRARIES,
                          "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None})
    env.pop("PYTHONPATH")
    env.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    done = finish([sys.executable, "-c", SETTINGS, str(libraries)], env, tmp_path)
    assert done.code == 0, done.err
    assert ask(tmp_path / "run.vram", "info")["settings"]["PYTORCH_CUDA_ALLOC_CONF"] == "max_split_size_mb:64"


AGAIN = """
import ctypes, sys

library = ctypes.CDLL(f"{sys.argv[1]}/libnccl.so.2")
library.test_alloc.argtypes, library.test_alloc.restype = [ctypes.c_size_t], ctypes.c_ulonglong
recorder = ctypes.CDLL(sys.argv[2])
recorder.vramscope_record_begin.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
recorder.vramscope_record_end.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
said = ctypes.create_string_buffer(500)
assert library.test_begin() == 0 and library.test_alloc(3 << 20) != 0
assert recorder.vramscope_record_end(said, 500) == 0, said.value
assert library.test_alloc(5 << 20) != 0
assert recorder.vramscope_record_begin(b"second.vram", 0, 0, said, 500) == 0, said.value
assert recorder.vramscope_record_ready(said, ctypes.c_size_t(500)) == 0, said.value
assert library.test_alloc(1 << 20) != 0
"""


def test_what_comes_between_two_recordings_is_in_the_second(libraries, tmp_path):
    """One ends, a library takes memory, and another is begun from inside."""
    env = environment_of({"LD_PRELOAD": RECORDER, "VRAMSCOPE_RECORD": tmp_path / "run.vram", "LD_LIBRARY_PATH": LIBRARIES,
                          "VRAMSCOPE_SIM_GPU": "8GiB", "PYTHONPATH": None})
    env.pop("PYTHONPATH")
    done = finish([sys.executable, "-c", AGAIN, str(libraries), str(RECORDER)], env, tmp_path)
    assert done.code == 0, done.err
    ends = [ask(tmp_path / name, "libraries")["devices"][0]["end_bytes"] for name in ("run.vram", "second.vram")]
    assert ends == [3 * MiB, 9 * MiB]


# ---- a process that records now: its recording is mapped, the driver's figures are a fake NVML's


MAPS = """
import mmap, sys
files = [open(name, "rb") for name in sys.argv[1:]]
kept = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in files]
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def process(tmp_path):
    """process(recording) -> (a process of CUDA's that has mapped it, the environment in which NVML lists that process)"""
    started = []

    def start(recording, gpus=1):
        (tmp_path / "libcuda.so.1").write_bytes(bytes(mmap.PAGESIZE))
        child = subprocess.Popen([sys.executable, "-c", MAPS, str(tmp_path / "libcuda.so.1"), str(recording)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        scenario = os.path.relpath(ROOT / "tests" / "fake" / "scenarios" / "h200.txt", tmp_path)
        card = f"memory.used = 33934016512\nprocess = {child.pid} C 20000MiB\n"
        other = f"[card like 0]\nuuid = GPU-a1b2c3d4-0000-4000-8000-000000000002\nmemory.used = 20GiB\nprocess = none\nprocess = {child.pid} C 10GiB\n"
        (tmp_path / "machine.txt").write_text(f"include = {scenario}\n[card 0]\n{card}{other * (gpus - 1)}")
        nvml = Path(BINARY).parent / "fake" / "libnvidia-ml.so.1"
        return child.pid, environment_of({"VRAMSCOPE_NVML": nvml, "VRAMSCOPE_FAKE_NVML": tmp_path / "machine.txt"})

    yield start
    for child in started:
        child.communicate()


def rows_below(document, kind):
    def every(row):
        yield row
        for below in row["rows"]:
            yield from every(below)

    return [row for card in document["devices"] for row in every(card) if row["kind"] == kind]


def test_where_of_a_process_without_pytorch(libraries, tmp_path, process):
    told, recording = run(libraries, tmp_path, 1, 60, "alone")
    pid, env = process(recording)
    done = finish([BINARY, "where", "--json", str(pid)], env, tmp_path)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    (pytorch,) = rows_below(document, "pytorch")
    assert pytorch["bytes"] is None and pytorch["why"] == "PyTorch's allocator was not seen in this process"
    assert {row["name"]: row["bytes"] for row in rows_below(document, "library")} == told["end"]


def top(env, folder, *arguments):
    done = finish([BINARY, "top", *arguments], env, folder)
    assert done.code == 0, done.err
    return done.out


def test_top_shows_what_a_process_records(libraries, tmp_path, process):
    """The figures of `where PID`: what PyTorch allocated and reserved, and the sum of the other libraries."""
    told, recording = run(libraries, tmp_path, 1, 60, "odd")
    reserved = ask(recording, "reserved")
    assert reserved["rounding_bytes"] == 24
    pid, env = process(recording)
    (row,) = json.loads(top(env, tmp_path, "--json", "-p", str(pid)))["processes"]
    assert row["pytorch_allocated_bytes"] == reserved["requested_bytes"] + reserved["rounding_bytes"] > 0
    assert row["pytorch_reserved_bytes"] == reserved["reserved_bytes"] > row["pytorch_allocated_bytes"]
    assert row["libraries_bytes"] == sum(told[-1].values()) > 0
    assert (row["pytorch_unknown"], row["libraries_unknown"]) == (None, None)
    text = top({**env, "COLUMNS": "80"}, tmp_path, "--once")
    assert max(map(len, text.splitlines())) <= 80
    (heading,) = [line for line in text.splitlines() if "PID" in line]
    (line,) = [line for line in text.splitlines() if str(pid) in line]
    sizes = [f"{size / 2**30:.2f}" for size in (row["used_bytes"], row["pytorch_allocated_bytes"], row["pytorch_reserved_bytes"], row["libraries_bytes"])]
    assert re.search(r"GiB +Alloc +Reserv +Libs", heading) and re.search(" +".join(map(re.escape, sizes)), line), text


def test_top_says_why_it_does_not_know(libraries, tmp_path, process):
    told, recording = run(libraries, tmp_path, 1, 60, "alone")
    pid, env = process(recording)
    (row,) = json.loads(top(env, tmp_path, "--json", "-p", str(pid)))["processes"]
    assert (row["pytorch_allocated_bytes"], row["pytorch_reserved_bytes"]) == (None, None)
    assert row["pytorch_unknown"] == "PyTorch's allocator was not seen in this process"
    assert row["libraries_bytes"] == sum(told["end"].values()) and row["libraries_unknown"] is None
    (tmp_path / "other.txt").write_bytes(bytes(mmap.PAGESIZE))
    other, env = process(tmp_path / "other.txt")
    (row,) = json.loads(top(env, tmp_path, "--json", "-p", str(other)))["processes"]
    assert row["pytorch_unknown"] == row["libraries_unknown"] == f"the process is not recorded (vramscope attach {other})"
    assert row["libraries_bytes"] is row["pytorch_reserved_bytes"] is None
    assert "Alloc" not in top(env, tmp_path, "--once")


def test_top_tells_the_gpus_of_a_process_apart(libraries, tmp_path, process):
    """The recording is about device 0 of the process alone, which its CUDA_VISIBLE_DEVICES names."""
    _, recording = run(libraries, tmp_path, 1, 10)
    pid, env = process(recording, gpus=2)
    first, second = sorted(json.loads(top(env, tmp_path, "--json", "-p", str(pid)))["processes"], key=lambda row: row["device"])
    assert first["pytorch_reserved_bytes"] == ask(recording, "reserved")["reserved_bytes"]
    assert second["pytorch_reserved_bytes"] is None and second["pytorch_unknown"] == "the recording has no memory of this GPU"
    (alone,) = json.loads(top(env, tmp_path, "--json", "-i", "1", "-p", str(pid)))["processes"]
    assert alone["pytorch_reserved_bytes"] is None


def test_top_reads_a_recording_that_grows(libraries, tmp_path, process):
    """While it stays, a recording is read again."""
    _, recording = run(libraries, tmp_path, 1, 10)
    pid, env = process(recording)
    with subprocess.Popen([BINARY, "top", "--ndjson", "-d", "0.1", "-p", str(pid)], env=env, stdout=subprocess.PIPE, text=True) as shown:
        before = json.loads(shown.stdout.readline())["processes"][0]["pytorch_reserved_bytes"]
        (tmp_path / "more").mkdir()
        _, more = run(libraries, tmp_path / "more", 1, 40)
        expected = ask(more, "reserved")["reserved_bytes"]
        recording.write_bytes(more.read_bytes())
        now = before
        for line in itertools.islice(shown.stdout, 200):
            now = json.loads(line)["processes"][0]["pytorch_reserved_bytes"]
            if now not in (before, None):
                break
        shown.terminate()
    assert now == expected > before


# ---- the ledger over time, as the viewer draws it


def columns_of(recording, **params):
    """The reply of `bands` with its columns as lists."""
    reply = query(recording, "bands", **params)
    size = int.from_bytes(reply[4:8], "little")
    header = json.loads(reply[8 : 8 + size])
    kinds_of_columns = {"i32": "i", "f64": "d"}
    for name, column in header["columns"].items():
        entries = array.array(kinds_of_columns[column["type"]])
        entries.frombytes(reply[column["at"] : column["at"] + column["count"] * entries.itemsize])
        header["columns"][name] = list(entries)
    return header


def leaves(card):
    """{(kind, name): bytes} of the rows below "used", those of PyTorch in place of PyTorch's."""
    (used,) = [row for row in card["rows"] if row["kind"] == "used"]
    (pytorch,) = [row for row in used["rows"] if row["kind"] == "pytorch"]
    rows = [row for row in used["rows"] if row["kind"] == "library"] + [row for row in pytorch["rows"] if row["kind"] != "unexplained"]
    assert pytorch["bytes"] == sum(row["bytes"] for row in pytorch["rows"])
    return {(row["kind"], row["name"]): row["bytes"] for row in rows}


def test_bands_are_the_ledger_at_every_moment(libraries, tmp_path):
    """What `where --at` says of each event, to the byte; and the bands of libraries are the account of the program."""
    told, recording = run(libraries, tmp_path, 2, 60)
    (device,) = ask(recording, "info")["devices"]
    count = device["events"] + 1
    reply = columns_of(recording, points=count, x0=-1, x1=device["events"])
    columns, points = reply["columns"], range(count)
    assert columns["point_event"] == list(range(-1, device["events"]))
    order = [(band["kind"], band["name"]) for band in reply["bands"]]
    assert {name for kind, name in order if kind == "library"} == set().union(*told)
    assert [kind for kind, _ in order if kind != "library"] == ["releasable", "fragmented", "pending", "rounding", "private_pool", "requested"]
    account = dict(zip((e["event"] for e in ask(recording, "events", top=10000)["events"] if e["action"] == "alloc"), told, strict=True))
    for point in points:
        event = columns["point_event"][point]
        here = {band: columns["bytes"][i * count + point] for i, band in enumerate(order)}
        (card,) = ask(recording, "ledger", at="start" if event < 0 else event)["devices"]
        expected = leaves(card)
        assert {band: size for band, size in here.items() if size} == {row: size for row, size in expected.items() if size}
        assert columns["known"][point] == sum(expected.values())
        if event in account:
            assert {name: size for (kind, name), size in here.items() if kind == "library" and size} == account[event]
    for event in (0, device["events"] // 2, device["events"] - 1):
        (card,) = json.loads(show("where", "--json", "--at", str(event), recording, folder=tmp_path))["devices"]
        (mine,) = ask(recording, "ledger", at=event)["devices"]
        assert card["moment"] is not None and {**card, "moment": None} == mine
    assert [row["kind"] for row in reply["unknown"]] == ["context", "other_processes"]
    few = columns_of(recording, points=7)
    assert [(band["kind"], band["name"]) for band in few["bands"]] == order
    at = [columns["point_event"].index(event) for event in few["columns"]["point_event"]]
    assert few["columns"]["bytes"] == [columns["bytes"][i * count + point] for i in range(len(order)) for point in at]


def test_bands_of_libraries_that_are_missed_are_unknown(libraries, tmp_path):
    """From that moment on: no number, and the reason."""
    (tmp_path / "other.c").write_text("int cuMemAlloc_v2(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", libraries / "libother.so", tmp_path / "other.c"], check=True, timeout=60)
    _, recording = run(libraries, tmp_path, 1, 10, "other")
    (device,) = ask(recording, "info")["devices"]
    count = device["events"] + 1
    reply = columns_of(recording, points=count, x0=-1, x1=device["events"])
    of_library = [i for i, band in enumerate(reply["bands"]) if band["kind"] == "library"]
    unknown = [math.isnan(reply["columns"]["bytes"][of_library[0] * count + point]) for point in range(count)]
    assert [is_unknown for is_unknown, _ in itertools.groupby(unknown)] in ([False, True], [True, False, True])
    pytorch = ask(recording, "reserved")["reserved_bytes"]
    assert reply["columns"]["known"][-1] == pytorch
    (row,) = [row for row in reply["unknown"] if row["kind"] == "library"]
    assert row["name"] == "other libraries" and "PyTorch's memory alone" in row["why"]
