"""A thousand ranks in one table: time, memory, and the same answers by DuckDB, Dask and Spark.

The recipes of docs/guide/merge.md run as they stand there.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import generate_ranks
import recipes

RANKS = int(os.environ.get("RANKS", "1000"))
BINARY = os.environ.get("VRAMSCOPE", str(recipes.ROOT / "build/release/vramscope"))
MOST_SECONDS, MOST_KIB = 90, 500 * 1000
NOT_READ = 3
LAST = RANKS - 1


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """today and yesterday as tables, and what it took."""
    folder = tmp_path_factory.mktemp("jobs")
    took = {}
    for day in ("today", "yesterday"):
        generate_ranks.write_job(folder / day, RANKS, is_today=day == "today")
        process = subprocess.Popen([BINARY, "merge", "-q", day, "-o", f"{day}.parquet"], cwd=folder, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == NOT_READ, errors
        took[day] = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
    return folder, took


@pytest.fixture(scope="module")
def answers(tables):
    folder, _ = tables
    found = {}
    for engine in ("DuckDB", "Dask", "Spark"):
        done = subprocess.run([sys.executable, Path(__file__).with_name("ask.py"), engine], cwd=folder, capture_output=True,
                              text=True, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}, timeout=900)
        assert done.returncode == 0, done.stderr
        found[engine] = json.loads(done.stdout.split("answers ")[1])
    return found


def test_time_and_memory(tables):
    """Of the processor: other work on the machine changes how long it takes."""
    for seconds, kib in tables[1].values():
        print(f"{RANKS} ranks: {seconds:.1f} s of the processor, {kib / 1000:.0f} MB")
        assert seconds <= MOST_SECONDS and kib <= MOST_KIB


def test_the_answers_are_what_was_generated(answers):
    found = answers["DuckDB"]
    (odd, broken) = found["odd"]
    assert odd == [min(generate_ranks.ODD, RANKS // 2), None, generate_ranks.ODD_BYTES]
    assert broken[0] == LAST and broken[1].startswith("truncated") and broken[2] is None
    assert found["changed"] == [["metrics.py:19 update", LAST, LAST * generate_ranks.CACHE_BYTES]]
    assert [row[:2] for row in found["grew"]] == [["backward pass, AccumulateGrad", LAST]]


@pytest.mark.parametrize("engine", ("Dask", "Spark"))
def test_the_engines_agree(answers, engine):
    assert answers[engine] == answers["DuckDB"]
