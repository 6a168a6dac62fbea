"""The oracle itself: its readers, writers and figures against each other and against what is known of real files."""

import pickle
import pickletools
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import closed_unpickler
import normal
import shapes
import truth
from frames import WHYS
from compare import DEVICE_FIGURES, device_lines, differences
from conftest import NO_SNAPSHOTS, real_snapshots
from hostile import callers, exploits
from ranges import covers, joined, without_range
from simulate import random_run, sample_run
from writers import WRITERS, CppPickler, as_kept

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from generate_snapshot import generate  # noqa: E402

SEEDS = range(120)


# Reading


def test_nothing_can_be_called(tmp_path):
    marker = tmp_path / "executed"
    command = f"touch '{marker}'"
    for opcode, raw, offset, _ in callers(command):
        assert (opcode, offset) in [(op.name, at) for op, _, at in pickletools.genops(raw)]
        if opcode != "BUILD":  # with an empty state it is harmless to CPython, too
            with pytest.raises(closed_unpickler.Refused):
                closed_unpickler.read_bytes(raw)
    for _, raw in exploits(command):
        with pytest.raises(closed_unpickler.Refused):
            closed_unpickler.read_bytes(raw)
    assert not marker.exists()
    pickle.loads(next(exploits(command))[1])
    assert marker.exists(), "the exploit would not have worked anyway"


@pytest.fixture(scope="module")
def sample_ages():
    run = sample_run()
    ages = {name: shapes.build(run, name) for name in shapes.AGES}
    return {**ages, "profiler": shapes.profiler_derived(run)}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_reads_back(writer, sample_ages):
    writer = WRITERS[writer]
    for age, data in sample_ages.items():
        file = closed_unpickler.read_bytes(writer.write(data))
        assert file.data == as_kept(data, writer.keeps), age
        assert truth.report_of_data(file.data) == truth.report_of_data(data), age
        assert file.format == ("json" if writer.keeps == "json" else "pickle")
        if writer.name[-1:].isdigit():
            protocol = int(writer.name[-1])
            assert file.pickle_protocol == (protocol if protocol >= 2 else 0)


# PyTorch's C++ pickler


def opcodes(raw):
    return [op.name for op, _, _ in pickletools.genops(raw)]


def test_cpp_pickler_memoises_as_described():
    shared = [1]
    raw = CppPickler().dump([shared, {"a": "a"}, shared, [], 1 << 40, 1 << 63])
    assert opcodes(raw) == (
        "PROTO EMPTY_LIST MARK EMPTY_LIST MARK BININT1 APPENDS BINPUT EMPTY_DICT MARK BINUNICODE BINPUT BINGET "
        "SETITEMS BINGET EMPTY_LIST MARK APPENDS LONG1 LONG1 APPENDS STOP"
    ).split()
    assert closed_unpickler.unpickle(raw) == [[1], {"a": "a"}, [1], [], 1 << 40, -(1 << 63)]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5)
    | st.dictionaries(st.text(max_size=3), inner, max_size=5)
    | st.tuples(inner, inner),
    max_leaves=40,
)


@settings(max_examples=150, deadline=None, database=None)
@given(PLAIN)
def test_cpp_pickles_read_back(data):
    assert closed_unpickler.unpickle(CppPickler().dump(data)) == data


# Figures


def by_kind(device):
    """Findings in a fixed order; a place is compared only where both books can know it."""
    findings = sorted(device["trust"]["findings"], key=lambda f: f["kind"])
    placed = [f if f["kind"] == "free_without_alloc" else {**f, "first_event": None} for f in findings]
    return {**device, "trust": {**device["trust"], "findings": placed}}


@pytest.mark.parametrize("seed", SEEDS)
def test_truth_is_what_happened(seed):
    run, sims = random_run(seed)
    rng = random.Random(seed)
    start = rng.randrange(max(len(sim.events) for sim in sims) + 1)
    for first, skip in ((0, ()), (start, ()), (0, ("free_completed",)), (start, ("free_completed",))):
        if skip and not all(any(e.action == "free_requested" for e in s.events[first:]) for s in sims):
            continue
        data = shapes.build(run.recorded(first, skip), "2.15")
        devices = {d["device"]: d for d in truth.report_of_data(data)["devices"]}
        for sim in sims:
            expected = sim.expected(min(first, len(sim.events)), skip)
            if sim.device in devices:
                assert by_kind(devices[sim.device]) == by_kind(expected), (first, skip)
            else:
                assert expected["end"]["segments"] == expected["trace"]["events"] == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_are_what_happened(seed):
    run, sims = random_run(seed)
    devices = normal.normalise(shapes.build(run, "2.15")).devices
    for sim in sims:
        for events, mapped, live in sim.bookmarks:
            memory = devices[sim.device]
            assert truth.mapped_at(memory, events - 1) == joined(mapped)
            if not truth.frees_at_request(memory):
                expected = [(address, size, stack.frames if stack else ()) for address, size, stack in live]
                live = truth.live_at(memory, events - 1)
                assert [(a, size, () if stack[0][0] in WHYS else stack) for a, size, stack in live] == expected


