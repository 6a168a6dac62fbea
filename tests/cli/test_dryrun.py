"""dryrun, around programs that only pretend to use CUDA: how they are started and ended, and what is said of them.

FAKE_CUDA does to the simulated machine what the simulated libraries would do, word by word of its command line. fake_torch
is a torch without anything behind it. What real programs do is in tests/sim."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import conftest as make

GiB, MiB = 1 << 30, 1 << 20
FAKE = os.environ.get("FAKE_CUDA", "")
FAKE_TORCH = str(Path(__file__).parent / "fake_torch")
PYTHON = sys.executable


# A program built with AddressSanitizer wants its library to be the first; here the simulated ones are.
if "ASAN_OPTIONS" in make.PASSED_ON and "ASAN_OPTIONS" in os.environ:
    os.environ["ASAN_OPTIONS"] += ":verify_asan_link_order=0"


@pytest.fixture
def tmp(folder):
    """Where temporary folders go."""
    path = folder / "tmp"
    path.mkdir()
    return path


@pytest.fixture
def dryrun(vramscope, tmp):
    """dryrun(options, program...) -> Run. Nothing may be left behind."""

    def run(options, *program, env=None, **more):
        done = vramscope("dryrun", *options, "--", *program, env={"TMPDIR": str(tmp), **(env or {})}, **more)
        assert os.listdir(tmp) == []
        return done

    return run


@pytest.fixture
def figures(dryrun):
    """figures(options, program...) -> the JSON."""

    def run(options, *program, **more):
        done = dryrun(["--json", *options], *program, **more)
        reply = json.loads(done.out)
        assert reply["schema"] == 1 and reply["method"] == "dryrun" and reply["simulated"] is True
        assert reply["exit_code"] == done.code
        return reply

    return run


def note(**members):
    return ["note", json.dumps(members)]


def torch_stats(peaks, complete=True, **more):
    """As vramscope_dryrun.py writes them, for each card (allocated, requested, reserved, ooms, retries)."""
    devices = [
        {
            "device": i,
            "card": i,
            "peak_allocated_bytes": a,
            "peak_requested_bytes": q,
            "peak_reserved_bytes": r,
            "num_ooms": o,
            "num_alloc_retries": t,
        }
        for i, (a, q, r, o, t) in enumerate(peaks)
    ]
    stats = {"schema": 1, "complete": complete, "devices": devices, "steps": 0, "torch": "9.9.0", **more}
    return ["file", "stats.%p.json", json.dumps(stats)]


# Starting and ending.


@pytest.mark.parametrize("words, code", ((["exit", "0"], 0), (["exit", "3"], 3), (["kill", "9"], 137), (["kill", "15"], 143)))
def test_exit_code_is_the_programs(dryrun, words, code):
    assert dryrun([], FAKE, *words).code == code
    assert dryrun(["--json"], FAKE, *words).code == code
    assert dryrun(["-o", "report.txt", "-f"], FAKE, *words).code == code


def test_programs_that_cannot_be_started(dryrun, folder):
    done = dryrun([], "no-such-program")
    assert (done.code, done.out, done.err) == (127, "", "vramscope: no-such-program: no such program\n")
    (folder / "text").write_text("hello")
    done = dryrun([], "./text")
    assert (done.code, done.out) == (126, "") and "permission denied" in done.err


@pytest.mark.parametrize(
    "options, says",
    (
        (["--gpu", "H1000"], "H1000"),
        (["--gpu", "RTX4090:1KiB"], "KiB"),
        (["--gpu", ""], ""),
        (["--gpu", "9xH100"], ""),
        (["--rank", "3"], "--world"),
        (["--world", "4", "--rank", "4"], "--rank 3"),
        (["--world", "0"], ""),
        (["--ranks", "0"], "1 to 256"),
        (["--ranks", "2", "--world", "2"], "one of the two"),
        (["--ranks", "many"], "--ranks takes N"),
        (["--context", "much"], "500MiB"),
        (["--values", "ones"], "zeros|true|keep"),
        (["--events", "never"], "at-once|at-sync"),
        (["--no-history", "--snapshot", "x.pickle"], "--no-history"),
        (["--device", "0"], "dryrun does not take --device"),
    ),
)
def test_usage(dryrun, options, says):
    done = dryrun(options, FAKE, "print", "started")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("vramscope: ") and done.err.count("\n") == 1 and says in done.err


def test_needs_a_program(vramscope):
    for words in ([], ["--"], ["--gpu", "H100"]):
        done = vramscope("dryrun", *words)
        assert done.code == 2 and "-- python3 train.py" in done.err


def test_a_launcher_makes_its_own_ranks(dryrun):
    done = dryrun(["--world", "8"], "torchrun", "--nproc-per-node=8", "train.py")
    assert done.code == 2 and "torchrun" in done.err


def test_words_arrive_as_they_are(vramscope, tmp):
    words = ["sh", "-c", 'printf "[%s]" "$@"', "sh", "--json", "-q", "a b", "--", "*"]
    for command in (["--", *words], words):
        done = vramscope("dryrun", "--gpu", "L4", *command, env={"TMPDIR": str(tmp)})
        assert done.out.startswith("[--json][-q][a b][--][*]")


def test_streams(dryrun):
    script = "cat; echo out; echo err >&2"
    done = dryrun([], "sh", "-c", script, input=b"in\n")
    assert done.out.startswith("in\nout\n\n") and done.err == "err\n"
    done = dryrun(["--json"], "sh", "-c", script, input=b"in\n")
    assert done.err == "in\nout\nerr\n" and json.loads(done.out)["verdict"] == "no_cuda"


def test_output_goes_to_a_file(dryrun, folder):
    done = dryrun(["-o", "report.txt"], FAKE, "print", "hello", "context", "0")
    assert done.out == "hello\n" and "Fits in" in (folder / "report.txt").read_text()
    assert dryrun(["-o", "report.txt"], FAKE, "print", "hello").out == ""  # it exists: said before anything is started


def surroundings(dryrun, options, env=None):
    done = dryrun(options, "env", "-0", env=env)
    return dict(entry.split("=", 1) for entry in done.out.split("\0") if "=" in entry)


def test_environment(dryrun):
    plain = surroundings(dryrun, [], env={"CUDA_VISIBLE_DEVICES": "1,0", "PYTHONPATH": "/mine", "LD_PRELOAD": "libm.so.6"})
    preload = plain["LD_PRELOAD"].split(":")
    assert preload[0].endswith("/simcuda/libvramscope-sim.so") and preload[-1] == "libm.so.6"
    folder = os.path.dirname(preload[0])
    assert preload[1:-1] == [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name != "libvramscope-sim.so"]
    assert plain["TRITON_LIBCUDA_PATH"] == folder
    assert plain["PYTHONPATH"].split(":")[1:] == ["/mine"]
    assert plain["CUDA_VISIBLE_DEVICES"] == "1,0"
    assert plain["VRAMSCOPE_SIM_GPU"] == "H100" and plain["VRAMSCOPE_DRYRUN_HISTORY"] == "1000000"
    for absent in ("VRAMSCOPE_SIM_VALUES", "VRAMSCOPE_SIM_EVENTS", "PYTORCH_CUDA_ALLOC_CONF", "RANK", "WORLD_SIZE"):
        assert absent not in plain
    options = ["--gpu", "2xL4", "--values", "keep", "--events", "at-sync", "--context", "500MiB", "--history", "77"]
    more = surroundings(dryrun, [*options, "--conf", "expandable_segments:True"])
    assert more["VRAMSCOPE_SIM_GPU"] == "2xL4" and more["VRAMSCOPE_SIM_VALUES"] == "keep"
    assert more["VRAMSCOPE_SIM_EVENTS"] == "at-sync" and more["VRAMSCOPE_SIM_CONTEXT"] == "500MiB"
    assert more["PYTORCH_CUDA_ALLOC_CONF"] == more["PYTORCH_ALLOC_CONF"] == "expandable_segments:True"
    assert more["VRAMSCOPE_DRYRUN_HISTORY"] == "77"
    assert surroundings(dryrun, ["--no-history"])["VRAMSCOPE_DRYRUN_HISTORY"] == "0"
    world = surroundings(dryrun, ["--world", "64", "--rank", "5"])
    assert (world["RANK"], world["WORLD_SIZE"]) == ("5", "64") and world["MASTER_PORT"].isdigit()


def copy_of_the_program(to):
    """The binary and what it needs beside it, in another folder."""
    to.mkdir(parents=True)
    source = Path(make.BINARY).resolve()
    shutil.copy(source, to / "vramscope")
    for part in ("simcuda", "dryrun"):
        (to / part).symlink_to(source.parent / part)
    return to / "vramscope"


def test_folders_whose_names_no_list_can_hold(folder, tmp, vramscope):
    program = copy_of_the_program(folder / "a b:c")
    run = lambda where: subprocess.run(  # noqa: E731
        [program, "dryrun", "--", "env", "-0"], env=make.environment(TMPDIR=str(where)), capture_output=True, text=True
    )
    done = run(tmp)
    assert done.returncode == 0, done.stderr
    preload = re.search(r"LD_PRELOAD=([^\0]*)", done.stdout)[1].split(":")
    assert preload[0].startswith(str(tmp)) and "a b" not in preload[0]
    assert os.listdir(tmp) == []
    (folder / "d e").mkdir()
    done = run(folder / "d e")
    assert done.returncode == 3 and "TMPDIR" in done.stderr and done.stdout == ""


def test_without_the_libraries(folder, tmp, vramscope):
    (folder / "alone").mkdir()
    program = folder / "alone" / "vramscope"
    shutil.copy(Path(make.BINARY).resolve(), program)
    done = subprocess.run([program, "dryrun", "--", "true"], env=make.environment(), capture_output=True, text=True)
    assert done.returncode == 3 and "simcuda" in done.stderr and done.stderr.count("\n") == 1


# What is left behind: nothing.


def start(tmp, *words, **more):
    return subprocess.Popen(
        [make.BINARY, "dryrun", *words],
        env=make.environment(TMPDIR=str(tmp)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def wait_for(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_killed(vramscope, folder, tmp):
    """By a signal that it cannot see: the program goes with it, and what lies around goes with the next start."""
    pid_file = folder / "pid"
    child = start(tmp, "--", "sh", "-c", f"echo $$ > {pid_file}; exec sleep 100")
    wait_for(lambda: pid_file.exists() and pid_file.read_text().strip())
    pid = int(pid_file.read_text())
    child.kill()
    child.communicate()
    wait_for(lambda: not is_alive(pid))
    assert len(os.listdir(tmp)) == 1
    assert vramscope("dryrun", "--", "true", env={"TMPDIR": str(tmp)}).code == 0
    assert os.listdir(tmp) == []


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
def test_interrupted(tmp, folder, vramscope, number):
    """The program gets the signal, and the report still comes."""
    mark = folder / "mark"
    script = f"trap 'exit 5' INT TERM; {FAKE} context 0 take 0 {GiB} leave; touch {mark}; while :; do sleep 0.05; done"
    child = start(tmp, "--", "sh", "-c", script)
    wait_for(mark.exists)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 5 and err == "" and "exit status 5" in out and "1.51 GiB" in out
    assert os.listdir(tmp) == []


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


def test_out_of_memory(figures, dryrun):
    words = ["context", "0", "take", "0", str(2 * GiB), *note(note="oom", device=0, bytes=3 * GiB, free=GiB), "take", "0"]
    program = [FAKE, *words, str(3 * GiB), "need", "0"]
    reply = figures(["--gpu", "RTX4090:4GiB"], *program)
    assert reply["oom"] == {
        "device": 0,
        "asked_bytes": 3 * GiB,
        "free_bytes": GiB,
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
        *note(note="guess", what="cudnn_workspace", bytes=MiB, why="nobody knows it"),
        *note(note="guess", what="cudnn_workspace", bytes=MiB, why="nobody knows it"),
        *note(note="refused", name="cusparseSpGEMM_compute", library="cuSPARSE"),
        *note(note="of the future", id=3),
        "note", '{"note":"read","id":9,"fra',  # torn
        *note(note="reads", id=1, count=12),
        *note(note="exit"),
    ]  # fmt: skip
    reply = figures([], FAKE, "context", "0", *words)
    assert reply["doubts"] == [
        {"kind": "value_read", "place": "train.py:40 log", "file": "/home/me/train.py", "line": 40, "count": 12, "bytes": 4},
        {"kind": "value_read", "place": "model.py:7 f", "file": "/home/me/model.py", "line": 7, "count": 1, "bytes": 8},
        {"kind": "guess", "what": "cudnn_workspace", "bytes": 2 * MiB, "sentence": "nobody knows it"},
        {"kind": "refused", "name": "cusparseSpGEMM_compute", "library": "cuSPARSE"},
    ]
    assert [(p["end"], p["program"]) for p in reply["processes"]] == [("ended", "train")]
    out = dryrun([], FAKE, "context", "0", *words).out
    for words in ("train.py:40 log (12 times)", "2.00 MiB", "cusparseSpGEMM_compute of cuSPARSE"):
        assert words in " ".join(out.split())


def test_lost_history(figures, dryrun):
    words = [FAKE, "context", "0", *torch_stats([], complete=False), "kill", "9"]
    assert {"kind": "history_lost", "processes": 1} in figures([], *words)["doubts"]
    assert "lost" in dryrun([], *words).out


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
        *["file", "problems.%p.jsonl", '{"what": "the history", "why": "no space"}'],
    ]
    reply = figures(["--world", "4", "--rank", "1", "--find-smallest"], FAKE, "context", "0", *stats, *notes)
    assert {doubt["kind"] for doubt in reply["doubts"]} == {"value_read", "guess", "refused", "history_lost", "not_recorded"}
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
    """It ends well on a card of any size: only what the driver refused, which PyTorch is not there to count, says that one is too small."""
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


# Programs in Python: what vramscope_dryrun.py does. fake_torch stands for torch.


@pytest.fixture
def python(dryrun, folder):
    """python(options, script) -> the JSON, with the program's output under "printed"."""

    def run(options, script, *words, env=None, code=0):
        (folder / "program.py").write_text(script)
        done = dryrun(
            ["--json", *options], PYTHON, *words, "program.py", env={"PYTHONPATH": FAKE_TORCH, "HOME": str(folder), **(env or {})}
        )
        assert done.code == code, done.err
        return {**json.loads(done.out), "printed": done.err}

    return run


