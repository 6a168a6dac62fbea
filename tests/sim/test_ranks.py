"""`--ranks-that-differ` on real programs: what it says of each rank of the world is what that rank has among real ones."""

import json

import pytest


def peaks(devices):
    return [(device["torch"]["peak_allocated_bytes"], device["torch"]["peak_reserved_bytes"]) for device in devices if device["torch"]]


@pytest.mark.parametrize(
    "program, axes, different, most",
    (
        # The first stage, those between, and the last, on whose last rank a shard is smaller.
        ("pipeline", [("dp", 2), ("pp", 4)], 4, 6),
        # The same, by PyTorch's own stages: each but the first gets the shapes of its activations from the run of rank 0.
        ("stages", [("dp", 2), ("pp", 4)], 4, 6),
        # 3 or 2 experts.
        ("experts", [("dp", 2), ("ep", 4)], 2, 7),
    ),
)
def test_the_table_is_that_of_real_ranks(dryrun, program, axes, different, most):
    done = dryrun(["--gpu", "H100", "--world", "8", "--ranks-that-differ", "--json"], "grid.py", program)
    assert done.code == 0, done.err[-4000:]
    ranks = json.loads(done.out)["ranks"]
    said = {rank: [(row["peak_allocated_bytes"], row["peak_reserved_bytes"])] for row in ranks["rows"] for a, b in row["ranks"] for rank in range(a, b + 1)}
    done = dryrun(["--gpu", "H100", "--ranks", "8", "--no-history", "--json"], "grid.py", program)
    assert done.code == 0, done.err[-4000:]
    assert said == {process["rank"]: peaks(process["devices"]) for process in json.loads(done.out)["processes"]}
    assert [(axis["name"], axis["size"]) for axis in ranks["axes"]] == axes
    assert len(ranks["rows"]) == different and ranks["runs"] <= most and ranks["unknown"] == 0
    assert f"rank 0 allocated {said[0][0][0]}" in done.err
