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
TABLES = ("events", "allocations", "blocks", "segments", "live", "owners")
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


TYPED = """
import json, sys, pyarrow, vramscope
with vramscope.open(sys.argv[1]) as snapshot:
    print(json.dumps(pyarrow.table(snapshot.table(sys.argv[2], **json.loads(sys.argv[3]))).to_pylist()))
"""


@pytest.mark.parametrize("params", [{}, {"at": "peak_reserved", "filter": "size>1MiB"}, {"at": "end"}], ids=str)
def test_owners_are_those_of_the_report(demo, params):
    """The groups of `live` by line in their order, and so the owners at the peak that `report` has."""
    for path in (demo, *REAL):
        with vramscope.open(path) as snapshot:
            groups = snapshot.live(by="line", top=0, **params)
            rows = read(TYPED, path, "owners", json.dumps(params))
            told = [(group["label"], group["bytes"], group["count"], group["filter"], group["stack_id"]) for group in groups["groups"]]
            assert [(row["owner"], row["requested_bytes"], row["blocks"], row["filter"], row["stack_id"]) for row in rows] == told
            assert rows or path != demo
            assert {row["device"] for row in rows} <= {groups["device"]}
            assert all(row["block_bytes"] in (None, row["requested_bytes"] // row["blocks"]) for row in rows)
            assert all(row["block_bytes"] == row["requested_bytes"] for row in rows if row["blocks"] == 1 and row["requested_bytes"] != 0)
            for row in rows[:3]:
                assert row["filter"] is None or snapshot.live(by="line", at=params.get("at", "peak"), filter=row["filter"])["bytes"] >= row["requested_bytes"]
        if not params:
            report = vramscope.open(path).report(top=0)["devices"]
            (peak,) = [device["peak"] for device in report if device["device"] == groups["device"]]
            assert [(owner["label"], owner["bytes"]) for owner in peak["owners"]] == [row[:2] for row in told]


@pytest.mark.parametrize("params", [{}, {"filter": "size>1MiB"}], ids=str)
def test_allocations_are_those_of_json(demo, params):
    for path in (demo, *REAL):
        with vramscope.open(path) as snapshot:
            rows = read(TYPED, path, "allocations", json.dumps(params))
            assert rows or path != demo
            for device in snapshot.info(top=1)["devices"]:
                number = "host" if device["device"] == -1 else device["device"]
                listed = snapshot.allocations(device=number, sort="size", top=0, **params)
                ours = {row["row"]: row for row in rows if row["device"] == device["device"]}
                assert len(ours) == listed["count"] == len(listed["rows"])
                assert list(ours) == sorted(ours)
                for its in listed["rows"]:
                    row = ours[its["row"]]
                    assert (row["requested_bytes"], row["alloc_event"], row["stack_id"]) == (its["size_bytes"], its["start_event"], its["stack_id"])
                    assert (row["end_event"], row["alloc_time_us"], row["end_time_us"]) == (its["end_event"], its["start_us"], its["end_us"])
                    assert (row["free_event"] is None) == (row["end_event"] is None) or row["end_event"] is None
                    assert row["free_event"] is None or row["end_event"] is None or row["free_event"] <= row["end_event"]


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
    (tmp_path / "today").mkdir()
    for number in range(3):
        os.link(demo, tmp_path / f"today/rank{number}.vram")
    fake = Path(os.environ["VRAMSCOPE_FAKE"]) / "libnvidia-ml.so.1"
    machine = {"VRAMSCOPE_NVML": fake, "VRAMSCOPE_FAKE_NVML": ROOT / "tests/fake/scenarios/two.txt"}
    for block in blocks:
        done = subprocess.run([READER, "-c", block], cwd=tmp_path, env=plain_environment(**machine), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr[-4000:]
