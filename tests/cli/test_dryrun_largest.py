"""dryrun --find-largest: the largest of some integers with which a program fits (dry_runs.py). The search itself is compared with a
linear scan in tests/unit/dryrun/test_largest.c, real programs are in tests/sim/test_largest.py."""

import json
import os
import signal
import subprocess
import time

import pytest
from dry_runs import FAKE

import conftest as make

GiB, MiB = 1 << 30, 1 << 20
CONTEXT = ["--context", "100MiB"]


@pytest.fixture
def program(folder):
    """A program that takes --batch N GiB of the GPU; with FAIL=N a batch of N fails for another reason, with HANDLE=N a batch above N
    runs out of memory and completes all the same, and with LESS=N a batch of N takes one GiB."""
    path = folder / "train.sh"
    path.write_text(
        "#!/bin/sh\nbatch=1\n"
        "while [ $# -gt 0 ]; do case $1 in --batch) batch=$2; shift 2;; *) shift;; esac; done\n"
        '[ "$FAIL" = "$batch" ] && { echo "no data" >&2; exit 3; }\n'
        '[ "$NO_GPU" ] && exit 0\n'
        '[ "$LESS" = "$batch" ] && batch=1\n'
        f'[ "$HANDLE" ] && [ $batch -gt $HANDLE ] && exec {FAKE} context 0 take 0 {64 * GiB}\n'
        f"exec {FAKE} context 0 take 0 $(( batch * {GiB} )) need 0\n"
    )
    path.chmod(0o755)
    return "./train.sh"


@pytest.fixture
def search(dryrun):
    def run(values, *command, options=(), code=0, **more):
        done = dryrun(["--json", "--gpu", "L4", *CONTEXT, *options, "--find-largest", values], *command, **more)
        assert done.code == code, done.err
        reply = json.loads(done.out)
        assert (reply["schema"], reply["method"], reply["simulated"], reply["command"]) == (1, "dryrun_find_largest", True, list(command))
        assert [axis["names"][0]["name"] for axis in reply["axes"]] == [values.split("=")[0]]
        return reply

    return run


def test_found(search, program, vramscope, tmp):
    """22.03 GiB with a context of 100 MiB: 21 fit. Each run is the one that its command line makes alone."""
    reply = search("batch=1..256", program, "--steps", "2")
    assert reply["answer"] == {"end": "found", "largest": 21, "fits": 21, "does_not_fit": 22, "failed": None, "contradiction": None}
    assert reply["values"] == {"count": 256, "first": 1, "last": 256, "step": 1}
    tried = [int(run["settings"]["batch"]) for run in reply["runs"]]
    assert tried[0] == 1 and {21, 22} <= set(tried) and len(set(tried)) == len(tried) <= 6
    for run, batch in zip(reply["runs"], tried, strict=True):
        assert run["command"] == [program, "--steps", "2", "--batch", str(batch)]
        found = json.loads(vramscope("dryrun", "--json", *run["alone"][2:], env={"TMPDIR": str(tmp)}).out)
        assert (found["verdict"], found["devices"]) == (run["verdict"], run["reply"]["devices"])
        assert run["verdict"] == ("fits" if batch <= 21 else "does_not_fit")
        if batch <= 21:
            assert run["needed_bytes"] == batch * GiB + 100 * MiB and run["headroom_bytes"] == run["total_bytes"] - run["needed_bytes"]


