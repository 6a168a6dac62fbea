"""The sizes of cuSOLVER's workspaces against those of a real GPU (tests/gpu/measured)."""

import json

import pytest
from conftest import ROOT

MEASURED = ROOT / "tests/gpu/measured/h100_cusolver.jsonl"
LINES = [json.loads(line) for line in MEASURED.read_text().splitlines()]


def notes(folder):
    """The guesses of workspaces that were noted, and how much each is."""
    lines = [json.loads(line) for path in folder.glob("notes.*.jsonl") for line in path.read_text().splitlines()]
    return {line["what"]: line["bytes"] for line in lines if line["note"] == "guess" and line["what"] != "library_memory"}


def is_guessed(line, row):
    """No formula was found for the singular values of a matrix that is higher than wide."""
    return line["function"] == "gesvd" and row[0] > row[1]


def ask(python, folder, lines, **settings):
    file = folder / "asked.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    return python("cusolver_sizes.py", file, run=folder, **settings)


def test_every_measured_size(python, tmp_path):
    answers = ask(python, tmp_path, LINES).result
    assert sum(len(line["rows"]) for line in LINES) > 700
    for line, answer in zip(LINES, answers, strict=True):
        for row, found in zip(line["rows"], answer["rows"], strict=True):
            if is_guessed(line, row):
                assert row[-1] <= found[-1] <= 1.1 * row[-1], (line["function"], line["type"], row, found)
            else:
                assert found == row, (line["function"], line["type"])


def one(function, letter, *row):
    return [{"function": function, "type": letter, "rows": [row]}]


@pytest.mark.parametrize(("gpu", "asked", "noted"), [
    ("H100", one("syevd", "D", 500, 1, 0), set()),
    ("H100", one("gesvd", "S", 500, 500, 0), set()),
    ("H100", one("gesvd", "S", 1000, 100, 0), {"cusolver_workspace"}),
    ("H100", one("syevd", "D", 700, 1, 0), {"cusolver_workspace"}),  # between two formulas
    ("H100", one("syevd", "D", 5000, 1, 0), {"cusolver_workspace"}),  # larger than any that was measured
    ("H100", one("orgqr", "S", 100, 100, 0), {"cusolver_workspace"}),
    ("A100", one("syevd", "D", 500, 1, 0), {"cusolver_measured_workspace"}),
    ("A100", one("gesvd", "S", 1000, 100, 0), {"cusolver_workspace"}),
])
def test_what_is_noted_as_a_guess(python, tmp_path, gpu, asked, noted):
    (answer,) = ask(python, tmp_path, asked, gpu=gpu).result
    found = notes(tmp_path)
    assert set(found) == noted
    of_value = {"S": 4, "D": 8}[answer["type"]]
    assert all(size == answer["rows"][0][-1] * of_value for size in found.values())


def test_sizes_do_not_wrap(python, tmp_path):
    """What is too large for an int is refused; the interface with 64 bits answers it in full."""
    assert "AssertionError: ('Ssyevd'" in ask(python, tmp_path, one("syevd", "S", 30_000, 1, 0)).err
    (answer,) = ask(python, tmp_path, one("Xsyevd", "S", 1 << 20, 0)).result
    assert answer["rows"][0][-1] > 16 << 40
    (answer,) = ask(python, tmp_path, one("XsyevBatched", "Z", 1 << 40, 1 << 40, 0)).result
    assert answer["rows"][0][-1] > 1 << 60
