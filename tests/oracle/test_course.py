"""`course` and `map` of a replay, against naive computations; `whatif` step by step. That a replay is what PyTorch does is proven by
tests/sim/test_whatif.py."""

import functools
import json
import struct
from array import array

import pytest

import cli
import closed_unpickler
import shapes
import truth
from normal import normalise
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

TYPES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "f64": "d"}
SETTINGS = (None, "", "expandable_segments:True", "max_split_size_mb:64,roundup_power2_divisions:4")
REQUESTS = ("alloc", "free_requested")


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    runs = {"sample": sample_run(), "late": sample_run().recorded(60), **{f"random{n}": random_run(n)[0] for n in range(4100, 4104)}}
    for name, run in runs.items():
        (folder / f"{name}.pickle").write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.15")))
    return sorted(folder.iterdir())


@functools.cache
def devices(path):
    return {number: memory for number, memory in normalise(closed_unpickler.read_file(path).data).devices.items() if memory.entries}


def cases(paths):
    return [(path, device, memory) for path in paths for device, memory in devices(path).items()]


@functools.cache
def ask(path, method, **params):
    pairs = [f"{key}={value}" for key, value in params.items() if value is not None]
    done = cli.run("query", path, method, *pairs)
    assert done.code == 0, done.err
    reply = done.out
    if reply[:4] != b"VSC1":
        return json.loads(reply)
    (size,) = struct.unpack("<I", reply[4:8])
    header = json.loads(reply[8 : 8 + size])
    for name, column in header["columns"].items():
        code = TYPES[column["type"]]
        header["columns"][name] = array(code, reply[column["at"] : column["at"] + column["count"] * array(code).itemsize])
    return header


def each_event(path, device, memory, settings, card=0):
    """(the reply, highest and lowest reserved bytes after each event, the start first)."""
    reply = ask(path, "course", device=device, settings=settings, card=card, columns=len(memory.entries) + 1)
    columns = reply["columns"]
    return reply, list(columns["reserved_high"]), list(columns["reserved_low"])


def is_known(value):
    return value == value  # not NaN


def test_the_peak_is_the_highest_point(paths):
    for path, device, memory in cases(paths):
        for settings in SETTINGS:
            reply, high, low = each_event(path, device, memory, settings)
            assert max(filter(is_known, high)) == reply["reserved_peak_bytes"], (path, device, settings)
            assert all(a == b for a, b in zip(high, low, strict=True) if is_known(a)), "a column of one moment has one value"
            runs = ask(path, "replay", device=device, settings=settings)["run"]
            assert reply["reserved_peak_bytes"] == runs["reserved_peak_bytes"]


def test_as_recorded_it_is_the_recorded_curve(paths):
    """Behind each request: where the replay is equal, and nothing but the recorded capacity made the allocator release memory."""
    equal = 0
    for path, device, memory in cases(paths):
        whatif = ask(path, "whatif", device=device, steps=1)
        if not whatif["check"]["is_equal"] or whatif["capacity_bytes"] is not None or whatif["recorded"]["retries"]:
            continue
        _, high, _ = each_event(path, device, memory, None)
        recorded = truth.reserved_curve(memory)
        at = [i for i, entry in enumerate(memory.entries) if entry.action in REQUESTS]
        if not any(entry.action == "oom" for entry in memory.entries):
            equal += 1
            assert [high[i + 1] for i in at] == [recorded[i + 1] for i in at], (path, device)
    assert equal > 0


def test_it_ends_where_it_runs_out(paths):
    """Too small a card: nothing is said of what comes after."""
    ended = 0
    for path, device, memory in cases(paths):
        card = ask(path, "course", device=device)["reserved_peak_bytes"] // 2 // (2 << 20) * (2 << 20)
        if card == 0:
            continue
        reply, high, _ = each_event(path, device, memory, None, card)
        if reply["ran_out"] is None:
            continue
        ended += 1
        last = -1 if reply["last_event"] is None else reply["last_event"]
        assert all(map(is_known, high[: last + 2])) and not any(map(is_known, high[last + 2 :]))
        assert max(filter(is_known, high)) <= max(card, high[0])
    assert ended > 0


