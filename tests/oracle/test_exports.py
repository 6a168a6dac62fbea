"""Each format of `export`, opened by the program that reads it, with the true figures.

Pickle and JSON have a file of their own, test_roundtrip.py.
"""

import csv
import io
import json
import sqlite3
import re
from collections import Counter, defaultdict
from pathlib import Path

import jsonschema
import pytest

import cli
import closed_unpickler
import shapes
import truth
from consumers import perfetto_trace, pprof
from conftest import NO_SNAPSHOTS, real_snapshots
from frames import WHYS
from normal import HOST, normalise
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

SCHEMA = Path(__file__).parent / "consumers" / "speedscope.schema.json"
SEEDS = range(2000, 2006)


class Source:
    """A file, its contents, and the device that a profile shows by default."""

    def __init__(self, path):
        self.path = path
        self.data = closed_unpickler.read_file(path).data
        self.snapshot = normalise(self.data)
        self.memories = {**self.snapshot.devices}
        if self.snapshot.host:
            self.memories[HOST] = self.snapshot.host

    def default(self):
        return truth.default_memory(self.snapshot)

    def export(self, form, *options, target=None):
        target = target or self.path.parent / f"{self.path.name}.{form}"
        outcome = cli.run("export", self.path, form, "-f", "-o", target, *options)
        assert outcome.code == 0, f"exit code {outcome.code}, stderr {outcome.err!r}"
        return target.read_bytes()

    def peak(self, memory):
        return truth.peaks(memory)["peak"]["event"]

    def live(self, memory, event):
        """The live memory there by stack: [(bytes, blocks, stack)]."""
        return truth.groups_by_stack(truth.live_at(memory, event))


