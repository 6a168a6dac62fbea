"""`vramscope.record`: records this process' GPU memory to a file, from the middle of a run if need be."""

from __future__ import annotations

import atexit
import os
import platform
import subprocess
import sys
import warnings
from ctypes import PyDLL
from pathlib import Path
from types import TracebackType
from typing import Self

from vramscope import _recorder
from vramscope._command import binary, environment
from vramscope.errors import ArgumentError, FileError, UnsupportedError, from_status

__all__ = ["Recording", "record", "record_on_oom"]

_LIBRARY = Path(__file__).parent / "lib" / "vramscope" / "preload" / "libvramscope-record.so"
_LEAST_BYTES = 16 << 20


class Recording:
    """A recording that is being written: the result of `record` and `record_on_oom`.

    It ends with `stop`, at the end of a `with` block, or when the process exits. Any thread may end it. In a child of a fork it
    does nothing: the recording is the parent's.
    """

    def __init__(self, library: PyDLL, path: str) -> None:
        self._library = library
        self._number = library.vramscope_record_number()
        self._kept = ""
        self._shows = True  # an error that ends the process may be the one of `kept`
        self.path: str = os.path.abspath(path)  #: the file that was asked for; of `record` the one that is written

    @property
    def is_on(self) -> bool:
        """Whether it is being written now."""
        on: bool = self._library.vramscope_record_is_on()
        return on and self._library.vramscope_record_number() == self._number

    @property
    def kept(self) -> str | None:
        """Of `record_on_oom`: the file about the last out-of-memory error; None if there was none. It has the path that was asked
        for, or, where another file has that, run.PID.vram for run.vram."""
        if self._library.vramscope_record_number() == self._number:
            self._kept = os.fsdecode(self._library.vramscope_record_kept())
        return self._kept or None

    def stop(self) -> None:
        """Completes the file. Does nothing if the recording has ended.

        Raises FileError if the file is incomplete (the disk is full); what it has can be read.
        """
        self._shows = self._shows and sys.exc_info()[1] is not None
        if not self.is_on:
            return
        try:
            _recorder.end(self._library)
        except _recorder.RecorderError as error:
            raise FileError(f"{self.path}: {error}") from None
        finally:
            self._kept = self.kept or ""  # another recording may begin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.stop()
        except FileError as failure:
            if error is None:
                raise
            warnings.warn(str(failure), stacklevel=2)  # the block's own exception goes on

    def __repr__(self) -> str:
        return f"<vramscope.Recording: {self.path}, {'on' if self.is_on else 'ended'}>"


def record(
    path: str | os.PathLike[str], *, overwrite: bool = False, max_bytes: int | None = None, max_seconds: int | None = None
) -> Recording:
    """Records every allocation and free of PyTorch's CUDA allocator, with Python stacks, to a file (.vram), from now on.

        with vramscope.record("run.vram"):
            train()

    path         the file, which `vramscope report` and all other commands read, also while it is written
    overwrite    replace a file that is there
    max_bytes    the most bytes of the file, at least 16 MiB: it has the newest events then, and the state of the memory before
                 them. None: all events
    max_seconds  instead of that, how long events are kept, at least 1: the file takes as much as those need

    It may begin at any time, also before PyTorch is imported. What is allocated already is in the recording with its size, but
    without its owner. All threads of this process are recorded; a child of a fork that uses the GPU has a file of its own
    (run.PID.vram), other children have none. The recording goes on until `Recording.stop`, the end of the `with` block or of the
    process; if that is killed, the file has all but the last hundredth of a second.

    Nothing of PyTorch is changed on disk: its calls are led through the recorder in memory, and back when the recording ends.

    Raises ArgumentError if this process is being recorded already (also by `vramscope run`), FileError if the file cannot be
    written or is there already, NotFoundError if its folder is not there, UnsupportedError if the calls of this PyTorch's
    allocator cannot be seen or the machine is not x86-64, and what PyTorch raises if it cannot say what is allocated
    (RuntimeError with backend:cudaMallocAsync).
    """
    if max_seconds is not None and (max_seconds < 1 or max_bytes is not None):
        raise ArgumentError("max_seconds: at least 1, and not together with max_bytes")
    options = (_recorder.REPLACE if overwrite else 0) | (_recorder.TIME if max_seconds else 0)
    return _begin(os.fspath(path), options, max_seconds or _bounded(max_bytes))


