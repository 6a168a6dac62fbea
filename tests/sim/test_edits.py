"""The edits of `whatif` against edits of the source: a program is recorded once, and run again with the edit made in its source.
PyTorch's own statistics of that run are what `whatif` has to answer from the recording, to the byte.

Where it cannot: what the backward pass allocates has no line, so scaling the lines of the forward pass leaves it as it was; and what
is freed early is freed before the next request, while the program may need it for longer. Both are bounds.
"""

import json

import pytest
from answers import ask, differences
from conftest import command, environment, finish

BOUNDS = ("half of the batch in training", "a buffer deleted after a later use")
PEAK = "allocated_bytes.all.peak"


@pytest.fixture(scope="module")
def edits(tmp_path_factory):
    """{edit: what the program tells, with the reply of whatif}"""
    folder = tmp_path_factory.mktemp("edits")
    told = finish(command("edits.py", [folder]), environment(gpu="4GiB"), folder).result
    for edit in told.values():
        factor = f"={edit['factor']}" if edit["option"] == "scale" else ""
        texts = [text + factor for text in edit["filters"]]
        edit["reply"] = ask(folder / f"{edit['program']}.pickle", "whatif", **{edit["option"]: texts})
    return told


def test_recordings_are_replayed_exactly(edits):
    for name, edit in edits.items():
        assert edit["reply"]["check"]["is_equal"] and edit["reply"]["edits"]["allocations"] > 0, name
        assert edit["reply"]["recorded"]["allocated_peak_bytes"] == edit["before"][PEAK], name


def test_each_edit_is_answered_as_the_edited_source_runs(edits):
    wrong = {}
    for name, edit in edits.items():
        (run,) = edit["reply"]["runs"]
        differs = differences(run, edit["after"])
        if differs and name not in BOUNDS:
            wrong[name] = differs
        assert run["passes"] and edit["after"]["num_ooms"] == 0, name
    assert not wrong, json.dumps(wrong, indent=1)
    options = [edit["option"] for name, edit in edits.items() if name not in BOUNDS]
    assert {option: options.count(option) for option in options} == {"without": 4, "scale": 4, "free_early": 2, "free": 1}


def test_the_edits_change_something(edits):
    for name, edit in edits.items():
        if edit["option"] == "free":
            assert edit["before"]["num_ooms"] == 1
        else:
            assert edit["after"][PEAK] < edit["before"][PEAK], name


def test_bounds(edits):
    """Half of a batch saves at least what the forward pass saves; a buffer that is needed for longer saves less than the answer."""
    half, late = (edits[name] for name in BOUNDS)
    assert half["after"][PEAK] < half["reply"]["runs"][0]["allocated_peak_bytes"] < half["before"][PEAK]
    assert late["reply"]["runs"][0]["allocated_peak_bytes"] < late["after"][PEAK] < late["before"][PEAK]
