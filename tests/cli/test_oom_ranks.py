"""vramscope oom of several files: which ranks ran out of memory, one line each, and the first one in full."""

import csv
import gzip
import io
import json
import os
import pickle

import pytest

import conftest as make

NOT_READ = 3
MiB = make.MiB


def rank(extra=0, requested=0, late_us=0):
    """A rank that keeps `extra` MiB from the beginning, and whose last request, of `requested` MiB, fails."""
    device = make.Device()
    if extra:
        device.alloc(extra * MiB, make.LOSSES)
    make.train(device, steps=3, leak=False)
    if requested:
        device.out_of_memory(requested * MiB, 96 * MiB, make.ATTENTION)
    for event in device.events:
        event["time_us"] += late_us
    return make.snapshot(device)


@pytest.fixture
def job(folder):
    """Eight ranks with the names of torchtitan: rank 2 has 200 MiB more and fails first, ranks 5 and 6 (compressed) fail 1.2 s and 5.2 s later."""
    at = folder / "job" / "iteration_5"
    at.mkdir(parents=True)
    for number in range(8):
        make.write(at / f"rank{number}_memory_snapshot.pickle", rank())
    make.write(at / "rank2_memory_snapshot.pickle", rank(200, 512))
    make.write(at / "rank5_memory_snapshot.pickle", rank(0, 300, 1_200_000))
    (at / "rank6_memory_snapshot.pickle").unlink()
    (at / "rank6_memory_snapshot.pickle.gz").write_bytes(gzip.compress(pickle.dumps(rank(0, 300, 5_200_000), protocol=4)))
    return at


def reply_of(vramscope, *words):
    done = vramscope("oom", "--json", *words)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_which_failed_and_which_first(vramscope, job):
    reply = reply_of(vramscope, "job/iteration_5")
    assert (reply["method"], reply["first"], reply["shown"], reply["median"], reply["failed"]) == ("oom_ranks", 2, 2, 0, [2, 5, 6])
    assert reply["rest"] == [0, 1, 3, 4, 7] and reply["named_by_rank"]
    assert [file["rank"] for file in reply["files"]] == list(range(8))  # of the file, not of the iteration
    assert [file["outcome"] for file in reply["files"]] == ["none", "none", "oom", "none", "none", "oom", "oom", "none"]
    assert [reply["files"][n]["after_us"] for n in (2, 5, 6)] == [0, 1_200_000 - 1000, 5_200_000 - 1000]
    assert (reply["files"][2]["more_bytes"], reply["files"][2]["at"], reply["files"][0]["at"]) == (200 * MiB, "oom", "peak")
    assert [(row["owner"], row["delta_bytes"]) for row in reply["files"][2]["rows"] if row["delta_bytes"] > 0] == [
        ("metrics.py:19 update", 200 * MiB)]
    alone = json.loads(vramscope("oom", "--json", "job/iteration_5/rank2_memory_snapshot.pickle").out)
    assert reply["post_mortem"] == alone and alone["ooms"][0]["remedies"] is not None


def test_texts(vramscope, job, golden):
    golden("oom_ranks", vramscope("oom", "job/iteration_5").out)
    make.write(job / "rank2_memory_snapshot.pickle", rank(5))
    for name in ("rank5_memory_snapshot.pickle", "rank6_memory_snapshot.pickle.gz"):
        (job / name).unlink()
    golden("oom_ranks_none", vramscope("oom", "job/iteration_5").out)


def test_the_largest_shortfall_where_times_cannot_be_compared(vramscope, job):
    data = rank(0, 600)
    for event in data["device_traces"][0]:
        del event["time_us"]
    make.write(job / "rank3_memory_snapshot.pickle", data)
    reply = reply_of(vramscope, "job/iteration_5")
    assert (reply["first"], reply["shown"], reply["failed"]) == (None, 3, [3, 2, 5, 6])
    assert {file["after_us"] for file in reply["files"]} == {None}
    out = vramscope("oom", "job/iteration_5").out
    assert "which was the first is unknown" in out and "The one with the largest shortfall" in out
    only = reply_of(vramscope, "job/iteration_5/rank3_memory_snapshot.pickle", "job/iteration_5/rank0_memory_snapshot.pickle")
    assert (only["first"], only["failed"]) == (0, [0])  # the only one was the first


