"""What the page asks, against plain lists: every moment with everything that is alive at it.

QUESTIONS is tests/programs/questions.c. The truth is made here from the entries of a trace, row by row and moment by
moment; only the numbering of rows (in the order in which the trace first mentions them, then the end state) is taken
over, since replies name rows by it.
"""

import array
import json
import math
import os
import random
import re
import struct
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

import closed_unpickler
import shapes
import truth
from normal import GROWS, HOST, SHRINKS, normalise
from simulate import random_run, sample_run
from test_queries import paths_of
from writers import WRITERS

DOCUMENT = Path(__file__).parents[2] / "docs" / "formats" / "query.md"
PROGRAM = os.environ.get("QUESTIONS", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="QUESTIONS does not name the program")

SEEDS = range(5000, 5005)
TYPES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "f64": "d"}
NO_ROW = 2**32 - 1
NO_MOMENT = -2
NEVER = math.inf
LEGEND = 19


# ---- asking


class Refused(Exception):
    pass


def columns_of(raw):
    """The header of a reply of columns, with the columns as arrays."""
    size = struct.unpack_from("<I", raw, 4)[0]
    assert raw[:4] == b"VSC1" and size % 8 == 0
    header = json.loads(raw[8 : 8 + size])
    end = 8 + size
    for name, column in header["columns"].items():
        values = array.array(TYPES[column["type"]])
        assert column["at"] == end, "columns lie one behind the other"
        width = values.itemsize * column["count"]
        values.frombytes(raw[end : end + width])
        assert not any(raw[end + width : end + width + -width % 8]), "zeros between them"
        end += width + -width % 8
        header["columns"][name] = values.tolist()
    assert end == len(raw)
    return header