def of_run(run, folder, name):
    path = folder / f"{name}.pickle"
    path.write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.15")))
    return Source(path)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Simulated runs, and copies of the real files."""
    folder = tmp_path_factory.mktemp("exports")
    made = [of_run(sample_run(), folder, "sample"), of_run(sample_run().recorded(60), folder, "late")]
    made += [of_run(random_run(seed)[0], folder, f"random{seed}") for seed in SEEDS]
    for path in real_snapshots():
        copy = folder / path.name
        copy.write_bytes(path.read_bytes())
        made.append(Source(copy))
    return made


def test_real_files_are_among_them(sources):
    if not real_snapshots():
        pytest.skip(NO_SNAPSHOTS)
    assert len(sources) > len(SEEDS) + 2


# ---- profiles: what was live at a moment


def moments(source, memory):
    """(option of --at, event)"""
    last = len(memory.entries) - 1
    return [("peak", source.peak(memory)), ("end", last), (str(last // 2) if last >= 0 else "start", last // 2)]


def expected_weights(source, memory, event):
    return Counter((size, count) for size, count, _ in source.live(memory, event))


def is_within(frames, stack):
    """Whether `frames` is `stack` with some frames left out."""
    rest = iter(stack)
    return all(frame in rest for frame in frames)


def test_collapsed(sources):
    for source in sources:
        memory = source.default()
        for at, event in moments(source, memory):
            lines = source.export("collapsed", "--at", at).decode().splitlines()
            weights = Counter()
            for line in lines:
                stack, _, weight = line.rpartition(" ")
                assert stack and all(stack.split(";")), line
                weights[int(weight)] += 1
            groups = source.live(memory, event)
            assert weights == Counter(size for size, _, _ in groups if size), f"{source.path.name} at {at}"


def test_collapsed_begins_with_the_programs_entry(sources):
    source, checked = sources[0], 0
    for device, memory in source.snapshot.devices.items():
        live = source.live(memory, source.peak(memory))
        by_weight = Counter(size for size, _, _ in live)
        stacks = {size: stack for size, _, stack in live if by_weight[size] == 1}
        for line in source.export("collapsed", "--device", str(device)).decode().splitlines():
            folded, _, weight = line.rpartition(" ")
            stack = stacks.get(int(weight))
            if not stack:
                continue
            names = folded.split(";")
            labels = [memory.frames.label(frame).replace(";", ":") for frame in reversed(stack)]
            assert is_within([re.sub(r"^\S*[/\\](?=\S+:\d+ )", "", name) for name in names], labels), folded
            checked += 1
    assert checked > 5


def test_speedscope(sources):
    schema = json.loads(SCHEMA.read_text())
    for source in sources:
        memory = source.default()
        for at, event in moments(source, memory):
            file = json.loads(source.export("speedscope", "--at", at))
            jsonschema.validate(file, schema)
            profile, frames = file["profiles"][0], file["shared"]["frames"]
            assert len(file["profiles"]) == 1 and profile["unit"] == "bytes"
            assert len(profile["samples"]) == len(profile["weights"])
            groups = source.live(memory, event)
            assert Counter(profile["weights"]) == Counter(size for size, _, _ in groups), f"{source.path.name} at {at}"
            assert profile["endValue"] - profile["startValue"] == sum(size for size, _, _ in groups)
            for sample, weight in zip(profile["samples"], profile["weights"]):
                stack = tuple((frames[i]["name"], frames[i].get("file", "")) for i in reversed(sample))
                if stack[0][0] in WHYS:
                    continue
                candidates = [tuple(f[:2] for f in s) for size, _, s in groups if size == weight]
                assert any(is_within(stack, candidate) for candidate in candidates), stack


def test_pprof(sources):
    for source in sources:
        memory = source.default()
        for at, event in moments(source, memory):
            profile = pprof.read(source.export("pprof", "--at", at))
            strings = profile.string_table
            types = [(strings[t.type], strings[t.unit]) for t in profile.sample_type]
            assert types == [("inuse_objects", "count"), ("inuse_space", "bytes")]
            assert strings[profile.default_sample_type] == "inuse_space"
            groups = source.live(memory, event)
            found = Counter((sample.value[1], sample.value[0]) for sample in profile.sample)
            assert found == expected_weights(source, memory, event), f"{source.path.name} at {at}"
            for sample in profile.sample:
                frames = pprof.stack(profile, sample)
                if frames[0][0] in WHYS:
                    continue
                candidates = [s for size, count, s in groups if (count, size) == tuple(sample.value)]
                functions = [tuple(f[:2] for f in s) for s in candidates]
                assert any(is_within([f[:2] for f in frames], names) for names in functions), frames
            if event >= 0 and memory.entries[event].time is not None:
                assert profile.time_nanos == memory.entries[event].time * 1000


def test_a_filter_leaves_the_rest_out(sources):
    source = sources[0]
    memory = source.default()
    live = truth.live_at(memory, source.peak(memory))
    expected = sum(size for _, size, _ in live if size > 100_000)
    lines = source.export("collapsed", "--filter", "size>100000").decode().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == expected > 0


# ---- perfetto: what happened over time


def process_of(device):
    return "pinned host memory" if device == HOST else f"GPU {device}"


def test_perfetto_counters(sources):
    for source in sources:
        tracks = perfetto_trace.read(source.export("perfetto"))
        assert {t.process for t in tracks} == {process_of(device) for device in source.memories}
        for device, memory in source.memories.items():
            for name, curve in (("requested", truth.requested_curve(memory)), ("reserved", truth.reserved_curve(memory))):
                (track,) = perfetto_trace.find(tracks, process_of(device), name)
                values = [value for _, value in track.samples]
                changes = [v for i, v in enumerate(curve) if i == 0 or v != curve[i - 1]]
                assert values == changes, f"{source.path.name}, device {device}, {name}"
                assert max(values) == max(curve) and values[-1] == curve[-1]


def test_perfetto_failed_requests(sources):
    seen = 0
    for source in sources:
        tracks = perfetto_trace.read(source.export("perfetto"))
        for device, memory in source.memories.items():
            (track,) = perfetto_trace.find(tracks, process_of(device), "out of memory")
            expected = [
                (e.time * 1000, i, e.size, e.device_free) for i, e in enumerate(memory.entries) if e.action == "oom"
            ]
            found = [
                (now, values["event"], values["requested_bytes"], values["device_free_bytes"])
                for now, _, values in track.instants
            ]
            assert found == expected
            seen += len(found)
    assert seen > 0


def named_ranges(data, device):
    """(name, begin, end or None) of a device's annotations: an END closes the latest open START of its name."""
    ranges, opened = [], []
    for item in data.get("external_annotations", []) if isinstance(data, dict) else []:
        if item["device"] != device:
            continue
        if item["stage"] == "START":
            opened.append([item["name"], item["time_us"] * 1000, None])
            ranges.append(opened[-1])
            continue
        for entry in reversed(opened):
            if entry[0] == item["name"]:
                entry[2] = item["time_us"] * 1000
                opened.remove(entry)
                break
    return Counter(tuple(entry) for entry in ranges)


