"""dryrun --ranks-that-differ: which ranks of a world run, and what is said of the others (dry_runs.py). Programs here only pretend; real
ones are in tests/sim/test_ranks.py."""

import shlex

import pytest
from dry_runs import FAKE, torch_stats


GiB, MiB = 1 << 30, 1 << 20
WORLD = ["--gpu", "H100", "--world"]


def taking(expression, *words):
    """A program whose rank takes so many MiB, by an expression of the shell with RANK."""
    more = " ".join(map(shlex.quote, words))
    return ["sh", "-c", f"exec {shlex.quote(FAKE)} context 0 take 0 $(( ({expression}) * {MiB} )) {more}"]


def groups(**kinds):
    """What the hook writes of process groups: the ranks of each that rank 0 is in."""
    return torch_stats([], groups=[{"name": name, "ranks": list(ranks)} for name, ranks in kinds.items()])


def spread(found):
    """rank -> bytes that its row takes, without the context."""
    context = found["devices"][0]["context_bytes"]
    return {rank: (row["driver_peak_bytes"] - context) // MiB for row in found["ranks"]["rows"] for a, b in row["ranks"] for rank in range(a, b + 1)}


def ran(found):
    return sorted(rank for row in found["ranks"]["rows"] for rank in row["ran"])


def test_equal_ranks(figures):
    found = figures([*WORLD, "64", "--ranks-that-differ"], *taking("1024"))
    assert ran(found) == [0, 1, 32, 63]
    (row,) = found["ranks"]["rows"]
    assert (row["rank"], row["count"], row["ranks"], row["verdict"], row["exit_code"]) == (0, 64, [[0, 63]], "fits", 0)
    assert row["driver_peak_bytes"] == row["needed_bytes"] == found["devices"][0]["driver_peak_bytes"]
    assert row["peak_allocated_bytes"] is None  # no PyTorch
    assert found["ranks"]["unknown"] == 0 and found["ranks"]["why"] is None and found["job"]["rank"] == 0
    assert figures([*WORLD, "64"], *taking("1024"))["ranks"] is None


@pytest.mark.parametrize("world", (1, 2, 3, 4))
def test_small_worlds_run_as_a_whole(figures, world):
    found = figures([*WORLD, str(world), "--ranks-that-differ"], *taking("1024 + 2 * RANK"))
    assert ran(found) == list(range(world)) and found["ranks"]["unknown"] == 0
    assert spread(found) == {rank: 1024 + 2 * rank for rank in range(world)}


def test_uneven_ranks(figures):
    """The odd ones stand first, and the needs are those of the rank that needs most."""
    found = figures([*WORLD, "64", "--ranks-that-differ"], *taking("1024 + RANK / 50 * 512"))
    assert spread(found) == {rank: 1024 + rank // 50 * 512 for rank in range(64)}
    assert [row["rank"] for row in found["ranks"]["rows"]] == [63, 0] and len(ran(found)) < 12
    assert found["needs"][0]["bytes"] == found["ranks"]["rows"][0]["needed_bytes"] > found["devices"][0]["driver_peak_bytes"]


def test_process_groups(figures):
    """2 tensor, 4 data and 4 pipeline parallel ranks: the first and the last stage are odd."""
    kinds = groups(tp=range(2), dp=range(0, 8, 2), pp=range(0, 32, 8), cp=[0, 3, 4])
    found = figures([*WORLD, "32", "--ranks-that-differ"], *taking("RANK / 8 == 0 ? 2048 : RANK / 8 == 3 ? 3072 : 1024", *kinds))
    ranks = found["ranks"]
    assert spread(found) == {rank: (2048, 1024, 1024, 3072)[rank // 8] for rank in range(32)}
    assert [(axis["name"], axis["size"], axis["sampled"]) for axis in ranks["axes"]] == [("tp", 2, True), ("dp", 4, True), ("pp", 4, True)]
    assert ranks["irregular_groups"] == 1 and ranks["failed_checks"] == 0 and ranks["checks"] == 1
    assert ran(found) == [0, 1, 2, 4, 6, 8, 16, 24, 31]


def test_a_check_that_fails_is_said(figures, dryrun):
    program = taking("RANK == 15 ? 2048 : 1024", *groups(dp=range(4), pp=range(0, 16, 4)))
    found = figures([*WORLD, "16", "--ranks-that-differ"], *program)
    assert found["ranks"]["failed_checks"] == 1 and spread(found) == {rank: 2048 if rank == 15 else 1024 for rank in range(16)}
    out = " ".join(dryrun([*WORLD, "16", "--ranks-that-differ"], *program).out.split())
    assert "of which 1 had other memory: more of them may" in out


def test_too_many_that_differ(figures, dryrun):
    program = taking("1024 + 2 * RANK")
    found = figures([*WORLD, "256", "--ranks-that-differ"], *program)
    ranks = found["ranks"]
    assert (ranks["runs"], ranks["most_runs"], ranks["unknown"], ranks["why"]) == (32, 32, 224, "too many ranks differ")
    assert spread(found) == {rank: 1024 + 2 * rank for rank in ran(found)} and len(ranks["rows"]) == 32
    assert sum(b - a + 1 for a, b in ranks["unknown_ranks"]) == 224
    out = dryrun([*WORLD, "256", "--ranks-that-differ", "5"], *program).out
    assert "5 of 256 ran" in out and "251 ranks" in out and "--ranks-that-differ=10" in out


def test_a_rank_that_does_not_fit(dryrun, figures):
    """Then the job does not fit, though rank 0 does."""
    program = ["sh", "-c", f"if [ $RANK = 7 ]; then exec {FAKE} context 0 take 0 {90 * GiB} exit 3; fi; exec {FAKE} context 0 take 0 {GiB}"]
    found = figures([*WORLD, "8", "--ranks-that-differ"], *program)
    assert (found["verdict"], found["exit_code"]) == ("does_not_fit", 3)
    assert found["needs"][0]["bytes"] is None and found["needs"][0]["least_bytes"] >= GiB
    assert [(row["rank"], row["verdict"], row["exit_code"], row["count"]) for row in found["ranks"]["rows"]] == [(7, "does_not_fit", 3, 1), (0, "fits", 0, 7)]
    done = dryrun([*WORLD, "8", "--ranks-that-differ"], *program)
    assert done.code == 1 and "Does not fit" in done.out and "out of memory" in done.out


def test_rank_0_that_fails(figures):
    found = figures([*WORLD, "8", "--ranks-that-differ"], FAKE, "context", "0", "exit", "3")
    assert ran(found) == [0] and found["ranks"]["unknown"] == 7
    assert found["ranks"]["why"] == "rank 0 failed, and not because of memory"
    found = figures([*WORLD, "8", "--ranks-that-differ"], "true")
    assert found["verdict"] == "no_cuda" and found["ranks"]["why"] == "rank 0 did not use the GPU"


def test_the_text(dryrun):
    kinds = groups(tp=range(2), dp=range(0, 8, 2), pp=range(0, 32, 8))
    out = dryrun([*WORLD, "32", "--ranks-that-differ"], *taking("RANK / 8 == 3 ? 3072 : 1024", *kinds)).out
    lines = out.splitlines()
    assert lines[1] == "Fits in H100 80GB HBM3 (simulated): at most 3.51 GiB of 79.18 GiB, on rank 24"
    begin = lines.index("Ranks          9 of 32 ran, with 2 different peaks")
    assert "\n".join(lines[begin : begin + 11]) == (
        "Ranks          9 of 32 ran, with 2 different peaks\n"
        "  assumed      the other 23 are assumed to have the memory of the rank in their\n"
        "               row: along each kind of process group, tp (2), dp (4), pp (4),\n"
        "               they are between ranks that ran and are equal; checked on 1\n"
        "               further rank\n"
        "\n"
        "  rank  allocated  reserved  on the GPU  run   ranks  which\n"
        "    24          -         -    3.51 GiB  fits      8  24-31\n"
        "     0          -         -    1.51 GiB  fits     24  0-23\n"
        "\n"
        "Rank 0         what follows is about rank 0; for another one: --rank N, without")


@pytest.mark.parametrize(
    "options, says",
    (
        (["--ranks-that-differ"], "--world"),
        (["--ranks", "2", "--ranks-that-differ"], "--world"),
        (["--world", "4", "--rank", "1", "--ranks-that-differ"], "one of the two"),
        (["--world", "4", "--find-smallest", "--ranks-that-differ"], "--find-smallest searches for one rank"),
        (["--world", "4", "--ranks-that-differ=many"], "--ranks-that-differ takes"),
    ),
)
def test_usage(dryrun, options, says):
    done = dryrun(options, FAKE, "print", "started")
    assert (done.code, done.out) == (2, "") and says in done.err, done.err


def test_each_rank_is_in_one_row(figures):
    found = figures([*WORLD, "9", "--ranks-that-differ"], *taking("RANK % 2 ? 1024 : 2048", *groups(tp=range(3), dp=range(0, 9, 3))))
    rows = [*(row["ranks"] for row in found["ranks"]["rows"]), found["ranks"]["unknown_ranks"]]
    assert sorted(rank for row in rows for a, b in row for rank in range(a, b + 1)) == list(range(9))
    assert sum(row["count"] for row in found["ranks"]["rows"]) == 9 - found["ranks"]["unknown"]
