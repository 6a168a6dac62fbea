"""Every figure of `report`, `stats` and `fragmentation` against the naive ones of figures.py and allocated.py."""

import csv
import io
import random
import re
from collections import Counter

import pytest

import cli
import closed_unpickler
import figures
import shapes
import truth
from allocated import allocated
from conftest import IS_SANITIZED
from findings import INFORMATIONAL
from frames import without_folders
from normal import normalise
from run import Run, Stack
from simulate import EPOCH_US, SimulatedDevice, random_run
from test_queries import ask, cases, device_option, memories, moments, paths  # noqa: F401  (paths is a fixture)
from writers import WRITERS

pytestmark = pytest.mark.binary

GAPS = {"ring_wrapped", "no_trace", "damaged_file", "unrecorded_events", "not_ended", "began_late", "free_without_alloc",
        "live_without_alloc", "unknown_state"}


def device_reports(paths):
    """(file and device in words, its part of the report, its memory, the settings of the file)"""
    for path in paths:
        settings = normalise(closed_unpickler.read_file(path).data).settings
        report = ask("report", path, "--top", "0")
        for device in [*report["devices"], *([report["host"]] if report["host"] else [])]:
            yield f"{path.name}, device {device['device']}", device, memories(path)[device["device"]], settings


def expect(found, wanted, where):
    different = {key: (value, found.get(key, "no such key")) for key, value in wanted.items() if found.get(key, "no such key") != value}
    assert not different, f"{where}: expected and found {different}"


def peak_allocated(memory, settings, found):
    is_wrong = any(f["kind"] not in INFORMATIONAL | GAPS for f in found)
    return allocated(memory, settings, truth.frees_at_request(memory), figures.only_completion(memory), is_wrong)


def test_peak_allocated(paths):
    """By the rule, also where sizes are estimated; the end is never above the peak."""
    exact = Counter()
    for where, device, memory, settings in device_reports(paths):
        wanted = peak_allocated(memory, settings, device["trust"]["findings"])
        if any(s.expandable is None for s in memory.segments) and any(e.action == "segment_map" for e in memory.entries):
            del wanted["allocated_is_exact"]  # an age that had no expandable segments
        expect(device["peak"], wanted, where)
        assert device["end"]["allocated_bytes"] <= device["peak"]["allocated_bytes"], where
        exact[device["peak"]["allocated_is_exact"]] += 1
    assert exact[True] > 10 and exact[False] > 3, exact


@pytest.mark.parametrize("first", range(0, 20 if IS_SANITIZED else 60, 10))
def test_peak_allocated_is_what_the_allocator_counted(first, tmp_path):
    """The simulator's own sum of rounded sizes: equal wherever the report calls its figure exact, which it must for a whole
    recording of a process with one kind of segments."""
    judged = Counter()
    for seed in range(first, first + 10):
        run, sims = random_run(seed)
        rng = random.Random(seed)
        for start in (0, rng.randrange(max(len(sim.events) for sim in sims) + 1)):
            path = tmp_path / f"{seed}-{start}.pickle"
            path.write_bytes(WRITERS["c-4"].write(shapes.build(run.recorded(start), "2.15")))
            of_device = {d["device"]: d["peak"] for d in cli.report_of(path)["devices"]}
            alike = len({sim.allocator.expandable for sim in sims}) == 1
            for sim in sims:
                if sim.device not in of_device:
                    continue
                found, book = of_device[sim.device], [after[3] for after in sim.after[min(start, len(sim.events)):]]
                if found["allocated_is_exact"]:
                    assert found["allocated_bytes"] == max(book), (seed, start, sim.device)
                    assert found["allocated_event"] == book.index(max(book)) - 1, (seed, start, sim.device)
                judged[found["allocated_is_exact"]] += 1
                assert found["allocated_is_exact"] or start or not alike, (seed, sim.device)
    assert judged[True] > 5, judged


