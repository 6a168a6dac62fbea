"""Runs of a program that is loaded only once: tests/starter/starter.c forks it before its main.

A run is a process like any other, with its own exit code or signal; what is saved is the loading, which under a sanitizer takes
longer than most runs. STARTER names the library; without it, and with `anew`, each run loads its program.
"""

import array
import atexit
import contextlib
import os
import selectors
import socket
import struct
import subprocess
import time

LIBRARY = os.environ.get("STARTER", "")

_loaded = {}  # program -> socket to it


def _socket_to(path):
    if path in _loaded:
        return _loaded[path]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {**os.environ, "LD_PRELOAD": LIBRARY, "STARTER_SOCKET": str(theirs.fileno())}
    env["ASAN_OPTIONS"] = ":".join(filter(None, (env.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
    with theirs:
        program = subprocess.Popen([path], env=env, pass_fds=[theirs.fileno()])
    atexit.register(lambda: (ours.close(), program.wait()))
    return _loaded.setdefault(path, ours)


def _cpu_seconds(pid):
    """What a process that nobody has waited for has used of the processor, by its clock (clock_getcpuclockid of glibc: CPUCLOCK_SCHED)."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:  # it has ended since
        return 0


class Run:
    """A run under way; one at a time of each program that is loaded. `each`: main is called for each of so many last arguments
    in one process, as starter.c says."""

    def __init__(self, argv, streams, env=None, cwd=None, anew=False, each=0):
        argv, env, cwd = [str(word) for word in argv], dict(os.environ if env is None else env), str(cwd or os.getcwd())
        self.code = self.max_rss_kib = None
        self.is_loaded = bool(LIBRARY) and not anew
        if not self.is_loaded:
            self.process = subprocess.Popen(argv, stdin=streams[0], stdout=streams[1], stderr=streams[2], env=env, cwd=cwd)
            self.pid = self.process.pid
            self.file = os.pidfd_open(self.pid)
            return
        self.file = _socket_to(argv[0])
        words = [os.fsencode(word) + b"\0" for word in (cwd, *argv, *(f"{name}={value}" for name, value in env.items()))]
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
        self.file.sendmsg([struct.pack("=2i", len(argv), each), *words], beside)
        (self.pid,) = struct.unpack("=i", self.file.recv(64))

    def finish(self):
        """Called when self.file can be read, or to wait for that."""
        if self.is_loaded:
            status, self.max_rss_kib = struct.unpack("=2q", self.file.recv(64))
        else:
            os.close(self.file)
            _, status, usage = os.wait4(self.pid, 0)
            self.max_rss_kib = usage.ru_maxrss
        self.code = os.waitstatus_to_exitcode(status)
        if not self.is_loaded:
            self.process.returncode = self.code

    def wait(self, timeout):
        """False when it had to be killed."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.file, selectors.EVENT_READ)
            in_time = bool(selector.select(timeout))
        return self._end(in_time)

    def wait_cpu(self, seconds):
        """Like wait, with a limit of processor time; a run that uses none has ten times as long by the clock."""
        late = time.monotonic() + 10 * seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.file, selectors.EVENT_READ)
            while not (in_time := bool(selector.select(0.5))) and time.monotonic() < late and _cpu_seconds(self.pid) < seconds:
                pass
        return self._end(in_time)

    def _end(self, in_time):
        if not in_time:
            os.kill(self.pid, 9)
        self.finish()
        return in_time


def run(argv, env=None, cwd=None, input=b"", stdout=None, timeout=60, anew=False):
    """Like subprocess.run: standard output goes to `stdout` (a file, or its number), or comes back."""
    with contextlib.ExitStack() as stack:
        pipe = lambda: [stack.enter_context(open(end, mode, buffering=0)) for end, mode in zip(os.pipe(), ("rb", "wb"))]  # noqa: E731
        (theirs, send), (out, into), (err, errors) = pipe(), pipe(), pipe()
        printed = into.fileno() if stdout is None else stdout if isinstance(stdout, int) else stdout.fileno()
        process = Run(argv, [theirs.fileno(), printed, errors.fileno()], env, cwd, anew)
        for file in (theirs, into, errors):
            file.close()
        os.set_blocking(send.fileno(), False)
        said, rest, late = {out: b"", err: b""}, memoryview(input), time.monotonic() + timeout
        selector = stack.enter_context(selectors.DefaultSelector())
        for file, event in ((out, selectors.EVENT_READ), (err, selectors.EVENT_READ), (process.file, selectors.EVENT_READ), (send, selectors.EVENT_WRITE)):
            selector.register(file, event)
        while selector.get_map():
            ready = selector.select(max(0, late - time.monotonic()))
            if not ready:
                if process.code is None:
                    os.kill(process.pid, 9)
                    process.finish()
                raise subprocess.TimeoutExpired(argv, timeout)
            for file in [key.fileobj for key, _ in ready]:
                if file is process.file:
                    selector.unregister(file)
                    process.finish()
                    continue
                if file is send:
                    with contextlib.suppress(BrokenPipeError):  # it may stop reading early
                        rest = rest[send.write(rest) or 0:]
                        if rest:
                            continue
                elif data := file.read(1 << 16):
                    said[file] += data
                    continue
                selector.unregister(file)
                file.close()
    return subprocess.CompletedProcess(argv, process.code, said[out] if stdout is None else None, said[err])