def record_on_oom(path: str | os.PathLike[str] = "oom.vram", *, max_bytes: int = 256 << 20, show: bool = True) -> Recording:
    """Records as `record` does, but keeps the file only if an out-of-memory error happens: the flight recorder of a job.

        vramscope.record_on_oom("oom.vram")
        train()                               # if this runs out of memory, it ends with the screen of: vramscope oom oom.vram

    path       the file of the last out-of-memory error. Where another file has that name, it is oom.PID.vram; standard error says
               which, and `Recording.kept`
    max_bytes  of the newest events, at least 16 MiB
    show       if an out-of-memory error that nothing handles ends the process, it prints that screen to standard error, behind
               Python's traceback. An interactive session does not end by errors

    The events are in oom.PID.part.vram meanwhile, which takes at most `max_bytes` of the disk and is removed at the end; a
    process that is killed leaves it. The error may be handled: then the recording goes on, and the next error replaces the file.

    Raises as `record`.
    """
    recording = _begin(os.fspath(path), _recorder.ON_OOM, _bounded(max_bytes))
    if show:
        atexit.register(_show_post_mortem, recording, os.getpid())
    return recording


def _show_post_mortem(recording: Recording, process: int) -> None:
    """At the end of the process; a child of a fork has the function, too."""
    if os.getpid() != process or not recording._shows or recording.kept is None or not _ends_by_out_of_memory():
        return
    try:
        subprocess.run([binary(), "oom", recording.kept], env=environment(), stdin=subprocess.DEVNULL, stdout=sys.__stderr__,
                       check=False)
    except OSError as error:
        print(f"vramscope: the post-mortem cannot be shown: {error}", file=sys.stderr)


def _ends_by_out_of_memory() -> bool:
    """Whether Python has printed the traceback of such an error, or of one that followed from it, as its last one."""
    kind = getattr(getattr(sys.modules.get("torch"), "cuda", None), "OutOfMemoryError", ())
    error: BaseException | None = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    before: list[BaseException] = []
    while error is not None and error not in before and not isinstance(error, kind):
        before.append(error)
        error = error.__cause__ or error.__context__
    return error is not None and error not in before


def _bounded(max_bytes: int | None) -> int:
    if max_bytes is not None and max_bytes < _LEAST_BYTES:
        raise ArgumentError(f"max_bytes: at least {_LEAST_BYTES} (16 MiB), so that the state of the memory has room")
    return max_bytes or 0


def _load() -> PyDLL:
    if platform.machine() != "x86_64":
        raise UnsupportedError(f"the recorder needs Linux on x86-64, and this machine is {platform.machine()}")
    try:
        return _recorder.load(_LIBRARY)
    except OSError as error:
        raise FileError(f"the recorder cannot be loaded: {error}") from None


def _begin(path: str | None, options: int = 0, most: int = 0) -> Recording:
    library = _load()
    try:
        _recorder.begin(library, path, options, most)
    except _recorder.RecorderError as error:
        sentence = str(error) if path is None or error.status not in ("IO", "NOT_FOUND") else f"{path}: {error}"
        raise from_status(error.status, sentence) from None
    global _latest
    _latest = Recording(library, path or "")
    return _latest


_latest: Recording | None = None


def latest() -> Recording | None:
    """The recording that this process began last."""
    return _latest


def begin_from_environment() -> None:
    """What `import vramscope` does where VRAMSCOPE_RECORD is set. A failure is said, and the program goes on."""
    try:
        if not _load().vramscope_record_is_on():  # `vramscope run` has begun it
            _begin(None)
    except Exception as error:
        print(f"vramscope: not recording: {error}", file=sys.stderr)
