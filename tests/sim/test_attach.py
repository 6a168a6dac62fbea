"""`vramscope attach` and `vramscope detach`: a training loop that runs already, recorded for a while; it goes on unharmed.

VRAMSCOPE_ATTACHES=N attaches N times in the middle of a storm of allocations instead of 4.
"""

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from answers import ask
from conftest import BINARY, PROGRAMS, PYTHON, environment, finish
from test_recorder import PYTHONS, libraries  # noqa: F401  (a fixture)

ATTACHES = int(os.environ.get("VRAMSCOPE_ATTACHES", "4"))
LOOP = [str(PYTHON), str(PROGRAMS / "attached.py")]


@pytest.fixture(params=["gdb", "lldb"])
def debugger(request, tmp_path_factory, monkeypatch):
    """The only one that is found."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / request.param).symlink_to(shutil.which(request.param))
    monkeypatch.setenv("PATH", str(folder))
    return request.param


def vramscope(*words, folder):
    """The command; what it puts into its temporary folder is gone when it ends."""
    place = folder / "temporary"
    place.mkdir(exist_ok=True)
    done = finish([BINARY, *map(str, words)], {**os.environ, "TMPDIR": str(place)}, folder, 120)
    place.rmdir()
    return done


@pytest.fixture
def loop(tmp_path):
    """The running program: its process, and what it says on each line."""
    started = []

    def start(*options):
        process = subprocess.Popen([*LOOP, *options], env=environment(gpu="8GiB"), cwd=tmp_path, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process):
    """What the loop found out about itself: it ends when its input does."""
    out, err = process.communicate("", timeout=120)
    assert process.returncode == 0 and "vramscope" not in err and "Traceback" not in err, err
    return json.loads(out.splitlines()[-1])


def exported(folder, recording):
    path = folder / "exported.pickle"
    subprocess.run([BINARY, "export", "-q", "-f", recording, "pickle", "-o", path], check=True, timeout=120)
    with open(path, "rb") as file:
        return pickle.load(file)


def device_of(path):
    (device,) = ask(path, "report")["devices"]
    return device


def test_a_training_that_runs(loop, tmp_path):
    """Owners are the lines of the loop, totals those of PyTorch, and its results are those of a run that nobody looked at."""
    process = loop()
    done = vramscope("attach", process.pid, "-o", "a.vram", folder=tmp_path)
    assert done.code == 0 and f"recording process {process.pid} to {tmp_path}/a.vram" in done.out, done.err
    again = vramscope("attach", process.pid, "-o", "b.vram", folder=tmp_path)
    assert again.code == 2 and f"this process is being recorded already, to {tmp_path}/a.vram" in again.err
    time.sleep(3)
    done = vramscope("detach", process.pid, folder=tmp_path)
    assert done.code == 0 and done.out == f"{tmp_path}/a.vram is complete\n", done.err
    again = vramscope("detach", process.pid, folder=tmp_path)
    assert again.code == 2 and f"process {process.pid}: it is not being recorded" in again.err
    second = vramscope("attach", process.pid, folder=tmp_path)
    assert second.code == 0, second.err
    time.sleep(1)
    told = ended(process)
    assert told["found"] == told["expected"] and told["steps"] > 20
    device = device_of(tmp_path / "a.vram")
    seen = {finding["kind"] for finding in device["trust"]["findings"]}
    assert {"began_late", "frees_at_request"} <= seen <= {"began_late", "frees_at_request", "free_without_alloc", "live_without_alloc", "rounded_requests"}
    source = (PROGRAMS / "attached.py").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(source) if "kept = " in text)
    allocated = [e for e in exported(tmp_path, tmp_path / "a.vram")["device_traces"][0] if e["action"] == "alloc" and e["size"] == 640 * 512 * 4]
    places = [(os.path.basename(e["frames"][0]["filename"]), e["frames"][0]["line"]) for e in allocated]
    assert len(places) > 20 and set(places) == {("attached.py", line)}
    (other,) = [path for path in tmp_path.glob("*.vram") if path.name != "a.vram"]
    assert other.name == f"python.{process.pid}.vram"
    assert {name: device_of(other)["end"][f"{name}_bytes"] for name in ("reserved",)} == {"reserved": told["reserved"]}
    assert not [f for f in device_of(other)["trust"]["findings"] if f["severity"] == "contradiction"]


def test_in_the_middle_of_a_storm(loop, tmp_path):
    """Threads are stopped in any instruction of the allocator, again and again. Each recording begins with a state that its events fit."""
    process = loop("3")
    for i in range(ATTACHES):
        done = vramscope("attach", process.pid, "-f", "-o", "a.vram", folder=tmp_path)
        assert done.code == 0, done.err
        time.sleep(0.02 * (i % 5))
        done = vramscope("detach", process.pid, folder=tmp_path)
        assert done.code == 0, done.err
        device = device_of(tmp_path / "a.vram")
        assert not [finding for finding in device["trust"]["findings"] if finding["severity"] == "contradiction"]
        assert device["trace"]["events"] > 0
    told = ended(process)
    assert told["found"] == told["expected"]


def test_a_failure_leaves_the_program_alone(loop, tmp_path):
    process = loop()
    done = vramscope("attach", process.pid, "-o", "missing/a.vram", folder=tmp_path)
    assert done.code == 3 and f"process {process.pid}: its folder does not exist" in done.err
    (tmp_path / "old.vram").write_text("mine")
    done = vramscope("attach", process.pid, "-o", "old.vram", folder=tmp_path)
    assert done.code == 3 and "file exists" in done.err and (tmp_path / "old.vram").read_text() == "mine"
    done = vramscope("attach", process.pid, "-f", "-o", "old.vram", folder=tmp_path)
    assert done.code == 0, done.err
    time.sleep(1)  # the loop goes on, and is recorded
    told = ended(process)
    assert told["found"] == told["expected"]
    assert device_of(tmp_path / "old.vram")["trace"]["events"] > 0


def test_a_program_without_python(debugger, tmp_path):
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        done = vramscope("attach", other.pid, folder=tmp_path)
        assert done.code == 3 and f"process {other.pid} (sleep) does not run Python" in done.err
        assert other.poll() is None
        other.kill()
    assert other.returncode == -signal.SIGKILL


WAITING = """
import ctypes
print("ready", flush=True)
ctypes.PyDLL(None).read(0, ctypes.create_string_buffer(1), 1)  # holds Python's lock
print("unharmed", flush=True)
"""


def tracer_of(process):
    """The debugger's number, 0 if there is none."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^TracerPid:\s+(\d+)", status, re.M)[1])