TRAIN = """
import torch
module = torch.nn.Module()
module._parameters["w"] = weight = torch.Tensor(1000000, True)
weight.grad = torch.Tensor(1000000)
optimizer = torch.optim.AdamW([weight])
for i in range(3):
    optimizer.step()
torch.alloc(5 << 30)
torch.free(5 << 30)
"""
TRAINED = {"peak_allocated_bytes": 16000000 + 5 * GiB, "peak_requested_bytes": 16000000 + 5 * GiB - 1}
TRAINED["peak_reserved_bytes"] = 4 * 4 * MiB + 5 * GiB


def peaks(reply):
    return {key: value for key, value in reply["processes"][0]["devices"][0]["torch"].items() if key.startswith("peak_")}


def test_torch_program(python, folder):
    reply = python(["--snapshot", "kept.pickle"], TRAIN, env={"FAKE_SNAPSHOT": str(folder / "snapshot.pickle")})
    assert peaks(reply) == TRAINED and reply["printed"] == ""
    process = reply["processes"][0]
    assert process["steps"] == 3 and process["complete"] is True and process["torch_version"] == "9.9.0"
    assert process["history"] == {"on": True, "why": None, "calls": []}
    model = {"parameters": 10**6, "parameter_bytes": 4 * 10**6, "trainable_bytes": 4 * 10**6}
    assert process["model"] == {**model, "gradient_bytes": 4 * 10**6, "optimizer_bytes": 8 * 10**6, "optimizer": "AdamW"}
    assert (folder / "kept.pickle").exists()
    owners = reply["report"][0]["peak"]["owners"]
    assert owners and all("label" in owner for owner in owners)


