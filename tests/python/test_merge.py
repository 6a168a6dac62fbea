"""vramscope.merge: the tables of a job's ranks in memory are those that `vramscope merge` writes, and readers of tables take them as they are."""

import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import BINARY, PACKAGE, ROOT, plain_environment

sys.path.insert(0, str(PACKAGE))

import vramscope
from vramscope import errors

READER = ROOT / "build/tablesvenv/bin/python"  # tests/tables/requirements.txt
TABLES = ("ranks", "owners", "steps")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    subprocess.run([BINARY, "demo", "-q", "--keep", "demo.vram"], cwd=folder, check=True, capture_output=True)
    return folder / "demo.vram"


@pytest.fixture
def job(demo, tmp_path, monkeypatch):
    """Five files: a recording, a snapshot, a packed one, a damaged one, and one whose name is not UTF-8."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("today")
    shutil.copy(demo, "today/rank0.vram")
    snapshot = bytes(memoryview(vramscope.open(demo).export("pickle")))
    for name, content in (("rank1.pickle", snapshot), ("rank2.pickle.gz", gzip.compress(snapshot)), ("rank3.pickle", b"\x80\x04no")):
        with open(f"today/{name}", "wb") as file:
            file.write(content)
    shutil.copy(demo, b"today/rank10 \xff.vram")
    return tmp_path / "today"


def bytes_of(job):
    return {name: bytes(memoryview(job.table(name)._file)) for name in TABLES}


def written(*arguments):
    """What the command writes."""
    done = subprocess.run([BINARY, "merge", *arguments, "-o", "job.arrow", "--force"], capture_output=True, env=plain_environment())
    found = {}
    for name in TABLES:
        with open(f"job.{name}.arrow", "rb") as file:
            found[name] = file.read()
    return done.returncode, found


@pytest.mark.parametrize("arguments", [["today"], ["today/rank1.pickle", "today", "missing.pickle"]], ids=("folder", "files"))
def test_the_tables_are_those_of_the_command(job, arguments):
    merged = vramscope.merge(*arguments)
    code, files = written(*arguments)
    assert bytes_of(merged) == files
    damaged = {"today/rank3.pickle": "byte 0x6e is not a pickle opcode", "missing.pickle": "no such file"}
    assert merged.errors == {name: why for name, why in damaged.items() if name.split("/")[0] in arguments} and code == 3
    assert merged.files == (5 if len(arguments) == 1 else 7)
    assert repr(merged) == f"<vramscope.Job: {merged.files} files, {len(merged.errors)} not read>"


def test_a_device(job):
    for device in (0, 7, "host"):
        assert bytes_of(vramscope.merge("today", device=device)) == written("today", "--device", str(device))[1]
    assert set(vramscope.merge("today", device=7).errors.values()) >= {"byte 0x6e is not a pickle opcode"}
    assert len(vramscope.merge("today", device=7).errors) == 5


READ = """
import gc, json, sys, duckdb, nanoarrow, pandas, polars, pyarrow, vramscope
job = vramscope.merge("today")
ranks, owners, steps = (job.table(name) for name in ("ranks", "owners", "steps"))
del job
gc.collect()
table = pyarrow.table(ranks)
table.validate(full=True)
rows = table.to_pylist()
found = {
    "pyarrow": [(row["rank"], row["error"], row["peak_allocated_bytes"]) for row in rows],
    "duckdb": duckdb.sql("SELECT rank, error, peak_allocated_bytes FROM ranks").fetchall(),
    "polars": polars.DataFrame(ranks).select("rank", "error", "peak_allocated_bytes").rows(),
    "pandas": [(int(row.rank), None if pandas.isna(row.error) else row.error,
                None if pandas.isna(row.peak_allocated_bytes) else int(row.peak_allocated_bytes))
               for row in pandas.DataFrame.from_arrow(ranks)[["rank", "error", "peak_allocated_bytes"]].set_index("rank", drop=False).itertuples()],
    "nanoarrow": [(row[0], row[2], row[8]) for row in nanoarrow.ArrayStream(ranks).read_all().iter_tuples()],
}
del ranks, table
gc.collect()
found["joined"] = duckdb.sql("SELECT o.rank, sum(o.peak_bytes), max(s.step) FROM owners o JOIN (SELECT rank, max(step) AS step FROM steps GROUP BY rank) s "
                             "USING (rank) GROUP BY o.rank ORDER BY o.rank").fetchall()
