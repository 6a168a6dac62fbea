"""Starts the program under test and measures what a user could notice of it."""

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import starter  # noqa: E402

BINARY = os.environ.get("VRAMSCOPE", "")
TIMEOUT_S = int(os.environ.get("VRAMSCOPE_TIMEOUT_S", "10"))  # of processor time, so that a busy machine changes nothing
MAX_RSS_MB = int(os.environ.get("VRAMSCOPE_MAX_RSS_MB", "256"))  # raise it for a build with sanitizers
CANNOT_READ = 3


@dataclass
class Outcome:
    code: int  # negative: the signal that ended it
    out: bytes
    err: bytes
    seconds: float
    max_rss_mb: float
    timed_out: bool

    def report(self):
        assert self.code == 0, f"exit code {self.code}, stderr {self.err!r}"
        assert self.err == b"", f"a report that succeeds prints no error: {self.err!r}"
        return json.loads(self.out)


def run(*args, stdin=None, anew=False, each=0):
    """Run `vramscope ARGS`. `stdin`: bytes to send through a pipe, None for an empty input. `anew`: load it for this run.
    `each`: what run_each says."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        theirs, ours = os.pipe() if stdin is not None else (os.open(os.devnull, os.O_RDONLY), None)
        began = time.monotonic()
        with open(theirs, "rb") as inlet:
            process = starter.Run([BINARY, *args], [file.fileno() for file in (inlet, out, err)], anew=anew, each=each)
        if stdin is not None:
            feeder = threading.Thread(target=_feed, args=(ours, stdin), daemon=True)
            feeder.start()
        in_time = process.wait_cpu(TIMEOUT_S)
        seconds = time.monotonic() - began
        if stdin is not None:
            feeder.join(TIMEOUT_S)
        out.seek(0)
        err.seek(0)
        return Outcome(process.code, out.read(), err.read(), seconds, process.max_rss_kib / 1024, not in_time)


def run_each(*args, paths):
    """The outcomes of `vramscope ARGS PATH` for each path, all in one process and with one check for leaks. Where that process
    does not end well, each path gets a process of its own, which tells the one that is to blame; the time limit of a run is for one path."""
    if not starter.LIBRARY:
        return [run(*args, path) for path in paths]
    together = run(*args, *paths, each=len(paths))
    outs, errs = together.out.split(b"\0"), together.err.split(b"\0")
    if together.code == 0 and not together.timed_out and len(outs) == len(paths) + 1 and len(errs) == 2 * len(paths) + 1:
        return [Outcome(int(errs[2 * i + 1]), outs[i], errs[2 * i], together.seconds, together.max_rss_mb, False)
                for i in range(len(paths))]
    alone = [run(*args, path) for path in paths]
    ended_well = all(outcome.code in range(5) and not outcome.timed_out for outcome in alone)
    assert together.timed_out or not ended_well, f"each is fine alone, and together: exit code {together.code}, stderr {together.err[-3000:]!r}"
    return alone


def _feed(end, data):
    with contextlib.suppress(BrokenPipeError), open(end, "wb", buffering=0) as pipe:  # it may stop reading early
        rest = memoryview(data)
        while rest:
            rest = rest[pipe.write(rest):]


def report_of(path):
    return run("report", "--json", path).report()


def assert_refused(outcome, what=""):
    """Exit code 3, one short printable line on standard error, and nothing on standard output."""
    assert not outcome.timed_out, f"{what}: not finished after {TIMEOUT_S} s of processor time"
    assert outcome.code == CANNOT_READ, f"{what}: exit code {outcome.code}, stderr {outcome.err[:300]!r}"
    assert outcome.out == b"", f"{what}: output {outcome.out[:300]!r}"
    assert_one_line(outcome.err, what)


def assert_one_line(err, what=""):
    assert err.endswith(b"\n") and err.count(b"\n") == 1, f"{what}: not one line: {err[:600]!r}"
    assert len(err) <= 500, f"{what}: {len(err)} bytes: {err[:600]!r}"
    err.decode()  # what is no text must be escaped, too
    assert not any(byte < 0x20 or byte == 0x7F for byte in err[:-1]), f"{what}: control bytes: {err!r}"


def assert_survived(outcome, what=""):
    """Any answer but a crash: a report, a refusal, or exit code 4; at most one line on standard error."""
    assert not outcome.timed_out, f"{what}: not finished after {TIMEOUT_S} s of processor time"
    assert outcome.code in (0, CANNOT_READ, 4), f"{what}: exit code {outcome.code}, stderr {outcome.err[:300]!r}"
    if outcome.err:
        assert_one_line(outcome.err, what)
    if outcome.code == 0:
        json.loads(outcome.out)


def assert_frugal(outcome, what=""):
    assert outcome.max_rss_mb < MAX_RSS_MB, f"{what}: {outcome.max_rss_mb:.0f} MB of memory"