def test_the_trace_and_its_peaks(paths):
    parted = 0
    for where, device, memory, _ in device_reports(paths):
        expect(device["trace"], figures.trace(memory), where)
        wanted = figures.peak(memory)
        expect(device["peak"], wanted["peak"], where)
        expect(device["peak_held"], wanted["peak_held"], where)
        expect(device["peak"], {"pending_bytes": figures.pending_at(memory, device["peak"]["event"])}, where)
        owners = truth.owners_at(memory, device["peak"]["event"])
        whole = sum(row[0] for row in owners)
        found = Counter((o["bytes"], o["count"], without_folders(o["label"])) for o in device["peak"]["owners"])
        assert found == Counter((row[0], row[1], row[3]) for row in owners), where
        assert all(o["share"] == figures.share(o["bytes"], whole) for o in device["peak"]["owners"]), where
        assert [o["bytes"] for o in device["peak"]["owners"]] == [row[0] for row in owners], where
        parted += truth.check_parts(device["peak"]["owners"], memory, device["peak"]["event"], where)
    assert parted != 0


def test_the_end(paths):
    for where, device, memory, _ in device_reports(paths):
        everything, _, _ = figures.fragmentation(memory, len(memory.entries) - 1)
        wanted = figures.sums(memory.segments)
        expect(device["end"], wanted, where)
        expect(device["end"], {"releasable_bytes": everything["releasable"], "pinned_bytes": everything["pinned"],
                               "largest_hole_bytes": everything["largest_hole"]}, where)
        lost = wanted["rounding_bytes"]
        expect(device["rounding"], {"lost_bytes": lost, "share": figures.share(lost, wanted["allocated_bytes"])}, where)


def check_areas(found, wanted, where):
    rows = {(tuple(a["pool"]) if a["pool"] else None, a["stream"], a["kind"]): a for a in found}
    assert len(rows) == len(found) and rows.keys() == wanted.keys(), where
    for area, of in wanted.items():
        expect(rows[area], {"segments": of["segments"], "reserved_bytes": of["reserved"], "free_bytes": of["free"],
                            "pinned_bytes": of["pinned"], "releasable_bytes": of["releasable"],
                            "largest_hole_bytes": of["largest_hole"], "holes": of["hole_count"]}, f"{where}, {area}")
    assert [a["reserved_bytes"] for a in found] == sorted((a["reserved_bytes"] for a in found), reverse=True), where


def test_fragmentation_at_the_end(paths):
    for where, device, memory, _ in device_reports(paths):
        everything, areas, pinned = figures.fragmentation(memory, len(memory.entries) - 1)
        found = device["fragmentation"]
        rest = everything["free"] - everything["largest_hole"]
        expect(found, {"free_bytes": everything["free"], "pinned_bytes": everything["pinned"],
                       "releasable_bytes": everything["releasable"], "largest_hole_bytes": everything["largest_hole"],
                       "holes": everything["hole_count"], "unusable_bytes": everything["unusable"],
                       "share": figures.share(rest, everything["free"])}, where)
        check_areas(found["areas"], areas, where)
        rows = [(p["pinned_bytes"], p["free_bytes"], p["active_bytes"], p["address"], p["blocks"]) for p in found["pinned"]]
        assert rows == pinned[:10], where


def test_fragmentation_at_any_moment(paths):
    """The method, and the same figures drawn over the trace."""
    for path, device, memory in cases(paths):
        for at, event, _ in moments(path, device):
            where = f"{path.name}, device {device}, {at}"
            reply = cli.run("query", path, "fragmentation", f"at={at}", f"device={'host' if device < 0 else device}", "top=0").report()
            everything, areas, pinned = figures.fragmentation(memory, event)
            expect(reply["all"], everything, where)
            check_areas(reply["areas"], areas, where)
            rows = [(p["pinned_bytes"], p["free_bytes"], p["active_bytes"], p["address"], p["block_count"]) for p in reply["pinned"]]
            assert rows == pinned, where