def test_perfetto_annotations(sources):
    seen = 0
    for source in sources:
        tracks = perfetto_trace.read(source.export("perfetto"))
        for device in source.snapshot.devices:
            lanes = perfetto_trace.find(tracks, process_of(device), "annotations")
            found = Counter(entry for lane in lanes for entry in lane.slices)
            assert found == named_ranges(source.data, device), f"{source.path.name}, device {device}"
            seen += len(found)
    assert seen > 0


def test_perfetto_without_times(tmp_path):
    run = sample_run()
    path = tmp_path / "old.pickle"
    path.write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.1")))
    source = Source(path)
    assert all(e.time is None for m in source.memories.values() for e in m.entries)
    tracks = perfetto_trace.read(source.export("perfetto"))
    (track,) = perfetto_trace.find(tracks, "GPU 0", "requested")
    assert "no times" in track.name
    curve = truth.requested_curve(source.memories[0])
    assert max(value for _, value in track.samples) == max(curve)


# ---- csv


def rows(raw):
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8", "surrogateescape"), newline="")))


def number(text):
    return int(text) if text else None


def pool(row):
    return (number(row["pool_a"]), number(row["pool_b"])) if row["pool_a"] else None


def test_csv_events(sources):
    for source in sources:
        found = rows(source.export("csv"))
        expected = [
            (device, i, e.action, e.address, e.size, e.stream, e.time, e.device_free, e.pool)
            for device, memory in sorted(source.memories.items(), key=lambda item: item[0] % 2**32)
            for i, e in enumerate(memory.entries)
        ]
        assert [
            (
                *(number(r[k]) for k in ("device", "event")),
                r["action"],
                *(number(r[k]) for k in ("address", "size_bytes", "stream", "time_us", "device_free_bytes")),
                pool(r),
            )
            for r in found
        ] == expected, source.path.name


def test_csv_blocks_and_segments(sources):
    for source in sources:
        found = rows(source.export("csv", "--table", "blocks"))
        expected = Counter(
            (device, s.address, b.address, b.size, b.requested, b.state, s.stream, s.pool)
            for device, memory in source.memories.items()
            for s in memory.segments
            for b in s.blocks
        )
        names = ("device", "segment_address", "address", "size_bytes", "requested_bytes")
        assert expected == Counter(
            (*(number(r[n]) for n in names), r["state"], number(r["stream"]), pool(r)) for r in found
        )
        found = rows(source.export("csv", "--table", "segments"))
        expected = Counter(
            (device, s.address, *(sums[f"{name}_bytes"] for name in ("reserved", "allocated", "active", "requested")),
             largest_free(s.blocks), len(s.blocks), sum(is_active(b) for b in s.blocks), s.kind or "")
            for device, memory in source.memories.items()
            for s in memory.segments
            for sums in [truth.end_sums(s.blocks)]
        )  # fmt: skip
        names = ("device", "address", "reserved_bytes", "allocated_bytes", "active_bytes", "requested_bytes", "largest_hole_bytes",
                 "blocks", "active_blocks")  # fmt: skip
        assert expected == Counter((*(number(r[n]) for n in names), r["segment_type"]) for r in found)


def is_active(block):
    return block.state.startswith("active")


