"""The list of real programs (tests/real/programs.toml), what was measured, and docs/guide/programs.md have the same rows; and what the ring
`programs` compares. Nothing is run on a GPU here."""

import importlib.machinery
import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("programs", str(ROOT / "tools" / "programs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("programs", loader))
    loader.exec_module(module)
    return module


programs = load()
ROW = {"name": "a", "what": "w", "environment": "torch", "script": "gan.py", "checked": "c"}


def test_the_page_is_that_of_the_list():
    done = subprocess.run([ROOT / "tools" / "programs", "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_row_is_on_the_page():
    _, rows, refused = programs.read_list()
    text = programs.PAGE.read_text()
    assert len(rows) >= 30
    assert [row["name"] for row in rows + refused if f"| **{row['name']}**: {row['what']}" not in text] == []


@pytest.mark.parametrize("change, said", [
    ({"script": "none.py"}, "there is no none.py"),
    ({"environment": "none"}, "no environment is called none"),
    ({"options": "--gpu H100"}, "options is unknown, or not of its type"),
    ({"checkd": ""}, "checkd is unknown"),
    ({"checked": None}, "has no checked"),
])
def test_mistakes_in_a_row(change, said):
    row = {key: value for key, value in {**ROW, **change}.items() if value is not None}
    assert any(said in mistake for mistake in programs.mistakes_of(row, {"torch": {}}))
    assert programs.mistakes_of(ROW, {"torch": {}}) == []


def test_names_are_unique_and_scripts_are_run(tmp_path):
    path = tmp_path / "list.toml"
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in ROW.items())
    path.write_text("[environment.torch]\ntitle = ''\npython = ''\n" + 2 * ("[[program]]\n" + text))
    with pytest.raises(programs.Wrong, match="two rows are called a"):
        programs.read_list(path)
    environments, rows, refused = programs.read_list()
    rows = [row for row in rows if row["script"] != "gan.py"]
    assert "no row runs tests/real/programs/gan.py" in programs.check(environments, rows, refused)


def reply_of(**more):
    torch = {"peak_allocated_bytes": 512, "peak_reserved_bytes": 2048}
    report = {"device": 0, "trust": {"complete": True}, "peak": {"allocated_is_exact": True, "allocated_bytes": 512},
              "peak_reserved": {"reserved_bytes": 2048}}
    reply = {"exit_code": 0, "devices": [{"torch": torch, "jax": None, "driver_peak_bytes": 4096}], "processes": [{}], "doubts": [],
             "report": [report]}
    return json.dumps({**reply, **more})


def told(**figures):
    return "10%|#  TRUTH " + json.dumps({"kind": "torch", "device": 0, **figures}) + "\n"


RIGHT = told(allocated=512, reserved=2048)


@pytest.mark.parametrize("text, output, said", [
    (reply_of(), RIGHT, None),
    (reply_of(), told(allocated=511, reserved=2048), "allocated is 512 in the report, and 511 by torch"),
    (reply_of(), told(allocated=512, reserved=2049), "reserved is 2048 in the report, and 2049 by torch"),
    (reply_of(), "done\n", "did not print"),
    (reply_of(exit_code=3), RIGHT, "exit code 3"),
    (reply_of(doubts=[{"kind": "not_recorded", "what": "the history", "why": "x"}]), RIGHT, "the report lacks the history: x"),
    (reply_of(devices=[]), RIGHT, "allocated is None in the report"),
    (reply_of(report=[{"device": 0, "trust": {"complete": True}, "peak": {"allocated_is_exact": True, "allocated_bytes": 500},
                       "peak_reserved": {"reserved_bytes": 2048}}]), RIGHT, "allocated (replayed) is 500"),
    (reply_of(), RIGHT + told(allocated=600, reserved=2048), "and 600 by torch"),
    (reply_of(), 'TRUTH {"kind": "driver", "device": 0, "used": 1}', "used is 4096 in the report, and 1 by driver"),
    (reply_of(model={"parameters": 7}), RIGHT + 'TRUTH {"kind": "model", "device": 0, "parameters": 7}', None),
    (reply_of(model={"parameters": 7}), RIGHT + 'TRUTH {"kind": "model", "device": 0, "parameters": 8}', "parameters is 7 in the report, and 8"),
    (reply_of(steps=3), RIGHT + 'TRUTH {"kind": "run", "device": 0, "steps": 3}', None),
    (reply_of(steps=0), RIGHT + 'TRUTH {"kind": "run", "device": 0, "steps": 3}', "steps is 0 in the report, and 3 by run"),
    (reply_of(model=None), RIGHT + 'TRUTH {"kind": "model", "device": 0, "parameters": 8}', "parameters is None in the report"),
    ("", "broken", "no reply"),
])
def test_what_is_compared(text, output, said):
    mistakes = programs.judge(text, output)["mistakes"]
    assert mistakes == [] if said is None else any(said in mistake for mistake in mistakes), mistakes


def test_the_table_of_ranks():
    """Each rank has the peaks that it had where all ranks ran, which its own run in another row said."""
    rows = [{"peak_allocated_bytes": 512, "peak_reserved_bytes": 2048, "ranks": [[0, 1], [3, 3]]},
            {"peak_allocated_bytes": 600, "peak_reserved_bytes": 2048, "ranks": [[2, 2]]}]
    real = [[512, 2048], [512, 2048], [600, 2048], [512, 2048]]
    text = reply_of(ranks={"rows": rows})
    assert programs.judge(text, RIGHT, real)["mistakes"] == []
    wrong = programs.judge(text, RIGHT, [*real[:3], [513, 2048], [512, 2048]])["mistakes"]
    assert wrong == ["rank 3: [512, 2048] in the table of ranks, and [513, 2048] where all ranks ran",
                     "rank 4: None in the table of ranks, and [512, 2048] where all ranks ran"]
    assert programs.ranks_of({"name": "t", "as_ranks": "all"}, {"all": {"ranks": real}}) == real
    assert programs.ranks_of({"name": "t", "as_ranks": ""}, {}) is None
    with pytest.raises(programs.Wrong, match="were not measured"):
        programs.ranks_of({"name": "t", "as_ranks": "all"}, {"all": {}})


def test_all_ranks_are_kept():
    """By the numbers of their GPUs, whichever ended first."""
    torch = [{"peak_allocated_bytes": 512 * (1 + i), "peak_reserved_bytes": 2048} for i in range(2)]
    text = reply_of(devices=[{"torch": entry} for entry in torch], processes=[{}, {}])
    found = programs.judge(text, told(device=1, allocated=1024, reserved=2048) + RIGHT)
    assert found["mistakes"] == [] and found["ranks"] == [[512, 2048], [1024, 2048]] and found["figures"]["allocated"] == 512
    assert programs.judge(reply_of(), RIGHT)["ranks"] is None


def test_peaks_by_rank_on_the_page():
    lines = programs.rank_lines(ROW, [[1000, 2000], [1000, 2000], [1000, 2001], [9, 9]])
    assert lines == ["| a | 0 to 1 | 1,000 / 2,000 |", "| a | 2 | 1,000 / 2,001 |", "| a | 3 | 9 / 9 |"]


def test_programs_that_need_sources(monkeypatch, capsys):
    rows = [{"name": "a", "needs": "", "limits": ""}, {"name": "b", "needs": "SOURCES_OF_B", "limits": "where to get it"}]
    monkeypatch.delenv("SOURCES_OF_B", raising=False)
    assert [row["name"] for row in programs.chosen(rows, [])] == ["a"]
    assert capsys.readouterr().out == "left out b: SOURCES_OF_B is not set (where to get it)\n"
    with pytest.raises(programs.Wrong, match="b needs SOURCES_OF_B"):
        programs.chosen(rows, ["b"])
    monkeypatch.setenv("SOURCES_OF_B", "/sources")
    assert [row["name"] for row in programs.chosen(rows, [])] == ["a", "b"]


def test_a_figure_of_another_day():
    row, result = {**ROW, "varies": False}, {"figures": {"allocated": 512, "reserved": 2048}, "ranks": None}
    assert programs.compared_with(row, result, {}) == []
    assert programs.compared_with(row, result, {"a": {"figures": {"allocated": 512}}}) == []
    said = ["allocated was 1024 when the page was made, and is 512"]
    assert programs.compared_with(row, result, {"a": {"figures": {"allocated": 1024}}}) == said
    assert programs.compared_with({**row, "varies": True}, result, {"a": {"figures": {"allocated": 1024}}}) == []
    result["ranks"] = [[512, 2048], [1024, 2048]]
    assert programs.compared_with(row, result, {"a": {"ranks": [[512, 2048], [512, 2048]]}}) == [
        "ranks was [[512, 2048], [512, 2048]] when the page was made, and is [[512, 2048], [1024, 2048]]"]
