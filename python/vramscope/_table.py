"""A table for pandas, polars, DuckDB and pyarrow, which read it as it is: `Snapshot.table`, `Job.table`,
`Collector.table`."""

from __future__ import annotations

from vramscope import _native

__all__ = ["Table"]


class Table:
    """Rows with columns of one type each, made by `Snapshot.table`, `Job.table` and
    `devices.Collector.table`. It has the Arrow PyCapsule interface:

        pyarrow.table(table)    polars.DataFrame(table)    pandas.DataFrame.from_arrow(table)
        duckdb.sql("FROM table")                           by the name of the variable

    Nothing is copied: what they make of it points into the table's memory and keeps it, also when the snapshot was closed.
    The rows do not change. Several threads may read one table."""

    name: str  #: as it was asked for: "events", "ranks" ...

    def __init__(self, name: str, file: _native.Reply) -> None:
        self.name = name
        self._file = file  # an Arrow IPC file

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows, as Arrow defines it. Another schema than its own is not made: consumers convert what they get."""
        return _native.arrow_stream(self._file)

    def __arrow_c_schema__(self) -> object:
        return _native.arrow_schema(self._file)

    @property
    def nbytes(self) -> int:
        """The memory that the table takes, in bytes."""
        return len(self._file)

    def __repr__(self) -> str:
        return f"<vramscope.Table {self.name!r}, {_native.bytes_text(self.nbytes)}>"