@pytest.mark.parametrize(
    "values, environment, code, end, largest, fits, does_not_fit, failed",
    (
        ("batch=1..4", {}, 0, "all_fit", 4, 4, None, None),
        ("batch=22..40", {}, 1, "none_fits", None, None, 22, None),
        ("batch=1..256:10", {}, 0, "found", 21, 21, 31, None),
        ("batch=1,2,30,64", {}, 0, "found", 2, 2, 30, None),
        ("batch=7", {}, 0, "all_fit", 7, 7, None, None),
        ("batch=1..64", {"FAIL": "1"}, 6, "failed", None, None, None, 1),
        ("batch=1..64", {"FAIL": "21"}, 6, "failed", None, 8, None, 21),
        ("batch=1..64", {"NO_GPU": "1"}, 6, "no_cuda", None, None, None, 1),
        ("batch=1..64", {"HANDLE": "5"}, 0, "found", 5, 5, 6, None),
    ),
)
def test_answers(search, program, values, environment, code, end, largest, fits, does_not_fit, failed):
    """A run that handles an out-of-memory error does not fit: it does less than it would with more memory."""
    answer = search(values, program, code=code, env=environment)["answer"]
    assert answer == {"end": end, "largest": largest, "fits": fits, "does_not_fit": does_not_fit, "failed": failed, "contradiction": None}


def test_memory_that_falls(search, program, dryrun):
    """The search rests on memory that does not fall; where two runs show that it does, the answer says so."""
    tried = [int(run["settings"]["batch"]) for run in search("batch=2..40", program)["runs"]]
    reply = search("batch=2..40", program, env={"LESS": str(tried[1])})
    assert reply["answer"]["end"] == "found" and reply["answer"]["contradiction"] == {"smaller": 2, "larger": tried[1], "bytes": GiB}
    out = dryrun(["--gpu", "L4", *CONTEXT, "--find-largest", "batch=2..40"], program, env={"LESS": str(tried[1])}).out
    doubt = f"Doubt batch={tried[1]} leaves 1.00 GiB more than batch=2: memory does not grow with every value, so a larger one may fit, too"
    assert doubt in " ".join(out.split())
    reply = search("batch=4..8", program, env={"LESS": "8"})
    assert reply["answer"]["end"] == "all_fit" and reply["answer"]["contradiction"]["larger"] == 8
    assert "Doubt" not in dryrun(["--gpu", "L4", "--find-largest", "batch=4..8"], program, env={"LESS": "8"}).out


def test_a_placeholder(search, folder):
    """Wherever it stands in the command, also in the words of a shell's script."""
    script = f"exec {FAKE} context 0 take 0 $(( {{gib}} * {GiB} )) need {{gib}}"
    reply = search("gib=1..64", "sh", "-c", script)
    assert reply["answer"]["largest"] == 21 and reply["axes"][0]["names"][0]["kind"] == "placeholder"
    assert reply["runs"][0]["command"] == ["sh", "-c", script.replace("{gib}", "1")]


def test_an_option_of_dryrun_and_the_environment(search, folder):
    script = f"exec {FAKE} context 0 take 0 $(( WORLD_SIZE * {GiB} )) need 0"
    assert search("world=2..64", "sh", "-c", script, options=["--rank", "0"])["answer"]["largest"] == 21
    script = f"exec {FAKE} context 0 take 0 $(( LAYERS * {GiB} )) need 0"
    assert search("env:LAYERS=2..64", "sh", "-c", script)["answer"]["largest"] == 21


def test_the_text(dryrun, program):
    words = ["--gpu", "L4", *CONTEXT, "--find-largest", "batch=1..256"]
    assert dryrun(words, program).out == """\
batch=21 is the largest of 1..256 that fits in L4 (simulated): batch=22 does not

                         on the
batch  run                  GPU               to spare
    1  fits            1.10 GiB  ▌           20.94 GiB
   16  fits           16.10 GiB  ███████▎     5.94 GiB
   21  fits           21.10 GiB  █████████▋  959.0 MiB
   22  out of memory  100.0 MiB                      -

Added          --batch: not in the command, so added at its end

Next: the report of one of these runs
  vramscope dryrun --gpu L4 --context 100MiB -- ./train.sh --batch 21
"""
    quiet = dryrun([*words, "--quiet"], program, "--batch", "{batch}").out.splitlines()
    assert len(quiet) == 8 and quiet[-1].split() == ["22", "out", "of", "memory", "100.0", "MiB", "-"]


