"""Starts the program under test and measures what a user could notice of it."""

import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

BINARY = os.environ.get("VRAMSCOPE", "")
TIMEOUT_S = int(os.environ.get("VRAMSCOPE_TIMEOUT_S", "10"))
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


def run(*args, stdin=None):
    """Run `vramscope ARGS`. `stdin`: bytes to send through a pipe, None for an empty input."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(
            [BINARY, *map(str, args)],
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=out,
            stderr=err,
        )
        late = threading.Event()
        feeder = threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True) if stdin is not None else None
        if feeder:
            feeder.start()
        timer = threading.Timer(TIMEOUT_S, lambda: (late.set(), process.kill()))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if feeder:
            feeder.join(TIMEOUT_S)
        out.seek(0)
        err.seek(0)
        return Outcome(
            process.returncode,
            out.read(),
            err.read(),
            time.monotonic() - began,
            usage.ru_maxrss / 1024,
            late.is_set(),
        )


def _feed(pipe, data):
    try:
        pipe.write(data)
        pipe.close()
    except BrokenPipeError:  # it may stop reading early
        pass


def report_of(path):
    return run("report", "--json", path).report()


def assert_refused(outcome, what=""):
    """Exit code 3 and one short, printable line on standard error, and nothing said on standard output."""
    assert not outcome.timed_out, f"{what}: not finished after {TIMEOUT_S} s"
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
    assert not outcome.timed_out, f"{what}: not finished after {TIMEOUT_S} s"
    assert outcome.code in (0, CANNOT_READ, 4), f"{what}: exit code {outcome.code}, stderr {outcome.err[:300]!r}"
    if outcome.err:
        assert_one_line(outcome.err, what)
    if outcome.code == 0:
        json.loads(outcome.out)


def assert_frugal(outcome, what=""):
    assert outcome.max_rss_mb < MAX_RSS_MB, f"{what}: {outcome.max_rss_mb:.0f} MB of memory"
