"""vramscope diff of two folders: the ranks of a job in pairs, and whether all of them changed alike."""

import gzip
import json
import shutil

import pytest

import conftest as make
from test_oom_ranks import rank

NOT_READ, USAGE = 3, 2
MiB = make.MiB


def job(folder, name, ranks):
    """A folder with a file for each rank: {number: (MiB that it keeps, MiB of a request that fails)}."""
    (folder / name).mkdir()
    for number, (extra, requested) in ranks.items():
        make.write(folder / name / f"rank{number}_memory_snapshot.pickle", rank(extra, requested))


@pytest.fixture
def jobs(folder):
    """Before: 8 ranks alike. After: each has 5 MiB more, rank 3 has 65 MiB more and runs out of memory."""
    job(folder, "old", dict.fromkeys(range(8), (0, 0)))
    job(folder, "new", dict.fromkeys(range(8), (5, 0)) | {3: (65, 512)})
    return folder


def reply_of(vramscope, *words):
    done = vramscope("diff", "--json", *words)
    assert done.code == 0, done.err
    return json.loads(done.out)


def lines_of(reply):
    return [(line["label"], line["text"]) for line in reply["lines"]]


def test_pairs_and_groups(vramscope, jobs):
    reply = reply_of(vramscope, "old", "new")
    assert (reply["method"], reply["by"], reply["most"], reply["groups"]) == ("diff_ranks", "line", 3, [[0, 1, 2, 4, 5, 6, 7], [3]])
    assert (reply["only_a"], reply["only_b"], reply["named_by_rank"]) == ([], [], True)
    for number, pair in enumerate(reply["pairs"]):
        more = (65 if number == 3 else 5) * MiB
        names = [f"{side}/rank{number}_memory_snapshot.pickle" for side in ("old", "new")]
        alone = json.loads(vramscope("diff", "--json", *names).out)
        assert (pair["rank"], pair["files"], pair["error"], pair["same_as"]) == (number, names, None, 3 if number == 3 else 0)
        assert (pair["a"], pair["b"], pair["delta_bytes"]) == (alone["a"], alone["b"], alone["delta_bytes"])
        assert pair["rows"] == [row for row in alone["rows"] if row["status"] != "same"] and pair["changed_rows"] == 1
        assert pair["differing_bytes"] == pair["peak_allocated_delta_bytes"] == more
        assert pair["peak_reserved_delta_bytes"] == pair["b"]["peak_reserved_bytes"] - pair["a"]["peak_reserved_bytes"]
    assert lines_of(reply)[:2] == [("Ranks", "7 of 8 changed alike: +5.00 MiB metrics.py:19 update"),
                                   ("Otherwise", "rank 3: +65.00 MiB metrics.py:19 update")]
    assert ("Out of memory", "before: none; after: rank 3") in lines_of(reply)


def test_texts(vramscope, jobs, golden):
    golden("diff_ranks", vramscope("diff", "old", "new").out)
    golden("diff_ranks_markdown", vramscope("diff", "--markdown", "old", "new").out)
    golden("diff_ranks_same", vramscope("diff", "old", "old").out)


def test_all_alike_and_none_alike(vramscope, jobs):
    job(jobs, "alike", dict.fromkeys(range(8), (5, 0)))
    job(jobs, "each", {number: (5 * number, 0) for number in range(8)})
    assert lines_of(reply_of(vramscope, "old", "alike"))[0] == ("Ranks", "all 8 changed alike: +5.00 MiB metrics.py:19 update")
    assert "Rank 0; the others changed alike" in vramscope("diff", "old", "alike").out
    each = reply_of(vramscope, "old", "each")
    assert (each["most"], each["groups"]) == (7, [[n] for n in range(8)])
    assert lines_of(each)[:2] == [("Ranks", "no two of the 8 changed alike"), ("Changes", "rank 0: the same memory at the moments compared")]
    assert lines_of(each)[5] == ("", "4 more, in other ways: see --json")
    same = reply_of(vramscope, "old", "old")
    assert lines_of(same)[0] == ("Ranks", "all 8 have the same memory at the moments compared") and same["most"] is None
    assert [pair["rows"] for pair in same["pairs"]] == [[]] * 8


def test_alike_is_by_the_change(vramscope, folder):
    """Not by what was there before: uneven shards that all grow by the same, at two lines, of which now one and now the other was larger."""
    for name, more in (("old", 0), ("new", 5)):
        (folder / name).mkdir()
        for number in range(4):
            device = make.Device()
            device.alloc((10 + 20 * number + more) * MiB, make.LOSSES)
            device.alloc((45 + more) * MiB, make.ATTENTION)
            make.write(folder / name / f"rank{number}.pickle", make.snapshot(device))
    reply = reply_of(vramscope, "old", "new")
    assert len({pair["rows"][0]["owner"] for pair in reply["pairs"]}) == 2
    assert reply["groups"] == [[0, 1, 2, 3]]