def test_model_of_a_function_that_is_gone(python):
    """What lived only inside a function is known from the optimizer's first steps."""
    lines = TRAIN.strip().splitlines()
    script = "import torch\ndef main():\n" + "".join(f"    {line}\n" for line in lines[1:]) + "main()\n"
    assert python([], script)["processes"][0]["model"]["optimizer_bytes"] == 8 * 10**6


def test_resets_take_no_peaks_away(python):
    script = TRAIN + "torch.cuda.reset_peak_memory_stats()\nprint(torch.cuda.memory_stats()['allocated_bytes']['all']['peak'])\n"
    reply = python([], script)
    assert peaks(reply) == TRAINED and reply["printed"] == "16000000\n"


def test_own_recording_does_not_end_ours(python):
    script = TRAIN + (
        "torch.cuda._record_memory_history(max_entries=5, context=None, stacks='all', clear_history=True)\n"
        "print(torch._C.state.recording, torch._C.state.resets)\n"
        "torch.cuda._record_memory_history(None)\n"
        "print(torch._C.state.recording, torch._C.state.resets)\n"
    )
    reply = python([], script)
    recording = "{'enabled': 'all', 'context': 'all', 'stacks': 'python', 'max_entries': 1000000} 0\n"
    assert reply["printed"] == 2 * recording
    assert [call["enabled"] for call in reply["processes"][0]["history"]["calls"]] == ["all", None]
    reply = python(["--history", "77"], TRAIN + "print(torch._C.state.recording['max_entries'])")
    assert reply["printed"] == "77\n"


