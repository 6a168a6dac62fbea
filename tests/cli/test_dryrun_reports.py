"""dryrun: what is said of a run, the search for the smallest size, and the text (dry_runs.py)."""

import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from dry_runs import FAKE, note, torch_stats

import conftest as make

GiB, MiB = 1 << 30, 1 << 20


# What is said of a run.


def test_figures(figures):
    reply = figures(["--gpu", "H100,L4"], FAKE, "context", "0", "take", "0", str(5 * GiB), "give", "0", str(GiB), "step", "step")
    first, second = reply["devices"]
    assert first["name"].endswith("(simulated)") and first["gpu"].startswith("H100")
    assert first["driver_peak_bytes"] == 5 * GiB + first["context_bytes"] and first["contexts"] == 1
    assert first["torch"] is None and first["used"] is True
    assert second["driver_peak_bytes"] == 0 and second["used"] is False
    assert reply["verdict"] == "fits" and reply["steps"] == 2 and reply["smallest_bytes"] is None
    assert [p["end"] for p in reply["processes"]] == ["killed"]  # it did not say goodbye
    totals = [row["total_bytes"] for row in reply["fit"]]
    assert totals == sorted(totals) and len(totals) > 20
    for row in reply["fit"]:
        assert (row["fits"] == "yes") == (row["headroom_bytes"] >= 0) and row["fits"] in ("yes", "no")


@pytest.mark.parametrize(
    "typed, key",
    (("h100-80g", "H100"), ("a100_80gb", "A100-80"), ("NVIDIA GeForce RTX 4090", "RTX4090"), ("2x rtx 4090", "RTX4090"), ("l40s:20GiB", "L40S")),
)
def test_names_of_gpus(figures, typed, key):
    devices = figures(["--gpu", typed], FAKE, "context", "0")["devices"]
    assert {(device["gpu"], device["is_only_size"]) for device in devices} == {(key, False)}


@pytest.mark.parametrize(
    "gpu, shown",
    (("24GiB", "a GPU with 24.00 GiB (simulated)"), ("2x24GiB", "2 GPUs with 24.00 GiB each (simulated)"), ("24GiB,L4", "2 GPUs, the first of them a GPU with 24.00 GiB (simulated)")),
)
def test_a_size_is_a_gpu_of_that_size(dryrun, figures, gpu, shown):
    words = [FAKE, "context", "0", "take", "0", str(GiB)]
    out = " ".join(dryrun(["--gpu", gpu], *words).out.split())
    assert f"Fits in {shown}: " in out and "of 24.00 GiB" in out and "RTX 4090 (simulated)" not in out
    assert figures(["--gpu", gpu], *words)["devices"][0]["is_only_size"] is True


def test_a_library_that_cannot_run_is_in_the_report(dryrun, figures):
    """Also where the program never came to use the GPU, because of it."""
    why = "runtime.so contains NVIDIA's own CUDA runtime"
    words = [FAKE, "context", "0", *note(note="cannot_run", file="runtime.so", why=why), *note(note="cannot_run", file="runtime.so", why=why)]
    doubts = figures([], *words)["doubts"]
    assert [doubt for doubt in doubts if doubt["kind"] == "cannot_run"] == [{"kind": "cannot_run", "name": "runtime.so", "sentence": why}]
    out = " ".join(dryrun([], *words).out.split())
    assert out.count("Cannot run runtime.so contains NVIDIA's own CUDA runtime") == 1


def test_context_is_given(figures):
    reply = figures(["--context", "300MiB"], FAKE, "context", "0", "take", "0", str(GiB))
    assert reply["devices"][0]["driver_peak_bytes"] == GiB + 300 * MiB
    assert all(row["headroom_bytes"] == row["total_bytes"] - GiB - 300 * MiB for row in reply["fit"])


@pytest.mark.parametrize(
    "words, verdict, code",
    (
        (["exit", "0"], "no_cuda", 0),
        (["context", "0", "exit", "0"], "fits", 0),
        (["context", "0", "exit", "3"], "stopped", 3),
        (["context", "0", "take", "0", str(90 * GiB), "need", "0"], "does_not_fit", 9),
        (["context", "0", "take", "0", str(90 * GiB), "exit", "0"], "fits", 0),  # who asks and goes on may know why
        (["context", "0", *torch_stats([(1, 1, 1, 2, 0)]), "exit", "0"], "handled", 0),
        (["context", "0", *torch_stats([(1, 1, 1, 2, 0)]), "exit", "1"], "does_not_fit", 1),
        (["context", "0", *torch_stats([(1, 1, 1, 0, 5)]), "exit", "1"], "stopped", 1),  # retries are no errors
    ),
)
def test_verdicts(figures, words, verdict, code):
    reply = figures([], FAKE, *words)
    assert (reply["verdict"], reply["exit_code"]) == (verdict, code)


