"""Snapshot.table: what pyarrow, DuckDB and nanoarrow read through the Arrow PyCapsule interface is what `export csv` writes, without a copy."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BINARY, PACKAGE, ROOT, plain_environment

sys.path.insert(0, str(PACKAGE))

import vramscope
from vramscope import errors

READER = ROOT / "build/tablesvenv/bin/python"  # tests/tables/requirements.txt
TABLES = ("events", "blocks", "segments", "live")
GUIDE = (ROOT / "docs/guide/python.md").read_text()
REAL = sorted(Path(os.environ["VRAMSCOPE_SNAPSHOTS"]).glob("*.pickle")) if "VRAMSCOPE_SNAPSHOTS" in os.environ else []


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    subprocess.run([BINARY, "demo", "-q", "--keep", "demo.vram"], cwd=folder, check=True, capture_output=True)
    return folder / "demo.vram"


def read(script, *arguments):
    """What a program in the environment of the readers prints as JSON."""
    assert READER.exists(), f"tools/setup test makes {READER}"
    done = subprocess.run([READER, "-c", script, *map(str, arguments)], env=plain_environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def as_csv(path, what):
    """The rows of `export csv`: texts, and None for what is unknown. Python's reader cannot tell "" from nothing, so both are None."""
    text = vramscope.open(path).export("csv", what=what).decode(errors="replace")
    names, *rows = csv.reader(io.StringIO(text, newline=""))
    return names, [[value if value != "" else None for value in row] for row in rows]


ROWS = """
import json, sys, pyarrow, vramscope
def plain(value):
    return None if value in (None, "") else str(int(value)) if isinstance(value, bool) else str(value)
with vramscope.open(sys.argv[1]) as snapshot:
    table = pyarrow.table(snapshot.table(sys.argv[2]))
table.validate(full=True)
print(json.dumps([table.column_names, [[plain(value) for value in row.values()] for row in table.to_pylist()], [str(f.type) for f in table.schema]]))
"""


@pytest.mark.parametrize("what", TABLES)
def test_the_rows_are_those_of_csv(demo, what):
    for path in (demo, *REAL):
        names, rows, types = read(ROWS, path, what)
        assert (names, rows) == as_csv(path, what)
        assert rows or path != demo
        kinds = dict(zip(names, types, strict=True))
        assert kinds["device"] == "int64" and kinds["place"] == "string"
        assert kinds.get("address", "uint64") == "uint64" and kinds.get("is_expandable", "bool") == "bool"


def test_parameters_are_those_of_export(demo):
    with vramscope.open(demo) as snapshot:
        assert snapshot.table("live", at=100).nbytes < snapshot.table("live", at="peak").nbytes
        assert repr(snapshot.table()).startswith("<vramscope.Table 'events', ")
        with pytest.raises(errors.ArgumentError, match="did you mean 'events'"):
            snapshot.table("event")
        with pytest.raises(errors.ArgumentError):
            snapshot.table(color=1)
    with pytest.raises(errors.NotFoundError, match="closed"):
        snapshot.table()


NO_COPY = """
import gc, json, sys, nanoarrow, pyarrow, vramscope
table = vramscope.open(sys.argv[1]).table("events")
first, count, file = memoryview(table._file), len(table._file), pyarrow.py_buffer(table._file)
batch = pyarrow.table(table).to_batches()[0]
inside = [file.address <= buffer.address < file.address + file.size for buffer in batch.column("size_bytes").buffers() if buffer is not None]
column = nanoarrow.Array(nanoarrow.c_array_stream(table).get_next()).child(4)
rows, expected = len(column), batch.num_rows
del table, first, file
gc.collect()
kept = sum(column.to_pylist()) == sum(batch.column("size_bytes").to_pylist())
print(json.dumps({"inside": inside, "rows": [rows, expected], "kept": kept}))
"""


def test_nothing_is_copied_and_arrays_keep_the_bytes(demo):
    told = read(NO_COPY, demo)
    assert told["inside"] and all(told["inside"]) and told["rows"][0] == told["rows"][1] > 0 and told["kept"]


UNUSED = """
import json, sys, vramscope
table = vramscope.open(sys.argv[1]).table("events")
before = sys.getrefcount(table._file)
capsules = [table.__arrow_c_stream__(), table.__arrow_c_schema__(), table.__arrow_c_stream__(None)]
during = sys.getrefcount(table._file)
del capsules
print(json.dumps([during - before, sys.getrefcount(table._file) - before]))
"""


def test_capsules_that_nobody_takes_give_the_bytes_back(demo):
    assert read(UNUSED, demo) == [3, 0]


def test_the_queries_of_the_guide(demo, tmp_path):
    """They run as they stand there."""
    blocks = re.findall(r"^```python tables\n(.*?)^```$", GUIDE, re.M | re.S)
    assert blocks
    (tmp_path / "snapshot.pickle").write_bytes(vramscope.open(demo).export("pickle"))
    for block in blocks:
        done = subprocess.run([READER, "-c", block], cwd=tmp_path, env=plain_environment(), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr[-4000:]
