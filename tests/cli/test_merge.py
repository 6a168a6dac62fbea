"""vramscope merge: the ranks of a job as tables, read back by SQLite, pyarrow and DuckDB."""

import json
import re
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
from pathlib import Path

import pytest

import conftest as make
import pages

NOT_READ, USAGE = 3, 2
MiB = make.MiB
ROOT = Path(__file__).parents[2]
READER = ROOT / "build/tablesvenv/bin/python"  # tests/tables/requirements.txt
SAMPLE = Path(make.BINARY).parent / "tests/unit.codec.tables"
TABLES = ("ranks", "owners", "steps")


def rank(extra=0, steps=10, leak=False):
    device = make.Device()
    if extra:
        device.alloc(extra * MiB, make.ATTENTION)
    return make.snapshot(make.train(device, steps=steps, leak=leak))


@pytest.fixture
def job(folder, build):
    """Six ranks: rank 3 has 20 MiB more, rank 4 keeps memory with every step, rank 5 is damaged."""
    if build["sqlite"] is None:
        pytest.skip("a build without SQLite")
    (folder / "job").mkdir()
    for number in range(3):
        make.write(folder / "job" / f"rank{number}.pickle", rank())
    make.write(folder / "job" / "rank3.pickle", rank(20))
    make.write(folder / "job" / "rank4.pickle", rank(leak=True))
    (folder / "job" / "rank5.pickle").write_bytes(b"\x80\x04no")
    return folder / "job"


def rows(path, table):
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(f"SELECT * FROM {table} ORDER BY rowid")]


def test_the_rows_are_those_of_the_reports(vramscope, job, folder):
    done = vramscope("merge", "job", "-o", "job.sqlite")
    assert done.code == NOT_READ and done.out == ""
    assert done.err == ("vramscope: job/rank5.pickle: byte 0x6e is not a pickle opcode\n"
                        "Wrote job.sqlite with 6 ranks, 1 of them not read (column error): opens in sqlite3, DuckDB, pandas\n")
    ranks, owners, steps = (rows(folder / "job.sqlite", table) for table in TABLES)
    assert [(row["rank"], row["file"]) for row in ranks] == [(n, f"job/rank{n}.pickle") for n in range(6)]
    for row in ranks[:5]:
        report = json.loads(vramscope("report", "--json", "--top", "0", row["file"]).out)["devices"][0]
        inventory = json.loads(vramscope("query", row["file"], "inventory").out)
        assert row["error"] is None and row["device"] == 0 and row["ooms"] == 0
        assert row["host"] is row["pid"] is row["device_name"] is row["device_bytes"] is None, "a pickle has none of these"
        assert row["peak_allocated_bytes"] == report["peak"]["allocated_bytes"]
        assert row["peak_requested_bytes"] == report["peak"]["requested_bytes"]
        assert row["peak_reserved_bytes"] == report["peak_reserved"]["reserved_bytes"]
        assert row["end_allocated_bytes"] == report["end"]["allocated_bytes"]
        assert row["end_reserved_bytes"] == report["end"]["reserved_bytes"]
        assert row["steps"] == report["steps"]["count"] > 5 and row["events"] == report["trace"]["events"]
        assert row["growth_bytes_per_step"] == (report["growth"][0]["bytes_per_step"] if report["growth"] else 0)
        assert row["complete"] == report["trust"]["complete"]
        assert row["findings"] == ("\n".join(finding["sentence"] for finding in report["trust"]["findings"]) or None)
        assert row["allocated_is_exact"] == report["peak"]["allocated_is_exact"]
        assert row["requests_hash"] == inventory["requests_hash"]
        mine = [owner for owner in owners if owner["rank"] == row["rank"]]
        assert [(o["owner"], o["owner_path"], o["peak_bytes"], o["peak_blocks"]) for o in mine] == [
            (o["label"], o["long_label"], o["bytes"], o["count"]) for o in report["peak"]["owners"]]
        grows = {line["label"]: line["bytes_per_step"] for line in report["growth"]}
        assert {o["owner"]: o["growth_bytes_per_step"] for o in mine} == {o["owner"]: grows.get(o["owner"], 0) for o in mine}
        assert len([step for step in steps if step["rank"] == row["rank"]]) == row["steps"]
    assert ranks[4]["growth_bytes_per_step"] > 0 == ranks[0]["growth_bytes_per_step"]
    assert ranks[5]["error"] == "byte 0x6e is not a pickle opcode"
    assert all(value is None for key, value in ranks[5].items() if key not in ("rank", "file", "error"))
    assert not [row for row in owners + steps if row["rank"] == 5]