def test_the_least_headroom(vramscope, job):
    """Of the ranks that did not run out the one that reserved most, against the rank that could reserve least."""
    make.write(job / "rank4_memory_snapshot.pickle", rank(30))
    reply = reply_of(vramscope, "job/iteration_5")
    assert reply["rest"][0] == 4 and reply["capacity_bytes"] == 240 * MiB
    assert [reply["files"][n]["headroom_bytes"] for n in (2, 3, 4)] == [None, 96 * MiB, 66 * MiB]
    assert [line["text"] for line in reply["lines"] if line["label"] == "Headroom"] == [
        "at least 66.00 MiB on the ranks that did not run out (rank 4), if they can reserve as much as rank 5 could: 240.0 MiB"]
    make.write(job / "rank4_memory_snapshot.pickle", rank(200))
    reply = reply_of(vramscope, "job/iteration_5")
    assert reply["files"][4]["headroom_bytes"] == -104 * MiB
    assert [line["text"] for line in reply["lines"] if line["label"] == "Headroom"] == [
        "none: 104.0 MiB less than was reserved on a rank that did not run out (rank 4), if they can reserve as much as rank 5 could: 240.0 MiB"]


def test_every_rank_alike(vramscope, folder):
    (folder / "all").mkdir()
    for number in range(4):
        make.write(folder / "all" / f"snapshot_{number}.pickle", rank(0, 512, 1000 * number))
    reply = reply_of(vramscope, "all")
    assert reply["failed"] == [0, 1, 2, 3] and {file["differing_bytes"] for file in reply["files"]} == {0}
    out = " ".join(vramscope("oom", "all").out.split())
    assert "4 of 4 ranks: rank 0 first, then ranks 1-3, the last of them 3.0 ms later" in out
    assert "is the median rank itself" in out and "what it had more" not in out


def test_names_of_ranks(vramscope, folder):
    """The number behind "rank", else the last one, else that of the folder; with two of one number the files are named."""
    names = {"ranks8-rank3_of_16.pickle": 3, "mem_RANK-04.pkl": 4, "2026-11-02_snapshot_5.pickle": 5, "local_rank0_rank12.pickle": 12,
             "rank7_local_rank1.pickle": 7, "snapshot.pickle": None, "rank9/snapshot.pickle": 9, "rank1/iteration_6/snapshot.pickle": 1,
             "local_rank2.pickle": 2}
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        make.write(folder / name, rank())
    assert {file["name"]: file["rank"] for file in reply_of(vramscope, *names)["files"]} == names
    assert "file" not in vramscope("oom", "rank7_local_rank1.pickle", "local_rank2.pickle").out.split()
    out = vramscope("oom", "rank7_local_rank1.pickle", "rank9/snapshot.pickle", "snapshot.pickle").out
    assert "snapshot.pickle" in out and "file" in out.split()


def test_csv_has_all_rows(vramscope, job):
    rows = list(csv.DictReader(io.StringIO(vramscope("oom", "--csv", "job/iteration_5").out)))
    files = reply_of(vramscope, "job/iteration_5")["files"]
    assert [(row["file"], row["rank"], row["outcome"], row["error"]) for row in rows] == [
        (file["name"], str(file["rank"]), file["outcome"], "") for file in files]
    for row, file in zip(rows, files, strict=True):
        for key in ("requested_bytes", "short_bytes", "cause", "label"):
            assert row[key] == (str(file["ooms"][0][key]) if file["ooms"] else "")
        for key in ("peak_allocated_bytes", "peak_reserved_bytes", "headroom_bytes", "differing_bytes"):
            assert row[key] == ("" if file[key] is None else str(file[key]))
    one = list(csv.DictReader(io.StringIO(vramscope("oom", "--csv", "snapshot.pickle").out)))
    assert [(row["file"], row["outcome"]) for row in one] == [("snapshot.pickle", "none")]