def test_torch_figures(figures):
    program = [FAKE, "context", "0", "take", "0", str(6 * GiB), *torch_stats([(4 * GiB, 4 * GiB - 5, 6 * GiB, 0, 2)])]
    reply = figures([], *program)
    wanted = {"peak_allocated_bytes": 4 * GiB, "peak_requested_bytes": 4 * GiB - 5, "peak_reserved_bytes": 6 * GiB}
    assert reply["devices"][0]["torch"] == {**wanted, "ooms": 0, "retries": 2}
    assert reply["processes"][0]["devices"][0]["torch"] == {**wanted, "ooms": 0, "retries": 2}
    # Tight: more than was allocated, less than was reserved.
    row = next(row for row in reply["fit"] if row["gpu"] == "RTX4060" or row["total_bytes"] < 8 * GiB)
    assert row["fits"] == "yes"
    reply = figures(["--context", "1GiB"], *[word.replace(str(6 * GiB), str(11 * GiB)) for word in program])
    tight = [row["total_bytes"] for row in reply["fit"] if row["fits"] == "tight"]
    assert tight and all(5 * GiB <= total < 12 * GiB for total in tight)


def test_processes_that_follow_each_other_do_not_add_up(figures):
    """Two at a time add up, two in turn do not."""

    def program(began, ended, reserved):
        stats = torch_stats([(reserved, reserved, reserved, 0, 0)], began=began, ended=ended)
        return " ".join(f"'{word}'" for word in [FAKE, "context", "0", *stats, "leave"])

    in_turn = figures([], "sh", "-c", program(1.0, 2.0, GiB) + ";" + program(3.0, 4.0, 2 * GiB))
    at_once = figures([], "sh", "-c", program(1.0, 3.5, GiB) + ";" + program(3.0, 4.0, 2 * GiB))
    assert in_turn["devices"][0]["torch"]["peak_reserved_bytes"] == 2 * GiB
    assert at_once["devices"][0]["torch"]["peak_reserved_bytes"] == 3 * GiB
    assert len(in_turn["processes"]) == len(at_once["processes"]) == 2


def test_processes_that_only_load_the_driver(figures, dryrun):
    """They are in the reply, without a GPU, but did not use one."""
    used = f"{FAKE} context 0 take 0 1000"
    for script, count in ((f"{FAKE} leave; {used}", 1), (f"{used}; {used}", 2)):
        processes = figures([], "sh", "-c", script)["processes"]
        assert len(processes) == 2 and sum(process["devices"] != [] for process in processes) == count
        assert ("processes used the GPU" in dryrun([], "sh", "-c", script).out) == (count == 2)


def test_out_of_memory(figures, dryrun):
    words = ["context", "0", "take", "0", str(2 * GiB), *note(note="oom", device=0, bytes=3 * GiB, free=GiB), "take", "0"]
    program = [FAKE, *words, str(3 * GiB), "need", "0"]
    reply = figures(["--gpu", "RTX4090:4GiB"], *program)
    assert reply["oom"] == {
        "device": 0,
        "asked_bytes": 3 * GiB,
        "free_bytes": GiB,
        "in_jax_limit": False,
        "in_tensorflow_limit": False,
        "allocated_bytes": None,
        "reserved_bytes": None,
    }
    # It held 3 GiB and requested 3 more: it cannot run in less than 6 GiB; the size that is enough is unknown.
    for row in reply["fit"]:
        assert row["fits"] == ("no" if row["total_bytes"] < 6 * GiB - 200 * MiB else "unknown")
        assert (row["headroom_bytes"] is None) == (row["fits"] == "unknown")
    out = dryrun(["--gpu", "RTX4090:4GiB"], *program).out
    assert "Does not fit" in out and "failed to allocate 3.00 GiB" in out and "at least" in out