def test_steps_have_the_peaks_of_their_moments(vramscope, job, folder):
    vramscope("merge", "job/rank4.pickle", "-o", "job.sqlite")
    steps = rows(folder / "job.sqlite", "steps")
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1)) and len(steps) > 5
    for step in steps:
        at = json.loads(vramscope("query", "job/rank4.pickle", "inventory", f"at=step {step['step']}").out)
        assert {key: step[key] for key in at["within"]} == at["within"]
        events = json.loads(vramscope("query", "job/rank4.pickle", "events", "top=0").out)["events"]
        assert step["first_time_us"] == events[step["first_event"]]["time_us"]
        assert step["last_time_us"] == events[step["last_event"]]["time_us"]


def test_what_is_unknown_is_null(vramscope, job, folder):
    make.write(folder / "job" / "end.pickle", make.end_only())
    vramscope("merge", "job/end.pickle", "-o", "job.sqlite")
    (row,) = rows(folder / "job.sqlite", "ranks")
    assert all(row[key] is None for key in ("rank", "steps", "growth_bytes_per_step", "requests_hash", "first_time_us"))
    assert row["end_allocated_bytes"] > 0
    owners = rows(folder / "job.sqlite", "owners")
    assert owners and all(owner["growth_bytes_per_step"] is None for owner in owners)
    assert rows(folder / "job.sqlite", "steps") == []


def test_what_is_only_partly_known_is_said(vramscope, job, folder):
    """A rank without a history, and one with keys of a later version: the table says why, standard error how many and which were not read."""
    make.write(folder / "job" / "end.pickle", make.end_only())
    snapshot = rank()
    snapshot["device_traces"][0][-1]["new"] = 1
    make.write(folder / "job" / "newer.pickle", snapshot)
    for number in range(20, 24):
        (folder / "job" / f"rank{number}.pickle").write_bytes(b"no")
    done = vramscope("merge", "job", "-o", "job.sqlite")
    assert done.code == NOT_READ
    assert done.err.splitlines()[-3:] == [
        "vramscope: job/rank21.pickle: neither a pickle nor JSON (the first byte is 0x6e)",
        "vramscope: 2 more files could not be read (column error)",
        "Wrote job.sqlite with 12 ranks, 5 of them not read (column error), 1 incomplete (column findings): opens in sqlite3, DuckDB, pandas"]
    found = {row["file"]: row for row in rows(folder / "job.sqlite", "ranks")}
    assert found["job/end.pickle"]["findings"] == "no history was recorded for this device: only the end state is known"
    assert found["job/end.pickle"]["complete"] == 0 and found["job/newer.pickle"]["complete"] == 1
    assert found["job/newer.pickle"]["findings"] == "keys that this version does not know were skipped"
    assert found["job/rank0.pickle"]["findings"] is None
    (folder / "job" / "rank5.pickle").unlink()
    for number in range(20, 24):
        (folder / "job" / f"rank{number}.pickle").unlink()
    done = vramscope("merge", "job", "-o", "job.sqlite", "--force")
    assert done.code == 0 and "with 7 ranks, 1 of them incomplete (column findings): opens" in done.err


