"""`whatif` against PyTorch itself: programs recorded once under the default settings, then run under many others.

PyTorch's own statistics of each run are what `whatif` has to answer from the one recording, to the byte.
"""

import json
import os
import subprocess

import pytest
from conftest import command, environment, finish

GPU = "4GiB"
GRANULE = 2 << 20
SETTINGS = [
    "expandable_segments:True",
    "max_split_size_mb:21",
    "max_split_size_mb:64",
    "max_split_size_mb:200",
    "roundup_power2_divisions:1",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[4:2,32:4,>:8]",
    "large_segment_size_mb:32",
    "large_segment_size_mb:128",
    "max_split_size_mb:64,max_non_split_rounding_mb:40",
    "garbage_collection_threshold:0.05",
    "garbage_collection_threshold:0.1,max_split_size_mb:40",
    "expandable_segments:True,roundup_power2_divisions:8",
    "max_split_size_mb:100,roundup_power2_divisions:2",
]
PROGRAMS = """training lengths anomaly cache_of_keys churn churn_and_empty_cache growth alike two_streams pools dying_pools
    graph""".split()
SAME = {
    "reserved_peak_bytes": "reserved_bytes.all.peak",
    "allocated_peak_bytes": "allocated_bytes.all.peak",
    "active_peak_bytes": "active_bytes.all.peak",
    "segments_peak": "segment.all.peak",
    "retries": "num_alloc_retries",
    "device_allocs": "num_device_alloc",
    "device_frees": "num_device_free",
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """(folder, {program: {settings: statistics}}), by PyTorch"""
    folder = tmp_path_factory.mktemp("whatif")
    return folder, finish(command("whatif.py", [folder, *SETTINGS]), environment(gpu=GPU), folder).result


def ask(path, **params):
    words = [f"{name}={json.dumps(value)}" for name, value in params.items()]
    done = subprocess.run([os.environ["VRAMSCOPE"], "query", path, "whatif", *words], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


def test_all_programs_are_judged(judged):
    assert sorted(judged[1]) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_setting_is_answered_as_pytorch_runs(judged, name):
    folder, told = judged
    reply = ask(folder / f"{name}.pickle", set=["", *SETTINGS], cards=[GPU])
    assert reply["check"]["is_equal"], reply["check"]
    names = dict(SAME)
    if name == "churn_and_empty_cache":  # an empty_cache() that had nothing to release is not in the recording
        del names["device_allocs"], names["device_frees"]
    wrong = {}
    for run, (settings, statistics) in zip(reply["runs"], told[name].items(), strict=True):
        assert run["asked"] == settings and run["passes"]
        differs = {ours: (run[ours], statistics[theirs]) for ours, theirs in names.items() if run[ours] != statistics[theirs]}
        if differs:
            wrong[settings] = differs
    assert not wrong, json.dumps(wrong, indent=1)


def test_report_counts_peak_allocated_as_pytorch_does(judged):
    """From the recording alone, without a replay: max_memory_allocated(), and the figure says of itself that it is exact."""
    folder, told = judged
    for name in PROGRAMS:
        done = subprocess.run([os.environ["VRAMSCOPE"], "report", "--json", folder / f"{name}.pickle"], capture_output=True, check=True)
        peak = json.loads(done.stdout)["devices"][0]["peak"]
        assert (peak["allocated_bytes"], peak["allocated_is_exact"]) == (told[name][""]["allocated_bytes.all.peak"], True), name


def test_the_smallest_capacity_is_pytorchs(judged):
    """What PyTorch runs in when it may reserve that much, and does not with 2 MiB less."""
    folder, _ = judged
    names = ("training", "lengths", "anomaly", "cache_of_keys", "growth", "alike", "two_streams")  # none catches the error
    found = {name: ask(folder / f"{name}.pickle", cards=[GPU])["smallest"][0]["capacity_bytes"] for name in names}
    limits = {name: [capacity, capacity - GRANULE] for name, capacity in found.items()}
    done = finish(command("whatif.py", ["--limits", json.dumps(limits)]), environment(gpu=GPU), folder)
    assert done.result == {name: [True, False] for name in names}


def test_settings_differ(judged):
    """The matrix proves something only where settings change what is reserved."""
    for name in ("churn", "growth", "lengths", "cache_of_keys"):
        peaks = {statistics["reserved_bytes.all.peak"] for statistics in judged[1][name].values()}
        assert len(peaks) >= 4, (name, peaks)