def test_the_text_of_other_ends(dryrun, program):
    def text(values, **environment):
        out = dryrun(["--gpu", "4GiB", *CONTEXT, "--find-largest", values], program, env=environment).out
        return " ".join(out.split("\n\n")[0].split())

    assert text("batch=1..2") == "batch=2 is the largest of 1..2 that fits in a GPU with 4.00 GiB (simulated)"
    assert text("batch=4..8:2") == "None of 4..8 by 2 fits in a GPU with 4.00 GiB (simulated): batch=4 does not fit"
    assert text("batch=1,2,9") == "batch=2 is the largest of 3 values from 1 to 9 that fits in a GPU with 4.00 GiB (simulated): batch=9 does not"
    assert text("batch=1..9", FAIL="1") == "Not found: with batch=1 the program failed, not because of memory"
    assert text("batch=1..9", FAIL="3") == "Not found: with batch=3 the program failed, not because of memory: batch=1 fits"
    assert text("batch=1..9", NO_GPU="1") == "Not found: with batch=1 the program did not use the GPU"


def test_interrupted(tmp, folder):
    mark = folder / "mark"
    script = f"[ {{n}} != 1 ] && {{ trap 'exit 5' INT; {FAKE} context 0 leave; touch {mark}; while :; do sleep 0.05; done; }}; exec {FAKE} context 0 take 0 {GiB}"
    words = [make.BINARY, "dryrun", "--gpu", "L4", "--find-largest", "n=1..9", "--", "sh", "-c", script]
    child = subprocess.Popen(words, env=make.environment(TMPDIR=str(tmp)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not mark.exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err, os.listdir(tmp)) == (130, "", []) and out.startswith("Interrupted: n=1 fits\n")


def test_a_run_that_cannot_be_started(dryrun, folder):
    """The first one: an error. A later one: the reason why the search ends."""
    assert dryrun(["--find-largest", "n=1..9"], "no-such-program", "--n", "1").code == 127
    (folder / "once.sh").write_text(f'#!/bin/sh\nrm "$0"\nexec {FAKE} context 0 take 0 {GiB}\n')
    (folder / "once.sh").chmod(0o755)
    done = dryrun(["--json", "--gpu", "L4", "--find-largest", "n=1..9"], "./once.sh", "--n", "1")
    reply = json.loads(done.out)
    assert (done.code, reply["why"], reply["interrupted"], len(reply["runs"])) == (6, "no such program", False, 1)
    assert reply["answer"] == {"end": "not_started", "largest": None, "fits": 1, "does_not_fit": None, "failed": None, "contradiction": None}


@pytest.mark.parametrize(
    "options, says",
    (
        (["batch"], "takes integers, such as 1..256, 128..8192:128 or 1,2,4,8, not \"\""),
        (["batch=1..x"], "not \"x\""),
        (["batch=9..1"], "ends below its beginning"),
        (["gpu=1..2"], "gpu=1: unknown GPU '1'"),
        (["gpu+batch=1..2"], "--find-largest"),
        (["{seq}=1..2"], "the command has no \"{seq}\""),
        (["batch=1..2", "--vary", "gpu=L4"], "--vary runs all of its values, --find-largest searches"),
        (["batch=1..2", "--find-smallest"], "--find-largest makes several runs, --find-smallest is about one run"),
        (["batch=1..2", "--history", "100"], "--history is about one run"),
        (["batch=1..2", "--snapshot", "x.pickle"], "--snapshot is about one run"),
        (["batch=1..2", "--top", "3"], "--top is about owners, and --find-largest makes several runs"),
    ),
)
def test_usage(dryrun, options, says, folder):
    """Said before anything is started."""
    (folder / "train.sh").write_text(f"#!/bin/sh\ntouch {folder}/started\n")
    (folder / "train.sh").chmod(0o755)
    done = dryrun(["--find-largest", *options], "./train.sh")
    assert (done.code, done.out) == (2, "") and not (folder / "started").exists()
    assert done.err.startswith("vramscope: ") and done.err.count("\n") == 1 and says in done.err
