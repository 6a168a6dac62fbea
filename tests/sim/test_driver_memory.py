"""What libraries take from the CUDA driver, as the recorder sees it: against the account of the program that takes it, at every event of the
allocator. The libraries are recorder/driver.c, which asks the driver as a CUDA runtime does; the driver is the simulated one."""

import json
import subprocess
import sys

import pytest
from answers import ask
from conftest import BINARY, LIBRARIES, environment_of, finish
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
