"""`report --json` against the truth: real snapshots, every age by every writer, and hundreds of random runs."""

import gzip
import json
import os
import pickle
import random

import pytest

import cli
import closed_unpickler
import shapes
import truth
from compare import assert_same_report
from conftest import NO_SNAPSHOTS, real_snapshots
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

PROPERTY_RUNS = int(os.environ.get("VRAMSCOPE_PROPERTY_RUNS", "150"))
RUNS_PER_TEST = 10
SKIPS = [(), (), (), (), ("free_completed",), ("segment_alloc", "segment_free"), ("alloc",), ("free_requested",)]


def assert_report_is_true(path, what):
    raw = path.read_bytes()
    assert_same_report(truth.report(closed_unpickler.read_bytes(raw)), cli.report_of(path), what)


@pytest.mark.parametrize("path", real_snapshots() or [None], ids=lambda p: p.name if p else "none")
def test_real_snapshots(path):
    if path is None:
        pytest.skip(NO_SNAPSHOTS)
    assert_report_is_true(path, path.name)


@pytest.fixture(scope="module")
def sample():
    """The run with everything in it, as every age would write it."""
    run = sample_run()
    ages = {name: shapes.build(run, name) for name in shapes.AGES}
    ages["profiler"] = shapes.profiler_derived(run)
    return ages


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("age", [*shapes.AGES, "profiler"])
def test_every_age_by_every_writer(age, writer, sample, snapshot_file):
    path = snapshot_file(WRITERS[writer].write(sample[age]))
    assert_report_is_true(path, f"{age} by {writer}")


RECORDINGS = {
    "begun late": (60, ()),
    "frees at request": (0, ("free_completed",)),
    "begun late, frees at request": (60, ("free_completed",)),
    "completions only": (0, ("free_requested",)),
    "no segments": (0, ("segment_alloc", "segment_free", "segment_map", "segment_unmap")),
    "no trace": (10**6, ()),
    "last entry only": (-1, ()),
}


@pytest.mark.parametrize("recording", RECORDINGS)
def test_every_age_of_partial_recordings(recording, snapshot_file):
    run = sample_run().recorded(*RECORDINGS[recording])
    for age in shapes.AGES:
        path = snapshot_file(WRITERS["c-4"].write(shapes.build(run, age)))
        assert_report_is_true(path, f"{recording}, {age}")


@pytest.mark.parametrize("first", range(0, PROPERTY_RUNS, RUNS_PER_TEST))
def test_random_runs(first, snapshot_file):
    """What happened, what the oracle reads and what the program reads must be one."""
    for seed in range(first, min(first + RUNS_PER_TEST, PROPERTY_RUNS)):
        rng = random.Random(seed)
        run, sims = random_run(seed)
        longest = max(len(sim.events) for sim in sims)
        start = rng.choice((0, rng.randrange(longest + 1)))
        skip = rng.choice(SKIPS)
        age = rng.choice(shapes.ROUND_TRIP_AGES)
        writer = WRITERS[rng.choice(sorted(WRITERS))]
        what = f"seed {seed}, from entry {start}, without {skip}, {age} by {writer.name}"

        data = shapes.build(run.recorded(start, skip), age)
        report = cli.report_of(snapshot_file(writer.write(data)))
        assert_same_report(truth.report_of_data(data), report, what)
        if simulator_can_judge(sims, start, skip):
            assert_same_report(what_happened(sims, start, skip, age, report), report, f"{what}, by the simulator")


def simulator_can_judge(sims, start, skip):
    """Left-out frees are the only omission the simulator's book allows for, and only where some free shows it."""
    if not skip:
        return True
    frees = [any(e.action == "free_requested" for e in sim.events[start:]) for sim in sims]
    return set(skip) == {"free_completed"} and all(frees)


def what_happened(sims, start, skip, age, report):
    """The simulator's true figures in the shape of a report; it has none of the host."""
    unrecorded = set() if shapes.AGES[age].annotates else {"annotate"}
    devices = [
        sim.expected(min(start, len(sim.events)), {*skip, *unrecorded}, bool(shapes.AGES[age].wrapped))
        for sim in sims
    ]
    devices = [d for d in devices if d["end"]["segments"] or d["trace"]["events"]]
    return {"busiest": report["busiest"], "devices": devices, "host": report["host"]}


@pytest.mark.parametrize("writer", ["c-0", "c-4", "cpp", "json", "c-4.gz", "json.gz", "c-4+zeros"])
def test_standard_input(writer, sample):
    """A pipe cannot be mapped or sought; its bytes are counted as they come."""
    raw = WRITERS[writer].write(sample["2.15"])
    expected = truth.report(closed_unpickler.read_bytes(raw))
    assert_same_report(expected, cli.run("report", "--json", "-", stdin=raw).report(), writer)


def test_gzip_in_several_members(sample, snapshot_file):
    """What `cat a.gz b.gz` makes, and what parallel compressors write."""
    raw = WRITERS["c-4"].write(sample["2.12"])
    path = snapshot_file(gzip.compress(raw[:5000]) + gzip.compress(raw[5000:]))
    assert_report_is_true(path, "two members")


@pytest.mark.parametrize("data", [[], {}, {"segments": []}, {"segments": [], "device_traces": [[], []]}], ids=repr)
@pytest.mark.parametrize("write", [pickle.dumps, lambda data: json.dumps(data).encode()], ids=["pickle", "json"])
def test_empty_snapshots(data, write, snapshot_file):
    path = snapshot_file(write(data))
    report = cli.report_of(path)
    assert report["devices"] == [] and report["host"] is None
    assert_report_is_true(path, repr(data))


def test_the_file_name_does_not_matter(sample, tmp_path):
    raw = WRITERS["c-4"].write(sample["2.3"])
    for name in ("a.json", "b", "c.gz", "a b'c\n.pickle", "-dash.pickle"):
        path = tmp_path / name
        path.write_bytes(raw)
        assert_report_is_true(path, name)


def test_reports_are_reproducible(sample, snapshot_file):
    path = snapshot_file(WRITERS["cpp"].write(sample["2.15"]))
    assert cli.run("report", "--json", path).out == cli.run("report", "--json", path).out


def test_host_memory_is_no_device(sample, snapshot_file):
    report = cli.report_of(snapshot_file(WRITERS["c-4"].write(sample["2.15"])))
    assert [d["device"] for d in report["devices"]] == [0, 1]
    assert report["host"]["device"] == -1
    assert report["host"]["trace"]["events"] == len(sample["2.15"]["host_traces"]) > 0


def test_only_pinned_host_memory_recorded(sample, snapshot_file):
    data = {**sample["2.15"], "segments": [], "device_traces": [[], []]}
    report = cli.report_of(snapshot_file(WRITERS["c-4"].write(data)))
    assert report["devices"] == []
    assert_same_report(truth.report_of_data(data), report, "host only")
