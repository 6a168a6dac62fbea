"""A run of a program that is loaded once is a run like any other: tests/starter does what it says."""

import json
import os
import subprocess
import sys

import pytest

import starter

WHAT_IT_SEES = "import json, os, sys; json.dump([dict(os.environ), os.getcwd(), sys.argv[1:], os.listdir('/proc/self/fd'), sys.stdin.read()], sys.stdout)"


def python(code, *words, **more):
    return starter.run([sys.executable, "-c", code, *words], **more)


@pytest.fixture(autouse=True)
def needs_library():
    assert starter.LIBRARY, "STARTER does not name the library"


@pytest.mark.parametrize("anew", (False, True))
def test_a_run_gets_what_it_was_given(folder, anew):
    done = python(WHAT_IT_SEES, "a", "", "b c", env={"A": "b=c"}, cwd=folder, input=b"x" * 200_000, anew=anew)
    environment, where, words, files, read = json.loads(done.stdout)
    environment.pop("LC_CTYPE", None)  # Python's own
    assert environment == {"A": "b=c"} and where == str(folder) and words == ["a", "", "b c"] and read == "x" * 200_000
    assert sorted(map(int, files))[:3] == [0, 1, 2] and len(files) == 4  # and the folder that it reads
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("end, code", (("sys.exit(7)", 7), ("os._exit(4)", 4), ("os.kill(os.getpid(), 11)", -11), ("os.abort()", -6)))
def test_its_end_is_told(end, code):
    for anew in (False, True):
        assert python(f"import os, sys; print('said', file=sys.stderr, flush=True); {end}", anew=anew).returncode == code
    assert python("print(1)").stdout == b"1\n"  # the next one knows nothing of it


def test_a_run_that_hangs_is_ended():
    with pytest.raises(subprocess.TimeoutExpired):
        python("import time; time.sleep(100)", timeout=0.5)
    assert python("print(1)").stdout == b"1\n"


@pytest.mark.parametrize("anew", (False, True))
@pytest.mark.parametrize("program, is_in_time", (("while True: pass", False), ("import time; time.sleep(1.2)", True)), ids=("computes", "waits"))
def test_the_limit_of_processor_time(program, is_in_time, anew):
    with open(os.devnull, "r+b") as nothing:
        run = starter.Run([sys.executable, "-c", program], [nothing.fileno()] * 3, anew=anew)
        assert run.wait_cpu(0.5) is is_in_time
    assert run.code == (0 if is_in_time else -9)


def test_memory_is_each_runs_own():
    most = {}
    for size in (1, 300 << 20, 2):
        with open(os.devnull, "r+b") as nothing:
            run = starter.Run([sys.executable, "-c", f"bytearray({size})"], [nothing.fileno()] * 3)
            assert run.wait(60) and run.code == 0
        most[size] = run.max_rss_kib
    assert most[300 << 20] > 300 << 10 and max(most[1], most[2]) < 150 << 10, most


@pytest.mark.parametrize("words", (["--version"], ["report", "snapshot.pickle"], ["report", "absent"], ["report"], ["events", "--json", "snapshot.pickle"],
                                   ["export", "snapshot.pickle", "csv"], ["nonsense"], ["help", "tree"]), ids=" ".join)
def test_the_program_is_the_same(vramscope, words):
    """Loaded for this run or once: one exit code, and the same words to the byte."""
    assert vramscope(*words) == vramscope(*words, anew=True)