def largest_free(blocks):
    """Bytes of the longest run of free blocks side by side."""
    runs = [0]
    for block in blocks:
        runs.append(0 if is_active(block) else runs[-1] + block.size)
    return max(runs)


def by_address(memory):
    """{address: [(event, action)]}"""
    there = defaultdict(list)
    for i, entry in enumerate(memory.entries):
        there[entry.address].append((i, entry.action))
    return there


def life_of(memory, there, event):
    """(event of its alloc, event of its free) of what is live at an address, where all these events were, at a moment; None where
    the trace has none. The free is the request where the trace has requests."""
    start = max((i for i, action in there if action == "alloc" and i <= event), default=None)
    later = [(i, action) for i, action in there if i > (-1 if start is None else start)]
    frees = [i for i, action in later if action == "free_requested"] or [i for i, action in later if action == "free_completed"]
    again = min((i for i, action in later if action == "alloc"), default=len(memory.entries))
    return start, next((i for i in frees if i < again), None)


def test_csv_live_says_since_when_and_until_when(sources):
    for source in sources:
        for device, memory in source.snapshot.devices.items():
            there, count = by_address(memory), len(memory.entries)
            for event in {source.peak(memory), count // 2} & set(range(count)):
                raw = source.export("csv", "--table", "live", "--device", str(device), "--at", str(event))
                for row in rows(raw):
                    start, free = life_of(memory, there[int(row["address"])], event)
                    time = {None: None, **{i: memory.entries[i].time for i in (start, free) if i is not None}}
                    got = tuple(number(row[name]) for name in ("alloc_event", "alloc_time_us", "free_event", "free_time_us"))
                    assert got == (start, time[start], free, time[free]), (source.path.name, device, row)
                    is_pending = free is not None and free <= event
                    assert row["state"] == ("active_pending_free" if is_pending else "active_allocated"), (source.path.name, row)


def test_csv_live(sources):
    for source in sources:
        for device, memory in source.snapshot.devices.items():
            event = source.peak(memory)
            raw = source.export("csv", "--table", "live", "--device", str(device))
            found = [(int(r["address"]), int(r["requested_bytes"])) for r in rows(raw)]
            expected = [(address, size) for address, size, _ in truth.live_at(memory, event)]
            assert Counter(found) == Counter(expected), f"{source.path.name}, device {device}"
            assert found == sorted(found, key=lambda row: (-row[1], row[0]))


def test_csv_names_are_the_files_own(snapshot_file):
    """Quotes, separators and line ends inside names come back as they were."""
    names = ['a "quoted" name', "comma, semicolon; tab\t", "line\nbreak\r\n", "", "ünï ☃", "=1+1"]
    frames = [{"name": name, "filename": f"/x/{i}.py", "line": i + 1} for i, name in enumerate(names)]
    trace = [
        {"action": "alloc", "addr": 512 * i, "size": 1, "stream": 0, "time_us": i, "user_metadata": name, "frames": [f]}
        for i, (name, f) in enumerate(zip(names, frames))
    ]
    path = snapshot_file(WRITERS["c-4"].write({"segments": [], "device_traces": [trace]}))
    found = rows(Source(path).export("csv"))
    assert [r["user_metadata"] for r in found] == names
    assert [r["place"] for r in found] == [f"{i}.py:{i + 1} {name}".rstrip(" " if not name else "") for i, name in enumerate(names)]


# ---- sqlite


@pytest.fixture(params=["sql", "sqlite"])
def database(request, tmp_path):
    """Opens the database that comes out of one of the two ways to it."""
    opened = []

    def open_it(source):
        target = tmp_path / f"{source.path.name}.{request.param}"
        raw = source.export(request.param, target=target)
        connection = sqlite3.connect(":memory:" if request.param == "sql" else target)
        if request.param == "sql":
            connection.executescript(raw.decode())
        opened.append(connection)
        return connection

    yield open_it
    for connection in opened:
        connection.close()


def signed(address):
    return address - 2**64 if address is not None and address >= 2**63 else address


def test_sqlite_sums(sources, database):
    for source in sources:
        db = database(source)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        for device, memory in source.memories.items():
            ends = truth.end_state(memory)
            (reserved, blocks), *_ = db.execute("SELECT sum(size_bytes), count(*) FROM blocks WHERE device=?", (device,))
            (requested,), *_ = db.execute(
                "SELECT sum(requested_bytes) FROM blocks WHERE device=? AND state LIKE 'active%'", (device,)
            )
            (segments, sizes), *_ = db.execute("SELECT count(*), sum(size_bytes) FROM segments WHERE device=?", (device,))
            assert (blocks, segments) == (ends["blocks"], ends["segments"])
            assert (reserved or 0) == (sizes or 0) == ends["reserved_bytes"]
            assert (requested or 0) == ends["requested_bytes"]
            events = db.execute(
                "SELECT action, address, size_bytes, time_us FROM events WHERE device=? ORDER BY event", (device,)
            ).fetchall()
            assert events == [(e.action, signed(e.address), e.size, e.time) for e in memory.entries]
            peak = truth.peaks(memory)
            assert db.execute(
                "SELECT peak_requested_bytes, peak_event, peak_reserved_bytes FROM devices WHERE device=?", (device,)
            ).fetchone() == (
                peak["peak"]["requested_bytes"],
                peak["peak"]["event"],
                peak["peak_reserved"]["reserved_bytes"],
            )


LIVE = """SELECT address, requested_bytes FROM allocations WHERE device = :device
          AND (alloc_event IS NULL OR alloc_event <= :event) AND (end_event IS NULL OR end_event > :event)
          ORDER BY address, requested_bytes"""


def test_sqlite_knows_what_was_live(sources, database):
    for source in sources:
        db = database(source)
        for device, memory in source.memories.items():
            event = source.peak(memory)
            expected = sorted((signed(address), size) for address, size, _ in truth.live_at(memory, event))
            assert db.execute(LIVE, {"device": device, "event": event}).fetchall() == expected


def test_sqlite_stacks_join(sources, database):
    for source in sources[:3]:
        db = database(source)
        frames = {
            stack: tuple(
                db.execute(
                    "SELECT function, file FROM stack_frames JOIN frames USING(frame_id) WHERE stack_id=? ORDER BY position",
                    (stack,),
                )
            )
            for (stack,) in db.execute("SELECT stack_id FROM stacks").fetchall()
        }
        for device, memory in source.memories.items():
            stacks = db.execute("SELECT stack_id FROM events WHERE device=? ORDER BY event", (device,)).fetchall()
            for (stack,), entry in zip(stacks, memory.entries, strict=True):
                assert frames.get(stack, ()) == tuple(f[:2] for f in entry.stack)


def test_sqlite_settings_and_annotations(sources, database):
    source = sources[0]
    db = database(source)
    settings = source.data["allocator_settings"]
    top = dict(db.execute("SELECT key, value FROM settings WHERE depth = 0"))
    assert top.keys() == settings.keys()
    assert all(top[k] == v for k, v in settings.items() if not isinstance(v, dict))
    for device in source.snapshot.devices:
        found = Counter(
            (name, start * 1000, end if end is None else end * 1000)
            for name, start, end in db.execute("SELECT name, start_us, end_us FROM annotations WHERE device=?", (device,))
        )
        assert found == named_ranges(source.data, device)


def test_sqlite_takes_any_text(snapshot_file, database):
    texts = ["it's", "a;b", "--", "zero\0byte", "line\nbreak", "'); DROP TABLE events;--", "ünï ☃"]
    trace = [
        {"action": "alloc", "addr": 512 * i, "size": 1, "stream": 0, "time_us": i, "user_metadata": text, "frames": []}
        for i, text in enumerate(texts)
    ]
    db = database(Source(snapshot_file(WRITERS["c-4"].write({"segments": [], "device_traces": [trace]}))))
    assert [text for (text,) in db.execute("SELECT user_metadata FROM events ORDER BY event")] == texts