def test_a_damaged_recording(vramscope, folder, build):
    """Its first frame is damaged: the rank says so, and that names of owners were in it."""
    if build["sqlite"] is None:
        pytest.skip("a build without SQLite")
    vramscope("demo", "-q", "--gpu", "24GiB", "--steps", "80", "--keep", "rank0.vram")
    whole = bytearray((folder / "rank0.vram").read_bytes())
    assert len(whole) >= 2 * 65536  # of frames; how many there are depends on how long the demo took
    vramscope("merge", "rank0.vram", "-o", "whole.sqlite")
    whole[200] ^= 0xFF
    (folder / "rank0.vram").write_bytes(whole)
    done = vramscope("merge", "rank0.vram", "-o", "job.sqlite")
    assert done.code == 0 and "with 1 rank, 1 of them incomplete (column findings)" in done.err
    assert [row["findings"] for row in rows(folder / "whole.sqlite", "ranks")] == [None]
    (row,) = rows(folder / "job.sqlite", "ranks")
    recording = json.loads(vramscope("report", "--json", "rank0.vram").out)["file"]["recording"]
    told = row["findings"].splitlines()
    assert "events are missing from the start on: the file is damaged there" in told[0] and row["complete"] == 0
    assert told[-1] == f"{recording['lost_names']} references to names in damaged parts cannot be resolved: owners may be unknown"
    assert recording["lost_names"] > 1


def test_an_owner_that_grows_without_a_block_at_the_peak_has_a_row(vramscope, folder, build):
    """The peak is at the beginning; what grows then is not there."""
    if build["sqlite"] is None:
        pytest.skip("a build without SQLite")
    device = make.Device()
    first = device.alloc(900 * MiB, make.WEIGHTS)
    device.free(first)
    make.write(folder / "rank0.pickle", make.snapshot(make.train(device, steps=12)))
    vramscope("merge", "rank0.pickle", "-o", "job.sqlite")
    found = {row["owner"]: row for row in rows(folder / "job.sqlite", "owners")}
    kept = found["metrics.py:19 update"]
    assert kept["peak_bytes"] == kept["peak_blocks"] == 0 and kept["growth_bytes_per_step"] >= 3 * MiB


def test_the_odd_rank_is_a_simple_query(vramscope, job, folder):
    vramscope("merge", "job", "-o", "job.sqlite")
    peaks = {row["rank"]: row["peak_allocated_bytes"] for row in rows(folder / "job.sqlite", "ranks")[:4]}
    median = statistics.median_low(peaks.values())
    assert {number for number, peak in peaks.items() if peak != median} == {3}


def test_names_of_any_bytes(vramscope, job, folder):
    names = [b"it's rank7 \xff\xed\xa0\x80;\"\n.pickle", "größe rank8 --\t.pickle".encode()]
    for name in names:
        shutil.copy(job / "rank0.pickle", bytes(folder) + b"/job/" + name)
    (job / "rank5.pickle").unlink()
    assert vramscope("merge", "job", "-o", "job.sqlite").code == 0
    with sqlite3.connect(folder / "job.sqlite") as database:
        found = {row[0] for row in database.execute("SELECT file FROM ranks")}
    assert {"job/" + name.decode(errors="replace") for name in names} <= found
    with sqlite3.connect(folder / "job.sqlite") as database:
        assert {7, 8} <= {row[0] for row in database.execute("SELECT rank FROM ranks")}


def test_no_half_file(vramscope, job, folder):
    """An existing file stays as it is without --force, and after a failure with it."""
    (folder / "job.sqlite").write_text("mine")
    done = vramscope("merge", "job", "-o", "job.sqlite")
    assert done.code == 3 and "file exists; use --force to overwrite it" in done.err
    assert (folder / "job.sqlite").read_text() == "mine"
    assert vramscope("merge", "job", "-o", "job.sqlite", "--force").code == NOT_READ
    assert len(rows(folder / "job.sqlite", "ranks")) == 6
    before = {path.name for path in folder.iterdir()}
    done = vramscope("merge", "job", "-o", "missing/job.sqlite")
    assert done.code == 3 and "missing/job.sqlite: its folder does not exist" in done.err
    assert {path.name for path in folder.iterdir()} == before


def small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))


