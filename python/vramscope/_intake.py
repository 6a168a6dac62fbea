"""Loads a source (a path, bytes, an open file, or the dict of `torch.cuda.memory._snapshot()`) into an engine.

The C library detects the format, refuses files that it cannot read, and executes nothing in a pickle. This module only
decompresses, with Python's zlib.
"""

from __future__ import annotations

import os
import pickle
import stat
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from vramscope import _native

_PIECE = 16 << 10  # zlib copies what it has not used of a piece

Progress = Callable[[int, "int | None"], "bool | None"]
Readinto = Callable[[memoryview], int]


def load(engine: _native.Engine, source: Any, name: str | None, progress: Progress | None) -> str:
    """Loads `source` into `engine` and returns the name under which the engine reports it.

    Raises FormatError and other errors of the library, with the byte offset; FileNotFoundError and other OSErrors; TypeError
    for a source of another type. After a failure the engine has no file."""
    if isinstance(source, Mapping | list):
        name = name or "snapshot"
        _load(engine, pickle.dumps(source, protocol=4), name, None, progress)
    elif isinstance(source, bytes | bytearray | memoryview) or _has_buffer(source):
        name = name or "bytes"
        with memoryview(source) as view, view.cast("B") as data:
            _load(engine, data, name, len(data), progress)
    elif isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        name = name or os.fsdecode(path)
        with open(path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                _load(engine, file.fileno(), name, status.st_size, progress)
            else:  # a pipe may block: Ctrl-C interrupts Python's reads, not the library's
                _load(engine, file.readinto, name, None, progress)
    elif hasattr(source, "read"):
        name = name or str(getattr(source, "name", "file"))
        _load(engine, _readinto_of(source), name, None, progress)
    else:
        raise TypeError(f"a snapshot is a path, bytes, an open file or torch's dict, not {type(source).__name__}")
    return name


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source).release()
    except TypeError:
        return False
    return True


def _load(
    engine: _native.Engine, source: Any, name: str, disk_bytes: int | None, progress: Progress | None
) -> None:
    engine.load(source, name.encode("utf-8", "surrogateescape"), disk_bytes, progress, _Inflater())


class _Inflater:
    """Decompression by Python's zlib. src/intake/gzip.h decides what is decompressed, and how far it may expand."""

    def begin(self) -> None:
        """A gzip member begins."""
        self._machine = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def unpack(self, packed: memoryview, room: int) -> tuple[bytes, int, bool] | None:
        """Returns at most `room` decompressed bytes, the number of bytes of `packed` that were used, and whether the member has
        ended; None for damaged data."""
        with packed[:_PIECE] as piece:
            try:
                plain = self._machine.decompress(piece, room)
            except zlib.error:
                return None
            left = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
            return plain, len(piece) - len(left), self._machine.eof

    def frame(self, packed: memoryview, size: int) -> bytes | None:
        """Decompresses a frame of a compacted recording (raw deflate) to `size` bytes; None for damaged data."""
        machine = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            plain = machine.decompress(packed, size + 1)
        except zlib.error:
            return None
        return plain if machine.eof else None


def _readinto_of(file: Any) -> Readinto:
    if hasattr(file, "readinto"):
        own: Readinto = file.readinto
        return own

    def readinto(view: memoryview) -> int:
        piece = file.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    return readinto