def test_what_has_no_partner_is_named(vramscope, jobs):
    (jobs / "new" / "rank2_memory_snapshot.pickle").rename(jobs / "new" / "rank20_memory_snapshot.pickle")
    (jobs / "old" / "notes.pickle").write_bytes((jobs / "old" / "rank0_memory_snapshot.pickle").read_bytes())
    reply = reply_of(vramscope, "old", "new")
    assert [pair["rank"] for pair in reply["pairs"]] == [0, 1, 3, 4, 5, 6, 7]
    assert (reply["only_a"], reply["only_b"]) == (["old/notes.pickle", "old/rank2_memory_snapshot.pickle"], ["new/rank20_memory_snapshot.pickle"])
    assert [label for label, _ in lines_of(reply) if label.startswith("Only")] == ["Only before", "Only after"]
    shutil.rmtree(jobs / "new")
    job(jobs, "new", {11: (0, 0)})
    done = vramscope("diff", "old", "new")
    assert done.code == NOT_READ and "no file has the rank of one in the other folder" in done.err and done.out == ""


def test_other_names_and_gzip(vramscope, jobs):
    """The number decides, not the rest of the name."""
    for number in range(8):
        data = (jobs / "new" / f"rank{number}_memory_snapshot.pickle").read_bytes()
        (jobs / "new" / f"rank{number}_memory_snapshot.pickle").unlink()
        (jobs / "new" / f"snapshot_{number}.pickle.gz").write_bytes(gzip.compress(data))
    reply = reply_of(vramscope, "old", "new")
    assert [pair["files"][1] for pair in reply["pairs"]] == [f"new/snapshot_{n}.pickle.gz" for n in range(8)] and reply["most"] == 3


def test_a_file_that_cannot_be_read_is_a_row(vramscope, jobs):
    (jobs / "old" / "rank1_memory_snapshot.pickle").write_bytes(b"\x80\x04no")
    (jobs / "new" / "rank5_memory_snapshot.pickle").write_bytes(b"\x80\x04no")
    done = vramscope("diff", "--json", "old", "new")
    pairs = json.loads(done.out)["pairs"]
    assert done.code == NOT_READ and pairs[1].keys() == {"rank", "files", "error"}
    assert pairs[1]["error"].startswith("old/rank1_memory_snapshot.pickle: ") and pairs[5]["error"].startswith("new/rank5_memory_snapshot.pickle: ")
    assert json.loads(done.out)["groups"] == [[0, 2, 4, 6, 7], [3]]
    out = vramscope("diff", "old", "new").out
    assert "2 of 8 pairs could not be read" in out and "not read" in out and "  old/rank1_memory_snapshot.pickle: " in out
    assert "not read" in vramscope("diff", "--markdown", "old", "new").out


def test_moments_and_rows_are_those_of_two_files(vramscope, jobs):
    for more in (["--at", "end"], ["--at", "peak,end"], ["--by", "file"], ["--at", "2", "--by", "size"]):
        pair = reply_of(vramscope, *more, "old", "new")["pairs"][3]
        alone = json.loads(vramscope("diff", "--json", *more, *pair["files"]).out)
        assert pair["rows"] == [row for row in alone["rows"] if row["status"] != "same"] and pair["b"] == alone["b"], more
    done = vramscope("diff", "--at", 'no "moment"', "old", "new")
    assert done.code == NOT_READ and "8 of 8 pairs could not be read" in done.out


def test_top_limits_rows_and_pairs(vramscope, folder):
    job(folder, "old", dict.fromkeys(range(25), (0, 0)))
    job(folder, "new", dict.fromkeys(range(25), (5, 0)) | {24: (65, 0)})
    out = vramscope("diff", "old", "new").out
    rows = [line.split() for line in out.splitlines() if line.endswith(("odd", "MiB")) and line.split()[0].isdigit()]
    assert rows[0][0] == "24" and rows[0][-1] == "odd" and len(rows) == 20 and "and 5 more: see them with --top 0" in out
    assert "see them with" not in vramscope("diff", "--top", "0", "old", "new").out


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["old", "snapshot.pickle"], "old: is a folder, and the other argument is a file"),
        (["snapshot.pickle", "new"], "new: is a folder, and the other argument is a file"),
        (["--html", "page.html", "old", "new"], "--html compares two files"),
    ],
)
def test_what_is_refused(vramscope, jobs, words, sentence):
    done = vramscope("diff", *words)
    assert done.code == USAGE and sentence in done.err and done.out == ""


def test_a_folder_without_snapshots(vramscope, jobs):
    (jobs / "empty").mkdir()
    done = vramscope("diff", "old", "empty")
    assert done.code == NOT_READ and "the folder has no snapshots" in done.err and done.out == ""
