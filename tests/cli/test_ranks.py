"""vramscope report of several files: one row for each rank, and the lines in which the odd one differs from the median rank."""

import csv
import gzip
import io
import json
import pickle

import pytest

import conftest as make

NOT_READ = 3
MiB = make.MiB


def rank(extra=0, steps=3):
    device = make.Device()
    if extra:
        device.alloc(extra * MiB, make.LOSSES)
    return make.snapshot(make.train(device, steps=steps, leak=False))


@pytest.fixture
def ranks(folder):
    """Ten ranks; rank 9 keeps 5 MiB more than the others, and rank 10 20 MiB, which is compressed."""
    (folder / "ranks").mkdir()
    for number in range(9):
        make.write(folder / "ranks" / f"rank{number}.pickle", rank())
    make.write(folder / "ranks" / "rank9.pickle", rank(5))
    (folder / "ranks" / "rank10.pickle.gz").write_bytes(gzip.compress(pickle.dumps(rank(20), protocol=4)))
    (folder / "ranks" / "notes.txt").write_text("not a snapshot")
    return folder / "ranks"


def test_the_odd_ranks_come_first(vramscope, ranks):
    reply = json.loads(vramscope("report", "--json", "ranks").out)
    assert [file["name"] for file in reply["files"]] == [f"ranks/rank{n}.pickle" for n in range(10)] + ["ranks/rank10.pickle.gz"]
    assert (reply["method"], reply["median"], reply["odd"]) == ("ranks", 0, [10, 9])
    assert [file["same_as"] for file in reply["files"]] == [0] * 9 + [9, 10]
    for file in reply["files"]:
        extra = {9: 5, 10: 20}.get(reply["files"].index(file), 0) * MiB
        assert (file["delta_bytes"], file["differing_bytes"]) == (extra, extra)
        assert [(row["owner"], row["status"], row["delta_bytes"]) for row in file["rows"]] == (
            [("metrics.py:19 update", "new", extra)] if extra else [])
        alone = json.loads(vramscope("report", "--json", file["name"]).out)["devices"][0]
        assert file["peak_allocated_bytes"] == alone["peak"]["allocated_bytes"]
        assert file["peak_reserved_bytes"] == alone["peak_reserved"]["reserved_bytes"]


def test_texts(vramscope, ranks, golden):
    golden("report_ranks", vramscope("report", "ranks").out)
    golden("report_ranks_same", vramscope("report", "ranks/rank0.pickle", "ranks/rank1.pickle").out)


def test_csv_has_all_rows(vramscope, ranks):
    rows = list(csv.DictReader(io.StringIO(vramscope("report", "--csv", "ranks").out)))
    reply = json.loads(vramscope("report", "--json", "ranks").out)
    assert len(rows) == 11
    for row, file in zip(rows, reply["files"], strict=True):
        assert row["file"] == file["name"] and row["error"] == ""
        assert all(int(row[key]) == file[key] for key in row if key not in ("file", "error"))


def test_growth_and_failures_of_each(vramscope, ranks, folder):
    make.write(ranks / "rank1.pickle", make.snapshot(make.train(make.Device(), steps=12)))
    make.write(ranks / "rank2.pickle", make.out_of_memory())
    files = json.loads(vramscope("report", "--json", "ranks").out)["files"]
    alone = json.loads(vramscope("report", "--json", "ranks/rank1.pickle").out)["devices"][0]["growth"]
    assert files[1]["growth_bytes_per_step"] == alone[0]["bytes_per_step"] > 0 == files[0]["growth_bytes_per_step"]
    assert [file["ooms"] for file in files[:3]] == [0, 0, 1]
    assert "1 of 11 ran out of memory" in vramscope("report", "ranks").out


def test_a_file_that_cannot_be_read_is_a_row(vramscope, ranks):
    (ranks / "rank3.pickle").write_bytes(b"\x80\x04no")
    done = vramscope("report", "ranks")
    assert done.code == NOT_READ and "not read" in done.out and "ranks/rank3.pickle: " in done.out
    again = vramscope("report", "--json", "ranks")
    files = json.loads(again.out)["files"]
    assert again.code == NOT_READ and files[3].keys() == {"name", "same_as", "error"} and files[3]["error"]
    assert [file["error"] for file in files[:3] + files[4:]] == [None] * 10
    nothing = vramscope("report", "--json", "missing.pickle", "none.pickle")
    assert nothing.code == NOT_READ and json.loads(nothing.out)["median"] is None


def test_a_folder_without_snapshots(vramscope, folder):
    (folder / "empty").mkdir()
    done = vramscope("report", "empty")
    assert done.code == NOT_READ and "the folder has no snapshots" in done.err and done.out == ""
