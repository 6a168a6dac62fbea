"""From what people hand in (a path, bytes, an open file, the dict of `torch.cuda.memory._snapshot()`) to a loaded
engine.

The C library tells what it is, refuses what it cannot read, and runs nothing of a pickle. Only decompression is here, by
Python's zlib.
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
    """Loads `source` into `engine` and returns the name that it goes by there.

    Raises FormatError and its like with the byte offset, FileNotFoundError and other OSErrors, TypeError for what no
    snapshot can be. After a failure the engine has no file."""
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
            else:  # may make us wait: Ctrl-C ends Python's reads
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
    """Decompression by Python's zlib. What may be decompressed, and how far it may grow, src/intake/gzip.h decides."""

    def begin(self) -> None:
        """A gzip member begins."""
        self._machine = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def unpack(self, packed: memoryview, room: int) -> tuple[bytes, int, bool] | None:
        """At most `room` bytes of it, how many of `packed` they took, and whether it has ended; None: damaged."""
        with packed[:_PIECE] as piece:
            try:
                plain = self._machine.decompress(piece, room)
            except zlib.error:
                return None
            left = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
            return plain, len(piece) - len(left), self._machine.eof

    def frame(self, packed: memoryview, size: int) -> bytes | None:
        """A frame of a compacted recording: raw deflate, `size` bytes of it; None: damaged."""
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
