"""What the programs of bench/ share (bench/measuring.py): when rounds are enough, what is said of a figure, the machine's history."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import measuring  # noqa: E402


def test_error_of_a_median():
    assert measuring.error_of([4, 4, 4, 4]) == 0
    assert measuring.error_of([1, 2]) == math.inf  # nothing is known of two
    # quartiles 3 and 7: a standard deviation of 4 / 1.349, and that of the median of nine is 1.2533 / 3 of it
    assert measuring.error_of([9, 1, 8, 2, 7, 3, 6, 4, 5]) == pytest.approx(1.2533 * 4 / 1.349 / 3 / 5)
    assert measuring.error_of([-1, 0, 0, 1]) == math.inf  # no part of zero


def rounds_of(samples, rounds):
    given = iter(samples)
    return measuring.in_turn({"a": lambda: next(given)}, rounds, lambda results: results.values())["a"]


def test_rounds_end_when_the_figure_is_steady():
    assert rounds_of([1.0] * 100, 4) == [1.0] * 4
    assert rounds_of([1.0, 2.0, 1.0, 2.0] * 100, 4) == [1.0, 2.0] * 6  # never: three times the rounds
    assert len(rounds_of([1.0, 2.0] + [1.0] * 100, 4)) == 5  # one sample that is off


def test_runs_are_in_turn():
    order = []
    runs = {name: lambda name=name: order.append(name) or 1 for name in "ab"}
    assert measuring.in_turn(runs, 3, lambda results: results.values()) == {"a": [1, 1, 1], "b": [1, 1, 1]}
    assert order == ["a", "b"] * 3


def test_a_command_that_fails_ends_the_bench(capfd):
    with pytest.raises(SystemExit, match="failed with 3"):
        measuring.run(["sh", "-c", "exit 3"])
    seconds, clock, peak = measuring.run(["sh", "-c", "echo $WORD >&2; sleep 0.05"], {"WORD": "given"})
    assert seconds < clock and clock >= 0.05 and peak > 100_000
    assert capfd.readouterr().err == "given\n"


def test_ratios_are_of_the_same_round():
    assert measuring.ratios([6, 9], [3, 3]) == [2, 3]
    with pytest.raises(ValueError, match="shorter"):
        measuring.ratios([1, 2], [1])


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "HISTORY", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench/run_example"])
    return tmp_path


def test_figures_are_judged_and_kept(history, capsys):
    bench = measuring.Bench()
    bench.figure("good: ratio", [2.0, 2.0, 2.1], most=2.0)
    bench.figure("bytes", 1_234_567, most=1_300_000)
    bench.figure("unknown error", [1.0, 5.0])
    assert bench.end() == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{measuring.machine()}; load ")
    assert " 2 ± 1.3%  ok   (at most 2.0)" in said[1] and said[1].startswith("good: ratio ")
    assert "1,234,567" in said[2] and said[2].endswith("ok   (at most 1,300,000)")
    assert said[3].endswith("±    ?  not steady in 2 rounds")
    (path,) = history.iterdir()
    (row,) = map(json.loads, path.read_text().splitlines())
    assert row["program"] == "run_example" and len(row["load"]) == 2
    assert row["stolen"] is None or 0 <= row["stolen"] <= 1  # None: no tick of the clock passed
    assert row["figures"] == {"good: ratio": {"value": 2.0, "rounds": 3, "error": 0.0134, "bound": 2.0, "holds": True},
                              "bytes": {"value": 1234570.0, "bound": 1_300_000, "holds": True},
                              "unknown error": {"value": 3.0, "rounds": 2}}


@pytest.mark.parametrize("promise", [{"most": 1.9}, {"least": 2.1}])
def test_a_promise_that_is_not_kept(history, capsys, promise):
    bench = measuring.Bench()
    bench.figure("one", [2.0] * 3, **promise)
    assert bench.end() == 1
    assert "  MISS (at " in capsys.readouterr().out
    bench = measuring.Bench()
    bench.missing("two")
    assert bench.end() == 1
    (path,) = history.iterdir()
    assert [json.loads(line)["figures"] for line in path.read_text().splitlines()] == [
        {"one": {"value": 2.0, "rounds": 3, "error": 0.0, "bound": next(iter(promise.values())), "holds": False}}, {}]


def test_the_history_is_shown(history):
    """By the program, in a folder of its own beside a copy of what it imports."""
    row = {"program": "run_example", "when": "2026-01-02T03:04:05+00:00", "commit": "abc1234", "changed": True, "load": [1.25, 2], "stolen": 0,
           "figures": {"one": {"value": 2.5, "bound": 2, "holds": False}, "two": {"value": 12345}}}
    folder = history / "tree" / "bench"
    folder.mkdir(parents=True)
    for name in ("history", "measuring.py"):
        (folder / name).write_text((BENCH / name).read_text())
    path = folder.parent / "build" / "bench-history" / measuring.history_of(measuring.machine()).name

    def show(*words):
        return subprocess.run([sys.executable, folder / "history", *words], capture_output=True, text=True)

    assert "nothing was measured" in show().stderr
    path.parent.mkdir(parents=True)
    later = {**row, "when": "2026-01-03T03:04:05+00:00", "changed": False, "figures": {"two": {"value": 12}}}
    path.write_text(json.dumps(row) + "\n" + json.dumps(later) + "\n")
    lines = [line.split() for line in show().stdout.splitlines()[2:]]
    assert lines == [["run_example", "01-02", "03:04", "01-03", "03:04"], ["abc1234*", "abc1234"], ["load", "at", "the", "start", "1.2", "1.2"],
                     ["one", "2.5!", "-"], ["two", "12,345", "12"]]
    assert "two" not in show("--promised").stdout
    assert "run_other was not run" in show("run_other").stderr


def test_every_program_starts():
    programs = [path for path in BENCH.iterdir() if os.access(path, os.X_OK) and path.is_file() and not path.suffix]
    assert {"all", "history", "run_reading"} <= {path.name for path in programs}
    for path in programs:
        done = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith(f"usage: {path.name}"), (path, done.stderr)
    named = subprocess.run([sys.executable, BENCH / "all", "--help"], capture_output=True, text=True).stdout
    for path in programs:
        assert path.name in (*re.findall(r"\w+", named), "history", "run_fit"), path
