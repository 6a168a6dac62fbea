"""dryrun: how programs are started and ended, and what they leave behind (dry_runs.py)."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from dry_runs import FAKE, torch_stats

import conftest as make

GiB, MiB = 1 << 30, 1 << 20


# Starting and ending.


@pytest.mark.parametrize("words, code", ((["exit", "0"], 0), (["exit", "3"], 3), (["kill", "9"], 137), (["kill", "15"], 143)))
def test_the_programs_own_exit_code(dryrun, words, code):
    child = ["--exit-code", "child"]
    assert dryrun(child, FAKE, *words).code == code
    assert dryrun([*child, "--json"], FAKE, *words).code == code
    assert dryrun([*child, "-o", "report.txt", "-f"], FAKE, *words).code == code
    assert json.loads(dryrun(["--json"], FAKE, *words).out)["exit_code"] == code


@pytest.mark.parametrize(
    "words, code",
    (
        (["context", "0", "exit", "0"], 0),
        (["context", "0", *torch_stats([(1, 1, 1, 2, 0)]), "exit", "0"], 0),  # errors that it handled
        (["context", "0", *torch_stats([(1, 1, 1, 2, 0)]), "exit", "7"], 1),
        (["context", "0", "exit", "7"], 6),
        (["context", "0", "kill", "9"], 6),
        (["exit", "0"], 6),  # it did not use the GPU
        (["exit", "1"], 6),
    ),
)
def test_exit_code_says_whether_it_fits(dryrun, words, code):
    for options in ([], ["--json"], ["-o", "report.txt", "-f"], ["--exit-code", "answer"]):
        assert dryrun(options, FAKE, *words).code == code


FITTING = ["context", "0", "take", "0", str(6 * GiB), *torch_stats([(4 * GiB, 3 * GiB, 5 * GiB, 0, 2)]), "exit", "0"]


@pytest.mark.parametrize(
    "options, code, verdicts",
    (
        (["--max-allocated", "4GiB", "--max-reserved", "5GiB", "--no-oom"], 0, ["holds", "holds", "holds"]),
        (["--max-allocated", str(4 * GiB - 1)], 5, ["broken"]),
        (["--max-driver", "6GiB", "--max-retries", "2"], 5, ["broken", "holds"]),  # the context is counted, too
        (["--max-growth", "0"], 2, ["unknown"]),  # its history was not recorded
        (["--max-growth", "0", "--max-retries", "1"], 5, ["unknown", "broken"]),
    ),
)
def test_limits(dryrun, options, code, verdicts):
    """The figures are those that `vramscope check` has of the reply (test_check.py)."""
    done = dryrun(["--json", *options], FAKE, *FITTING)
    reply = json.loads(done.out)
    assert done.code == code and [row["verdict"] for row in reply["check"]["checks"]] == verdicts
    plain = json.loads(dryrun(["--json"], FAKE, *FITTING).out)
    assert list(reply) == [*plain, "check"] and "check" not in plain and reply["verdict"] == "fits"
    text = dryrun(options, FAKE, *FITTING)
    assert text.code == code and all(row["key"] in text.out for row in reply["check"]["checks"])
    assert text.out.index("Fits in") < text.out.index(reply["check"]["checks"][0]["key"])
    assert dryrun(["--exit-code", "child", *options], FAKE, *FITTING).code == 0


def test_limits_of_a_program_that_does_not_fit(dryrun):
    """Whether it fits comes first."""
    failing = [*torch_stats([(4 * GiB, 3 * GiB, 5 * GiB, 1, 2)]), "exit", "1"]
    done = dryrun(["--max-allocated", "1GiB"], FAKE, "context", "0", *failing)
    assert done.code == 1 and "Does not fit" in done.out and "Broken: 1 of 1 check" in done.out
    assert dryrun(["--max-allocated", "1GiB"], FAKE, "context", "0", "exit", "3").code == 6


def test_programs_that_cannot_be_started(dryrun, folder):
    done = dryrun([], "no-such-program")
    assert (done.code, done.out, done.err) == (127, "", "vramscope: no-such-program: no such program\n")
    (folder / "text").write_text("hello")
    done = dryrun([], "./text")
    assert (done.code, done.out) == (126, "") and "permission denied" in done.err


def test_a_python_program_without_its_interpreter(dryrun, folder):
    (folder / "train.py").write_text("print('hello')\n")
    done = dryrun([], "./train.py")
    assert (done.code, done.err) == (126, "vramscope: ./train.py: cannot be started: permission denied; did you mean python3 ./train.py?\n")
    done = dryrun([], "train.py")
    assert (done.code, done.err) == (127, "vramscope: train.py: no such program; did you mean python3 train.py?\n")
    assert "did you mean" not in dryrun([], "other.py").err


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
        (["--gpu", "24"], "24GiB"),
        (["--conf", "expandable_segmets:True"], "did you mean 'expandable_segments'?"),
        (["--conf", "max_split_size_mb:many"], "--conf: "),
        (["--conf", "profile:torch-2.6"], "profile is no setting of PyTorch's"),
        (["--max-allocated", "much"], "max-allocated takes a size"),
        (["--exit-code", "mine"], "answer|child"),
        (["--compare", "H100,L4", "--gpu", "A100"], "--gpu names the GPU of one run, and --compare"),
        (["--compare", "H100,L5"], "L5"),
        (["--world", "8,many"], "--world takes N|N,N"),
        (["--world", "8,16", "--max-allocated", "1GiB"], "a limit is about one run"),
        (["--find-largest", "n=1..4", "--exit-code", "child"], "--exit-code is about the program, and --find-largest"),
        (["--values", "ones"], "--values: not one of zeros|true|keep, and not FILE:LINE=VALUE: \"ones\""),
        (["--values", "keep", "--values", "train.py:88=ture"], "did you mean \"true\"?"),
        (["--values", "train.py=keep"], "train.py:88=keep"),
        (["--values", "train.py:88=1:int63"], "did you mean \"int64\"?"),
        (["--events", "never"], "at-once|at-sync"),
        (["--until", "Ready"], "ready"),
        (["--until", "0"], "idle"),
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


def test_a_snapshot_that_cannot_be_written_is_said_before_the_run(dryrun, folder):
    (folder / "kept.pickle").write_text("old")
    (folder / "link.pickle").symlink_to("kept.pickle")
    for name, why in (("kept.pickle", "file exists"), ("link.pickle", "file exists"), (".", "directory"), ("no/kept.pickle", "no such"),
                      ("kept.pickle/kept.pickle", "not a directory")):
        done = dryrun(["--snapshot", name], FAKE, "print", "hello")
        assert done.code == 3 and done.out == "" and f"{name}: " in done.err and why in done.err, done
    assert (folder / "kept.pickle").read_text() == "old"
    assert "hello" in dryrun(["--snapshot", "kept.pickle", "--force"], FAKE, "print", "hello").out


def surroundings(dryrun, options, env=None):
    done = dryrun(options, "env", "-0", env=env)
    return dict(entry.split("=", 1) for entry in done.out.split("\0") if "=" in entry)


def test_environment(dryrun):
    plain = surroundings(dryrun, [], env={"CUDA_VISIBLE_DEVICES": "1,0", "PYTHONPATH": "/mine", "LD_PRELOAD": "libm.so.6"})
    recorder, *preload = plain["LD_PRELOAD"].split(":")
    assert recorder.endswith("/preload/libvramscope-record.so")
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
    places = surroundings(dryrun, ["--values", "true", "--values", "a.py:3=1:int64", "--values=keep"])
    assert places["VRAMSCOPE_SIM_VALUES"] == "true,a.py:3=1:int64,keep"
    assert plain["VRAMSCOPE_RECORD"].endswith("/recording.vram") and plain["VRAMSCOPE_RECORD_STACKS"] == "python"
    users = surroundings(dryrun, [], env={"VRAMSCOPE_RECORD": "/mine.vram"})  # a recording of the user's own
    assert users["VRAMSCOPE_RECORD"] == "/mine.vram" and "record" not in users["LD_PRELOAD"]
    recorded = surroundings(dryrun, ["--history", "recorder"])
    assert recorded["VRAMSCOPE_DRYRUN_HISTORY"] == "recorder" and recorded["VRAMSCOPE_RECORD"].endswith("/recording.vram")
    assert surroundings(dryrun, ["--history", "torch"])["VRAMSCOPE_DRYRUN_HISTORY"] == "1000000"
    without = surroundings(dryrun, ["--no-history"])
    assert without["VRAMSCOPE_DRYRUN_HISTORY"] == "0" and "VRAMSCOPE_RECORD" not in without and "record" not in without["LD_PRELOAD"]
    world = surroundings(dryrun, ["--world", "64", "--rank", "5"])
    assert (world["RANK"], world["WORLD_SIZE"]) == ("5", "64") and world["MASTER_PORT"].isdigit()


def copy_of_the_program(to):
    """The binary with the files that it needs, in another folder."""
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
    assert done.returncode == 6 and done.stderr == ""  # it did not use the GPU
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


def test_killed(folder, tmp):
    """By a signal that it cannot see: the program goes with it, and so does what lies around."""
    pid_file = folder / "pid"
    child = start(tmp, "--", "sh", "-c", f"echo $$ > {pid_file}; exec sleep 100")
    wait_for(lambda: pid_file.exists() and pid_file.read_text().strip())
    pid = int(pid_file.read_text())
    assert len(os.listdir(tmp)) == 1
    child.kill()
    child.communicate()
    wait_for(lambda: not is_alive(pid) and os.listdir(tmp) == [])


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
def test_interrupted(tmp, folder, vramscope, number):
    """The program gets the signal, and the report is still printed."""
    mark = folder / "mark"
    script = f"trap 'exit 5' INT TERM; {FAKE} context 0 take 0 {GiB} leave; touch {mark}; while :; do sleep 0.05; done"
    child = start(tmp, "--", "sh", "-c", script)
    wait_for(mark.exists)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and err == "" and "exit status 5" in out and "1.51 GiB" in out
    assert os.listdir(tmp) == []


# --until.


def test_until_a_time(figures, dryrun):
    """The program and those that it started get what Ctrl-C sends, and the run until then is what the report is about."""
    program = ["sh", "-c", f"trap 'exit 3' INT; {FAKE} context 0 take 0 {GiB} sleep 100000; echo; exit 4"]
    reply = figures(["--until", "0.3"], *program)
    assert (reply["until"], reply["verdict"], reply["exit_code"], reply["signal"]) == ("0.3", "fits", 0, None)
    assert 300_000 <= reply["ended_us"] <= reply["time_us"] < 9_000_000
    assert reply["processes"][0]["end"] == "killed" and reply["devices"][0]["driver_peak_bytes"] > GiB
    text = dryrun(["--until", "0.3"], *program).out
    assert "Fits in" in text and re.search(r"ended after [0-9.]+ m?s \(--until 0.3\)", text)


def test_until_nothing_happens(figures):
    """Idle for five seconds. What the program did before does not count as a failure, and what it would have done is unknown."""
    reply = figures(["--until", "idle"], FAKE, "sleep", "100", "context", "0", "take", "0", GiB, "sleep", "100000", "exit", "4")
    assert reply["verdict"] == "fits" and 5_000_000 <= reply["ended_us"] < 60_000_000


def test_until_of_a_program_that_does_not_listen(figures):
    """It gets thirty seconds, then what ends it, with the processes that it started."""
    script = f"trap '' INT; {FAKE} context 0 leave; {FAKE} context 0 sleep 100000"
    reply = figures(["--until", "0.1"], "sh", "-c", script)
    assert reply["verdict"] == "fits" and 30_000_000 <= reply["time_us"] - reply["ended_us"] < 60_000_000
    assert [process["end"] for process in reply["processes"]] == ["ended", "killed"]


def test_until_is_too_late(figures):
    """A program that ends or fails by itself is judged as ever."""
    assert figures(["--until", "100"], FAKE, "context", "0", "exit", "4")["exit_code"] == 4
    reply = figures(["--until", "idle"], FAKE, "context", "0")
    assert (reply["until"], reply["ended_us"], reply["verdict"]) == ("idle", None, "fits")


def test_until_before_the_gpu_was_used(dryrun):
    done = dryrun(["--until", "0.2"], "sleep", "100")
    assert done.code == 6 and "did not use the GPU" in done.out and "ended after" in done.out
