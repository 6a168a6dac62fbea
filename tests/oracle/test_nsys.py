"""Nsight Systems' SQLite exports against a naive model of their rows, and files that are no such exports or are damaged."""

import gzip
import json
import random
import sqlite3
from contextlib import closing

import pytest

import cli
import nsys
from nsys import EVENTS, KINDS, OPERATIONS, Event, Export

pytestmark = pytest.mark.binary


@pytest.fixture(scope="module", autouse=True)
def build():
    """In a build without SQLite, all that can be tested is its sentence."""
    doctor = json.loads(cli.run("doctor", "--json").out)
    if doctor["sqlite"] is None:
        pytest.skip("this build cannot read SQLite databases")
    return doctor


def ask(path, method, **params):
    return cli.run("query", str(path), method, *(f"{name}={value}" for name, value in params.items())).report()


def simple():
    """One process, 3 MiB at the peak, 2 MiB at the end."""
    base, mib = 0x7F00_0000_0000, 1 << 20
    return Export([Event(1000, 4711, 0, base, mib), Event(2000, 4711, 0, base + 2 * mib, 2 * mib), Event(3000, 4711, 0, base, mib, is_free=True)])


def assert_figures(path, export):
    wanted = nsys.model(export)
    report = ask(path, "report")
    found = {device["device"]: device for device in report["devices"] if device["trace"]["events"] != 0}
    assert report["file"]["format"] == "nsys"
    assert set(found) == set(wanted)
    for gpu, device in wanted.items():
        assert found[gpu]["peak"]["allocated_bytes"] == device.peak
        assert found[gpu]["end"]["allocated_bytes"] == sum(device.end.values())
        assert found[gpu]["end"]["reserved_bytes"] is None
        blocks = ask(path, "blocks", device=gpu, at="end", top=0)["blocks"]
        assert {block["address"]: block["size_bytes"] for block in blocks} == device.end
        events = ask(path, "events", device=gpu, top=0)["events"]
        assert [(event["action"], event["address"], event["size_bytes"]) for event in events] == device.events
        others = [finding["count"] for finding in found[gpu]["trust"]["findings"] if finding["kind"] == "other_processes"]
        assert others == [device.others] * (device.others != 0)


@pytest.mark.parametrize(("processes", "devices"), ((1, 1), (1, 3), (3, 1), (3, 2)))
def test_figures(tmp_path, processes, devices):
    rng = random.Random(processes * 10 + devices)
    export = nsys.random_export(rng, processes, devices, 600)
    assert_figures(export.write(tmp_path / "report.sqlite"), export)


def test_devices_have_the_numbers_of_the_machine(tmp_path):
    """Each process calls its GPU 0, as with CUDA_VISIBLE_DEVICES; they are different GPUs."""
    gpus = {(4711, 0): 3, (4712, 0): 1, (4713, 0): 0}
    export = nsys.random_export(random.Random(7), 3, 1, 600, gpus=gpus)
    assert set(nsys.model(export)) == {0, 1, 3}
    assert_figures(export.write(tmp_path / "report.sqlite"), export)


def test_whose_memory_is_shown_is_said(tmp_path):
    export = simple()
    export.names = {4711: "python3"}
    export.events.append(Event(4000, 99, 0, 0x7F00_0000_0000, 5))
    path = export.write(tmp_path / "report.sqlite")
    assert_figures(path, export)
    (line,) = [line for line in ask(path, "report")["devices"][0]["lines"] if line["about"] == "recording"]
    assert "other processes on this GPU are left out; shown is process 4711, python3" in line["text"]


OLD = tuple(name for name in nsys.COLUMNS[:9] if name not in ("memKind", "contextId", "pc"))


@pytest.mark.parametrize("more", (
    {"columns": OLD, "has_enums": False, "has_clock": False},
    {"columns": nsys.COLUMNS[:9], "has_enums": False},
    {"columns": tuple(reversed(nsys.COLUMNS))},
    {"kinds": tuple(reversed(KINDS)), "operations": tuple(reversed(OPERATIONS))},
), ids=("without_kinds", "without_enums", "other_order", "other_numbers"))
def test_versions(tmp_path, more):
    export = nsys.random_export(random.Random(3), 1, 2, 400, **more)
    if "memKind" not in export.columns:
        export.events = [event for event in export.events if event.kind in nsys.OF_A_GPU]
    assert_figures(export.write(tmp_path / "report.sqlite"), export)


def test_without_times_the_order_is_that_of_the_file(tmp_path):
    """Some versions write no times at all."""
    export = nsys.random_export(random.Random(5), 1, 1, 200)
    export.events.sort(key=lambda event: event.start)
    for event in export.events:
        event.start = 0
    assert_figures(export.write(tmp_path / "report.sqlite"), export)