def test_what_reserved_memory_consists_of(paths):
    """At any moment, by pool; and the moment that is found by its reserved bytes."""
    keys = {"reserved_bytes": "reserved", "fragmented_bytes": "pinned", "releasable_bytes": "releasable"}
    for path, device, memory in cases(paths):
        option = f"device={'host' if device < 0 else device}"
        for at, event, live in moments(path, device):
            where = f"{path.name}, device {device}, {at}"
            reply = cli.run("query", path, "reserved", f"at={at}", option).report()
            everything, areas, _ = figures.fragmentation(memory, event)
            expect(reply, {key: everything[name] for key, name in keys.items()}, where)
            held = sum(size for _, size, _ in live) - figures.pending_at(memory, event)
            active = reply["requested_bytes"] + reply["rounding_bytes"] + reply["pending_bytes"]
            assert (reply["requested_bytes"], active) == (held, everything["active"]), where
            pools = {tuple(pool["pool"]) if pool["pool"] else None: pool for pool in reply["pools"]}
            assert len(pools) == len(reply["pools"]) and pools.keys() == {area[0] for area, of in areas.items() if of["reserved"]}, where
            for pool, found in pools.items():
                mine = [of for area, of in areas.items() if area[0] == pool]
                expect(found, {key: sum(of[name] for of in mine) for key, name in keys.items()}, where)
                assert found["is_private"] == (None if pool is None else pool != (0, 0)), where
            again = cli.run("query", path, "reserved", f"at={event}", option, f"reserved_bytes={everything['reserved']}").report()
            assert everything["reserved"] == 0 or abs(again["at"]["event"] - event) <= 1 and again["reserved_bytes"] == everything["reserved"], where


def test_pages_of_expandable_segments_are_releasable(tmp_path):
    """Whole pages next to live blocks, in every reply with releasable bytes."""
    for seed in (22, 24, 40, 44, 51):
        path = tmp_path / f"{seed}.pickle"
        path.write_bytes(WRITERS["c-4"].write(shapes.build(random_run(seed)[0], "2.15")))
        pages = 0
        for device in cli.report_of(path)["devices"]:
            memory = memories(path)[device["device"]]
            everything, _, pinned = figures.fragmentation(memory, len(memory.entries) - 1)
            pages += everything["free"] - everything["pinned"] - sum(
                s.end - s.address for s in memory.segments if not any(b.active for b in s.blocks))
            told = [device["end"], device["fragmentation"], ask("stats", path, *device_option(memory.device))["end"]]
            told.append({f"{key}_bytes": value for key, value in cli.run("query", path, "fragmentation", "at=end", f"device={memory.device}").report()["all"].items()})
            wanted = {"releasable_bytes": everything["releasable"], "pinned_bytes": everything["pinned"]}
            for figures_ in told:
                expect(figures_, wanted, f"seed {seed}, device {memory.device}")
            assert [p["pinned_bytes"] for p in device["fragmentation"]["pinned"]] == [p[0] for p in pinned[:10]]
        assert pages > 0, seed


def test_lifetimes_and_sizes(paths):
    for path, device, memory in cases(paths):
        reply, where = ask("stats", path, *device_option(device)), f"{path.name}, device {device}"
        expect(reply["lifetimes"], figures.lifetimes(memory), where)
        assert reply["sizes"] == figures.sizes(memory), where
        for key, of in (("streams", lambda s: s.stream), ("pools", lambda s: s.pool), ("kinds", figures.kind_of)):
            wanted = figures.parts(memory, of)
            rows = {tuple(r[key[:-1]]) if isinstance(r[key[:-1]], list) else r[key[:-1]]: r for r in reply[key]}
            assert rows.keys() == wanted.keys() and len(rows) == len(reply[key]), where
            for value, sums in wanted.items():
                expect(rows[value], sums, f"{where}, {key} {value}")
            assert [r["reserved_bytes"] for r in reply[key]] == sorted((r["reserved_bytes"] for r in reply[key]), reverse=True)
    for where, device, memory, _ in device_reports(paths):
        expect(device["lifetimes"], figures.lifetimes(memory), where)


# ---- what lives between two moments, and its exports


def live_rows(memory, event):
    """The lives at that moment, by address; a later life at one address wins."""
    rows = {}
    for life in figures.lives_of(memory):
        if (life.born is None or life.born <= event) and (life.ended_at is None or life.ended_at > event):
            rows[life.address] = life
    return rows