def test_a_full_disk_is_one_clear_error(vramscope, job, folder):
    for number in range(20, 60):
        shutil.copy(job / "rank4.pickle", job / f"rank{number}.pickle")
    before = sorted(path.name for path in folder.iterdir())
    done = subprocess.run([make.BINARY, "merge", "job", "-o", "job.sqlite"], cwd=folder, env=make.environment(),
                          capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "job.sqlite: " in done.stderr, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_wrong_usage(vramscope, job):
    assert "name the file to write: -o job.sqlite" in vramscope("merge", "job").err
    done = vramscope("merge", "job", "-o", "-")
    assert done.code == USAGE and "name the file to write" in done.err
    done = vramscope("merge", "job", "-o", "job.csv")
    assert done.code == USAGE and "the format follows from the ending of job.csv" in done.err
    done = vramscope("merge", "job", "-o", "job.csv", "--format", "sqlit")
    assert done.code == USAGE and "did you mean sqlite?" in done.err
    assert vramscope("merge", "-o", "job.sqlite").code == USAGE
    (job.parent / "empty").mkdir()
    done = vramscope("merge", "empty", "-o", "job.sqlite")
    assert done.code == 3 and "the folder has no snapshots" in done.err
    assert not (job.parent / "job.sqlite").exists()


def test_the_document_has_the_columns(vramscope, job, folder):
    vramscope("merge", "job/rank0.pickle", "-o", "job.sqlite")
    listed = re.findall(r'^VS_(\w+)\((\w+), (\w+), "(.*)"\)$', (ROOT / "src/diff/job_tables.def").read_text(), re.M)
    sections = re.split(r"^## (\w+)\n", (ROOT / "docs/formats/merge.md").read_text(), flags=re.M)
    types = {"I64": "int64", "F64": "float64", "BOOL": "bool", "TEXT": "text"}
    for table, text in zip(sections[1::2], sections[2::2], strict=True):
        wanted = [(name, types[kind], sentence) for of, name, kind, sentence in listed if of == table.upper()]
        assert re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, re.M) == wanted
        with sqlite3.connect(folder / "job.sqlite") as database:
            assert [row[1] for row in database.execute(f"PRAGMA table_info({table})")] == [name for name, _, _ in wanted]