def test_what_is_left_out_is_counted(tmp_path):
    export = simple()
    export.events += [Event(1, 4711, 0, 1 << 20, 5, "PINNED"), Event(2, 4711, 0, 1 << 30, 5, "MANAGED"), Event(3, 4711, 0, 1 << 31, 5, "UNKNOWN")]
    path = export.write(tmp_path / "report.sqlite")
    assert_figures(path, export)
    (device,) = ask(path, "report")["devices"]
    found = {finding["kind"]: finding["count"] for finding in device["trust"]["findings"]}
    assert found["left_out"] == 2 and found["unknown_kinds"] == 1


def test_what_happened_before_is_found(tmp_path):
    """Frees of memory that is not in the file, and an address that is allocated twice."""
    export = simple()
    export.events += [Event(4000, 4711, 0, 1 << 40, 64, is_free=True), Event(5000, 4711, 0, 0x7F00_0020_0000, 1 << 21)]
    (device,) = ask(export.write(tmp_path / "report.sqlite"), "report")["devices"]
    assert {"began_late", "double_alloc"} <= {finding["kind"] for finding in device["trust"]["findings"]}


def test_pipes_and_gzip(tmp_path):
    plain = simple().write(tmp_path / "report.sqlite").read_bytes()
    wanted = cli.report_of(tmp_path / "report.sqlite")["devices"]
    assert cli.run("report", "--json", "-", stdin=plain).report()["devices"] == wanted
    (tmp_path / "report.sqlite.gz").write_bytes(gzip.compress(plain))
    assert cli.report_of(tmp_path / "report.sqlite.gz")["devices"] == wanted


@pytest.mark.parametrize("name", ("a b.sqlite", "50%25?mode=rwc#x&.sqlite", "ä.sqlite"))
def test_any_name(tmp_path, name):
    wanted = cli.report_of(simple().write(tmp_path / "plain.sqlite"))["devices"]
    (tmp_path / name).write_bytes((tmp_path / "plain.sqlite").read_bytes())
    before = sorted(tmp_path.iterdir())
    assert cli.report_of(tmp_path / name)["devices"] == wanted
    assert sorted(tmp_path.iterdir()) == before


def test_write_ahead_log(tmp_path):
    """A database that keeps one can be read where it is empty; else its last changes would be missing."""
    path = simple().write(tmp_path / "report.sqlite")
    wanted = cli.report_of(path)["devices"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    assert path.read_bytes()[18:20] == b"\x02\x02"
    assert cli.report_of(path)["devices"] == wanted
    assert cli.run("report", "--json", "-", stdin=path.read_bytes()).report()["devices"] == wanted
    assert [file.name for file in tmp_path.iterdir()] == ["report.sqlite"]
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"DELETE FROM {EVENTS}")
        database.commit()
        outcome = cli.run("report", path)
        cli.assert_refused(outcome)
        assert b"report.sqlite-wal" in outcome.err and b"wal_checkpoint" in outcome.err


def assert_says(path, part):
    outcome = cli.run("report", path)
    cli.assert_refused(outcome)
    assert part in outcome.err.decode(), outcome.err