def test_events_of_csv_live(paths):
    """When each live block was allocated and freed: the request of its free, or what else ended it."""
    freed = 0
    for path, device, memory in cases(paths):
        for at, event, live in moments(path, device):
            if len({address for address, _, _ in live}) < len(live):
                continue
            raw = cli.run("export", path, "csv", "--table", "live", "-o", "-", *device_option(device), "--at", at).out
            rows = {int(r["address"]): r for r in csv.DictReader(io.StringIO(raw.decode()))}
            wanted = live_rows(memory, event)
            assert rows.keys() == wanted.keys(), f"{path.name}, {at}"

            def time(event):
                return str(memory.entries[event].time if memory.entries[event].time is not None else "") if event is not None else ""

            at_end = {b.address: b for b in memory.blocks if b.active}
            for address, life in wanted.items():
                end = life.requested_at if life.requested_at is not None else life.ended_at
                of_end = at_end.get(address) if life.ended_at is None else None
                told = rows[address]
                assert told["alloc_event"] == ("" if life.born is None else str(life.born)), (path.name, at, address)
                assert told["free_event"] == ("" if end is None else str(end)), (path.name, at, address)
                assert (told["alloc_time_us"], told["free_time_us"]) == (time(life.born), time(end)), (path.name, at, address)
                assert told["size_bytes"] == ("" if of_end is None else str(of_end.size)), (path.name, at, address)
                freed += end is not None
    assert freed > 100


def average(memory, low, high):
    """{address and birth: (bytes, part of the time that it lives)} of what lives at some moment from low to high."""
    times = [e.time for e in memory.entries]
    known = [t for t in times if t is not None]

    def clock(event):
        before = [t for t in times[: event + 1] if t is not None]
        return max(before) if before else known[0]

    by_time = bool(known) and clock(low) < clock(high)
    start, end = (clock(low), clock(high)) if by_time else (low, high)

    def place(event):
        if event <= low or event >= high:
            return start if event <= low else end
        return min(max(times[event], start), end) if by_time else event

    rows = []
    for life in figures.lives_of(memory):
        born = -1 if life.born is None else life.born
        if born > high or (life.ended_at is not None and life.ended_at <= low):
            continue
        to = end if life.ended_at is None else place(life.ended_at)
        part = (to - place(born)) / (end - start) if end > start else 1
        rows.append((life.size, max(part, 0)))
    return rows


def test_averages(paths):
    """The number of allocations that live at some moment between two, and their bytes by the time that they live."""
    for path, device, memory in cases(paths):
        last = len(memory.entries) - 1
        if last < 4 or any(e.time is None for e in memory.entries):
            continue
        for low, high in ((-1, last), (last // 3, last // 2), (0, 1)):
            reply = cli.run("query", path, "live", f"at={high}", f"since={'start' if low < 0 else low}", "measure=average",
                            f"device={'host' if device < 0 else device}").report()
            rows = average(memory, low, high)
            assert reply["count"] == len(rows), f"{path.name}, device {device}, {low} to {high}"
            wanted = sum(size * part for size, part in rows)
            assert abs(reply["bytes"] - wanted) <= len(rows) + 1e-6 * wanted, f"{path.name}, device {device}, {low} to {high}"


@pytest.mark.parametrize("lines", [18, 19, 20, 21])
def test_a_legend_has_19_groups(lines, tmp_path):
    """With a colour each; `others` is told as soon as one has to share."""
    sim = SimulatedDevice(0, random.Random(1), [EPOCH_US])
    for line in range(lines):
        sim.allocator.malloc((40 - line) << 10, 0, (0, 0), Stack([("work", "train.py", line + 1)]))
    path = tmp_path / "lines.pickle"
    path.write_bytes(WRITERS["c-4"].write(shapes.build(Run([sim.as_run()]), "2.15")))
    reply = cli.run("query", path, "groups", "by=line", "top=0").report()
    assert (reply["group_count"], len(reply["groups"])) == (lines, lines)
    assert reply["others"] == (19 if lines > 19 else None)
    assert [g["count"] for g in reply["groups"]] == [1] * lines
