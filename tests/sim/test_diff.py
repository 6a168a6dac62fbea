"""`diff` of real dry runs: edits planted in a PyTorch program, with the rows that follow from the shapes of its tensors."""

import json
import os
import subprocess

import conftest as make
import pytest

WIDTH, ROWS, FLOAT = 256, 2048, 4
SOURCE = (make.PROGRAMS / "diff_train.py").read_text()
BLOCK_PARAMETERS = (2 * 4 * WIDTH * WIDTH + 5 * WIDTH) * FLOAT

EDITS = {
    "same": [],
    # A comment at the top, a function with another name, a file of another name: no memory changes.
    "moved": [("import torch\n", "# The same model.\nimport torch\n"), ("def mix(", "def blend("), ("self.mix(", "self.blend(")],
    "layer": [("range(4)", "range(5)"), ("import torch\n", "# One layer more.\nimport torch\n")],
    "half": [("Block(256) for _ in range(4))).cuda()", "Block(256) for _ in range(4))).cuda().bfloat16()"),
             ('device="cuda")', 'device="cuda", dtype=torch.bfloat16)')],
}


def dry_run(folder, edits):
    source = SOURCE
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    folder.mkdir(exist_ok=True)
    (folder / ("train.py" if edits else "diff_train.py")).write_text(source)
    program = [os.environ["VRAMSCOPE_SIM_PYTHON"], "train.py" if edits else "diff_train.py"]
    done = subprocess.run([os.environ["VRAMSCOPE"], "dryrun", "--json", "--gpu", "4GiB", "--", *program], capture_output=True, text=True,
                          cwd=folder, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    (folder / "run.json").write_text(done.stdout)
    return int(done.stderr.split()[-1])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{edit: peak that the program itself says}, and the folder with the replies"""
    folder = tmp_path_factory.mktemp("diff")
    return folder, {name: dry_run(folder / name, edits) for name, edits in {"base": [], **EDITS}.items()}


def compare(runs, name, *options):
    folder, peaks = runs
    words = ["diff", "--json", *options, folder / "base" / "run.json", folder / name / "run.json"]
    done = subprocess.run([os.environ["VRAMSCOPE"], *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    assert (reply["a"]["peak_allocated_bytes"], reply["b"]["peak_allocated_bytes"]) == (peaks["base"], peaks[name])
    assert reply["a"]["peak_driver_bytes"] > reply["a"]["peak_reserved_bytes"]
    assert sum(row["delta_bytes"] for row in reply["rows"]) == reply["b"]["bytes"] - reply["a"]["bytes"]
    return reply


def changed(reply):
    return [row for row in reply["rows"] if row["status"] != "same"]


@pytest.mark.parametrize("name", ["same", "moved"])
@pytest.mark.parametrize("by", ["line", "function", "file", "stack", "operation", "size"])
def test_nothing_changed(runs, name, by):
    reply = compare(runs, name, "--by", by)
    assert changed(reply) == [] and reply["matched_bytes"] == reply["b"]["bytes"]
    assert "requests" in {line["about"] for line in reply["lines"]}
    if name == "moved" and by == "function":
        assert ("mix", "blend") in {(row["before"]["function"], row["function"]) for row in reply["rows"]}


def test_a_layer_more(runs):
    """Parameters and optimizer states grow by a block's; the activations kept for the backward pass by those of a block."""
    rows = {row["function"] or row["owner"]: row for row in changed(compare(runs, "layer", "--by", "function"))}
    lines = changed(compare(runs, "layer"))
    weights = next(row for row in lines if row["line"] is not None and row["delta_bytes"] == BLOCK_PARAMETERS and row["function"] == "main")
    assert weights["moved"] and weights["line"] == weights["before"]["line"] + 1
    assert {row["status"] for row in rows.values()} == {"changed"}
    states = [row for row in lines if row["delta_bytes"] == 2 * BLOCK_PARAMETERS]
    assert [row["function"] for row in states] == ["main"]  # exp_avg and exp_avg_sq at optimizer.step()


def test_half_the_bytes(runs):
    rows = changed(compare(runs, "half"))
    assert rows and {row["status"] for row in rows} == {"changed"} and not any(row["moved"] and row["line"] is None for row in rows)
    assert all(2 * row["after"]["bytes"] == row["before"]["bytes"] for row in rows if row["function"] in ("mix", "forward"))


def test_the_odd_rank_of_a_job(tmp_path):
    """Rank 2 of four keeps 256 x 512 floats of each step: the table names it, and the line."""
    program = [os.environ["VRAMSCOPE_SIM_PYTHON"], make.PROGRAMS / "odd_rank.py", tmp_path]
    done = subprocess.run([os.environ["VRAMSCOPE"], "dryrun", "-q", "--gpu", "4x4GiB", "--ranks", "4", "--", *program], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    done = subprocess.run([os.environ["VRAMSCOPE"], "report", "--json", tmp_path], capture_output=True, text=True, check=True)
    reply = json.loads(done.stdout)
    assert [os.path.basename(file["name"]) for file in reply["files"]] == [f"rank{n}_memory_snapshot.pickle" for n in range(4)]
    assert reply["odd"] == [2] and [file["differing_bytes"] for file in (reply["files"][n] for n in (0, 1, 3))] == [0, 0, 0]
    kept = 256 * 512 * FLOAT
    line = 1 + next(n for n, text in enumerate((make.PROGRAMS / "odd_rank.py").read_text().splitlines()) if "kept.append(" in text)
    (row,) = reply["files"][2]["rows"]
    assert (row["owner"], row["status"]) == (f"odd_rank.py:{line} main", "new") and row["delta_bytes"] in (2 * kept, 3 * kept)
    assert reply["files"][2]["differing_bytes"] == row["delta_bytes"] == reply["files"][2]["delta_bytes"]
