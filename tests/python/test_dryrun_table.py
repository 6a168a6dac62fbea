"""`dryrun_table`: values arrive as they are, rows and runs say the same, mistakes are exceptions. The runs themselves are tested with
the command (tests/cli/test_dryrun_vary.py)."""

import sys

import pytest
from conftest import PACKAGE

sys.path.insert(0, str(PACKAGE))

import vramscope

PRINTS = ["sh", "-c", 'printf "%s|%s" "${A-none}" "${B-none}"; exit 3']


def test_values():
    together = [("x,y\\z", "1+2"), (None, 3), ("\\,", "a=b")]
    vary = {"env:A+env:B": together, "gpu": ["L4", "2xT4,L4"]}
    table = vramscope.dryrun_table(PRINTS, vary, context="100MiB", env={"PATH": "/usr/bin:/bin"})
    assert [row["output"] for row in table.rows] == [text for text in ("x,y\\z|1+2", "none|3", "\\,|a=b") for _ in range(2)]
    assert [row["settings"]["gpu"] for row in table.rows] == ["L4", "2xT4,L4"] * 3
    assert [row["settings"]["env:B"] for row in table.rows] == ["1+2", "1+2", "3", "3", "a=b", "a=b"]
    assert [len(run.data["devices"]) for run in table.runs] == [1, 3] * 3
    assert [run.output for run in table.runs] == [row["output"] for row in table.rows]
    assert all((run.exit_code, run.verdict) == (3, "no_cuda") for run in table.runs)
    assert all("--context" in row["alone"] and "reply" not in row for row in table.rows)
    assert repr(table) == "<vramscope.DryRunTable: 0 of 6 runs fit>"


def test_largest():
    """The program of tests/cli/test_dryrun_largest.py is not needed for what is tested here: how values arrive, and what is said of them."""
    found = vramscope.dryrun_largest(["sh", "-c", "exit {n}"], "n", range(3, 9, 2), gpu="L4")
    assert found.data["values"] == {"count": 3, "first": 3, "last": 7, "step": 2} and found.largest is None
    assert (found.rows[0]["settings"], found.rows[0]["exit_code"], found.data["answer"]["end"]) == ({"n": "3"}, 3, "failed")
    assert repr(found) == "<vramscope.DryRunLargest: n: failed, 1 runs>" and found.runs[0].exit_code == 3
    assert vramscope.dryrun_largest(PRINTS, "env:A", [1, 5]).data["values"] == {"count": 2, "first": 1, "last": 5, "step": None}
    with pytest.raises(ValueError, match="have to ascend"):
        vramscope.dryrun_largest(PRINTS, "env:A", range(5, 1, -1))
    with pytest.raises(ValueError, match="takes integers"):
        vramscope.dryrun_largest(PRINTS, "env:A", [])


def test_mistakes():
    with pytest.raises(ValueError, match="unknown GPU 'H1000'"):
        vramscope.dryrun_table(PRINTS, {"gpu": ["L4", "H1000"]})
    with pytest.raises(ValueError, match="has 2 names, and 'L4' 1 values"):
        vramscope.dryrun_table(PRINTS, {"gpu+conf": ["L4"]})
    with pytest.raises(ValueError, match="65 runs"):
        vramscope.dryrun_table(PRINTS, {"env:A": range(65)})
    with pytest.raises(FileNotFoundError):
        vramscope.dryrun_table(["no-such-program"], {"env:A": [1]})
