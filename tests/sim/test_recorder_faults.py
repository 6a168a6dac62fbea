"""The recorder where things go wrong: killed at any instant, beside another recorder, in a program with AddressSanitizer, below tables that are
read-only. On an allocator that calls what PyTorch's calls (recorder/c10_cuda.c).

VRAMSCOPE_KILLS=N kills N programs instead of 40.
"""

import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from answers import ask
from conftest import BINARY, environment_of, finish
from test_recorder import DEPTH, RECORDER, libraries, record, stacks_of  # noqa: F401  (a fixture)

KILLS = int(os.environ.get("VRAMSCOPE_KILLS", "40"))
HELD = 8

STORM = f"""
import ctypes, mmap, sys

library = ctypes.PyDLL(sys.argv[1])
library.test_allocate.restype, library.test_allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.test_free.argtypes = [ctypes.c_void_p]
with open(sys.argv[2], "r+b") as file:
    begun = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")  # the kernel keeps it; one store writes it

def even(n):
    return library.test_allocate(n)

def odd(n):
    return library.test_allocate(n)

held, most = [], int(sys.argv[3])
for n in range(1, most + 1):
    begun[0] = n
    held.append((odd if n % 2 else even)(n))
    if len(held) > {HELD}:
        library.test_free(held.pop(0))
    if n == 1:
        print("begun", flush=True)
"""


def storm_of(steps):
    """The events of so many steps: (action, bytes, function)."""
    for n in range(1, steps + 1):
        yield "alloc", n, "odd" if n % 2 else "even"
        if n > HELD:
            yield "free_requested", n - HELD, None


def environment(recording, preload=RECORDER, **more):
    env = environment_of({"LD_PRELOAD": preload, "VRAMSCOPE_RECORD": recording, "PYTHONPATH": None, **more})
    env.pop("PYTHONPATH")
    return env


def events_of(recording):
    """What is compared with storm_of; a free is of the bytes that were allocated at its address."""
    target = recording.with_suffix(".pickle")
    subprocess.run([BINARY, "export", "-q", "-f", recording, "pickle", "-o", target], check=True, timeout=60)
    with open(target, "rb") as file:
        snapshot = pickle.load(file)
    bytes_at, found = {}, []
    for event in (event for trace in snapshot["device_traces"] for event in trace):
        if event["action"] == "alloc":
            bytes_at[event["addr"]] = event["size"]
            found.append(("alloc", event["size"], event["frames"][0]["name"]))
        elif event["action"] == "free_requested":
            assert event["size"] == bytes_at[event["addr"]]
            found.append(("free_requested", bytes_at.pop(event["addr"]), None))
    return found


def contradictions(recording):
    return [finding for device in ask(recording, "report")["devices"] for finding in device["trust"]["findings"]
            if finding["severity"] == "contradiction"]


@pytest.fixture
def storm(tmp_path, libraries):  # noqa: F811
    (tmp_path / "storm.py").write_text(STORM)
    (tmp_path / "steps").write_bytes(bytes(8))

    def command(steps):
        return [sys.executable, str(tmp_path / "storm.py"), str(libraries["new"]), str(tmp_path / "steps"), str(steps)]

    return command


def test_killed_at_any_instant(storm, tmp_path):
    """The file has the first events of what the program did, each whole, with its stack, and no others; a program that ended has all."""
    chance, kept, recording = random.Random(7), 0, tmp_path / "run.vram"
    for _ in range(KILLS):
        recording.unlink(missing_ok=True)
        program = subprocess.Popen(storm(100000), env=environment(recording), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert program.stdout.read(5) == b"begun", program.stderr.read()
        time.sleep(chance.random() * 0.05)
        program.kill()
        _, err = program.communicate()
        assert program.returncode in (-signal.SIGKILL, 0) and not err, err
        steps = int.from_bytes((tmp_path / "steps").read_bytes(), "little")
        found, all_events = events_of(recording), list(storm_of(steps))
        assert found == all_events[: len(found)]
        assert program.returncode != 0 or len(found) == len(all_events)
        assert not contradictions(recording)
        kept += len(found)
    assert kept > 20 * KILLS


def test_two_recorders(storm, tmp_path):
    """Both are told everything. One of them stands before the allocator's own table, which the other does not trust, and says so."""
    other = tmp_path / "librecord-other.so"
    shutil.copy(RECORDER, other)
    done = finish(storm(500), environment(tmp_path / "run.vram", f"{RECORDER}:{other}"), tmp_path)
    assert done.code == 0 and done.err.count("\n") == 1 and "some requests are seen only after they were rounded" in done.err, done.err
    exact = list(storm_of(500))
    rounded = [(action, (n + 511) // 512 * 512, function) for action, n, function in exact]
    found = [events_of(path) for path in tmp_path.glob("*.vram")]
    assert len(found) == 2 and exact in found and rounded in found


PROGRAM = """
#include <stddef.h>
void *test_allocate(size_t bytes);
void test_free(void *address);
int main(void) {
  void *held[16] = {0};
  for (size_t n = 1; n <= 500; n++) {
    if (held[n % 16] != NULL) test_free(held[n % 16]);
    held[n % 16] = test_allocate(n);
  }
  return 7;
}
"""


@pytest.mark.parametrize("flags", [[], ["-fsanitize=address"]])
def test_a_program_in_c(libraries, tmp_path, flags):  # noqa: F811
    """It is linked with the allocator, which is there before the recorder begins. With AddressSanitizer, what the recorder does is no error
    of the program, and no leak."""
    source, program, recording = tmp_path / "program.c", tmp_path / "program", tmp_path / "run.vram"
    source.write_text(PROGRAM)
    folder = libraries["new"].parent
    subprocess.run(["cc", "-g", *flags, "-o", program, source, "-L", folder, f"-Wl,-rpath,{folder}", "-lc10_cuda", "-lc10", "-lcudart"],
                   check=True, timeout=60)
    done = finish([str(program)], environment(recording, ASAN_OPTIONS="verify_asan_link_order=0"), tmp_path)
    assert (done.code, done.err) == (7, "")
    allocated = [n for action, n, _ in events_of(recording) if action == "alloc"]
    assert allocated == list(range(1, 501)) and not contradictions(recording)


def test_no_descriptor_is_left(storm, tmp_path):
    """The program goes on, and its user reads why nothing is recorded."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
    (tmp_path / "storm.py").write_text(STORM.replace("held, most", limit + "held, most"))
    done = finish(storm(500), environment(tmp_path / "run.vram"), tmp_path)
    assert done.code == 0 and done.out == "begun\n"
    assert done.err == f"vramscope: not recording: {tmp_path}/run.vram: too many files are open\n"
    assert not (tmp_path / "run.vram").exists()


def test_tables_that_are_read_only(libraries, tmp_path):  # noqa: F811
    """A linkage table that the loader made read-only is led to a recorder that comes late, and is read-only again."""
    told, trace, device, done = record(tmp_path, libraries["read_only"], is_late=True)
    assert stacks_of(trace)[:-1] == [[n, frames[:DEPTH]] for n, frames in told[:-1]]
    assert "inferred_segments" not in {finding["kind"] for finding in device["trust"]["findings"]} and not done.err.count("segments")