found["peaks"] = [(row["rank"], row["peak_requested_bytes"], row["steps"]) for row in sorted(rows, key=lambda row: row["rank"]) if row["error"] is None]
print(json.dumps(found))
"""


def read(script, **more):
    """What a program in the environment of the readers prints as JSON."""
    assert READER.exists(), f"tools/setup test makes {READER}"
    done = subprocess.run([READER, "-c", script], env=plain_environment(**more), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_readers_take_them_as_they_are(job):
    found = read(READ)
    expected = found["pyarrow"]
    assert [row[0] for row in expected] == [0, 1, 2, 3, 10] and expected[0][2] > 2**32
    assert expected[3] == [3, "byte 0x6e is not a pickle opcode", None]
    for reader in ("duckdb", "polars", "pandas", "nanoarrow"):
        assert found[reader] == expected, reader
    assert found["joined"] == found["peaks"]


PEAK = """
import json, resource, sys, vramscope
job = vramscope.merge("many")
print(json.dumps([job.files, sum(job.table(name).nbytes for name in ("ranks", "owners", "steps")),
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10]))
"""


def test_files_are_forgotten(demo, tmp_path, monkeypatch):
    """A hundred files take the memory of ten, but for their rows; a snapshot of this file takes more than a MiB."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("many")
    peaks = []
    for count in (10, 110):
        for number in range(count):
            if not os.path.exists(f"many/rank{number}.vram"):
                os.link(demo, f"many/rank{number}.vram")
        files, rows, peak = read(PEAK)
        assert files == count
        peaks.append(peak - 3 * rows)  # an Arrow file in memory grows by one half, and its batch is there, too
    assert peaks[1] - peaks[0] < 24 << 20, peaks


def test_progress_cancels_and_raises(job):
    told = []
    vramscope.merge("today", progress=lambda *numbers: told.append(numbers))
    assert told == [(number, 5) for number in range(5)]
    with pytest.raises(errors.CancelledError):
        vramscope.merge("today", progress=lambda number, _: number < 2)
    for number in (0, 4):
        with pytest.raises(ZeroDivisionError):
            vramscope.merge("today", progress=lambda read, _, last=number: 1 // (last - read))
    with pytest.raises(TypeError):
        vramscope.merge("today", progress=7)


def test_ctrl_c_ends_it(job):
    script = """
import json, os, signal, vramscope
try:
    vramscope.merge("today", progress=lambda number, count: os.kill(os.getpid(), signal.SIGINT) if number == 2 else None)
except KeyboardInterrupt:
    print(json.dumps("interrupted"))
"""
    assert read(script) == "interrupted"


def test_wrong_use(job, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.ArgumentError, match="name the files"):
        vramscope.merge()
    with pytest.raises(errors.FileError, match="^empty: the folder has no snapshots"):
        vramscope.merge("today", "empty")
    with pytest.raises(errors.ArgumentError, match="null byte"):
        vramscope.merge("today\0")
    with pytest.raises(errors.ArgumentError, match='a number, "host" or None'):
        vramscope.merge("today", device="0}")
    for device in (1.5, b"host", [0]):
        with pytest.raises(TypeError):
            vramscope.merge("today", device=device)
    with pytest.raises(TypeError):
        vramscope.merge(7)
    with pytest.raises(errors.ArgumentError, match="a job has the tables 'ranks', 'owners', 'steps', not 'events'"):
        vramscope.merge("today/rank0.vram").table("events")
    assert vramscope.merge("-").errors == {"./-": "no such file"}, "not standard input"
    assert vramscope.merge("today/rank0.vram").errors == {}
    assert vramscope.merge(job / "rank0.vram").files == vramscope.merge(b"today/rank10 \xff.vram").files == 1


THREADS = """
import json, threading, vramscope
found = []
def merge():
    for _ in range(3):
        job = vramscope.merge("today")
        found.append(hash(tuple(bytes(memoryview(job.table(name)._file)) for name in ("ranks", "owners", "steps"))))
threads = [threading.Thread(target=merge) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps([len(found), len(set(found))]))
"""


def test_several_threads_merge(job):
    assert read(THREADS) == [12, 1]
