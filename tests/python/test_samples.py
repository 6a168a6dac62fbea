"""Collector(keep=...).table("samples") over a fake NVML (tests/fake): each sample is what NVML said, and the sums are those of the samples."""

import json
import os
import re
import subprocess
from pathlib import Path

from conftest import ROOT, plain_environment

READER = ROOT / "build/tablesvenv/bin/python"  # tests/tables/requirements.txt
FAKE = Path(os.environ["VRAMSCOPE_FAKE"])
SCENARIOS = ROOT / "tests/fake/scenarios"
FIGURES = ("memory_used_bytes", "memory_free_bytes", "gpu_utilization_percent", "temperature_celsius", "power_milliwatts", "processes_bytes")
COLUMNS = ["time_us", "tags", "device", "mig_device", "uuid", *FIGURES]

BEGIN = """
import gc, json, sys, threading, time
import duckdb, pandas, polars, pyarrow
from vramscope import devices, errors
def rows_of(collector):
    table = pyarrow.table(collector.table("samples"))
    table.validate(full=True)
    return table.to_pylist()
"""


def read(scenario, script):
    """What a program in the environment of the readers prints as JSON, on that machine: a name, or the path of a file."""
    assert READER.exists(), f"tools/setup test makes {READER}"
    machine = {"VRAMSCOPE_NVML": FAKE / "libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": SCENARIOS / f"{scenario}.txt" if isinstance(scenario, str) else scenario}
    done = subprocess.run([READER, "-c", BEGIN + script], env=plain_environment(**machine), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_the_values_are_those_of_nvml(tmp_path):
    """moving.txt: 8, 40, 120, 60, 20 GiB after the first look. Sums by tag are those of the samples that have it."""
    rows, figures, begin, end, kept = read("moving", """
begin = time.time_ns() // 1000
collector = devices.Collector(interval=None, keep=100)
collector.sample()
with collector.tag("train"):
    collector.sample()
    with collector.tag("step"):
        collector.sample()
        with collector.tag("step"):
            collector.sample()
with collector.tag("größe \\udcff"):
    collector.sample()
print(json.dumps([rows_of(collector), collector.collect(), begin, time.time_ns() // 1000, [collector.samples, collector.kept, collector.dropped]]))
""")
    assert kept == [5, 5, 0] and list(rows[0]) == COLUMNS
    assert [row["memory_used_bytes"] >> 30 for row in rows] == [8, 40, 120, 60, 20]
    assert [row["gpu_utilization_percent"] for row in rows] == [5, 25, 60, 95, 40]
    assert [row["temperature_celsius"] for row in rows] == [30, 41, 55, 63, 52]
    assert [row["tags"] for row in rows] == [None, "train", "train, step", "train, step", "größe ?"]
    assert {(row["device"], row["mig_device"], row["uuid"]) for row in rows} == {(0, None, "GPU-a1b2c3d4-0000-4000-8000-000000000001")}
    assert begin <= rows[0]["time_us"] and [row["time_us"] for row in rows] == sorted(row["time_us"] for row in rows) and rows[-1]["time_us"] <= end
    checked = 0
    for tag, mine in (("train", rows[1:4]), ("step", rows[2:4]), ("größe \udcff", rows[4:])):
        for name in FIGURES:
            values = [row[name] for row in mine]
            sums = [figures.get(f"{tag}/gpu:0/{name}/{what}") for what in ("mean", "max", "min", "last")]
            known = [value for value in values if value is not None]
            assert sums == ([sum(known) / len(known), max(known), min(known), known[-1]] if known else [None] * 4)
            checked += len(known)
    assert checked >= 6 * 5


def test_each_device_has_a_row():
    rows = read("two", """
collector = devices.Collector(interval=None, pids=[5001], keep=3)
collector.sample()
print(json.dumps(rows_of(collector)))
""")
    assert [(row["device"], row["memory_used_bytes"] >> 20, row["processes_bytes"]) for row in rows][1] == (1, 28010, 28000 << 20)
    assert rows[1]["power_milliwatts"] == 401230 and rows[1]["gpu_utilization_percent"] == 88 and rows[0]["time_us"] == rows[1]["time_us"]
    rows = read("two_mig", """
collector = devices.Collector(interval=None, pids=[], keep=3)
collector.sample()
print(json.dumps([rows_of(collector), [[d.index, d.mig_index if d.is_mig else None, d.uuid] for d in devices.all()]]))
""")
    assert [[row["device"], row["mig_device"], row["uuid"]] for row in rows[0]] == rows[1]
    assert None in [row["mig_device"] for row in rows[0]] and 0 in [row["mig_device"] for row in rows[0]]


def test_unknown_is_null(tmp_path):
    """While a figure cannot be had it is null; a GPU that has disappeared has rows of nulls; under WSL the bytes of processes are unknown."""
    rows = read("lost_later", """
collector = devices.Collector(interval=None, pids=[], keep=100)
for _ in range(20):
    collector.sample()
print(json.dumps(rows_of(collector)))
""")
    used = [row["memory_used_bytes"] for row in rows if row["device"] == 1]
    assert len(used) == 20 and used[0] == 2**30 and set(used) == {2**30, None}  # the fake card comes back when NVML is opened anew
    assert all(row["memory_used_bytes"] is not None for row in rows if row["device"] == 0)
    for name in ("two.txt", "h200.txt"):
        (tmp_path / name).write_text((SCENARIOS / name).read_text())
    rows = read(tmp_path / "two.txt", """
import os
collector = devices.Collector(interval=None, keep=100)
collector.sample()
os.replace(os.path.join(os.path.dirname(os.environ["VRAMSCOPE_FAKE_NVML"]), "h200.txt"), os.environ["VRAMSCOPE_FAKE_NVML"])
devices.refresh()
collector.sample()
print(json.dumps(rows_of(collector)))
""")
    assert [row["memory_used_bytes"] is None for row in rows] == [False, False, False, True]
    assert all(rows[3][name] is None for name in FIGURES) and rows[3]["uuid"] == "GPU-a1b2c3d4-0000-4000-8000-000000000002"
    assert read("wsl", """
collector = devices.Collector(interval=None, pids=[18], keep=1)
collector.sample()
print(json.dumps([row["processes_bytes"] for row in rows_of(collector)]))
""") == [None]


def test_the_newest_are_kept():
    """Two devices, room for three samples: of eight the last three, in their order, with their tags."""
    result = read("two", """
collector = devices.Collector(interval=None, pids=[], keep=3)
counts, newest = [], []
for number in range(8):
    with collector.tag(f"tag{number // 2}"):
        collector.sample()
    counts.append([collector.samples, collector.kept, collector.dropped])
    newest.append([(row["tags"], row["device"]) for row in rows_of(collector)])
times = [row["time_us"] for row in rows_of(collector)]
print(json.dumps([counts, newest, times == sorted(times)]))
""")
    counts, newest, are_sorted = result
    assert counts == [[n, min(n, 3), max(n - 3, 0)] for n in range(1, 9)] and are_sorted
    assert newest == [[[f"tag{number // 2}", device] for number in range(max(n - 3, 0), n) for device in (0, 1)] for n in range(1, 9)]


def test_readers_take_them_as_they_are():
    result = read("two", """
collector = devices.Collector(interval=None, pids=[], keep=10)
with collector.tag("train"):
    for _ in range(4):
        collector.sample()
samples = collector.table()
devices.close()
del collector
gc.collect()
query = "SELECT device, max(memory_used_bytes) >> 20, count(*) FROM samples WHERE tags = 'train' GROUP BY device ORDER BY device"
print(json.dumps([duckdb.sql(query).fetchall(), polars.DataFrame(samples).group_by("device").len().sort("device").rows(),
                  pandas.DataFrame.from_arrow(samples).groupby("device").memory_used_bytes.max().tolist(), samples.name]))
""")
    used, counts, largest, name = result
    assert [row[2] for row in used] == [4, 4] and used[1][1] == 28010 and counts == [[0, 4], [1, 4]] and name == "samples"
    assert [value >> 20 for value in largest] == [row[1] for row in used]


def test_tables_while_it_samples():
    """Four threads make tables and tags while a fifth samples into a small ring; each table is whole, and the ring stays bounded."""
    assert read("two", """
wrong, made = [], []
collector = devices.Collector(interval=1e-6, pids=[], keep=50)
def look(number):
    while collector.samples < 400:
        with collector.tag(f"tag{number}"):
            rows = rows_of(collector)
        made.append(len(rows))
        if len(rows) > 100 or len(rows) % 2 or [row["device"] for row in rows] != [0, 1] * (len(rows) // 2):
            wrong.append("rows")
        if any(a["time_us"] != b["time_us"] or a["tags"] != b["tags"] for a, b in zip(rows[::2], rows[1::2])):
            wrong.append("a sample is torn")
        if collector.kept > 50:
            wrong.append("kept")
threads = [threading.Thread(target=look, args=[number]) for number in range(4)]
with collector:
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
after = rows_of(collector)
print(json.dumps([wrong, len(made) >= 4, len(after), collector.kept + collector.dropped == collector.samples, rows_of(collector) == after]))
""") == [[], True, 100, True, True]


BOUNDED = """
import resource
collector = devices.Collector(interval=None, pids=[], keep=1000)
kept = collector._kept
row = (1, 2, 3, 4, 5, None)
for number in range(2000):
    kept.add(number, f"step {number}".encode() * 100, (row, row))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for number in range(2000, 60000):
    kept.add(number, f"step {number}".encode() * 100, (row, row))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([after - before < 4096, kept.counts(), rows_of(collector)[-1]["time_us"]]))
"""


def test_the_memory_is_bounded():
    """Every sample has a tag of its own, of a KiB: those of dropped samples are given back."""
    assert read("two", BOUNDED) == [True, [1000, 59000], 59999]


def test_wrong_use():
    result = read("two", """
from vramscope import _native
said = []
def refused(kind, call):
    try:
        call()
    except kind as error:
        said.append(str(error))
    else:
        said.append(None)
refused(errors.ArgumentError, lambda: devices.Collector(keep=0))
refused(TypeError, lambda: devices.Collector(keep="many"))
refused(errors.ArgumentError, lambda: devices.Collector().table())
refused(errors.ArgumentError, lambda: devices.Collector(keep=1).table("sums"))
samples = _native.Samples(((0, None, "GPU-1"),), 2)
for bad in ((0, None, ()), (0, None, ((1, 2),)), (0, None, ([1] * 6,)), ("0", None, ((1,) * 6,)), (0, None, ((1.5,) * 6,)), (0, 7, ((1,) * 6,))):
    refused((TypeError, ValueError, IndexError), lambda: samples.add(*bad))
for bad in (((0,),), ([0, None, ""],), ((0, "x", ""),), ((0, None, None),)):
    refused(TypeError, lambda: _native.Samples(bad, 2))
refused(ValueError, lambda: _native.Samples((), 0))
empty = pyarrow.table(devices.Collector(keep=1).table())
collector = devices.Collector()
said.append([samples.counts(), empty.num_rows, empty.column_names, collector.kept, collector.dropped])
samples.add(-1, "", ((2**63 - 1, -2**63, 2**63, -2**63 - 1, 0, None),))
nothing = _native.Samples((), 1)
nothing.add(0, None, ())
said.append([nothing.counts(), len(nothing.table()) > 0])
from vramscope._table import Table
said.append(list(pyarrow.table(Table("samples", samples.table())).to_pylist()[0].values()))
print(json.dumps(said))
""")
    assert result[0] == "keep is a number of samples, or None; not 0" and None not in result
    assert result[2:4] == ["no samples are kept: Collector(keep=100_000) keeps so many, the newest", "a Collector has the table 'samples', not 'sums'"]
    assert result[-3] == [[0, 0], 0, COLUMNS, 0, 0]
    assert result[-2] == [[1, 0], True]
    assert result[-1] == [-1, "", 0, None, "GPU-1", 2**63 - 1, -2**63, None, None, 0, None]


def test_the_document_has_the_columns():
    listed = re.findall(r'^VS_(SAMPLE|FIGURE)\((\w+), (?:(\w+), )?"(.*)"\)$', (ROOT / "src/faces/python/samples.def").read_text(), re.M)
    types = {"I64": "int64", "TEXT": "text", "": "int64"}
    wanted = [(name, types[kind], sentence.replace('\\"', '"')) for _, name, kind, sentence in listed]
    text = (ROOT / "docs/formats/samples.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, re.M) == wanted and [name for name, _, _ in wanted] == COLUMNS
