"""`oom` and `diff` of the ranks of a real job: FSDP2 on four ranks, each with a snapshot after steps that are alike, and one after a step in which
one rank has a batch of four times the size, and runs out of memory."""

import json
import os
import subprocess

import conftest as make
import pytest

ODD, RANKS = 2, 4
FLOAT = 4
SOURCE = (make.PROGRAMS / "oom_ranks.py").read_text()
ROWS, WIDTH = 65536, 512
ACTIVATION = ROWS * WIDTH * FLOAT


def line_of(text):
    """"oom_ranks.py:15 step" of the line that has this text."""
    (number,) = [n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line]
    return f"oom_ranks.py:{number} step"


FORWARD, BATCH = line_of("loss = model(batch)"), line_of("batch = torch.zeros")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    root = tmp_path_factory.mktemp("job")
    folders = {name: root / name for name in ("good", "bad")}
    for folder in folders.values():
        folder.mkdir()
    program = [os.environ["VRAMSCOPE_SIM_PYTHON"], make.PROGRAMS / "oom_ranks.py", root, str(ODD)]
    done = subprocess.run([os.environ["VRAMSCOPE"], "dryrun", "--gpu", f"{RANKS}x3GiB", "--ranks", str(RANKS), "--", *program],
                          capture_output=True, text=True, timeout=600, check=False)
    assert f"rank {ODD} ran out of memory" in done.stderr and done.stderr.count("ran out of memory") == 1, done.stderr[-4000:]
    assert "not recorded" not in done.stdout  # the history that the program itself keeps, too
    return folders


def ask(*words):
    done = subprocess.run([os.environ["VRAMSCOPE"], *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_oom_names_the_rank_and_why(jobs):
    reply = json.loads(ask("oom", "--json", jobs["bad"]))
    assert (reply["failed"], reply["first"], reply["named_by_rank"]) == ([ODD], ODD, True)
    assert [(file["rank"], file["outcome"]) for file in reply["files"]] == [(n, "oom" if n == ODD else "none") for n in range(RANKS)]
    assert [file["device"] for file in reply["files"]] == list(range(RANKS))
    odd = reply["files"][ODD]
    (oom,) = odd["ooms"]
    assert (oom["label"], oom["requested_bytes"], oom["cause"]) == (FORWARD, 4 * ACTIVATION, "full")
    more = {row["owner"]: row["delta_bytes"] for row in odd["rows"] if row["delta_bytes"] > 0}
    assert more.keys() == {FORWARD, BATCH} and more[BATCH] == 3 * ACTIVATION
    for number in set(range(RANKS)) - {ODD}:
        file = reply["files"][number]
        assert file["headroom_bytes"] == oom["capacity_bytes"] - file["peak_reserved_bytes"] > 0 and file["differing_bytes"] == 0
    assert reply["post_mortem"]["ooms"][0]["remedies"]
    out = ask("oom", jobs["bad"])
    assert f"1 of {RANKS} ranks: rank {ODD}" in out and out.count("no out-of-memory error") == RANKS - 1


def test_no_rank_of_the_good_job_ran_out(jobs):
    reply = json.loads(ask("oom", "--json", jobs["good"]))
    assert (reply["failed"], reply["shown"], reply["post_mortem"]) == ([], None, None)
    assert f"no request failed in the recorded events of all {RANKS} ranks" in ask("oom", jobs["good"])


def test_diff_names_the_rank_that_changed(jobs):
    reply = json.loads(ask("diff", "--json", jobs["good"], jobs["bad"]))
    assert reply["groups"] == [[n for n in range(RANKS) if n != ODD], [ODD]] and reply["most"] == ODD
    for pair in reply["pairs"]:
        is_odd = pair["rank"] == ODD
        assert bool(pair["rows"]) == is_odd and (pair["peak_allocated_delta_bytes"] > 0) == is_odd
        assert (pair["a"]["ooms"], pair["b"]["ooms"]) == (0, int(is_odd))
    changed = {row["owner"]: row["delta_bytes"] for row in reply["pairs"][ODD]["rows"] if row["delta_bytes"] > 0}
    assert changed.keys() == {FORWARD, BATCH} and changed[BATCH] == 3 * ACTIVATION
    texts = [line["text"] for line in reply["lines"]]
    assert texts[0] == f"{RANKS - 1} of {RANKS} have the same memory at the moments compared"
    assert texts[1].startswith(f"rank {ODD}: +") and f"before: none; after: rank {ODD}" in texts