def test_other_databases(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as database:
        database.execute("CREATE TABLE cats (name TEXT)")
        database.commit()
    assert_says(tmp_path / "other.sqlite", "an SQLite database, but none that Nsight Systems exported")
    no_table = simple().write(tmp_path / "no.sqlite", f"DROP TABLE {EVENTS}")
    assert_says(no_table, "nsys profile --cuda-memory-usage=true")
    assert_says(Export().write(tmp_path / "empty.sqlite"), "nsys profile --cuda-memory-usage=true")
    (tmp_path / "nothing.sqlite").write_bytes(b"SQLite format 3\0")
    assert_says(tmp_path / "nothing.sqlite", "damaged")


SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS address, i AS bytes, 0 AS memoryOperationType FROM n"


@pytest.mark.parametrize(("statements", "part"), (
    ((f"DROP TABLE {EVENTS}", f"CREATE VIEW {EVENTS} AS {SLOW}"), "is not a table"),
    (("DROP TABLE ENUM_CUDA_MEM_KIND", f"CREATE VIEW ENUM_CUDA_MEM_KIND AS SELECT start AS id, '' AS name FROM ({SLOW})"), "is not a table"),
    ((f"DROP TABLE {EVENTS}", f"CREATE VIRTUAL TABLE {EVENTS} USING fts5(start, address, bytes, memoryOperationType)"), "is not a table"),
    ((f"DROP TABLE {EVENTS}", f"CREATE TABLE {EVENTS} (start, address, bytes AS (hex(zeroblob(100000000))), memoryOperationType)"), "computed columns"),
), ids=("view", "view_of_names", "virtual", "computed"))
def test_nothing_of_the_database_runs(tmp_path, statements, part):
    assert_says(simple().write(tmp_path / "report.sqlite", *statements), part)


@pytest.mark.parametrize(("statement", "part"), (
    (f"UPDATE {EVENTS} SET bytes = -5 WHERE start = 2000", "about -5 bytes"),
    (f"UPDATE {EVENTS} SET bytes = 'many' WHERE start = 2000", 'no whole number "bytes"'),
    (f"UPDATE {EVENTS} SET bytes = x'00' WHERE start = 2000", 'no whole number "bytes"'),
    (f"UPDATE {EVENTS} SET bytes = 1e300 WHERE start = 2000", 'no whole number "bytes"'),
    (f"UPDATE {EVENTS} SET memoryOperationType = 9 WHERE start = 2000", "the operation 9"),
    (f"UPDATE {EVENTS} SET deviceId = 99999 WHERE start = 2000", "device 99999"),
    (f"UPDATE {EVENTS} SET globalPid = 'x' || hex(zeroblob(1000000))", "more than 1048576 bytes"),
))
def test_mistakes_have_a_sentence(tmp_path, statement, part):
    assert_says(simple().write(tmp_path / "report.sqlite", statement), part)


def test_truncated(tmp_path):
    export = nsys.random_export(random.Random(9), 1, 1, 300)
    whole = export.write(tmp_path / "report.sqlite", page_size=512).read_bytes()
    paths = []
    for size in (*range(16, len(whole), max(1, len(whole) // 150)), *range(len(whole) - 600, len(whole), 7)):
        paths.append(tmp_path / f"cut-{size}")
        paths[-1].write_bytes(whole[:size])
    for path, outcome in zip(paths, cli.run_each("report", "--json", paths=paths), strict=True):
        cli.assert_refused(outcome, path.name)


def test_damaged_pages_are_refused_or_change_values_only(tmp_path):
    """Any byte may be wrong. SQLite notices a wrong structure; a wrong value is a value."""
    rng = random.Random(11)
    export = nsys.random_export(rng, 2, 2, 300)
    whole = export.write(tmp_path / "report.sqlite", page_size=512).read_bytes()
    paths = []
    for i in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 1, 4))):
            damaged[rng.randrange(16, len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        if i % 10 == 0:  # a page twice, in place of another one
            first, second = (rng.randrange(1, len(whole) // 512) * 512 for _ in range(2))
            damaged[first:first + 512] = whole[second:second + 512]
        paths.append(tmp_path / f"damaged-{i}")
        paths[-1].write_bytes(damaged)
    outcomes = cli.run_each("report", "--json", paths=paths)
    for path, outcome in zip(paths, outcomes, strict=True):
        cli.assert_survived(outcome, path.name)
        cli.assert_frugal(outcome, path.name)
    assert sum(outcome.code != 0 for outcome in outcomes) > 30


def test_a_table_that_contains_itself_ends(tmp_path):
    """An inner page whose children are all the same page, many levels deep, would have more rows than any file."""
    export = nsys.random_export(random.Random(13), 1, 1, 3000)
    path = export.write(tmp_path / "report.sqlite", page_size=512)
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (EVENTS,)).fetchone()
    data = bytearray(path.read_bytes())
    at = (root - 1) * 512
    assert data[at] == 5  # an inner page
    cells = int.from_bytes(data[at + 3:at + 5], "big")
    first = int.from_bytes(data[at + 12:at + 14], "big")
    for i in range(cells):
        cell = int.from_bytes(data[at + 12 + 2 * i:at + 14 + 2 * i], "big")
        data[at + cell:at + cell + 4] = data[at + first:at + first + 4]
    data[at + 8:at + 12] = data[at + first:at + first + 4]
    path.write_bytes(data)
    assert_says(path, "damaged")


def test_commands(tmp_path):
    """Those that other accounts have; what needs segments is refused with the same sentence."""
    path = simple().write(tmp_path / "report.sqlite")
    for command in (("report",), ("events",), ("blocks",), ("tree",), ("stats",), ("oom",), ("query", "info"), ("diff", path)):
        assert cli.run(command[0], path, *command[1:]).code == 0, command
    for form in ("csv", "collapsed", "speedscope", "pprof"):
        assert cli.run("export", path, form, "-o", tmp_path / form).code == 0, form
    for refused in (("export", "pickle"), ("export", "sqlite"), ("query", "map"), ("where",)):
        outcome = cli.run(refused[0], path, *refused[1:], *(("-o", tmp_path / "out") if refused[0] == "export" else ()))
        assert outcome.code != 0 and b"the file lists no segments" in outcome.err, refused
