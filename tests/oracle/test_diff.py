"""`inventory` and `diff` against the truth: the blocks live at two moments, counted naively in Python."""

import functools
import itertools
import json
from collections import Counter, defaultdict

import pytest

import cli
import closed_unpickler
import shapes
import truth
from conftest import IS_SANITIZED, real_snapshots
from frames import WHYS
from normal import HOST, normalise
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

SEEDS = range(3000, 3003 if IS_SANITIZED else 3008)
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    runs = {"sample": sample_run(), "late": sample_run().recorded(60)} | {f"random{seed}": random_run(seed)[0] for seed in SEEDS}
    made = []
    for name, run in runs.items():
        made.append(folder / f"{name}.pickle")
        made[-1].write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.15")))
    return made + real_snapshots()


@functools.cache
def memories(path):
    snapshot = normalise(closed_unpickler.read_file(path).data)
    return {**snapshot.devices, **({HOST: snapshot.host} if snapshot.host else {})}


def moments(memory):
    last = len(memory.entries) - 1
    return {"start": -1, "peak": truth.peaks(memory)["peak"]["event"], "end": last, **({str(last // 2): last // 2} if last >= 0 else {})}


def cases(paths):
    for path in paths:
        for device, memory in memories(path).items():
            yield path, device, memory


def name_of(device):
    return "host" if device == HOST else str(device)


def requests_hash(memory):
    """None without a trace."""
    value = FNV_OFFSET
    for entry in memory.entries:
        if entry.action == "alloc":
            for byte in entry.size.to_bytes(8, "little"):
                value = (value ^ byte) * FNV_PRIME % 2**64
    return f"{value:016x}" if memory.entries else None


def stacks_of(reply):
    """{stack: Counter of sizes}, stacks as tuples of (function, file, line)"""
    frames = [(f["function"], f["file"], f["line"] or None) for f in reply["frames"]]
    sizes = defaultdict(Counter)
    for stack in reply["stacks"]:
        assert [size for size, _ in stack["sizes"]] == sorted({size for size, _ in stack["sizes"]}, reverse=True)
        assert stack["bytes"] == sum(size * count for size, count in stack["sizes"])
        assert stack["count"] == sum(count for _, count in stack["sizes"])
        sizes[stack["label"] if not stack["frames"] else tuple(frames[i] for i in stack["frames"])].update(dict(stack["sizes"]))
    return sizes


def test_the_inventory(paths):
    complete = 0
    for path, device, memory in cases(paths):
        report = next((d for d in cli.report_of(path)["devices"] if d["device"] == device), None)
        for at, event in moments(memory).items():
            reply = json.loads(cli.run("query", path, "inventory", f"device={name_of(device)}", f"at={at}").out)
            live = truth.live_at(memory, event)
            expected = defaultdict(Counter)
            for _, size, stack in live:
                expected[stack[0][0] if stack[0][0] in WHYS else tuple((*frame[:2], frame[2] or None) for frame in stack)][size] += 1
            assert stacks_of(reply) == expected, f"{path.name}, device {device}, {at}"
            groups = Counter((stack["bytes"], stack["count"]) for stack in reply["stacks"])
            assert groups == Counter(g[:2] for g in truth.groups_by_stack(live)), f"{path.name}, device {device}, {at}"
            assert (reply["bytes"], reply["count"]) == (sum(size for _, size, _ in live), len(live))
            assert reply["requests_hash"] == (requests_hash(memory) if reply["complete"] else None)
            complete += reply["complete"]
            if report:
                peak = (reply["peak_allocated_bytes"], reply["peak_requested_bytes"], reply["peak_reserved_bytes"])
                assert peak == (report["peak"]["allocated_bytes"], report["peak"]["requested_bytes"], report["peak_reserved"]["reserved_bytes"])
    assert complete


def test_what_was_allocated_since(paths):
    """Only the blocks of the trace behind the moment that are live at the other one; complete where no event behind it is missing."""
    late = 0
    for path, device, memory in cases(paths):
        last = len(memory.entries) - 1
        for since in {-1, last // 3, last} if last >= 0 else ():
            reply = json.loads(cli.run("query", path, "inventory", f"device={name_of(device)}", "at=end", f"since={since}").out)
            born = Counter((e.address, e.size) for e in memory.entries[since + 1 :] if e.action == "alloc")
            live = Counter((address, size) for address, size, _ in truth.live_at(memory, last))
            grown = sum(size * min(count, born[address, size]) for (address, size), count in live.items())
            assert reply["bytes"] == grown, f"{path.name}, device {device}, since {since}"
            assert reply["since"]["event"] == since and (reply["complete"] or since == -1 or path.stem not in ("sample", "late"))
            whole = json.loads(cli.run("query", path, "inventory", f"device={name_of(device)}").out)
            assert whole["since"] is None and whole["within"] is None and reply["complete"] >= whole["complete"]
            early = json.loads(cli.run("query", path, "inventory", f"device={name_of(device)}", "at=start", f"since={since}").out)
            assert (early["bytes"], early["count"], early["stacks"]) == (0, 0, [])
            late += reply["complete"] and not whole["complete"]
    assert late


def owners(memory, event, by):
    """{row: Counter of sizes} of what was live, for one property of the owner."""
    rows = defaultdict(Counter)
    for _, size, stack in truth.live_at(memory, event):
        label = memory.frames.owner_label(stack)
        owner = None if stack[0][0] in WHYS else memory.frames.owner(stack)
        key = label
        if by == "size":
            key = size
        elif by == "line" and owner is not None:
            key = (label, owner)
        elif owner is not None and owner[1]:
            forward = label.startswith("backward pass of ")
            key = (owner[1],) if by == "file" else (owner[1], owner[0], forward)
        rows[key][size] += 1
    return rows


def naive(memory, before, after, by):
    """[(bytes before, count before, bytes after, count after)] of all rows"""
    a, b = owners(memory, before, by), owners(memory, after, by)
    sums = []
    for key in a.keys() | b.keys():
        old, new = a.get(key, Counter()), b.get(key, Counter())
        sums.append((sum(s * n for s, n in old.items()), sum(old.values()), sum(s * n for s, n in new.items()), sum(new.values()), old == new))
    return Counter(sums)


def rows_of(reply):
    return Counter((row["before"]["bytes"], row["before"]["count"], row["after"]["bytes"], row["after"]["count"], row["status"] == "same")
                   for row in reply["rows"])


def check_sums(reply):
    rows = reply["rows"]
    assert all(row["delta_bytes"] == row["after"]["bytes"] - row["before"]["bytes"] for row in rows)
    assert sum(row["delta_bytes"] for row in rows) == reply["delta_bytes"] == reply["b"]["bytes"] - reply["a"]["bytes"]
    for side, part in (("a", "before"), ("b", "after")):
        assert sum(row[part]["bytes"] for row in rows) == reply[side]["bytes"]
        assert sum(row[part]["count"] for row in rows) == reply[side]["count"]
    assert sum(min(row["before"]["bytes"], row["after"]["bytes"]) for row in rows) == reply["matched_bytes"]
    changed = [row for row in rows if row["status"] != "same"]
    assert rows[: len(changed)] == changed and [abs(row["delta_bytes"]) for row in changed] == sorted(
        (abs(row["delta_bytes"]) for row in changed), reverse=True)


def test_two_moments_of_one_run(paths):
    """Nothing is guessed there, so the naive count is all there is to it."""
    for path, device, memory in cases(paths):
        places = list(moments(memory).items())
        for (at, event), (other, later) in itertools.combinations(places, 2):
            for by in ("line", "function", "file", "size"):
                reply = cli.run("diff", path, path, "--at", f"{at},{other}", "--by", by, "--device", name_of(device), "--json").report()
                check_sums(reply)
                assert rows_of(reply) == naive(memory, event, later, by), f"{path.name}, device {device}, {at} and {other}, by {by}"


def test_two_runs_of_one_program(paths, tmp_path):
    """The same events at other addresses and times: an empty difference, in whatever way the file is given."""
    for path in paths:
        if path in real_snapshots():
            continue
        data = closed_unpickler.read_file(path).data
        for event in itertools.chain(*data["device_traces"]):
            if "time_us" in event:
                event["time_us"] += 1_000_000
        again = tmp_path / path.name
        again.write_bytes(WRITERS["c-4"].write(data))
        inventory = tmp_path / f"{path.stem}.json"
        for device in memories(path):
            inventory.write_bytes(cli.run("query", path, "inventory", f"device={name_of(device)}").out)
            for old, new, more in ((path, again, ("--device", name_of(device))), (inventory, inventory, ())):
                for by in ("line", "function", "file", "stack", "operation", "size"):
                    reply = cli.run("diff", old, new, "--by", by, *more, "--json").report()
                    check_sums(reply)
                    assert {row["status"] for row in reply["rows"]} <= {"same"} and not any(row["moved"] for row in reply["rows"])
                    assert reply["matched_bytes"] == reply["a"]["bytes"] == reply["b"]["bytes"]


def test_the_other_way_round(paths):
    """diff(B, A) = -diff(A, B), also between programs that have nothing to do with each other."""
    for old, new in itertools.pairwise(paths[:6]):
        for by in ("line", "function", "file", "stack", "operation", "size"):
            there, back = (cli.run("diff", a, b, "--by", by, "--json").report() for a, b in ((old, new), (new, old)))
            check_sums(there)
            turned = Counter((*row[2:4], *row[:2], row[4]) for row in rows_of(back).elements())
            assert rows_of(there) == turned, f"{old.name}, {new.name}, by {by}"
            assert there["matched_bytes"] == back["matched_bytes"]