def test_live_blocks_sum_to_the_curve():
    for seed in SEEDS:
        for memory in normal.normalise(shapes.build(random_run(seed)[0], "2.12")).devices.values():
            curve = truth.requested_curve(memory)
            for event in range(-1, len(memory.entries), 17):
                live = truth.live_at(memory, event)
                assert sum(size for _, size, _ in live) == curve[event + 1]
                assert sum(group[0] for group in truth.groups_by_stack(live)) == curve[event + 1]
            for key in ("stream", "pool"):
                split = truth.end_by(memory, key).values()
                assert sum(s["reserved_bytes"] for s in split) == truth.end_state(memory)["reserved_bytes"]


def test_ranges():
    assert joined([(5, 7), (1, 3), (3, 4), (6, 9), (2, 2)]) == [(1, 4), (5, 9)]
    assert without_range([(1, 9)], (3, 5)) == [(1, 3), (5, 9)]
    assert without_range([(1, 3), (5, 9)], (2, 6)) == [(1, 2), (6, 9)]
    assert without_range([(1, 3)], (3, 9)) == [(1, 3)]
    assert covers([(1, 4)], 2, 4) and not covers([(1, 4), (5, 6)], 3, 6)


def test_differences_are_seen(sample_ages):
    report = truth.report_of_data(sample_ages["2.15"])
    assert differences(report, {**report, "schema": 1}) == []
    device = report["devices"][0]
    for key in DEVICE_FIGURES:
        assert device_lines("device", device, {**device, key: None})
    assert device_lines("device", device, {**device, "trust": {**device["trust"], "complete": False}})
    extra = [*device["trust"]["findings"], {"kind": "overlap", "count": 1, "first_event": 3}]
    assert device_lines("device", device, {**device, "trust": {**device["trust"], "findings": extra}})


# The generator of large snapshots


def test_generated_snapshots_have_the_layout_of_real_ones():
    data, stacks = generate(10_000, 1)
    (device,) = truth.report_of_data(data)["devices"]
    assert device["trust"] == {"complete": True, "findings": []}
    assert device["trace"]["events"] == 10_000
    raw = pickle.dumps(data, 4)
    assert 130 <= len(raw) / 10_000 <= 170
    names = opcodes(raw)
    references = names.count("BINGET") + names.count("LONG_BINGET")
    assert 0.70 <= references / len(names) <= 0.76
    lengths = [len(stack) for stack in stacks.stacks.values()]
    assert (min(lengths), max(lengths)) == (17, 54)
    assert 500 <= len(lengths) <= 600 and 44 <= sum(lengths) / len(lengths) <= 48
    assert generate(1_000, 5)[0] == generate(1_000, 5)[0] != generate(1_000, 6)[0]


# What was counted in the real files by other means: file bytes -> events, segments, blocks, reserved, allocated (sums
# over devices), actions.
REAL_FIGURES = {
    110501: (1, 176, 463, 11844714496, 11840159744, {"snapshot": 1}),
    1244: (0, 3, 10, 85983232, 17049600, {}),
    72171: (97, 9, 20, 3781165056, 31719936,
            {"alloc": 36, "free_requested": 26, "free_completed": 26, "segment_alloc": 9}),
    344340: (0, 127, 638, 26189234176, 24916034560, {}),
    495064: (5163, 216, 455, 14180941824, 1377753600,
             {"alloc": 1721, "free_requested": 1721, "free_completed": 1721}),
    1907205: (11300, 65, 213, 786432000, 423759360,
              {"alloc": 3853, "free_requested": 3691, "free_completed": 3691, "segment_alloc": 65}),
}
COMPLETE = {72171, 1907205}  # recorded from before the first allocation
FREES_OF_OLDER_BLOCKS = {495064: 2}


@pytest.mark.parametrize("path", real_snapshots() or [None], ids=lambda p: p.name if p else "none")
def test_real_snapshots_have_the_known_figures(path):
    if path is None:
        pytest.skip(NO_SNAPSHOTS)
    file = closed_unpickler.read_file(path)
    if file.bytes not in REAL_FIGURES:
        pytest.skip("a file nobody counted")
    events, segments, blocks, reserved, allocated, actions = REAL_FIGURES[file.bytes]
    devices = truth.report(file)["devices"]
    assert sum(d["trace"]["events"] for d in devices) == events
    ends = [d["end"] for d in devices]
    assert sum(e["segments"] for e in ends) == segments
    assert sum(e["blocks"] for e in ends) == blocks
    assert sum(e["reserved_bytes"] for e in ends) == reserved
    assert sum(e["allocated_bytes"] for e in ends) == allocated
    memories = normal.normalise(file.data).devices.values()
    counted = [e.action for m in memories for e in m.entries]
    assert {name: counted.count(name) for name in set(counted)} == actions
    assert all(d["trust"]["complete"] is (file.bytes in COMPLETE) for d in devices)
    older = [f["count"] for d in devices for f in d["trust"]["findings"] if f["kind"] == "free_without_alloc"]
    assert sum(older) == FREES_OF_OLDER_BLOCKS.get(file.bytes, 0)
