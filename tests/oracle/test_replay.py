"""Replays: real and synthetic recordings run through our allocator, event for event as recorded.

REPLAY is tests/programs/replay.c. Synthetic ones come from caching_allocator.py, which releases memory in the order
of PyTorch's pools here, and knows no rules newer than 2.6.
"""

import os
import random
import re

import pytest

import shapes
import simulate
from caching_allocator import CachingAllocator
from cli import starter
from conftest import real_snapshots
from run import Run
from writers import WRITERS

PROGRAM = os.environ.get("REPLAY", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="REPLAY does not name the program")

SEEDS = range(40)
AGES = ("2.15", "2.1")
WORDS = re.compile(r"(\w+)=('[^']*'|\S+)")
DEFAULT = (0, 0)


class InOrder(CachingAllocator):
    """Gives memory back as PyTorch does: large segments first."""

    def release_cached(self, stack=None):
        self.free_blocks = dict(sorted(self.free_blocks.items(), key=lambda item: item[0]))
        super().release_cached(stack)


def replay(path, *options):
    """[(figures of a device, its lines about differences)]"""
    done = starter.run([PROGRAM, *options, path])
    assert done.returncode in (0, 1) and not done.stderr, (done.returncode, done.stderr)
    devices = []
    for line in done.stdout.decode().splitlines():
        if line.startswith("file="):
            devices.append((dict(WORDS.findall(line)), []))
        else:
            devices[-1][1].append(line)
    return devices


def part(text):
    return tuple(map(int, text.split("/")))


def expect_equal(figures, lines):
    matched, steps = part(figures["matched"])
    placed, allocs = part(figures["placed"])
    assert (matched, placed, figures["extra"], figures["strays"]) == (steps, allocs, "0", "0"), (figures, lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("replay")


@pytest.mark.parametrize("path", real_snapshots(), ids=lambda path: path.name[:24])
def test_real_recordings_replay_event_for_event(path):
    for figures, lines in replay(path):
        print(path.name, figures["device"], figures["matched"], figures["placed"])
        expect_equal(figures, lines)
        assert figures["cut"] == "0"
        if int(figures["events"]) > 1:
            assert int(figures["reserved_peak"]) == int(figures["recorded_peak"])


def made_up(monkeypatch, seed, steps=400, **settings):
    monkeypatch.setattr(simulate, "CachingAllocator", InOrder)
    rng = random.Random(seed)
    sim = simulate.SimulatedDevice(0, rng, [simulate.EPOCH_US], **settings)
    load = simulate.Workload(sim, rng, simulate.Program(rng), [0, 0x5000_0000, 3][: 1 + seed % 3], [DEFAULT])
    for _ in range(steps):
        load.step()
    return sim


def write(folder, run, age, name):
    path = folder / f"{name}-{age}.pickle"
    path.write_bytes(WRITERS["c-4"].write(shapes.build(run, age)))
    return path


@pytest.mark.parametrize("age", AGES)
def test_made_up_recordings_replay_event_for_event(monkeypatch, folder, age):
    steps = frees = ooms = 0
    for seed in SEEDS:
        sim = made_up(monkeypatch, seed, limit=(None, 44 << 20, 90 << 20)[seed % 3])
        path = write(folder, Run([sim.as_run()]), age, f"made{seed}")
        (figures, lines), = replay(path, "--settings", "profile:torch-2.6")
        expect_equal(figures, lines)
        assert int(figures["requested_peak"]) == max(after[0] for after in sim.after)
        assert int(figures["reserved"]) == sim.allocator.reserved
        steps += part(figures["matched"])[1]
        frees += int(figures["pendings"])
        ooms += sum(event.action == "oom" for event in sim.events)
    print(f"{age}: {steps} segment events, {frees} pending frees, {ooms} failures")
    assert steps > 1000 and frees > 100 and ooms > 20  # the test is about something


def test_what_a_trace_lacks_is_named(monkeypatch, folder):
    """A trace that begins late: what was there before is rebuilt; where it cannot be, every difference has a reason."""
    matched = total = 0
    for seed in SEEDS:
        sim = made_up(monkeypatch, seed)
        run = Run([sim.as_run()])
        path = write(folder, run.recorded(len(sim.events) // 3), "2.15", f"late{seed}")
        (figures, lines), = replay(path, "--settings", "profile:torch-2.6", "--misses", "64")
        matched += part(figures["matched"])[0]
        total += part(figures["matched"])[1]
        reasons = set(re.findall(r"\[(\w+)\]$", "\n".join(lines), re.M))
        assert reasons <= {"initial_cache", "after_miss"}, (seed, lines)
    print(f"{matched} of {total} segment events of traces that began late")
    assert total > 300 and matched > 0.9 * total


def test_other_settings_and_cards(monkeypatch, folder):
    """A card just large enough is; one byte less than the peak of live memory is not."""
    for seed in range(8):
        sim = made_up(monkeypatch, seed)
        path = write(folder, Run([sim.as_run()]), "2.15", f"card{seed}")
        for settings in ("profile:torch-2.6", "expandable_segments:True", "max_split_size_mb:20"):
            (free, _), = replay(path, "--other", "--settings", settings)
            reserved, allocated = int(free["reserved_peak"]), int(free["allocated_peak"])
            assert free["ran_out"] == "-1" and reserved >= allocated > 0
            (fits, _), = replay(path, "--other", "--settings", settings, "--card", str(reserved))
            (small, _), = replay(path, "--other", "--settings", settings, "--card", str(allocated // 2))
            assert fits["ran_out"] == "-1" and int(fits["reserved_peak"]) == reserved
            assert small["ran_out"] != "-1" and int(small["reserved_peak"]) <= allocated // 2
