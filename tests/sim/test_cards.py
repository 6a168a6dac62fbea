"""The smallest card that `whatif` finds for a recorded program, against that program in `dryrun` on a card of that size.

The allocator's share comes from the recording. What the driver and the libraries take beside it no recording of PyTorch's shows:
`dryrun` tells it, and the card that `whatif` names stands on what they take in a training.
"""

import json

import pytest
from answers import ask
from conftest import BINARY, command, environment_of, finish

MiB = 1 << 20
LARGE = "24GiB"
PROGRAMS = ("mlp", "gpt", "lengths", "conv", "kv_cache", "two_streams", "graph", "solve")  # a machine has eight GPUs


def dryrun(folder, gpus, names, *options):
    """(the reply, what the program printed last)"""
    done = finish([BINARY, "dryrun", "--json", "--gpu", ",".join(map(str, gpus)), *options, "--", *command("cards.py", names)],
                  environment_of({}), folder)
    return json.loads(done.out), done


def ran(folder, gpus, names):
    _, done = dryrun(folder, gpus, names, "--no-history")
    assert done.code == 0, done.err
    return json.loads([line for line in done.err.splitlines() if line.startswith("[")][-1])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """(folder, {program: {"capacity", "card", "reserved", "outside"}}): bytes that the allocator needs, the card that `whatif` names for
    that, bytes that the recorded run reserved, and those that others than the allocator took of its card"""
    folder = tmp_path_factory.mktemp("cards")
    path = folder / "all.pickle"
    reply, done = dryrun(folder, [LARGE] * len(PROGRAMS), PROGRAMS, "--snapshot", path)
    assert done.code == 0, done.err
    told = {}
    for gpu, name in enumerate(PROGRAMS):
        card, answer = reply["devices"][gpu], ask(path, "whatif", device=gpu, cards=[LARGE])
        assert answer["check"]["is_equal"] and answer["recorded"]["reserved_peak_bytes"] == card["torch"]["peak_reserved_bytes"], name
        assert all(smallest["capacity_bytes"] for smallest in ask(path, "whatif", device=gpu)["smallest"]), name
        told[name] = {"capacity": answer["smallest"][0]["capacity_bytes"], "card": answer["smallest"][0]["card_bytes"], "reserved": card["torch"]["peak_reserved_bytes"],
                      "outside": card["driver_peak_bytes"] - card["torch"]["peak_reserved_bytes"]}
    return folder, told


def test_the_smallest_card_passes_and_less_does_not(recorded):
    folder, told = recorded
    sizes = [each["capacity"] + each["outside"] for each in told.values()]
    assert ran(folder, sizes, PROGRAMS) == [True] * len(PROGRAMS)
    assert ran(folder, [size - 4 * MiB for size in sizes], PROGRAMS) == [False] * len(PROGRAMS)


def test_the_card_that_is_named_is_enough(recorded):
    """It is the smallest for a training with cuDNN, and little larger than that for programs that take less. Linear algebra by cuSOLVER
    takes more than it has."""
    folder, told = recorded
    more = {name: (each["card"] - each["capacity"] - each["outside"]) // MiB for name, each in told.items()}
    assert more["conv"] == 0 and more["solve"] < 0
    assert all(0 <= size <= 26 for name, size in more.items() if name != "solve"), more
    named = [name for name in PROGRAMS if name != "solve"]
    assert ran(folder, [told[name]["card"] for name in named], named) == [True] * len(named)


def test_a_program_alone(recorded):
    """As its users run it: the verdict of dryrun, and its exit status."""
    folder, told = recorded
    size = told["kv_cache"]["capacity"] + told["kv_cache"]["outside"]
    verdicts = [dryrun(folder, [gpu], ["kv_cache"], "--no-history")[0]["verdict"] for gpu in (size, size - 4 * MiB)]
    assert verdicts == ["fits", "does_not_fit"]


def test_the_sizes_mean_something(recorded):
    """Most are below what the recorded run reserved, and programs differ in what they take beside the allocator."""
    _, told = recorded
    assert sum(each["capacity"] < each["reserved"] for each in told.values()) >= 5
    assert len({each["outside"] for each in told.values()}) >= 5