def read_back(folder, program):
    """What a program prints in the environment with the readers, as JSON."""
    assert READER.exists(), "tools/setup test makes build/tablesvenv"
    done = subprocess.run([READER, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


READ = """
import json, sys
import duckdb, pyarrow.ipc, pyarrow.parquet
def read(name):
    arrow, parquet = pyarrow.ipc.open_file(name + ".arrow").read_all(), pyarrow.parquet.read_table(name + ".parquet")
    arrow.validate(full=True), parquet.validate(full=True)
    assert arrow.schema.equals(parquet.schema), (arrow.schema, parquet.schema)
    return [arrow.column_names, [str(kind) for kind in arrow.schema.types], [list(row.values()) for row in arrow.to_pylist()],
            [list(row.values()) for row in parquet.to_pylist()], duckdb.sql(f"FROM '{name}.parquet'").fetchall()]
"""


def test_arrow_and_parquet_have_the_rows_of_the_database(vramscope, job, folder):
    shutil.copy(job / "rank0.pickle", bytes(job) + b"/it's rank7 \xff\xed\xa0\x80;.pickle")
    make.write(job / "end.pickle", make.end_only())
    for ending in ("sqlite", "arrow", "parquet"):
        done = vramscope("merge", "job", "-o", f"job.{ending}")
        assert done.code == NOT_READ and done.out == ""
    assert sorted(path.name for path in folder.glob("job.*")) == sorted(
        ["job.sqlite", *(f"job.{table}.{ending}" for table in TABLES for ending in ("arrow", "parquet"))])
    assert "Wrote job.ranks.parquet with 8 ranks" in done.err and "Wrote job.steps.parquet: opens in DuckDB" in done.err
    listed = re.findall(r'^VS_(\w+)\((\w+), (\w+), "', (ROOT / "src/diff/job_tables.def").read_text(), re.M)
    types = {"I64": "int64", "F64": "double", "BOOL": "bool", "TEXT": "string"}
    for table in TABLES:
        names, kinds, *readers = read_back(folder, READ + f"print(json.dumps(read('job.{table}')))")
        wanted = [(name, types[kind]) for of, name, kind in listed if of == table.upper()]
        assert list(zip(names, kinds, strict=True)) == wanted
        expected = [list(row.values()) for row in rows(folder / "job.sqlite", table)]
        assert len(expected) > 5 and all(found == expected for found in readers)


def test_every_type_in_several_batches(folder):
    """A sample that the unit test writes: numbers, truth values, texts, what is unknown, a column of nothing else."""
    if not SAMPLE.exists():
        pytest.skip("a build without the ring unit")
    subprocess.run([SAMPLE, folder], check=True)
    (folder / "arrow.arrow").rename(folder / "sample.arrow")
    (folder / "parquet.parquet").rename(folder / "sample.parquet")
    names, kinds, *readers = read_back(folder, READ + "print(json.dumps(read('sample')))")
    assert (names, kinds) == (["n", "part", "is_odd", "name", "never", "address"], ["int64", "double", "bool", "string", "string", "uint64"])
    wanted = [[i - 500, i / 8, i % 2 == 1, f"größe'\n{i % 37}" if i % 37 else "", None, 2**64 - 1 - i] for i in range(1000)]
    for row in wanted[6::7]:
        row[1:] = [None] * 5
    assert all(found == wanted for found in readers)
    with sqlite3.connect(":memory:") as database:
        database.executescript((folder / "sample.sql").read_text())
        found = [list(row) for row in database.execute("SELECT * FROM sample")]
    for row in found:
        row[5] = None if row[5] is None else row[5] % 2**64  # SQLite's integers are signed
    assert found == wanted


def test_an_empty_table_has_its_columns(vramscope, job, folder):
    make.write(folder / "rank0.pickle", make.end_only())
    for ending in ("arrow", "parquet"):
        assert vramscope("merge", "rank0.pickle", "-o", f"job.{ending}").code == 0
    names, _, *readers = read_back(folder, READ + "print(json.dumps(read('job.steps')))")
    assert names[:3] == ["rank", "file", "step"] and readers == [[], [], []]


@pytest.mark.parametrize("ending", ("arrow", "parquet"))
def test_no_table_without_the_others(vramscope, job, folder, ending):
    (folder / f"job.steps.{ending}").write_text("mine")
    done = vramscope("merge", "job", "-o", f"job.{ending}")
    assert done.code == 3 and f"job.steps.{ending}: file exists; use --force to overwrite it" in done.err
    assert sorted(path.name for path in folder.glob("job.*")) == [f"job.steps.{ending}"]
    assert (folder / f"job.steps.{ending}").read_text() == "mine"
    assert vramscope("merge", "job", "-o", f"job.{ending}", "--force").code == NOT_READ
    before = sorted(path.name for path in folder.iterdir())
    for number in range(20, 220):
        shutil.copy(job / "rank4.pickle", job / f"rank{number}.pickle")
    done = subprocess.run([make.BINARY, "merge", "job", "-o", f"full.{ending}"], cwd=folder, env=make.environment(),
                          capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "writing failed" in done.stderr, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_recipes_for_duckdb(vramscope, job, folder):
    """docs/guide/merge.md, as it stands there; tests/fleet has the other engines and a thousand ranks."""
    (folder / "yesterday").mkdir()
    for number in range(5):
        make.write(folder / "yesterday" / f"rank{number}.pickle", rank())
    job.rename(folder / "today")
    for day in ("today", "yesterday"):
        vramscope("merge", day, "-o", f"{day}.parquet")
    done = subprocess.run([READER, ROOT / "tests/fleet/ask.py", "DuckDB"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(pages.blocks_of(__file__)["docs/guide/merge.md"]) == 4  # the queries and the program, which ask.py runs
    found = json.loads(done.stdout.split("answers ")[1])
    kept = [row["growth_bytes_per_step"] for row in rows_of_owner(vramscope, folder, "metrics.py:19 update")]
    assert [row[0] for row in found["odd"]] == [3, 4, 5] and found["odd"][0][2] > 0
    assert found["odd"][2][1] == "byte 0x6e is not a pickle opcode"
    assert found["grew"] == [["metrics.py:19 update", 1, kept[0]]]
    assert [row[0] for row in found["changed"]] == ["metrics.py:19 update", "attention.py:9 softmax"]
    assert [row[1] for row in found["changed"]] == [1, 1] and found["changed"][1][2] == 20 * MiB


def rows_of_owner(vramscope, folder, owner):
    vramscope("merge", "today", "-o", "today.sqlite")
    return [row for row in rows(folder / "today.sqlite", "owners") if row["owner"] == owner]