def test_a_file_that_cannot_be_read_is_a_row(vramscope, job):
    (job / "rank3_memory_snapshot.pickle").write_bytes(b"\x80\x04no")
    done = vramscope("oom", "job/iteration_5")
    assert done.code == NOT_READ and "3 of 7 ranks that could be read: rank 2 first" in done.out
    assert "1 of 8 could not be read" in done.out and "job/iteration_5/rank3_memory_snapshot.pickle: " in done.out
    assert "The first that ran out of memory" in done.out
    again = vramscope("oom", "--json", "job/iteration_5")
    files = json.loads(again.out)["files"]
    assert again.code == NOT_READ and files[3].keys() == {"name", "rank", "same_as", "error"} and files[3]["error"]
    assert json.loads(again.out)["rest"][-1] == 3
    nothing = vramscope("oom", "--json", "missing.pickle", "none.pickle")
    assert nothing.code == NOT_READ and json.loads(nothing.out)["post_mortem"] is None


def test_without_a_history(vramscope, folder):
    make.write(folder / "rank0.pickle", make.end_only())
    make.write(folder / "rank1.pickle", make.end_only())
    done = vramscope("oom", "rank0.pickle", "rank1.pickle")
    assert done.code == 0 and "unknown: only the end states were recorded" in done.out and "unknown: no history" in done.out
    make.write(folder / "rank1.pickle", rank())
    done = vramscope("oom", "rank0.pickle", "rank1.pickle")
    assert "of 1 of 2 ranks; of the others only the end state was recorded" in " ".join(done.out.split())


def test_another_gpu_in_a_file(vramscope, folder):
    first, second = make.train(make.Device(0), steps=3, leak=False), make.Device(1)
    first.out_of_memory(64 * MiB, 2 * MiB, make.ATTENTION)
    second.alloc(2 * MiB, make.WEIGHTS)
    second.out_of_memory(32 * MiB, 2 * MiB, make.ATTENTION)
    make.write(folder / "rank0.pickle", make.snapshot(first, second))
    make.write(folder / "rank1.pickle", rank())
    reply = reply_of(vramscope, "rank0.pickle", "rank1.pickle")
    assert [other["device"] for other in reply["files"][0]["others"]] == [1 - reply["files"][0]["device"]]
    assert "Other GPUs" in vramscope("oom", "rank0.pickle", "rank1.pickle").out
    assert reply_of(vramscope, "--device", "0", "rank0.pickle", "rank1.pickle")["files"][0]["ooms"][0]["requested_bytes"] == 64 * MiB


def test_standard_input_and_pipes(vramscope, job):
    """What cannot be read twice is kept for the post-mortem."""
    data = (job / "rank2_memory_snapshot.pickle").read_bytes()
    done = vramscope("oom", "--json", "-", "job/iteration_5/rank0_memory_snapshot.pickle", input=data)
    piped = json.loads(done.out)
    assert done.code == 0 and piped["failed"] == [0] and piped["post_mortem"]["ooms"][0]["requested_bytes"] == 512 * MiB
    assert "standard input" in vramscope("oom", "-", "job/iteration_5/rank0_memory_snapshot.pickle", input=data).out


def test_top_and_many_ranks(vramscope, folder):
    (folder / "many").mkdir()
    for number in range(30):
        make.write(folder / "many" / f"rank{number}.pickle", rank(0, 512 if number < 25 else 0, 10 * number))
    out = vramscope("oom", "many").out
    assert "and 5 more: see them with --top 0" in out and "25 of 30 ranks: rank 0 first, then ranks 1-24" in out
    assert "see them with" not in vramscope("oom", "--top", "0", "many").out
    os.remove(folder / "many" / "rank3.pickle")
    assert "then ranks 1-2 and 4-24" in " ".join(vramscope("oom", "many").out.split())
