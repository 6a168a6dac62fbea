"""`--ranks-that-differ` on real programs: what it says of each rank of the world is what that rank has among real ones."""

import json
import re

import pytest

from conftest import BINARY, command, environment_of, finish

PROGRAMS = (
    # The first stage, those between, and the last, on whose last rank a shard is smaller.
    ("pipeline", [("dp", 2), ("pp", 4)], 4, 6),
    # The same, by PyTorch's own stages: each but the first gets the shapes of its activations from the run of rank 0.
    ("stages", [("dp", 2), ("pp", 4)], 4, 6),
    # 3 or 2 experts.
    ("experts", [("dp", 2), ("ep", 4)], 2, 7),
)


def peaks(devices):
    return [(device["torch"]["peak_allocated_bytes"], device["torch"]["peak_reserved_bytes"]) for device in devices if device["torch"]]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """{program: {rank: its peaks}} of one job of 8 real ranks, each of which runs the programs in processes of their own."""
    names = [name for name, *_ in PROGRAMS]
    argv = [BINARY, "dryrun", "--exit-code", "child", "--gpu", "H100", "--ranks", "8", "--no-history", "--json", "--", *command("grid.py", names)]
    done = finish(argv, environment_of({}), tmp_path_factory.mktemp("real"))
    assert done.code == 0, done.err[-4000:]
    processes = {process["pid"]: process for process in json.loads(done.out)["processes"]}
    found = {name: {} for name in names}
    for name, pid, rank in re.findall(rf"({'|'.join(names)}) in process (\d+): rank (\d+) ", done.err):
        found[name][int(rank)] = peaks(processes[int(pid)]["devices"])
    assert all(sorted(ranks) == list(range(8)) for ranks in found.values())
    return found


@pytest.mark.parametrize("program, axes, different, most", PROGRAMS)
def test_the_table_is_that_of_real_ranks(dryrun, real, program, axes, different, most):
    done = dryrun(["--gpu", "H100", "--world", "8", "--ranks-that-differ", "--json"], "grid.py", program)
    assert done.code == 0, done.err[-4000:]
    ranks = json.loads(done.out)["ranks"]
    said = {rank: [(row["peak_allocated_bytes"], row["peak_reserved_bytes"])] for row in ranks["rows"] for a, b in row["ranks"] for rank in range(a, b + 1)}
    assert said == real[program]
    assert [(axis["name"], axis["size"]) for axis in ranks["axes"]] == axes
    assert len(ranks["rows"]) == different and ranks["runs"] <= most and ranks["unknown"] == 0
    assert f"rank 0 allocated {said[0][0][0]}" in done.err
