"""The files of a job's ranks as tables: `vramscope.merge`."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable

from vramscope import _native
from vramscope._table import Table
from vramscope.errors import ArgumentError

__all__ = ["Job", "merge"]

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Job:
    """The ranks of a job as tables, made by `vramscope.merge`: `job.table("ranks")`, "owners" and "steps", with the columns of
    docs/formats/merge.md. Nothing of the files is kept but these rows."""

    files: int  #: that were named, a row of "ranks" each
    errors: dict[str, str]  #: the files that could not be read, with the reason; their rows have it in the column "error"

    def __init__(self, tables: dict[str, Table], files: int, errors: dict[str, str]) -> None:
        self._tables = tables
        self.files = files
        self.errors = errors

    def table(self, name: str = "ranks") -> Table:
        """One of the tables: "ranks" (a row is a file), "owners" (an owner of memory in a rank) or "steps" (a step of the
        training loop in a rank). Raises ArgumentError."""
        found = self._tables.get(name)
        if found is None:
            raise ArgumentError(f"a job has the tables {', '.join(map(repr, self._tables))}, not {name!r}")
        return found

    def __repr__(self) -> str:
        read = f", {len(self.errors)} not read" if self.errors else ""
        return f"<vramscope.Job: {self.files} file{'' if self.files == 1 else 's'}{read}>"


def merge(*paths: _Path, device: int | str | None = None, progress: Callable[[int, int], bool | None] | None = None) -> Job:
    """Reads the snapshots and recordings of a job's ranks into tables, as the command `vramscope merge` does:

        job = vramscope.merge("today/")
        polars.DataFrame(job.table("ranks"))

    paths: files, and folders whose snapshots are taken (.pickle, .pkl, .vram, or with .gz), in the order of their names.
    device: a GPU of the files by its number, or "host" for pinned host memory; None: each file's default.
    progress(files_read, files): called before each file. If it returns False, reading ends (CancelledError).

    A file that cannot be read is a row with the reason (`Job.errors`), and the others are read. Several threads read, each
    one file at a time: the memory is that of the rows and of a few files. Python's other threads go on meanwhile; Ctrl-C ends it.

    Raises FileError (a folder without such files), ArgumentError, NoMemoryError, and what `progress` raises."""
    if not paths:
        raise ArgumentError("name the files of the ranks, or their folder")
    named = tuple(_named(path) for path in paths)
    made, files, errors = _native.merge(named, _device(device), progress)
    return Job({name: Table(name, file) for name, file in made.items()}, files, errors)


def _named(path: _Path) -> bytes:
    named = os.fsencode(path)
    if b"\0" in named:
        raise ArgumentError("a path has no null byte")
    return b"./-" if named == b"-" else named  # the library would read standard input


def _device(device: int | str | None) -> str | None:
    if device is None:
        return None
    if isinstance(device, str):
        if device != "host":
            raise ArgumentError(f'device is a number, "host" or None, not {device!r}')
        return device
    return str(operator.index(device))