def test_without_history(python):
    reply = python(["--no-history"], TRAIN + "print(torch._C.state.recording)")
    assert reply["printed"] == "None\n" and peaks(reply) == TRAINED and reply["report"] is None
    assert reply["processes"][0]["history"]["on"] is False


@pytest.mark.parametrize(
    "end, code, verdict",
    (
        ("import sys; sys.exit(4)", 4, "stopped"),
        ("raise ValueError('no')", 1, "stopped"),
        ("torch.alloc(100 << 30)", 1, "does_not_fit"),
        ("\ntry:\n    torch.alloc(100 << 30)\nexcept torch.OutOfMemoryError:\n    pass", 0, "handled"),
    ),
)
def test_every_way_out(python, end, code, verdict):
    reply = python([], TRAIN + end, code=code)
    assert peaks(reply) == TRAINED and reply["verdict"] == verdict
    if verdict != "stopped":
        assert reply["oom"]["asked_bytes"] == 100 * GiB
        assert reply["oom"]["allocated_bytes"] == 16000000


@pytest.mark.parametrize("end, code", (("os._exit(6)", 6), ("os.kill(os.getpid(), 9)", 137)))
def test_ways_out_that_nobody_sees(python, end, code):
    reply = python([], TRAIN + "import os; " + end, code=code)
    assert reply["processes"][0]["complete"] is False
    assert {"kind": "history_lost", "processes": 1} in reply["doubts"]


