"""`whatif` against PyTorch itself: programs recorded once under the default settings, then run under many others.

PyTorch's own statistics of each run are what `whatif` has to answer from the one recording, to the byte; the snapshot that PyTorch
writes of the run is the one that `whatif --export` writes, event for event and block for block.
"""

import json
import os
import pickle
import subprocess

import pytest
from answers import PEAKS, ask, differences, query
from conftest import BINARY, command, environment, environment_of, finish
from snapshot_pairs import first_difference, without_callers

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
    "garbage_collection_threshold:0.3,per_process_memory_fraction:0.25",
]
PROGRAMS = """training lengths anomaly cache_of_keys churn churn_and_empty_cache growth alike two_streams pools dying_pools
    graph side_streams conv fsdp""".split()
LIMITS = [f"{text},per_process_memory_fraction:{limit}" for limit in (0.0625, 0.015625) for text in (
    "max_split_size_mb:21", "expandable_segments:True", "roundup_power2_divisions:4", "garbage_collection_threshold:0.5")]
CALLERS = ("measured", "judge", "run_out", "<module>")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """(folder, {program: {settings: statistics}}), by PyTorch"""
    folder = tmp_path_factory.mktemp("whatif")
    told = finish(command("whatif.py", [folder, *SETTINGS]), environment(gpu=GPU), folder).result
    rank = [BINARY, "dryrun", "--world", "8", "--gpu", GPU, "--no-history", "--", *command("whatif.py", ["--rank", folder, *SETTINGS])]
    done = finish(rank, environment_of({}), folder)
    assert done.code == 0, done.err
    return folder, told | json.loads(done.out.splitlines()[0])


def test_all_programs_are_judged(judged):
    assert sorted(judged[1]) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_setting_is_answered_as_pytorch_runs(judged, name):
    folder, told = judged
    reply = ask(folder / f"{name}.pickle", "whatif", set=["", *SETTINGS], cards=[GPU])
    assert reply["check"]["is_equal"], reply["check"]
    names = dict(PEAKS)
    if name == "churn_and_empty_cache":  # an empty_cache() that had nothing to release is not in the recording
        del names["device_allocs"], names["device_frees"]
    wrong = {}
    for run, (settings, statistics) in zip(reply["runs"], told[name].items(), strict=True):
        assert run["asked"] == settings and run["passes"]
        differs = differences(run, statistics, names)
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
    names = ("training", "lengths", "anomaly", "cache_of_keys", "growth", "alike", "two_streams", "graph", "conv")  # none catches the error
    found = {name: ask(folder / f"{name}.pickle", "whatif", cards=[GPU])["smallest"][0]["capacity_bytes"] for name in names}
    limits = {name: [capacity, capacity - GRANULE] for name, capacity in found.items()}
    done = finish(command("whatif.py", ["--limits", json.dumps(limits)]), environment(gpu=GPU), folder)
    assert done.result == {name: [True, False] for name in names}


def test_checkpoints(tmp_path):
    """Peak allocated of `checkpoint` is max_memory_allocated() of the program with torch.utils.checkpoint around that function, but for
    the reasons below."""
    told = finish(command("checkpoints.py", [tmp_path]), environment(gpu=GPU), tmp_path).result
    near = {"gated": 0.004,  # equal requests, but other blocks are split: what is too small to be split off counts as allocated
            "llama": 0.005,  # a mask and positions that the caller holds are arguments, too
            "half": 0.01, "autocast": 0.035}  # bias gradients are summed up before the recorded program frees the input of the layer
    rows, wrong = [], []
    for name, (functions, plain, checkpointed) in ((name, row.values()) for name, row in told.items()):
        reply = ask(tmp_path / f"{name}.pickle", "whatif", checkpoint=functions, cards=[GPU])
        got = reply["runs"][0]["allocated_peak_bytes"]
        rows.append(f"{name:16}{plain:12}{got:12}{checkpointed:12}{got / checkpointed - 1:+9.3%}")
        assert reply["check"]["is_equal"] and reply["recorded"]["allocated_peak_bytes"] == plain, name
        assert [row["function"] for row in reply["edits"]["checkpoint"]["functions"]] == functions
        if abs(got / checkpointed - 1) > near.get(name, 0):
            wrong.append(name)
    print("program             recorded     what-if     PyTorch", *rows, sep="\n")
    assert not wrong, "\n".join([*wrong, *rows])
    assert len(told) >= 17


def test_checkpoints_of_a_program_that_ran_out_of_memory(tmp_path):
    """It fails as recorded, in the forward or in the backward pass. With checkpoints the request passes, and the real program, too."""
    told = finish(command("checkpoints.py", ["--failing", tmp_path]), environment(gpu="1400MiB"), tmp_path).result
    for name, row in told.items():
        assert row["failed"] and row["checkpointed"], row
        reply = ask(tmp_path / f"{name}.pickle", "whatif", checkpoint=row["functions"])
        function, (run,) = reply["edits"]["checkpoint"]["functions"][0], reply["runs"]
        assert not reply["recorded"]["passes"] and run["passes"] and run["avoided_ooms"] == 1
        assert 16 <= function["recomputed"] < function["calls"] <= 24, function  # of the last step no backward pass, or its beginning