def test_doubts(figures, dryrun):
    frames = [
        {"name": "item", "file": "/usr/lib/python3/dist-packages/torch/_tensor.py", "line": 3},
        {"name": "log", "file": "/home/me/train.py", "line": 40},
    ]
    words = [
        *note(note="start", pid=1, program="train", face="cudart"),
        *note(note="read", id=1, bytes=4, frames=frames),
        *note(note="read", id=2, bytes=8, frames=[{"name": "f", "file": "/home/me/model.py", "line": 7}]),
        *note(note="guess", what="cudnn_workspace", bytes=MiB, most=2 * MiB, why="nobody knows it"),
        *note(note="guess", what="cudnn_workspace", bytes=2 * MiB, most=6 * MiB, why="nobody knows it"),  # sums so far: the last counts
        *note(note="guess", what="cufft_work_area", bytes=3 * MiB, why="nor this"),
        *note(note="refused", name="cusparseSpGEMM_compute", library="cuSPARSE"),
        *note(note="of the future", id=3),
        "note", '{"note":"read","id":9,"fra',  # torn
        *note(note="reads", id=1, count=12),
        *note(note="exit"),
    ]  # fmt: skip
    reply = figures([], FAKE, "context", "0", *words)
    assert reply["doubts"] == [
        {"kind": "value_read", "place": "train.py:40 log", "file": "/home/me/train.py", "line": 40, "count": 12, "bytes": 4,
         "give": "train.py:40=true", "repeats": None},
        {"kind": "value_read", "place": "model.py:7 f", "file": "/home/me/model.py", "line": 7, "count": 1, "bytes": 8,
         "give": "model.py:7=true", "repeats": None},
        {"kind": "guess", "what": "cufft_work_area", "bytes": 3 * MiB, "most_bytes": None, "sentence": "nor this"},
        {"kind": "guess", "what": "cudnn_workspace", "bytes": 2 * MiB, "most_bytes": 6 * MiB, "sentence": "nobody knows it"},
        {"kind": "refused", "name": "cusparseSpGEMM_compute", "library": "cuSPARSE"},
    ]
    assert [(p["end"], p["program"]) for p in reply["processes"]] == [("ended", "train")]
    out = dryrun([], FAKE, "context", "0", *words).out
    for words in ("train.py:40 log (12 times)", "cufft_work_area 3.00 MiB, cudnn_workspace 2.00 MiB (at most 6.00 MiB)", "cusparseSpGEMM_compute of cuSPARSE"):
        assert words in " ".join(out.split())


def test_places_with_values(figures, dryrun):
    """What --values gave to which place: the last note of a process counts, and processes add up."""
    read = note(note="read", id=1, bytes=4, frames=[{"name": "log", "file": "/home/me/a b.py", "line": 40}])
    given = note(note="given", place="b.py:7=true", count=1, misfits=0) + note(note="given", place="b.py:7=true", count=5, misfits=2)
    options = ["--values", "a b.py:41=keep", "--values", "b.py:7=true,c.py:1=2"]
    twice = [" ".join(shlex.quote(word) for word in [FAKE, "context", "0", *read, *given, "leave"])] * 2
    reply = figures(options, "sh", "-c", ";".join(twice))
    assert reply["values"] == "zeros" and reply["value_places"] == [
        {"place": "a b.py:41", "file": "a b.py", "line": 41, "value": "keep", "reads": 0, "misfits": 0, "nearest": "a b.py:40 log"},
        {"place": "b.py:7", "file": "b.py", "line": 7, "value": "true", "reads": 10, "misfits": 4, "nearest": None},
        {"place": "c.py:1", "file": "c.py", "line": 1, "value": "2", "reads": 0, "misfits": 0, "nearest": None},
    ]
    out = " ".join(dryrun(options, "sh", "-c", ";".join(twice)).out.split())
    assert "give them values: --values 'a b.py:40=true'" in out
    assert "a b.py:41 read nothing from the GPU, so its --values had no effect; did you mean a b.py:40 log?" in out
    assert "b.py:7: its --values did not fit 4 of 10 reads" in out and "c.py:1 read nothing from the GPU" in out


def test_a_loop_without_progress(figures, dryrun):
    frames = [{"name": "wait", "file": "/home/me/train.py", "line": 88}]
    words = [*note(note="read", id=1, bytes=1, frames=frames), *note(note="stuck", id=1, repeats=500, give="loop.py:3=zeros")]
    (doubt,) = figures([], FAKE, "context", "0", *words)["doubts"]
    assert (doubt["place"], doubt["repeats"], doubt["give"]) == ("train.py:88 wait", 500, "loop.py:3=zeros")
    out = " ".join(dryrun([], FAKE, "context", "0", *words).out.split())
    assert "train.py:88 wait read the same value 500 times while nothing else changed" in out and "--values loop.py:3=zeros" in out


