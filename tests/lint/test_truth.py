"""The list of public recordings (tests/truth/truth.toml), its record and docs/truth.md agree; and how two snapshots are scored. Nothing is run."""

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("truth", str(ROOT / "tools" / "truth"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
    loader.exec_module(module)
    return module


truth = load()
MIB = 1 << 20


def test_the_page_is_that_of_the_record():
    done = subprocess.run([ROOT / "tools" / "truth", "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def snapshot(*events, sizes=(20 * MIB,)):
    names = ("action", "addr", "size")
    return {"device_traces": [[{**dict(zip(names, event)), "stream": 0} for event in events]],
            "segments": [{"total_size": size, "allocated_size": 512} for size in sizes]}


BASE = [("segment_alloc", 1000, 20 * MIB), ("alloc", 1000, 512), ("alloc", 1512, 1024), ("free_completed", 1000, 512)]
CASE = {"moved": 0, "only": 0}


def test_equal_snapshots_at_other_addresses():
    ours = snapshot(*((action, address + 4096, size) for action, address, size in BASE))
    score = truth.compare(snapshot(*BASE), ours)
    assert (score["events"], score["moved"], score["only"], score["places"]) == (4, 0, 0, [2, 2])
    assert score["peaks"] == [(1536, 20 * MIB)] * 2 and truth.mistakes_of(CASE, score) == []


@pytest.mark.parametrize("events, sizes, said", [
    ([BASE[0], BASE[2], BASE[1], BASE[3]], (20 * MIB,), "moved: 2, and at most 0 were expected"),
    (BASE[:3], (20 * MIB,), "only: 1, and at most 0 were expected"),
    ([*BASE[:2], ("alloc", 1512, 2048), BASE[3]], (20 * MIB,), "peaks: (1536, 20971520) recorded, (2560, 20971520) here"),
    (BASE, (18 * MIB, 2 * MIB), "segments: 1 recorded, 2 here"),
    (BASE, (22 * MIB,), "the segments have other sizes"),
])
def test_differences(events, sizes, said):
    assert said in truth.mistakes_of(CASE, truth.compare(snapshot(*BASE), snapshot(*events, sizes=sizes)))


def test_places():
    ours = snapshot(BASE[0], ("alloc", 1000, 512), ("alloc", 5000, 1024), BASE[3])
    assert truth.compare(snapshot(*BASE), ours)["places"] == [1, 2]
    assert truth.compare(snapshot(*BASE[1:]), snapshot(*BASE[1:]))["places"] == [0, 0]


def test_a_snapshot_with_a_class_is_refused(tmp_path):
    path = tmp_path / "x.pickle"
    path.write_bytes(b"cos\nsystem\n.")
    with pytest.raises(truth.Wrong, match="os.system"):
        truth.read(path)


def test_a_list_with_mistakes(tmp_path):
    path = tmp_path / "truth.toml"
    path.write_text('[[case]]\nname = "a"\nwhat = "w"\nmovd = 1\n')
    with pytest.raises(truth.Wrong, match=r"a: repository is missing(.|\n)*a: movd is unknown"):
        truth.read_list(path)
