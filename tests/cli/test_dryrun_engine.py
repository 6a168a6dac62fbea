"""How long dryrun waits for the processes of an engine for inference (vramscope_engine.py), which kills them some seconds after it asked
them to end."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

ENGINE = Path(__file__).parents[2] / "python" / "vramscope_dryrun" / "vramscope_engine.py"


@pytest.fixture
def engine():
    names = {"__name__": "vramscope_engine"}
    exec(compile(ENGINE.read_text(), str(ENGINE), "exec"), names)
    return SimpleNamespace(**names)


def test_patience_follows_processor_time(engine):
    """A process is waited for as long as it works, however slowly the machine lets it, and is given up where it hangs."""
    starved = engine.Patience(100)
    assert not any(starved.is_over(100 + 59 * i, float(i)) for i in range(30))  # a second of work in each minute
    hanging = engine.Patience(100)
    assert not hanging.is_over(100, 7.0) and not hanging.is_over(130, 8.0) and not hanging.is_over(189, 8.9) and hanging.is_over(190, 8.9)
    ended = engine.Patience(100)  # a descendant left the tree, and its time with it
    assert not ended.is_over(100, 50.0) and not ended.is_over(159, 20.0) and not ended.is_over(218, 20.0) and ended.is_over(219, 20.0)
    busy = engine.Patience(100, most_s=1000)
    assert not any(busy.is_over(now, float(now)) for now in range(100, 1100)) and busy.is_over(1100, 1100.0)


def process(code):
    """It has begun when it says so."""
    child = subprocess.Popen([sys.executable, "-c", "import sys\nprint(1, flush=True)\n" + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"1\n"
    return child


def end(child):
    child.kill()
    child.wait()
    child.stdin.close(), child.stdout.close()


def test_processes_that_end_or_hang(engine):
    """The one that ends is waited for, and not reaped; one that is stopped uses no processor, and one that counts never ends."""
    ends, stopped, counts = process("sys.stdin.read()"), process("sys.stdin.read()"), process("while True: pass")
    try:
        os.kill(stopped.pid, signal.SIGSTOP)
        threading.Timer(0.5, ends.stdin.close).start()
        assert engine.wait_to_end([ends.pid]) == []
        assert ends.wait() == 0
        assert engine.wait_to_end([ends.pid, stopped.pid], hangs_s=0.3) == [stopped.pid]
        assert engine.wait_to_end([counts.pid], most_s=0.3) == [counts.pid]
    finally:
        for child in (ends, stopped, counts):
            end(child)


WORKING = """
import os, time
if os.fork() == 0:
    while time.process_time() < 0.3: pass
    print(2, flush=True)
    while True: pass
os.wait()
"""


def test_descendants_work_for_a_process(engine):
    """An engine that waits for its workers does nothing itself."""
    child = process(WORKING)
    try:
        before = engine._Process.read(child.pid).used
        assert child.stdout.readline() == b"2\n"
        assert engine._used_below(child.pid, engine._processes()) > before + 0.2
        assert engine._Process.read(child.pid).used < before + 0.2
    finally:
        for pid, found in engine._processes().items():
            if found.parent == child.pid:
                os.kill(pid, signal.SIGKILL)
        end(child)