def test_a_window_has_the_extremes_of_its_columns(paths):
    path, device, memory = cases(paths)[0]
    _, high, _ = each_event(path, device, memory, "")
    x0, x1, count = 10, len(memory.entries) - 5, 7
    wide = ask(path, "course", device=device, settings="", x0=x0, x1=x1, columns=count)["columns"]
    width = (x1 - x0) / count
    for c in range(count):
        begin, end = x0 + c * width, x0 + (c + 1) * width
        inside = [high[m + 1] for m in range(-1, len(memory.entries)) if m + 1 > begin and m < end]
        assert (wide["reserved_high"][c], wide["reserved_low"][c]) == (max(inside), min(inside)), c


def test_the_map_of_a_replay(paths):
    """Its segments are the reserved bytes of that moment, its live blocks what was requested, each in a segment and apart."""
    for path, device, memory in cases(paths):
        requested = truth.requested_curve(memory)
        for settings in SETTINGS[1:]:
            _, high, _ = each_event(path, device, memory, settings)
            for event in (i for i, entry in enumerate(memory.entries) if i % 41 == 7 and entry.action in REQUESTS):
                reply = ask(path, "map", device=device, settings=settings, at=event, by="stream")
                columns = reply["columns"]
                assert reply["replayed"]["ran_out"] is None and reply["at"]["event"] == event
                assert reply["reserved_bytes"] == sum(columns["segment_size"]) == high[event + 1], (path, device, settings, event)
                assert reply["requested_bytes"] == sum(columns["block_requested"])
                # of blocks from before the recording the requests are estimated; a free that is completed by the next event is one
                # step of a replay
                if requested[0] == 0 and memory.entries[event].action == "alloc":
                    assert reply["requested_bytes"] == requested[event + 1]
                first = columns["segment_block"]
                for segment, size in enumerate(columns["segment_size"]):
                    end = 0
                    for i in range(first[segment], first[segment + 1]):
                        assert columns["block_offset"][i] >= end
                        end = columns["block_offset"][i] + columns["block_size"][i]
                    assert end <= size and columns["segment_row"][segment] == 0xFFFFFFFF
                assert not any(flags & 2 for flags in columns["block_flags"]), "the sizes of a replay are known"


def test_the_blocks_of_a_replay_are_allocations(paths):
    """A row is the allocation that the block serves: of its size, and live then."""
    path, device, memory = cases(paths)[0]
    event = next(i for i, entry in enumerate(memory.entries) if i > 60 and entry.action == "alloc")
    columns = ask(path, "map", device=device, settings="expandable_segments:True", at=event)["columns"]
    known = [(row, size) for row, size, flags in zip(columns["block_row"], columns["block_requested"], columns["block_flags"], strict=True)
             if not flags & 1]
    assert known and len({row for row, _ in known}) == len(known)
    listed = {row["row"]: row["size_bytes"] for row in ask(path, "allocations", device=device, at=event, top=0)["rows"]}
    assert all(listed[row] == size for row, size in known)


def test_step_by_step(paths):
    """After each step the answer is the beginning of the whole one; a figure appears as soon as it is known."""
    path, device, _ = cases(paths)[0]
    whole = ask(path, "whatif", device=device)
    steps = whole["steps"]["all"]
    assert whole["steps"]["done"] == steps
    for count in (1, 2, 7, steps - 4, steps - 3, steps - 2, steps - 1, steps, steps + 5):
        reply = ask(path, "whatif", device=device, steps=count)
        runs = reply["runs"]
        assert reply["steps"] == {"done": min(count, steps), "all": steps}
        assert runs == whole["runs"][: len(runs)] and 0 < len(runs) <= count and reply["recorded"] == whole["recorded"]
        assert reply["ranking"] == [at for at in whole["ranking"] if at < len(runs)]
        assert (reply["smallest"] == whole["smallest"]) == (count >= steps - 1) and (reply["smallest"] == []) == (count < steps - 1)
        assert (reply["bound"] == whole["bound"]) == (count >= steps) and (reply["bound"] is None) == (count < steps)
        told = [line["about"] for line in reply["lines"]]
        assert ("result" in told, "smallest" in told, "bound" in told) == (count >= steps - 3, count >= steps - 1, count >= steps)
    assert ask(path, "whatif", device=device, set="")["steps"] is None
