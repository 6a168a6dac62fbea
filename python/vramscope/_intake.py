"""From what people hand in (a path, bytes, an open file, the dict of `torch.cuda.memory._snapshot()`) to a loaded
engine.

gzip is unpacked here, by Python's zlib; everything else is read by the C library, which runs nothing of a pickle.
"""

from __future__ import annotations

import os
import pickle
import stat
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from vramscope import _native, errors

# What a gzip stream may grow to, as for the command: more was made to fill the memory of whoever opens it.
_GROWTH_BASE = 32 << 20
_GROWTH_FACTOR = 256
_PIECE = 256 << 10
_GZIP = b"\x1f\x8b"

Progress = Callable[[int, "int | None"], "bool | None"]
Readinto = Callable[[memoryview], int]


def load(engine: _native.Engine, source: Any, name: str | None, progress: Progress | None) -> str:
    """Loads `source` into `engine` and returns the name that it goes by there.

    Raises FormatError and its like with the byte offset, FileNotFoundError and other OSErrors, TypeError for what no
    snapshot can be. After a failure the engine has no file."""
    if isinstance(source, Mapping | list):
        name = name or "snapshot"
        _load(engine, pickle.dumps(source, protocol=4), name, None, False, progress)
    elif isinstance(source, bytes | bytearray | memoryview) or _has_buffer(source):
        name = name or "bytes"
        with memoryview(source) as view, view.cast("B") as data:
            _load_bytes(engine, data, name, progress)
    elif isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        name = name or os.fsdecode(path)
        with open(path, "rb", buffering=0) as file:
            _load_file(engine, file, name, progress)
    elif hasattr(source, "read"):
        name = name or str(getattr(source, "name", "file"))
        _load_stream(engine, _readinto_of(source), name, None, progress)
    else:
        raise TypeError(f"a snapshot is a path, bytes, an open file or torch's dict, not {type(source).__name__}")
    return name


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source).release()
    except TypeError:
        return False
    return True


def _load_bytes(engine: _native.Engine, data: memoryview, name: str, progress: Progress | None) -> None:
    if data[:2] == _GZIP:
        _load_stream(engine, _Memory(data).readinto, name, len(data), progress)
        return
    _load(engine, data, name, len(data), False, progress)


def _load_file(engine: _native.Engine, file: Any, name: str, progress: Progress | None) -> None:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):  # a pipe cannot be read twice
        _load_stream(engine, file.readinto, name, None, progress)
        return
    head = file.read(2)
    file.seek(0)
    if head == _GZIP:
        _load_stream(engine, file.readinto, name, status.st_size, progress)
        return
    _load(engine, file.fileno(), name, status.st_size, False, progress)


def _load_stream(
    engine: _native.Engine, readinto: Readinto, name: str, disk_bytes: int | None, progress: Progress | None
) -> None:
    """What comes in pieces: looked at, unpacked where it is packed, and read."""
    stream = _Headed(readinto)
    packed = stream.head.startswith(_GZIP)
    if packed:
        stream = _Headed(_Inflating(stream.readinto).readinto)
        if stream.head.startswith(_GZIP):
            raise errors.UnsupportedError("it is compressed twice; unpack it first: gzip -d FILE")
    _load(engine, stream.readinto, name, disk_bytes, packed, progress)


def _load(
    engine: _native.Engine, source: Any, name: str, disk_bytes: int | None, packed: bool, progress: Progress | None
) -> None:
    total = None if packed else disk_bytes
    report = None if progress is None else (lambda count: progress(count, total))
    name_bytes = name.encode("utf-8", "surrogateescape")
    engine.load(source, name_bytes, disk_bytes, packed, report, _inflate_frame)


def _inflate_frame(packed: memoryview, size: int) -> bytes | None:
    """A frame of a compacted recording: raw deflate, `size` bytes of it; None: damaged."""
    machine = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        plain = machine.decompress(packed, size + 1)
    except zlib.error:
        return None
    return plain if machine.eof else None


# ---- sources as readinto(view) -> count


def _readinto_of(file: Any) -> Readinto:
    if hasattr(file, "readinto"):
        return file.readinto

    def readinto(view: memoryview) -> int:
        piece = file.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    return readinto


class _Memory:
    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def readinto(self, view: memoryview) -> int:
        piece = self.data[self.at : self.at + len(view)]
        view[: len(piece)] = piece
        self.at += len(piece)
        return len(piece)


class _Headed:
    """A source of which the first two bytes are known before it is read."""

    def __init__(self, readinto: Readinto) -> None:
        self._readinto = readinto
        head = bytearray(len(_GZIP))
        count = 0
        with memoryview(head) as view:
            while count < len(head) and (more := readinto(view[count:]) or 0):
                count += more
        self.head = bytes(head[:count])
        self._left = memoryview(self.head)

    def readinto(self, view: memoryview) -> int:
        if not self._left:
            return self._readinto(view) or 0
        piece = self._left[: len(view)]
        view[: len(piece)] = piece
        self._left = self._left[len(piece) :]
        return len(piece)


class _Inflating:
    """A gzip stream as what it holds; its members, if it has several, one behind the other.

    Invariant: `_packed` is what was read and not yet unpacked; `read` and `made` count both sides."""

    def __init__(self, readinto: Readinto) -> None:
        self._readinto = readinto
        self._window = bytearray(_PIECE)
        self._machine = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._packed = b""
        self.read = self.made = 0
        self._is_over = False

    def readinto(self, view: memoryview) -> int:
        while not self._is_over:
            if self._machine.eof:
                self._begin_member()
                continue
            ends = not self._packed and not self._refill()
            plain = self._inflate(len(view))
            if plain:
                view[: len(plain)] = plain
                return len(plain)
            if ends and not self._machine.eof:
                raise self._damaged("the gzip data ends too early: the file was not copied whole")
        return 0

    def _refill(self) -> bool:
        count = self._readinto(memoryview(self._window)) or 0
        self._packed = bytes(self._window[:count])
        self.read += count
        return count != 0

    def _inflate(self, room: int) -> bytes:
        try:
            plain = self._machine.decompress(self._packed, room)
        except zlib.error:
            raise self._damaged("the gzip data is damaged") from None
        self._packed = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
        self.made += len(plain)
        if self.made > _GROWTH_BASE + _GROWTH_FACTOR * self.read:
            raise errors.LimitError(
                f"the gzip data grows more than {_GROWTH_FACTOR}-fold, as if made to fill the memory; if you trust it, "
                "unpack it first (gzip -d)", offset=self.read)
        return plain

    def _begin_member(self) -> None:
        """Another member, or the end. Like gzip, ignores what follows and is none."""
        if not self._packed and not self._refill():
            self._is_over = True
        elif self._packed[0] != _GZIP[0]:
            self._is_over = True
        else:
            self._machine = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def _damaged(self, sentence: str) -> errors.Error:
        return errors.FormatError(sentence, offset=self.read - len(self._packed))