def not_recorded(reply):
    return [doubt for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"]


def test_what_the_hook_cannot_write_is_said(python, dryrun, folder):
    """The program goes on undisturbed, and the report says what is missing and why."""
    reply = python([], TRAIN, env={"FAKE_NO_STATS": "1"})
    why = "RuntimeError: this allocator keeps no statistics"
    assert not_recorded(reply) == [{"kind": "not_recorded", "what": "PyTorch's figures", "why": why, "processes": 1}]
    assert reply["printed"] == "" and reply["devices"][0]["torch"] is None
    reply = python([], TRAIN, env={"FAKE_SNAPSHOT": str(folder / "gone.pickle")})
    assert peaks(reply) == TRAINED
    assert [(doubt["what"], doubt["why"].split(":")[0]) for doubt in not_recorded(reply)] == [("the history", "FileNotFoundError")]
    (folder / "program.py").write_text(TRAIN)
    env = {"PYTHONPATH": FAKE_TORCH, "HOME": str(folder), "FAKE_NO_STATS": "1"}
    out = " ".join(dryrun([], PYTHON, "program.py", env=env).out.split())
    assert f"not recorded: PyTorch's figures ({why})" in out


def test_an_exit_without_figures(figures):
    """It ended as programs do, and still the figures of its end are not there."""
    words = [FAKE, "context", "0", *torch_stats([], complete=False), *note(note="exit")]
    reply = figures([], *words)
    assert [doubt["what"] for doubt in not_recorded(reply)] == ["PyTorch's figures"] and len(reply["doubts"]) == 1
    problem = ["file", "problems.%p.jsonl", '{"what": "PyTorch\'s figures", "why": "OSError: no space"}\n{"what": 3}\n{"wh']
    reply = figures([], *words, *problem)
    assert [doubt["why"] for doubt in not_recorded(reply)] == ["OSError: no space"] and len(reply["doubts"]) == 1


def test_children_by_spawn_and_fork(python):
    script = """
import multiprocessing, os, sys
def work(size):
    import torch
    torch.alloc(size << 30)
if __name__ == "__main__":
    for method, sizes in (("spawn", (2, 3)), ("fork", (9,))):
        context = multiprocessing.get_context(method)
        for size in sizes:
            process = context.Process(target=work, args=(size,))
            process.start()
            process.join()
    import torch
    torch.alloc(1 << 30)
    if os.fork() == 0:
        sys.exit(0)  # runs what was to be run at the end: not ours
    os.wait()
"""
    reply = python([], script)
    seen = sorted((p["complete"], p["devices"][0]["torch"]["peak_reserved_bytes"] // GiB) for p in reply["processes"] if p["devices"])
    assert seen == [(True, 1), (True, 2), (True, 3)]  # a forked worker ends by os._exit


@pytest.mark.parametrize("first", ("import torch", "import torch.cuda", "from torch.optim import AdamW", "__import__('torch.nn')"))
def test_every_way_to_import(python, first):
    script = first + "\nimport torch\ntorch.alloc(5 << 20)\n"
    assert python([], script)["processes"][0]["complete"] is True


def test_looking_for_torch_is_no_import(python):
    script = "import importlib.util, sys\nspec = importlib.util.find_spec('torch')\nassert 'torch' not in sys.modules\n"
    script += "import torch\nassert torch.__spec__.loader.__class__.__name__ == 'SourceFileLoader'\n"
    script += "assert 'exec_module' not in vars(torch.__spec__.loader)\ntorch.alloc(5 << 20)\n"
    assert python([], script)["processes"][0]["complete"] is True


SEES_NOTHING = """
import sys
assert not [entry for entry in sys.path if entry.rstrip("/").endswith("/dryrun") or "vramscope" in entry and entry.endswith("python")], sys.path
assert not [name for name in sys.modules if "vramscope" in name], sys.modules
"""


def test_leaves_no_trace(python):
    script = SEES_NOTHING + "try:\n    import sitecustomize\n    print('there')\nexcept ImportError:\n    print('none')\n"
    # The Python of the tests may have a sitecustomize of its own: it is the same as without us.
    plain = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, env=make.environment())
    assert python([], script)["printed"] == plain.stdout
    for words in (["-I"], ["-S"], ["-E"], ["-s"]):
        python([], "print(1)", *words)


def test_another_sitecustomize_runs(python, folder):
    other = folder / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys\nsys.said = 'hello'\nvalue = 7\n")
    script = SEES_NOTHING + "import sitecustomize\nprint(sys.said, sitecustomize.value, sitecustomize.__file__)\n"
    env = {"PYTHONPATH": f"{other}:{FAKE_TORCH}"}
    assert python([], script, env=env)["printed"] == f"hello 7 {other}/sitecustomize.py\n"
    assert python([], TRAIN, env=env)["steps"] == 3
    (other / "sitecustomize.py").write_text("raise ValueError('broken')\n")
    plain = subprocess.run([PYTHON, "-c", "1"], capture_output=True, text=True, env=make.environment(**env))
    assert python([], "1", env=env)["printed"] == plain.stderr


def test_visible_devices_are_cards(python):
    script = "import torch\ntorch.alloc(1 << 30, device=0)\n"
    reply = python(["--gpu", "3xL4"], script, env={"CUDA_VISIBLE_DEVICES": "2,1", "FAKE_DEVICES": "2"})
    assert [device["device"] for device in reply["processes"][0]["devices"]] == [2]
    assert [device["torch"] is not None for device in reply["devices"]] == [False, False, True]


def test_a_python_program_without_torch(python):
    reply = python([], "print('hello')")
    assert reply["verdict"] == "no_cuda" and reply["processes"] == [] and reply["printed"] == "hello\n"