def test_interrupted_while_it_waits(debugger, tmp_path):
    """The program is let go of, although it was never at a place where Python may be called; it has no breakpoint then."""
    with subprocess.Popen([PYTHON, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "ready\n"
        with subprocess.Popen([BINARY, "attach", str(program.pid)], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as attach:
            while tracer_of(program) == 0:
                time.sleep(0.01)
            time.sleep(1)  # the debugger sets its breakpoint and lets the program go on
            attach.send_signal(signal.SIGINT)
            assert attach.wait(60) == 3
            assert f"interrupted before process {program.pid} ran Python: nothing was changed there" in attach.stderr.read()
        program.stdin.write("x")
        program.stdin.flush()
        assert program.stdout.readline() == "unharmed\n"
    assert program.returncode == 0 and not list(tmp_path.iterdir())


def test_processes_that_cannot_be_recorded(tmp_path):
    done = vramscope("attach", 2**31 - 1, folder=tmp_path)
    assert done.code == 2 and "there is no process 2147483647" in done.err
    for word in ("0", "x", "-1"):
        done = vramscope("attach", "--", word, folder=tmp_path) if word == "-1" else vramscope("attach", word, folder=tmp_path)
        assert done.code == 2 and done.out == ""
    done = finish([BINARY, "attach", str(os.getpid())], {**os.environ, "PATH": "/nowhere"}, tmp_path)
    assert done.code == 3 and "gdb or lldb, which are not installed here (Debian and Ubuntu: apt install gdb)" in done.err
    place = tmp_path / "a\nshell touch executed\nb"  # would end the command of gdb that it stands in
    place.mkdir()
    done = finish([BINARY, "attach", str(os.getpid())], {**os.environ, "TMPDIR": str(place)}, tmp_path)
    assert done.code == 3 and "has a line feed, which a debugger's commands cannot hold: that for temporary files (TMPDIR)" in done.err
    place.rmdir()
    assert not list(tmp_path.iterdir())


BESIDE = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
library.test_allocate.restype, library.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.test_free.argtypes = [ctypes.c_void_p]
print(*sys.version_info[:2], flush=True)
while True:
    library.test_free(library.test_allocate(1000))
    time.sleep(0.001)
"""


def test_by_each_debugger(debugger, libraries, tmp_path):  # noqa: F811
    (tmp_path / "beside.py").write_text(BESIDE)
    with subprocess.Popen([PYTHON, tmp_path / "beside.py", libraries["new"]], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline()
        for _ in range(2):
            done = vramscope("attach", program.pid, "-f", "-o", "a.vram", folder=tmp_path)
            assert done.code == 0, done.err
            time.sleep(0.2)
            done = vramscope("detach", program.pid, folder=tmp_path)
            assert done.code == 0 and device_of(tmp_path / "a.vram")["trace"]["events"] > 20, done.err
        assert program.poll() is None
        program.kill()


IN_THE_ALLOCATOR = """
import ctypes, os, sys, threading, time
library = ctypes.CDLL(sys.argv[1])
opens = ctypes.c_int(0)
library.test_allocate.argtypes = [ctypes.c_size_t]
thread = threading.Thread(target=library.test_allocate_behind, args=(ctypes.byref(opens), ctypes.c_size_t(1000)))
thread.start()
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.001)
opens.value = 1
thread.join()
library.test_allocate(2000)
"""


def test_a_thread_in_the_allocator(libraries, tmp_path):  # noqa: F811
    """It asked before it could be seen, so the recording has its block's size. The file says so, and the program's user is told nothing."""
    (tmp_path / "program.py").write_text(IN_THE_ALLOCATOR)
    with subprocess.Popen([PYTHON, "program.py", libraries["new"]], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as program:
        assert program.stdout.readline() == "ready\n"
        assert vramscope("attach", program.pid, "-o", "a.vram", folder=tmp_path).code == 0
        (tmp_path / "go").touch()
        assert program.wait(60) == 0 and program.stderr.read() == ""
    sizes = [e["size"] for e in exported(tmp_path, tmp_path / "a.vram")["device_traces"][0] if e["action"] == "alloc"]
    assert sizes == [1024, 2000]
    assert "rounded_requests" in {finding["kind"] for finding in device_of(tmp_path / "a.vram")["trust"]["findings"]}


@pytest.mark.parametrize("python", PYTHONS)
def test_without_a_debugger(libraries, tmp_path, python):  # noqa: F811
    """Python 3.14 and later is asked by its own interpreter; of others the user reads what is missing."""
    (tmp_path / "beside.py").write_text(BESIDE)
    program = subprocess.Popen([python, tmp_path / "beside.py", libraries["new"]], stdout=subprocess.PIPE, text=True)
    major, minor = map(int, program.stdout.readline().split())
    without = {**os.environ, "PATH": "/nowhere"}
    done = finish([BINARY, "attach", str(program.pid), "-o", "a.vram"], without, tmp_path)
    if (major, minor) < (3, 14):
        assert done.code == 3 and "gdb or lldb, which are not installed here" in done.err
    else:
        assert done.code == 0, done.err
        time.sleep(0.2)
        done = finish([BINARY, "detach", str(program.pid)], without, tmp_path)
        assert done.code == 0 and device_of(tmp_path / "a.vram")["trace"]["events"] > 20, done.err
    assert program.poll() is None
    program.kill()
    program.communicate()
