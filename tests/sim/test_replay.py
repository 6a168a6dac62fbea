"""Recordings of PyTorch's own, made here under all kinds of settings, replayed through our allocator event for event.

One run of PyTorch makes them all (programs/recordings.py); REPLAY is tests/programs/replay.c.
"""

import json
import os
import pickle
import re
import subprocess
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "src/alloc/torch_versions.def"
PROGRAM = os.environ.get("REPLAY", "")
RECORDINGS = """
    training anomaly churn churn_without_stacks streams streams_alloc full full_then_empty pools dying_pools graph
    late late_alike late_streams expandable expandable_training expandable_streams expandable_full
    expandable_pools expandable_dying_pools expandable_graph expandable_late_streams expandable_late split
    split_full divisions large_segments garbage garbage_streams garbage_split split_late limit
""".split()
FIGURES = re.compile(r"(\w+)=('[^']*'|\S+)")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """(folder, what the program says)"""
    from conftest import command, environment, finish

    folder = tmp_path_factory.mktemp("recordings")
    return folder, finish(command("recordings.py", [folder]), environment(gpu="4GiB"), folder).result


def is_older(told, version):
    return tuple(map(int, told["torch"].split(".")[:2])) < version


def rules_of(told):
    """The newest rules that are not newer than PyTorch."""
    rows = re.findall(r'VS_ALLOC_RULES\(\.name = "(torch-(\d+)\.(\d+))"', RULES.read_text())
    return next(name for name, *version in rows if not is_older(told, tuple(map(int, version))))


def test_all_recordings_are_looked_at(recordings):
    told = recordings[1]
    assert sorted([*told["recordings"], *told["absent"]]) == sorted(RECORDINGS)
    assert not told["absent"] or is_older(told, (2, 15)), told


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_segment_event_and_address_comes_back(recordings, name):
    folder, told = recordings
    if name in told["absent"]:
        pytest.skip(f"PyTorch {told['torch']}: {told['absent'][name]}")
    facts = told["recordings"][name]
    options = ["--card", facts["card"]]
    if facts["fraction"] < 1:
        options += ["--fraction", facts["fraction"]]
    done = subprocess.run([PROGRAM, *map(str, options), folder / f"{name}.pickle"], capture_output=True, text=True,
                          timeout=60, check=False)
    figures = dict(FIGURES.findall(done.stdout.splitlines()[0]))
    print(name, figures["matched"], figures["placed"])
    assert done.returncode == 0 and not done.stderr, (done.stdout, done.stderr)
    matched, steps = map(int, figures["matched"].split("/"))
    placed, allocations = map(int, figures["placed"].split("/"))
    assert matched == steps > 0 and placed == allocations > 0 and figures["extra"] == "0"
    assert figures["reserved_peak"] == figures["recorded_peak"]
    if not is_older(told, (2, 4)):  # by the rules of its own version, which the file's keys tell
        assert figures["rules"] == rules_of(told)


def test_backward_pass_is_attributed_to_lines_of_the_forward_pass(recordings):
    """Allocation for allocation, against PyTorch's text. User code is what lies in recordings.py and loads.py."""
    folder, told = recordings
    path = folder / "anomaly.pickle"
    trace = pickle.loads(path.read_bytes())["device_traces"][0]
    if is_older(told, (2, 15)) and not any("forward_frames" in entry for entry in trace):
        pytest.skip(f"PyTorch {told['torch']} does not record the lines of the forward pass")
    command = [os.environ["VRAMSCOPE"], "query", path, "allocations", "top=0"]
    rows = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)["rows"]
    labels = {row["start_event"]: row["label"] for row in rows}
    expected = {}
    for event, entry in enumerate(trace):
        if entry["action"] != "alloc" or "forward_frames" not in entry:
            continue
        lines = [re.match(r'  File "(.*)", line (\d+), in (.*)\n', text).groups() for text in entry["forward_frames"]]
        assert not entry["frames"], "a thread of autograd runs no Python"
        path, line, function = [of for of in lines if of[0].endswith(("recordings.py", "loads.py"))][-1]
        expected[event] = f"backward pass of {os.path.basename(path)}:{line} {function}"
    assert {event: labels[event] for event in expected} == expected
    assert len(expected) > 20 and sum(name.endswith(" forward") for name in expected.values()) > 10