# ---- the run as a snapshot


def export(path, settings):
    return query(path, "whatif_snapshot", set=[settings], cards=[GPU])


def settings_of(snapshot):
    """Without what only we write."""
    return {key: value for key, value in snapshot["allocator_settings"].items() if key != "vramscope_whatif"}


def ranges_of(snapshot):
    return [(end["name"], end["stage"], end["device"]) for end in snapshot["external_annotations"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_exported_snapshot_is_pytorchs(judged, name):
    """All that both have but times and addresses: these are equal by segment and offset. Frames, metadata and settings are among it."""
    missed = 0
    for i, settings in enumerate(SETTINGS):
        theirs = pickle.loads((judged[0] / f"{name}.{i}.pickle").read_bytes())
        ours = pickle.loads(export(judged[0] / f"{name}.pickle", settings))
        assert list(ours) == list(theirs) and ranges_of(ours) == ranges_of(theirs)
        if "per_process" not in settings:  # that is set by call there
            assert settings_of(ours) == theirs["allocator_settings"]
        difference = first_difference(ours, theirs)
        if difference is not None and name == "churn_and_empty_cache":
            # An empty_cache() that had nothing to release is not in the recording; here it would have had.
            assert difference[3][0] in ("segment_free", "segment_unmap"), (settings, difference)
            missed += 1
        else:
            assert difference is None, (settings, difference)
    assert missed < len(SETTINGS)


def test_a_run_that_fails_ends_where_pytorchs_does(judged):
    """The snapshot that an observer of out-of-memory errors writes at the failure. How many bytes the driver has left then depends on
    what other libraries took of the card, which no recording shows."""
    folder = judged[0]
    written = finish(command("whatif.py", ["--ooms", folder, *LIMITS]), environment(gpu=GPU), folder).result
    for file in written:
        name, number, _ = file.split(".")
        theirs = without_callers(pickle.loads((folder / file).read_bytes()), CALLERS)
        ours = pickle.loads(export(folder / f"{name}.pickle", LIMITS[int(number[3:])]))
        assert ours["allocator_settings"]["vramscope_whatif"]["ran_out"] and ours["device_traces"][0][-1]["action"] == "oom"
        if name == "churn_and_empty_cache":
            continue  # as above
        assert first_difference(without_callers(ours, CALLERS), theirs) is None, file
    assert len({file.split(".")[0] for file in written}) >= 8 and len(written) >= 40


@pytest.mark.parametrize("settings", ["expandable_segments:True", "max_split_size_mb:21", "roundup_power2_divisions:4",
                                      "garbage_collection_threshold:0.1,max_split_size_mb:40"])
def test_an_exported_snapshot_replays_as_it_says(judged, tmp_path, settings):
    """`whatif` of it is equal to it, and its figures, those of `report` and those of the run are the same."""
    for name in PROGRAMS:
        run = ask(judged[0] / f"{name}.pickle", "whatif", set=[settings], cards=[GPU])["runs"][0]
        path = tmp_path / f"{name}.pickle"
        path.write_bytes(export(judged[0] / f"{name}.pickle", settings))
        again = ask(path, "whatif", cards=[GPU])
        assert again["check"]["is_equal"], (name, again["check"])
        report = ask(path, "report")["devices"][0]
        peak, trust = report["peak"], report["trust"]
        for figure in ("reserved_peak_bytes", "allocated_peak_bytes", "active_peak_bytes", "device_allocs"):
            assert again["recorded"][figure] == run[figure], (name, figure)
        assert report["peak_reserved"]["reserved_bytes"] == run["reserved_peak_bytes"], name
        assert trust["complete"] and [finding["kind"] for finding in trust["findings"]] == ["whatif"], (name, trust)
        assert (peak["allocated_bytes"], peak["allocated_is_exact"]) == (run["allocated_peak_bytes"], True), name


def test_pytorchs_tools_read_an_exported_snapshot(judged, tmp_path):
    for settings in ("expandable_segments:True", "max_split_size_mb:21"):
        path = tmp_path / "exported.pickle"
        path.write_bytes(export(judged[0] / "training.pickle", settings))
        shown = finish(command("memory_viz.py", [path]), environment(gpu=GPU), tmp_path).result
        assert shown == {"trace": True, "segsum": True, "trace_plot": True, "segment_plot": True}


def test_settings_differ(judged):
    """The matrix proves something only where settings change what is reserved."""
    for name in ("churn", "growth", "lengths", "cache_of_keys", "conv", "fsdp"):
        peaks = {statistics["reserved_bytes.all.peak"] for statistics in judged[1][name].values()}
        assert len(peaks) >= 4, (name, peaks)
