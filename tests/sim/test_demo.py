"""The demo's recording is reported, exported, opened by CPython and by PyTorch's own tools, and read back."""

import json
import os
import pickle
import subprocess
from pathlib import Path

import pytest

BINARY = os.environ["VRAMSCOPE"]
PYTHON = os.environ["VRAMSCOPE_SIM_PYTHON"]


def run(*words, cwd):
    return subprocess.run([BINARY, *words], cwd=cwd, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    (folder / "said.txt").write_text(run("demo", "--keep", "demo.vram", cwd=folder))
    run("export", "demo.vram", "pickle", "-o", "demo.pickle", cwd=folder)
    return folder


def devices(folder, file):
    return json.loads(run("report", "--json", file, cwd=folder))["devices"]


def test_it_says_what_would_have_helped(folder):
    said = " ".join((folder / "said.txt").read_text().split())
    assert "This run out of memory in step 12 of 16" in said
    assert "with expandable_segments:True: all 16 steps" in said
    assert "metrics.py:19 topk grows by 2.00 MiB every step over 11 steps" in said
    assert "Recording complete" in said


def test_oom_and_whatif_find_what_the_demo_shows(folder):
    (oom,) = json.loads(run("oom", "--json", "demo.vram", cwd=folder))["ooms"]
    whatif = json.loads(run("whatif", "--json", "demo.vram", cwd=folder))
    assert oom["cause"] == "fragmented" and oom["remedies"][0]["settings"] == "expandable_segments:True"
    assert whatif["runs"][whatif["best"]]["asked"] == "expandable_segments:True"
    assert "Next: vramscope oom demo.vram" in run("report", "demo.vram", cwd=folder)


def test_equal_runs_write_equal_files(folder):
    run("demo", "--keep", "again.vram", "-q", cwd=folder)
    assert (folder / "again.vram").read_bytes() == (folder / "demo.vram").read_bytes()
    run("demo", "--keep", "again.vram", "--force", "--seed", "2", "-q", cwd=folder)
    assert (folder / "again.vram").read_bytes() != (folder / "demo.vram").read_bytes()
    refused = subprocess.run([BINARY, "demo", "--keep", "again.vram"], cwd=folder, capture_output=True, text=True)
    assert refused.returncode != 0 and "--force" in refused.stderr


def test_it_keeps_nothing_unless_told(tmp_path):
    said = run("demo", cwd=tmp_path)
    assert "demo.vram: recording" in said and "Next: vramscope demo --keep demo.vram" in said
    assert os.listdir(tmp_path) == []


def test_json_has_what_the_screen_has(folder):
    reply = json.loads(run("demo", "--json", cwd=folder))
    first, second = reply["runs"]
    assert first["ran_out"] and first["steps_done"] == 11 and first["oom"]["driver_bytes"] == 786 << 20
    assert not second["ran_out"] and second["steps_done"] == 16 and second["oom"] is None
    assert reply["report"] == devices(folder, "demo.vram")
    assert second["peak_reserved_bytes"] < reply["total_bytes"]


def peak_of(trace):
    """The peak of requested bytes, counted again from the events."""
    now = peak = 0
    for event in trace:
        now += event["size"] * ((event["action"] == "alloc") - (event["action"] == "free_completed"))
        peak = max(peak, now)
    return peak


def test_the_pickle_is_what_happened(folder):
    snapshot = pickle.loads((folder / "demo.pickle").read_bytes())
    (device,) = devices(folder, "demo.vram")
    run_figures = json.loads(run("demo", "--json", cwd=folder))["runs"][0]
    (trace,) = snapshot["device_traces"]
    assert peak_of(trace) == device["peak"]["requested_bytes"] == run_figures["peak_requested_bytes"]
    assert sum(s["total_size"] for s in snapshot["segments"]) == device["end"]["reserved_bytes"]
    for segment in snapshot["segments"]:
        assert sum(b["size"] for b in segment["blocks"]) == segment["total_size"]
    frames = [f for e in trace if e["action"] == "alloc" for f in e["frames"]]
    assert {"name": "topk", "filename": "metrics.py", "line": 19} in frames
    assert [e["action"] for e in trace].count("oom") == 1
    assert snapshot["allocator_settings"]["expandable_segments"] is False
    assert len(snapshot["allocator_settings"]["roundup_power2_divisions"]) == 16
    assert any(a["name"] == "step 11" and a["stage"] == "START" for a in snapshot["external_annotations"])


def viz(folder, what, file):
    """PyTorch's own command, as a file: importing all of torch would take a GPU's libraries."""
    where = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    torch = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    command = [PYTHON, Path(torch) / "cuda" / "_memory_viz.py", what, file]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_pytorchs_own_tools_open_it(folder):
    (device,) = devices(folder, "demo.vram")
    stats = viz(folder, "stats", "demo.pickle")
    assert f"segments: {device['end']['segments']}" in stats
    assert "OutOfMemoryError" in viz(folder, "trace", "demo.pickle")


def without_ids(value):
    """Stacks are numbered as they come in a file, and so differently in each (an owner without a line has that as its key, and
    in its filter)."""
    if isinstance(value, list):
        return [without_ids(v) for v in value]
    if isinstance(value, dict):
        return {k: without_ids(v) for k, v in value.items() if k != "stack_id" and not (k == "key" and isinstance(v, int))
                and not (k == "filter" and str(v).startswith("stack="))}
    return value


def test_and_back(folder):
    run("export", "demo.pickle", "vram", "-o", "back.vram", cwd=folder)
    first, second, third = (without_ids(devices(folder, f)) for f in ("demo.vram", "demo.pickle", "back.vram"))
    assert first == second == third