def test_lost_history(figures, dryrun):
    words = [FAKE, "context", "0", *torch_stats([], complete=False), "kill", "9"]
    assert {"kind": "history_lost", "processes": 1} in figures([], *words)["doubts"]
    assert "did not end by Python's exit" in " ".join(dryrun([], *words).out.split())


def test_hostile_notes(dryrun):
    """Names come from the program: they are made safe."""
    name = "x\x1b[2J\x07\u202e"
    done = dryrun([], FAKE, "context", "0", *note(note="refused", name=name, library=name))
    assert "\x1b" not in done.out and "\\x1b" in done.out


def test_ranks(figures):
    reply = figures(["--ranks", "3", "--gpu", "L4"], "sh", "-c", f'exec {FAKE} context $RANK take $RANK {GiB} exit $RANK')
    assert len(reply["devices"]) == 3 and sorted(p["rank"] for p in reply["processes"]) == [0, 1, 2]
    assert sorted(p["exit_code"] for p in reply["processes"]) == [0, 1, 2]
    assert all(device["driver_peak_bytes"] == GiB + device["context_bytes"] for device in reply["devices"])
    assert reply["exit_code"] == 1


def keys_of(value):
    """Every key of a reply; a `report` within it is described by another page."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from keys_of(member) if key != "report" else ()
    for member in value if isinstance(value, list) else ():
        yield from keys_of(member)


def test_every_key_is_documented(figures):
    model = {"parameters": 4, "parameter_bytes": 16, "trainable_bytes": 16, "gradient_bytes": 0, "optimizer_bytes": 0, "optimizer": "Adam"}
    stats = torch_stats([(1, 1, 2, 1, 0)], complete=False, model=model, oom={"device": 0, "asked_bytes": 1, "free_bytes": 1},
                        allocator={"backend": "native", "settings": ""}, history={"on": True, "why": None, "calls": []})  # fmt: skip
    notes = [
        *note(note="read", id=1, bytes=4, frames=[{"name": "f", "file": "/home/me/t.py", "line": 3}]),
        *note(note="guess", what="x", bytes=1, why="y"),
        *note(note="refused", name="f", library="l"),
        *["file", "problems.%p.jsonl", '{"what": "the history", "why": "no space"}\n{"assumed": "so"}'],
    ]
    reply = figures(["--world", "4", "--rank", "1", "--find-smallest"], FAKE, "context", "0", *stats, *notes)
    kinds = {"value_read", "guess", "refused", "history_lost", "not_recorded", "assumed"}
    assert {doubt["kind"] for doubt in reply["doubts"]} == kinds
    assert reply["model"] and reply["training_bytes"] and reply["job"] and reply["oom"] and reply["search"]
    page = (Path(__file__).parents[2] / "docs" / "formats" / "dryrun.md").read_text()
    words = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert sorted(set(keys_of(reply)) - words) == []


# The smallest size.


@pytest.mark.parametrize("least", (5 * GiB, 5 * GiB + 12345, 700 * MiB))
def test_find_smallest(figures, least):
    """The program fails below a size that its peak does not tell."""
    reply = figures(["--find-smallest", "--context", "200MiB"], FAKE, "context", "0", "take", "0", str(GiB // 4), "need", str(least))
    assert least <= reply["smallest_bytes"] <= least * 1.01 + (1 << 16)
    assert 1 < reply["search"]["runs"] < 40 and reply["search"]["why"] is None
    assert reply["verdict"] == "fits"


def test_the_smallest_is_no_larger_than_the_first(figures):
    """Of a size that no rounding shows exactly, and below which the program does not run."""
    total = 5 * GiB + 3 * 65536
    program = [FAKE, "context", "0", "take", "0", str(GiB // 4), "need", str(total)]
    assert figures(["--gpu", f"H100:{total}", "--find-smallest"], *program)["smallest_bytes"] == total


def test_find_smallest_by_memory_alone(figures, dryrun):
    words = [FAKE, "context", "0", "take", "0", str(3 * GiB), "need", "0"]
    reply = figures(["--find-smallest"], *words)
    need = 3 * GiB + reply["devices"][0]["context_bytes"]
    assert need <= reply["smallest_bytes"] <= need + (1 << 16)
    done = dryrun(["--find-smallest"], *words, "print", "hello")
    assert done.out.count("hello") == 1 and "Smallest" in done.out  # the further runs are silent


@pytest.mark.parametrize("gpu", ("H100", "T4", "24GiB", "2xL4"))
@pytest.mark.parametrize("taken", (3 * GiB + 2 * MiB, 5 * GiB + 12345, 611 * MiB + 5))
def test_the_size_that_is_printed_fits(dryrun, figures, gpu, taken):
    program = [FAKE, "context", "0", "take", "0", str(taken), "need", "0"]
    for unit in ([], ["--si"]):
        out = " ".join(dryrun(["--gpu", gpu, "--find-smallest", *unit], *program).out.split())
        found = re.search(r"Smallest ([0-9.]+) (\S+) \(±1%, --gpu (\S+)\)", out)
        card = found[3].split(":")[0] + ":" if ":" in found[3] else ""
        for size in (found[3], f"{card}{found[1]}{found[2]}"):
            assert figures(["--gpu", size], *program)["verdict"] == "fits"
    search = figures(["--gpu", gpu, "--find-smallest"], *program)["search"]
    assert search["gpu"] == found[3] and search["why"] is None


def test_find_smallest_of_a_program_that_ignores_refusals(figures):
    """It succeeds on a GPU of any size. Only the driver's refusals, which PyTorch is not there to count, show that one is too small."""
    reply = figures(["--find-smallest"], FAKE, "context", "0", "take", "0", str(3 * GiB))
    need = 3 * GiB + reply["devices"][0]["context_bytes"]
    assert need <= reply["smallest_bytes"] <= need * 1.01 + (1 << 16)