class Engine:
    """One process with one file."""

    def __init__(self, path):
        self.process = subprocess.Popen([PROGRAM, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, method, **params):
        request = json.dumps({"method": method, "params": params})
        self.process.stdin.write(request.encode() + b"\n")
        self.process.stdin.flush()
        status, size = self.process.stdout.readline().split()
        raw = self.process.stdout.read(int(size))
        if status != b"VS_OK" and status != b"OK":
            raise Refused(raw.decode())
        return columns_of(raw) if raw[:4] == b"VSC1" else json.loads(raw)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(10) == 0


# ---- the truth


@dataclass
class Row:
    address: int
    size: int
    start: object = None  # entry, None: before the trace
    requested_at: object = None
    end: object = None
    stack: tuple = ()

    def lives(self, moment):
        return (self.start is None or self.start <= moment) and (self.end is None or self.end > moment)

    def moments(self, count):
        return [m for m in range(-1, count) if self.lives(m)]


def allocations(memory):
    """The rows of a trace that does not contradict itself."""
    at_request, tell, rows, known = truth.frees_at_request(memory), truth.frees_tell_alloc(memory), [], {}

    def row_at(entry):
        if entry.address not in known:
            known[entry.address] = Row(entry.address, entry.size, stack=entry.stack if tell else ())
            rows.append(known[entry.address])
        return known[entry.address]

    for i, entry in enumerate(memory.entries):
        if entry.action == "alloc":
            known[entry.address] = Row(entry.address, entry.size, start=i, stack=entry.stack)
            rows.append(known[entry.address])
        elif entry.action == "free_requested":
            row = row_at(entry)
            row.requested_at = i
            if at_request:
                row.end = i
                del known[entry.address]
        elif entry.action == "free_completed":
            row_at(entry).end = i
            row = known.pop(entry.address)
            if row.start is None:
                row.stack = entry.stack if tell else ()
    for block in memory.blocks:
        waits = at_request and block.state == "active_pending_free"
        if block.active and block.address not in known and not waits:
            rows.append(Row(block.address, block.requested, stack=block.stack))
        elif block.active and block.address in known and known[block.address].start is None:
            known[block.address].stack = block.stack
    return rows


def stacked(rows, moment):
    """Row numbers alive at a moment, from the bottom up."""

    def order(number):
        row = rows[number]
        if row.start is None:
            return (0, -(NEVER if row.end is None else row.end), 0, number)
        return (1, 0, row.start, number)

    return sorted((n for n, row in enumerate(rows) if row.lives(moment)), key=order)


class Axis:
    """Where each moment begins, and where the last one ends."""

    def __init__(self, memory, by_time):
        count = len(memory.entries)
        if not by_time:
            self.begins = list(range(-1, count))
            self.x1 = count
            return
        clock, now = [], memory.entries[0].time
        for entry in memory.entries:
            now = max(now, entry.time)
            clock.append(now - memory.entries[0].time)
        self.begins = [0, *clock]
        self.x1 = clock[-1] + 1

    def moments(self, left, right):
        """Those that a column shows: begun in it, or reaching into it from the left."""
        begun = [m for m, x in enumerate(self.begins, -1) if left <= x < right]
        before = [m for m, x in enumerate(self.begins, -1) if x < left]
        if before and left < self.x1 and left not in self.begins:
            begun.insert(0, before[-1])
        return begun


def expected_names(memory, rows):
    """As PyTorch's page counts: one more for each completed free of the address."""
    closing = "free_requested" if truth.frees_at_request(memory) else "free_completed"
    versions, first_seen, counter = {}, {}, Counter()
    for number, row in enumerate(rows):
        mentioned = [i for i in (row.start, row.requested_at, row.end) if i is not None]
        first_seen[number] = min(mentioned) if mentioned else len(memory.entries)
    by_first = sorted(first_seen, key=first_seen.get)
    entry = 0
    for number in by_first:
        while entry < first_seen[number]:
            if memory.entries[entry].action == closing:
                counter[memory.entries[entry].address] += 1
            entry += 1
        versions[number] = counter[rows[number].address]
    return [f"b{row.address:x}_{versions[number]}" for number, row in enumerate(rows)]


# ---- cases


class Case:
    def __init__(self, path, device, memory):
        self.name, self.device, self.memory = f"{path.name}, device {device}", device, memory
        self.engine = Engine(path)
        self.rows = allocations(memory)
        self.count = len(memory.entries)
        self.has_times = self.count > 0 and memory.entries[0].time is not None

    def ask(self, method, **params):
        return self.engine.ask(method, device="host" if self.device == HOST else self.device, **params)

    def total(self, moment, kept=None):
        return sum(r.size for n, r in enumerate(self.rows) if r.lives(moment) and (kept is None or n in kept))

    def some_moments(self):
        return sorted({-1, self.count - 1, self.count // 2, self.count // 3})


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    runs = {"sample": sample_run(), "late": sample_run().recorded(60)}
    runs["at_request"] = sample_run().recorded(60, ("free_completed",))
    runs |= {f"random{seed}": random_run(seed)[0] for seed in SEEDS}
    made = []
    for name, run in runs.items():
        path = folder / f"{name}.pickle"
        path.write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.15")))
        snapshot = normalise(closed_unpickler.read_file(path).data)
        made += [Case(path, device, memory) for device, memory in snapshot.devices.items() if memory.entries]
    assert len(made) > 8
    yield made
    for case in made:
        case.engine.close()


# ---- pictures


def dyadic_windows(rng, axis, columns):
    """Windows whose columns begin at numbers that doubles hold exactly."""
    first, last = axis.begins[0], axis.x1
    yield None, None
    for _ in range(3):
        width = Fraction(rng.choice((1, 3, 8, 40)), rng.choice((1, 4, 16)))
        if last - first > 10000:
            width *= 1 << rng.randint(4, 12)
        x0 = rng.randint(math.floor(first) - 3, math.ceil(last)) + Fraction(rng.randint(0, 3), 4)
        yield float(x0), float(x0 + width * columns)


def expected_samples(case, axis, x0, x1, columns, kept):
    """[(first column, moment, total)] and all moments in the window."""
    samples, window = [], set()
    for column in range(columns):
        width = (Fraction(x1) - Fraction(x0)) / columns
        moments = axis.moments(Fraction(x0) + column * width, Fraction(x0) + (column + 1) * width)
        window |= set(moments)
        totals = [case.total(m, kept) for m in moments]
        shown = moments[totals.index(max(totals))] if moments else NO_MOMENT
        if not samples or samples[-1][1] != shown:
            samples.append((column, shown, max(totals, default=0)))
    return samples, window


def runs_of(columns, sample):
    """All runs of a sample: those of the sample before up to the pixels that it keeps, then its own."""
    kept = columns["sample_kept"][sample]
    own = range(columns["sample_run"][sample], columns["sample_run"][sample + 1])
    before = [run for run in runs_of(columns, sample - 1) if columns["run_end"][run] <= kept] if kept else []
    assert not kept or columns["run_end"][before[-1]] == kept
    return [*before, *own]


def check_pixels(case, reply, sample, kept, groups, marked):
    """Every pixel of one column, against the stack of its moment."""
    c, rows = reply["columns"], reply["rows_count"]
    moment = c["sample_event"][sample]
    y0, height = reply["y0"], reply["y1"] - reply["y0"]
    stack = [n for n in stacked(case.rows, moment) if n in kept] if moment != NO_MOMENT else []
    pixels = []
    for run in runs_of(c, sample):
        assert c["run_end"][run] > len(pixels)
        pixels += [(run, len(pixels))] * (c["run_end"][run] - len(pixels))
    below, at, filled = 0, 0, 0
    for pixel in range(rows):
        centre = y0 + (2 * pixel + 1) * height // (2 * rows)
        while at < len(stack) and below + case.rows[stack[at]].size <= centre:
            below += case.rows[stack[at]].size
            at += 1
        if at == len(stack):
            break
        filled += 1
        run, begin = pixels[pixel]
        row, several = stack[at], c["run_flags"][run] & 1
        assert c["run_group"][run] == groups(row)
        assert bool(c["run_flags"][run] & 2) == (row in marked)
        if not several or pixel == begin:
            assert c["run_row"][run] == row
        if several:
            assert case.rows[row].size * rows < height, "smaller than a pixel"
    assert filled == len(pixels)


def check_picture(case, by_time, window, columns, rows, filtered, marks):
    axis = Axis(case.memory, by_time)
    kept = {n for n, r in enumerate(case.rows) if r.size > filtered}
    marked = {n for n in kept if case.rows[n].size <= marks}
    x0, x1 = window
    reply = case.ask(
        "picture",
        axis="time" if by_time else "event",
        x0=x0,
        x1=x1,
        columns=columns,
        rows=rows,
        by="allocation",
        filter=f"size>{filtered}",
        mark=f"size<={marks}",
    )
    c = reply["columns"]
    assert (reply["whole"]["x0"], reply["whole"]["x1"]) == (axis.begins[0], axis.x1)
    samples, moments = expected_samples(case, axis, reply["x0"], reply["x1"], columns, kept)
    assert c["sample_event"] == [moment for _, moment, _ in samples]
    assert c["sample_bytes"] == [total for _, _, total in samples]
    assert c["sample_column"] == [column for column, _, _ in samples] + [columns]
    in_window = {n for n in kept if any(case.rows[n].lives(m) for m in moments)}
    assert reply["count"] == len(in_window)
    assert reply["marked"]["count"] == len(in_window & marked)
    if moments:
        totals = {m: case.total(m, kept) for m in moments}
        highest = max(totals.values())
        event = min(m for m in moments if totals[m] == highest)
        assert reply["highest"] == {"bytes": highest, "event": event}
        at_highest = [case.rows[n].size for n in marked if case.rows[n].lives(event)]
        assert reply["marked"]["bytes_at_highest"] == sum(at_highest)
    for sample in range(0, len(samples), max(1, len(samples) // 6)):
        check_pixels(case, reply, sample, kept, lambda row: row % 4096, marked)
    check_curves(case, axis, reply, columns)


def check_curves(case, axis, reply, columns):
    c = reply["columns"]
    width = (Fraction(reply["x1"]) - Fraction(reply["x0"])) / columns
    requested, reserved = truth.requested_curve(case.memory), truth.reserved_curve(case.memory)
    actions = [entry.action for entry in case.memory.entries]
    for column in range(columns):
        left = Fraction(reply["x0"]) + column * width
        moments = axis.moments(left, left + width)
        for name, curve in (("requested", requested), ("reserved", reserved)):
            high, low = c[f"{name}_high"][column], c[f"{name}_low"][column]
            if not moments:
                assert math.isnan(high) and math.isnan(low)
                continue
            values = [curve[m + 1] for m in moments]
            assert (high, low) == (max(values), min(values))
        events = [m for m in moments if m >= 0 and left <= axis.begins[m + 1]]
        assert c["segment_gets"][column] == sum(actions[m] in GROWS for m in events)
        assert c["segment_gives"][column] == sum(actions[m] in SHRINKS for m in events)


def test_pictures(cases):
    rng = random.Random(1)
    for case in cases:
        for by_time in (False, True) if case.has_times else (False,):
            axis = Axis(case.memory, by_time)
            for columns, rows in ((8, 16), (64, 50)):
                for window in dyadic_windows(rng, axis, columns):
                    sizes = sorted(r.size for r in case.rows) or [0]
                    least = rng.choice((0, 0, sizes[len(sizes) // 3]))
                    check_picture(case, by_time, window, columns, rows, least, rng.choice(sizes))


def test_a_part_of_the_height(cases):
    """y0 and y1 cut a stack, they do not change it; without a filter every row can be reached."""
    rng = random.Random(2)
    for case in cases:
        moment = truth.peaks(case.memory)["peak"]["event"]
        total = case.total(moment)
        if total == 0:
            continue
        everything = set(range(len(case.rows)))
        for _ in range(4):
            y0 = rng.randrange(total)
            y1 = rng.randrange(y0 + 1, 2 * total + 1)
            params = {"x0": moment, "x1": moment + 1, "columns": 1, "rows": 64, "by": "allocation"}
            reply = case.ask("picture", y0=y0, y1=y1, **params)
            assert (reply["y0"], reply["y1"]) == (y0, y1)
            check_pixels(case, reply, 0, everything, lambda row: row % 4096, set())
        below = 0
        for number in stacked(case.rows, moment)[:: max(1, len(case.rows) // 20)]:
            offset = case.ask("allocation", row=number, at=moment)["offset_bytes"]
            size = case.rows[number].size
            if size == 0:
                continue
            picked = case.ask("pick", at=moment, y0=offset, y1=offset + 1)
            assert [r["row"] for r in picked["rows"]] == [number] and picked["total_bytes"] == total
            assert offset >= below
            below = offset + size


# ---- groups


def test_groups_and_their_colours(cases):
    for case in cases:
        peak = truth.peaks(case.memory)["peak"]["event"]
        reply = case.ask("groups", by="size", top=0)
        weights, counts, at_peak, order = Counter(), Counter(), Counter(), []
        for row in case.rows:
            key = 0 if row.size == 0 else row.size.bit_length() - 1
            if key not in counts:
                order.append(key)
            weights[key] += row.size * len(row.moments(case.count))
            counts[key] += 1
            at_peak[key] += row.size if row.lives(peak) else 0
        expected = sorted(order, key=lambda k: (-weights[k], -counts[k], order.index(k)))
        groups = reply["groups"]
        assert [g["key"]["from_bytes"] for g in groups] == [1 << k if k else 0 for k in expected]
        assert [g["count"] for g in groups] == [counts[k] for k in expected]
        assert [g["bytes_at_peak"] for g in groups] == [at_peak[k] for k in expected]
        assert [g["index"] for g in groups] == list(range(len(groups)))
        whole = sum(weights.values())
        for group, key in zip(groups, expected, strict=True):
            assert group["share_of_time"] == pytest.approx(weights[key] / whole if whole else 0)
        colour = {key: min(i, LEGEND) for i, key in enumerate(expected)}
        shown = case.ask("picture", columns=16, rows=40, by="size")
        for sample in range(len(shown["columns"]["sample_event"])):
            check_pixels(
                case,
                shown,
                sample,
                set(range(len(case.rows))),
                lambda row: colour[max(case.rows[row].size.bit_length() - 1, 0)],
                set(),
            )


def test_a_groups_filter_keeps_its_members(cases):
    for case in cases:
        for by in ("stack", "line", "innermost", "stream", "pool", "size", "annotation", "lifetime"):
            for group in case.ask("groups", by=by, top=6)["groups"]:
                if group["filter"] is not None:
                    kept = case.ask("allocations", filter=group["filter"], top=1)
                    assert kept["count"] == group["count"], (case.name, by, group)


# ---- events


def test_names(cases):
    for case in cases:
        names = expected_names(case.memory, case.rows)
        listed = case.ask("allocations", sort="start", top=0, frames=1)["rows"]
        assert {r["row"]: r["name"] for r in listed} == dict(enumerate(names)), case.name
        assert len(set(names)) == len(names), "names are unique"
        versions = Counter()
        for event, entry in zip(case.ask("events", top=0, frames=1)["events"], case.memory.entries, strict=True):
            if entry.action in ("alloc", "free_requested", "free_completed"):
                row = case.rows[event["row"]]
                assert event["event"] in (row.start, row.requested_at, row.end)
                assert event["name"] == names[event["row"]]
            elif entry.action in GROWS | SHRINKS:
                assert event["name"].startswith(f"s{entry.address:x}_")
            else:
                assert event["row"] is None and event["name"] is None
            versions[event["name"]] += 1


def folded_away(entries):
    return {
        i
        for i in range(1, len(entries))
        if (entries[i - 1].action, entries[i].action) == ("free_requested", "free_completed")
        and entries[i - 1].address == entries[i].address
    }


def test_pages_and_finding(cases):
    rng = random.Random(3)
    for case in cases:
        entries = case.memory.entries
        sizes = sorted(e.size for e in entries)
        middle = sizes[len(sizes) // 2]
        for folded in (False, True):
            filters = {
                "": lambda e: True,
                "action=alloc": lambda e: e.action == "alloc",
                f"size>{middle} action!=alloc": lambda e: e.size > middle and e.action != "alloc",
                "model/": lambda e: any("model/" in name or "model/" in file for name, file, _ in e.stack),
            }
            for text, keeps in filters.items():
                gone = folded_away(entries) if folded else set()
                kept = [i for i, e in enumerate(entries) if keeps(e) and i not in gone]
                for _ in range(3):
                    low, high = sorted((rng.randint(0, case.count - 1), rng.randint(0, case.count - 1)))
                    inside = [i for i in kept if low <= i <= high]
                    offset, top = rng.randint(0, len(inside) + 1), rng.randint(1, 20)
                    where = {"from": low, "to": high, "offset": offset, "top": top}
                    page = case.ask("events", filter=text, folded=folded, frames=1, **where)
                    assert page["count"] == len(inside)
                    assert [e["event"] for e in page["events"]] == inside[offset : offset + top]
                    found = case.ask("find", filter=text, folded=folded, event=low)
                    later = [i for i in kept if i >= low]
                    assert (found["event"], found["count"]) == (later[0] if later else None, len(kept))
                    found = case.ask("find", filter=text, folded=folded, event=low, backwards=True)
                    earlier = [i for i in kept if i <= low]
                    assert found["event"] == (earlier[-1] if earlier else None)
                    assert found["ordinal"] == (len(earlier) - 1 if earlier else None)


def test_lists(cases):
    for case in cases:
        for moment in (None, *case.some_moments()):
            alive = [n for n, r in enumerate(case.rows) if moment is None or r.lives(moment)]
            orders = {
                "size": lambda n: (-case.rows[n].size, n),
                "start": lambda n: (-1 if case.rows[n].start is None else case.rows[n].start, n),
                "lifetime": lambda n: (-len(case.rows[n].moments(case.count)), n),
            }
            for sort, key in orders.items():
                reply = case.ask("allocations", at=moment, sort=sort, offset=2, top=7, frames=1)
                assert [r["row"] for r in reply["rows"]] == sorted(alive, key=key)[2:9], (case.name, moment, sort)
                assert (reply["count"], reply["bytes"]) == (len(alive), sum(case.rows[n].size for n in alive))


def test_marks(cases):
    for case in cases:
        reply, curve = case.ask("marks"), truth.requested_curve(case.memory)
        assert reply["peak"]["event"] == truth.peaks(case.memory)["peak"]["event"]
        assert (reply["end"]["event"], reply["end"]["bytes"]) == (case.count - 1, curve[-1])
        rises = [(b - a, i, j) for i, a in enumerate(curve) for j, b in enumerate(curve[i:], i)]
        largest = max(rise for rise, _, _ in rises)
        assert reply["rise"]["bytes"] == largest
        begin, end = reply["rise"]["from_event"] + 1, reply["rise"]["to_event"] + 1
        assert largest == 0 or (begin < end and curve[end] - curve[begin] == largest)
        reserved = truth.reserved_curve(case.memory)
        assert [{k: v for k, v in o.items() if k != "time_us"} for o in reply["ooms"]] == [
            {"event": o["event"], "requested_bytes": o["requested_bytes"], "reserved_bytes": reserved[o["event"] + 1],
             "capacity_bytes": None if o["device_free_bytes"] is None else reserved[o["event"] + 1] + o["device_free_bytes"]}
            for o in truth.ooms(case.memory)]
        snapshots = [i for i, e in enumerate(case.memory.entries) if e.action == "snapshot"]
        assert [s["event"] for s in reply["snapshots"]] == snapshots


# ---- the address space


def holes_of(state):
    for segment in state["segments"]:
        at = segment["address"]
        for block in [*segment["blocks"], {"address": segment["address"] + segment["size_bytes"], "size_bytes": 0}]:
            if block["address"] > at:
                yield block["address"] - at
            at = block["address"] + block["size_bytes"]


def test_the_map_is_the_state(cases):
    for case in cases:
        for moment in case.some_moments():
            state, reply = case.ask("state", at=moment, frames=1), case.ask("map", at=moment, by="stream")
            c = reply["columns"]
            assert reply["is_exact"] == state["is_exact"]
            for key in ("reserved_bytes", "requested_bytes"):
                assert reply[key] == state[key]
            assert reply["outside"]["count"] == len(state["outside"])
            assert c["segment_address"] == [s["address"] for s in state["segments"]]
            assert c["segment_size"] == [s["size_bytes"] for s in state["segments"]]
            assert [reply["streams"][s] for s in c["segment_stream"]] == [s["stream"] for s in state["segments"]]
            pools = [reply["pools"][p - 1] if p else None for p in c["segment_pool"]]
            assert pools == [s["pool"] for s in state["segments"]]
            assert [bool(f & 1) for f in c["segment_flags"]] == [s["is_expandable"] for s in state["segments"]]
            assert [("small", "large", "other")[k] for k in c["segment_kind"]] == [s["kind"] for s in state["segments"]]
            for i, segment in enumerate(state["segments"]):
                mine = range(c["segment_block"][i], c["segment_block"][i + 1])
                addresses = [int(c["block_offset"][b]) + segment["address"] for b in mine]
                assert addresses == [b["address"] for b in segment["blocks"]]
                assert [c["block_size"][b] for b in mine] == [b["size_bytes"] for b in segment["blocks"]]
                assert [c["block_requested"][b] for b in mine] == [b["requested_bytes"] for b in segment["blocks"]]
                for b, block in zip(mine, segment["blocks"], strict=True):
                    row = case.rows[c["block_row"][b]]
                    waits = block["state"] == "active_pending_free"
                    assert (row.address, row.start) == (block["address"], block["alloc_event"])
                    assert row.lives(moment) or (waits and reply["is_exact"])  # where frees count at their request
                    assert bool(c["block_flags"][b] & 1) == waits
                if c["segment_row"][i] != NO_ROW:
                    mapping = case.ask("allocation", what="segments", row=c["segment_row"][i], frames=1)
                    assert mapping["address"] == segment["address"]


def test_holes_over_time(cases):
    for case in cases:
        reply = case.ask("holes", points=7)
        c, axis = reply["columns"], Axis(case.memory, by_time=False)
        width = Fraction(case.count + 1, 7)
        for point in range(7):
            moment = c["point_event"][point]
            assert moment == axis.moments(-1 + point * width, -1 + (point + 1) * width)[-1]
            at = case.ask("fragmentation", at=moment)
            for name in ("reserved", "active", "free", "largest_hole", "hole_count", "pinned", "releasable"):
                assert c[name][point] == at["all"][name], name
            holes, expected = list(holes_of(case.ask("state", at=moment, frames=1))), defaultdict(int)
            for hole in holes:
                fits = [c["from_bytes"] <= hole < (c["below_bytes"] or NEVER) for c in reply["classes"]]
                assert fits.count(True) == 1
                expected[fits.index(True)] += hole
            classes = len(reply["classes"])
            assert c["class_bytes"][point * classes : (point + 1) * classes] == [expected[k] for k in range(classes)]
            assert at["all"]["hole_count"] == len(holes) and at["all"]["free"] == sum(holes)


# ---- between two moments


def test_measures(cases):
    for case in cases:
        n = case.count
        for since, at in ((-1, n - 1), (n // 3, 2 * n // 3), (n // 2, n // 4)):
            low, high = min(since, at), max(since, at)
            chosen = {
                "live": lambda r: r.lives(at),
                "grown": lambda r: r.lives(at) and not r.lives(since),
                "freed": lambda r: r.lives(since) and not r.lives(at),
                "allocated": lambda r: r.start is not None and low < r.start <= high,
            }
            for measure, keeps in chosen.items():
                expected = sum(r.size for r in case.rows if keeps(r)), sum(1 for r in case.rows if keeps(r))
                for method in ("live", "tree"):
                    reply = case.ask(method, measure=measure, since=since, at=at, top=0)
                    assert (reply["bytes"], reply["count"]) == expected, (case.name, measure)
            check_average(case, low, high)


def check_average(case, low, high):
    """Bytes x time of each size class over the length of the range."""
    times = Axis(case.memory, by_time=True).begins if case.has_times else None
    by_time = times is not None and times[low + 1] < times[high + 1]
    place = (lambda m: times[m + 1]) if by_time else (lambda m: m)
    length, expected = place(high) - place(low), defaultdict(Fraction)
    for row in case.rows:
        begin = max(-1 if row.start is None else row.start, low)
        end = min(high if row.end is None else row.end, high)
        key = 1 << max(row.size.bit_length() - 1, 0) if row.size > 1 else 0
        if length:
            expected[key] += Fraction(row.size * max(0, place(end) - place(begin)), length)
    reply = case.ask("live", measure="average", since=low, at=high, by="size", top=0)
    for group in reply["groups"]:
        mean = float(expected[group["key"]["from_bytes"]])
        assert group["bytes"] == pytest.approx(mean, abs=2, rel=1e-6) or not length
    tree = case.ask("tree", measure="average", since=low, at=high, top=0)
    assert tree["bytes"] == pytest.approx(reply["bytes"], abs=len(tree["nodes"]) + len(reply["groups"]))


def test_trees(cases):
    """Every folding, both ways round; and what `top` leaves out stands below its caller."""
    for case in cases:
        for at in {-1, case.count // 2, case.count - 1}:
            live = truth.live_at(case.memory, at)
            for frames in ("calls", "python", "all"):
                for inverted in (False, True):
                    reply = case.ask("tree", at=at, top=0, frames=frames, inverted=inverted)
                    assert paths_of(reply["nodes"]) == case.memory.frames.tree(live, frames, inverted), (case.name, frames)
                    cut = case.ask("tree", at=at, top=7, frames=frames, inverted=inverted)
                    check_cut(reply, cut)


def check_cut(whole, cut):
    assert cut["node_count"] == whole["node_count"]
    assert sum(node["kind"] != "rest" for node in cut["nodes"]) == min(7, whole["node_count"])
    rest = [node["bytes"] - node["self_bytes"] for node in cut["nodes"]]
    known = {node["id"]: node["bytes"] for node in whole["nodes"]}
    assert len(known) == whole["node_count"], "ids are one each"
    for node in cut["nodes"]:
        if node["parent"] is not None:
            rest[node["parent"]] -= node["bytes"]
        assert node["kind"] == "rest" or known[node["id"]] == node["bytes"]
    assert not any(rest)


# ---- the document


def keys_of(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from keys_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def test_every_key_and_column_is_documented(cases):
    words = set(re.findall(r"\w+", DOCUMENT.read_text()))
    methods = "find marks picture groups pick allocation allocations map holes fragmentation live tree events"
    for case in cases[:4]:
        seen = set()
        for method in methods.split():
            seen |= set(keys_of(case.ask(method)))
            assert f"\n## {method}" in DOCUMENT.read_text()
        seen |= set(keys_of(case.ask("groups", by="lifetime"))) | set(keys_of(case.ask("events", folded=True)))
        assert len(seen) > 100 and not seen - words, seen - words


# ---- what is refused


@pytest.mark.parametrize(
    "params",
    [
        {"x0": 5, "x1": 5},
        {"x0": 7, "x1": -7},
        {"y0": 2, "y1": 1},
        {"columns": 0},
        {"columns": 10**9},
        {"rows": 10**9},
        {"rows": -1},
        {"columns": 1.5},
        {"x0": "1"},
        {"what": "blocks"},
        {"by": "nothing"},
        {"filter": "state=inactive"},
        {"mark": 'line="x'},
    ],
)
def test_nonsense_is_refused_with_a_sentence(cases, params):
    with pytest.raises(Refused) as refused:
        cases[0].ask("picture", **params)
    assert 10 < len(str(refused.value)) < 200


def test_any_window_is_answered(cases):
    for window in ((-1e308, 1e308), (1e15, 1e16), (-5e-324, 5e-324), (0, 5e-324), (-1e9, -1), (2**53, 2**53 + 2)):
        for axis in ("event", "time"):
            reply = cases[0].ask("picture", axis=axis, x0=window[0], x1=window[1], columns=3, rows=3)
            assert reply["columns"]["sample_column"][-1] == 3
            cases[0].ask("holes", axis=axis, x0=window[0], x1=window[1], points=3)
    reply = cases[0].ask("picture", y0=0, y1=1e300, rows=4096, columns=2)
    assert max(reply["columns"]["sample_run"]) <= 2
