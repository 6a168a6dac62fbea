"""`vramscope.record`: records this process' GPU memory to a file, from the middle of a run if need be."""

from __future__ import annotations

import os
import sys
import warnings
from ctypes import PyDLL
from pathlib import Path
from types import TracebackType
from typing import Self

from vramscope import _recorder
from vramscope.errors import FileError, from_status

__all__ = ["Recording", "record"]

_LIBRARY = Path(__file__).parent / "lib" / "vramscope" / "preload" / "libvramscope-record.so"


class Recording:
    """A recording that is being written: the result of `record`.

    It ends with `stop`, at the end of a `with` block, or when the process exits. Any thread may end it. In a child of a fork it
    does nothing: the recording is the parent's.
    """

    def __init__(self, library: PyDLL, path: str) -> None:
        self._library = library
        self._process = os.getpid()
        self.path = path  #: the absolute path of the file

    @property
    def is_on(self) -> bool:
        """Whether it is being written now."""
        return self._process == os.getpid() and _recorder.path_of(self._library) == self.path

    def stop(self) -> None:
        """Completes the file. Does nothing if the recording has ended.

        Raises FileError if the file is incomplete (the disk is full); what it has can be read.
        """
        if not self.is_on:
            return
        try:
            _recorder.end(self._library)
        except _recorder.RecorderError as error:
            raise FileError(f"{self.path}: {error}") from None

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


def record(path: str | os.PathLike[str], *, overwrite: bool = False) -> Recording:
    """Records every allocation and free of PyTorch's CUDA allocator, with Python stacks, to a file (.vram), from now on.

        with vramscope.record("run.vram"):
            train()

    path       the file, which `vramscope report` and all other commands read, also while it is written
    overwrite  replace a file that is there

    It may begin at any time, also before PyTorch is imported. What is allocated already is in the recording with its size, but
    without its owner. All threads of this process are recorded; a child of a fork that uses the GPU has a file of its own
    (run.PID.vram), other children have none. The recording goes on until `Recording.stop`, the end of the `with` block or of the
    process; if that is killed, the file has all but the last hundredth of a second.

    Nothing of PyTorch is changed on disk: its calls are led through the recorder in memory, and back when the recording ends.

    Raises ArgumentError if this process is being recorded already (also by `vramscope run`), FileError if the file cannot be
    written or is there already, NotFoundError if its folder is not there, UnsupportedError if the calls of this PyTorch's
    allocator cannot be seen, and what PyTorch raises if it cannot say what is allocated (RuntimeError with
    backend:cudaMallocAsync).
    """
    return _begin(os.fspath(path), overwrite)


def _load() -> PyDLL:
    try:
        return _recorder.load(_LIBRARY)
    except OSError as error:
        raise FileError(f"the recorder cannot be loaded: {error}") from None


def _begin(path: str | None, overwrite: bool) -> Recording:
    library = _load()
    try:
        _recorder.begin(library, path, overwrite)
    except _recorder.RecorderError as error:
        sentence = str(error) if path is None or error.status not in ("IO", "NOT_FOUND") else f"{path}: {error}"
        raise from_status(error.status, sentence) from None
    return Recording(library, _recorder.path_of(library) or "")


def begin_from_environment() -> None:
    """What `import vramscope` does where VRAMSCOPE_RECORD is set. A failure is said, and the program goes on."""
    try:
        if not _load().vramscope_record_is_on():  # `vramscope run` has begun it
            _begin(None, False)
    except Exception as error:
        print(f"vramscope: not recording: {error}", file=sys.stderr)