def test_find_smallest_counts_refusals_beside_pytorch(figures):
    """A process with PyTorch, which gets by with less than it took, and then one without, which ignores what is refused."""
    stats = shlex.join(torch_stats([(GiB, GiB, 4 * GiB, 0, 0)]))
    script = f"{FAKE} context 0 take 0 {4 * GiB} leave {stats}; {FAKE} context 0 take 0 {3 * GiB}"
    reply = figures(["--find-smallest"], "sh", "-c", script)
    need = 3 * GiB + reply["devices"][0]["context_bytes"]
    assert need <= reply["smallest_bytes"] <= need * 1.01 + (1 << 16)
    assert reply["search"]["runs"] > 1


def test_find_smallest_of_a_program_that_fails(figures):
    reply = figures(["--find-smallest"], FAKE, "context", "0", *torch_stats([(1, 1, 1, 1, 0)]), "exit", "1")
    assert reply["smallest_bytes"] is None and "out-of-memory" in reply["search"]["why"]
    reply = figures(["--find-smallest"], "true")
    assert reply["smallest_bytes"] is None and "did not use" in reply["search"]["why"]


# The text.


def test_report(dryrun, golden):
    words = [
        "context", "0", "take", "0", str(12 * GiB), "step", "step",
        *torch_stats([(10 * GiB, 10 * GiB - 12345, 12 * GiB, 0, 1)], model={
            "parameters": 10**9, "parameter_bytes": 2 * 10**9, "trainable_bytes": 2 * 10**9,
            "gradient_bytes": 2 * 10**9, "optimizer_bytes": 4 * 10**9, "optimizer": "AdamW"}),
        *note(note="read", id=1, bytes=4, frames=[{"name": "log", "file": "/home/me/train.py", "line": 40}]),
        *note(note="guess", what="nccl_buffers", bytes=256 * MiB, why="as its source computes them"),
    ]  # fmt: skip
    out = re.sub(r"in [0-9.]+ m?s", "in TIME", dryrun([], FAKE, *words).out)
    golden("dryrun_report", out)
    assert all(len(line) <= 80 for line in out.splitlines()) and len(out.splitlines()) <= 30
    assert "simulated" in out


def test_progress_on_a_terminal(vramscope, tmp):
    """At the bottom of the terminal, which is as it was in the end; the program's output is whole."""

    def run(*options):
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=theirs, check=True)
        script = f"{FAKE} context 0 take 0 {GiB} sleep 2500 leave; echo whole line >&2"
        child = subprocess.Popen(
            [make.BINARY, "dryrun", *options, "--", "sh", "-c", script],
            env=make.environment(TMPDIR=str(tmp)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side has gone
                break
            if not piece:
                break
            seen += piece
        child.wait()
        os.close(ours)
        return seen

    seen = run()
    assert b"\x1b[1;23r" in seen and b"1.51 GiB now" in seen and b"(simulated)" in seen and b"whole line\r\n" in seen
    assert seen.rindex(b"\x1b[r") > seen.rindex(b"\x1b[1;23r")
    assert run("--quiet") == b"whole line\r\n"
