"""dryrun --vary: a table of runs (dry_runs.py). Each row is compared with the same run made alone; real programs are in
tests/sim/test_vary.py."""

import itertools
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest
from dry_runs import FAKE, torch_stats

import conftest as make

GiB, MiB = 1 << 30, 1 << 20


@pytest.fixture
def program(folder):
    """A program that takes --batch N GiB of one GPU, --gpus N, --exit N; a batch of "x" is an error, as argparse makes it."""
    path = folder / "train.sh"
    path.write_text(
        "#!/bin/sh\nbatch=1 code=0 gpus=1\n"
        'while [ $# -gt 0 ]; do case $1 in --batch) batch=$2; shift 2;; --exit) code=$2; shift 2;; --gpus) gpus=$2; shift 2;;'
        " --batch=*) batch=${1#*=}; shift;; *) shift;; esac; done\n"
        'echo "weights are read"\n'
        "if [ $batch = x ]; then printf 'usage: train\\n50%%\\rtrain: error: invalid batch: x\\n\\n' >&2; exit 2; fi\n"
        f'words="context 0 take 0 $(( batch * {GiB} + ${{MORE:-0}} ))"\n'
        f'[ $gpus = 2 ] && words="$words context 1 take 1 {MiB}"\n'
        'if [ "$KV" ]; then kv=\'{"kv_cache": {"engine": "vLLM", "blocks": \'"$KV"\', "blocks_per_request": 64, "max_model_len": 1024}}\'\n'
        'set -- file problems.%p.jsonl "$kv"; else set --; fi\n'
        f'exec {FAKE} $words need 0 "$@" exit $code\n'
    )
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def table(dryrun):
    def run(axes, *command, options=(), code=0, **more):
        done = dryrun(["--json", *options, *(word for axis in axes for word in ("--vary", axis))], *command, **more)
        assert done.code == code, done.err
        reply = json.loads(done.out)
        assert (reply["schema"], reply["method"], reply["simulated"], reply["command"]) == (1, "dryrun_vary", True, [str(word) for word in command])
        return reply

    return run


def without_chance(value):
    """A reply without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_chance(item) for key, item in value.items() if key not in ("pid", "time_us", "ended_us", "report_pid")}
    return [without_chance(item) for item in value] if isinstance(value, list) else value


def alone(vramscope, tmp, run):
    """The reply of the command line that a run names for itself."""
    words = run["alone"]
    changes = {"TMPDIR": str(tmp)}
    if words[0] == "env":
        end = words.index("vramscope")
        changes.update(word.split("=", 1) for word in words[1:end] if "=" in word)
        words = words[end:]
    assert words[:2] == ["vramscope", "dryrun"]
    return json.loads(vramscope("dryrun", "--json", "--no-history", *words[2:], env=changes).out)


def test_each_row_is_the_run_alone(table, program, vramscope, tmp):
    reply = table(["gpu=L4,2xT4,4GiB", "env:MORE=,1048576", "batch=2,16,x"], program, "--exit", "0", "--batch=7")
    assert reply["run_count"] == len(reply["runs"]) == 18 and reply["why"] is None and reply["interrupted"] is False
    expected = list(itertools.product(("L4", "2xT4", "4GiB"), (None, "1048576"), ("2", "16", "x")))
    assert [tuple(run["settings"].values()) for run in reply["runs"]] == expected
    assert all(list(run["settings"]) == ["gpu", "env:MORE", "batch"] for run in reply["runs"])
    for run in reply["runs"]:
        found = alone(vramscope, tmp, run)
        assert without_chance(run["reply"]) == without_chance(found)
        assert run["command"] == run["reply"]["command"] == [program, "--exit", "0", "--batch=" + run["settings"]["batch"]]
        for key in ("verdict", "exit_code", "signal", "kv_cache"):
            assert run[key] == found[key]
        used = [device for device in found["devices"] if device["used"]]
        assert run["devices_used"] == len(used)
        if not used:
            assert run["needed_bytes"] is run["device"] is run["headroom_bytes"] is None
            continue
        most = max(used, key=lambda device: device["needed_bytes"])
        for key in ("device", "total_bytes", "needed_bytes", "driver_peak_bytes"):
            assert run[key] == most[key]
        spare = most["total_bytes"] - most["needed_bytes"]
        assert run["headroom_bytes"] == (spare if run["verdict"] == "fits" else None)
    assert [run["verdict"] for run in reply["runs"][:3]] == ["fits", "fits", "no_cuda"]
    assert [run["verdict"] for run in reply["runs"][12:15]] == ["fits", "does_not_fit", "no_cuda"]


def test_what_a_failed_run_printed(table, program):
    reply = table(["batch=1,x", "exit=0,3"], program)
    assert [(run["verdict"], run["exit_code"]) for run in reply["runs"]] == [("fits", 0), ("stopped", 3), ("no_cuda", 2), ("no_cuda", 2)]
    assert [run["output"] for run in reply["runs"]] == [None, "weights are read", *["weights are read\nusage: train\n50%\rtrain: error: invalid batch: x"] * 2]
    long = table(["env:A=1"], "sh", "-c", "seq 100000; printf last; exit 3")["runs"][0]["output"]
    assert long.endswith("99999\n100000\nlast") and long[0] != "\n" and 4000 < len(long) <= 4096
    assert long.splitlines()[0] == str(100000 - len(long.splitlines()) + 2)  # whole lines


def test_several_gpus_and_processes(table, program):
    """The figures are those of the GPU that needs most, the headroom is the least of all."""
    run = table(["gpu=24GiB,L4"], program, "--gpus", "2", options=["--context", "100MiB"])["runs"][1]
    assert run["devices_used"] == 1  # there is no second one
    reply = table(["gpu=2xL4", "ranks=2"], "sh", "-c", f"exec {FAKE} context $LOCAL_RANK take $LOCAL_RANK $(( (RANK + 1) * {GiB} ))", options=["--context", "100MiB"])
    (run,) = reply["runs"]
    assert (run["devices_used"], run["device"], run["needed_bytes"]) == (2, 1, 2 * GiB + 100 * MiB)
    least = min(device["total_bytes"] - device["needed_bytes"] for device in run["reply"]["devices"])
    assert run["headroom_bytes"] == least
    assert run["alone"][:8] == ["vramscope", "dryrun", "--gpu", "2xL4", "--context", "100MiB", "--ranks", "2"]


def test_axes_say_what_they_are(table, program):
    reply = table(["gpu+batch=L4+1,T4+2", "env:MORE=", "flag:fast=on", "--exit=0"], program, "--exit", "1")
    names = [[(name["name"], name["kind"], name["added"]) for name in axis["names"]] for axis in reply["axes"]]
    assert names == [[("gpu", "dryrun", False), ("batch", "option", True)], [("env:MORE", "environment", False)], [("flag:fast", "flag", True)], [("--exit", "option", False)]]
    assert [axis["values"] for axis in reply["axes"]] == [[["L4", "1"], ["T4", "2"]], [[None]], [["on"]], [["0"]]]
    assert [run["command"][1:] for run in reply["runs"]] == [["--exit", "0", "--batch", batch, "--fast"] for batch in "12"]
    assert table(["a.b=2,3"], "true", "a.b=1")["axes"][0]["names"][0]["kind"] == "argument"


def test_the_environment_of_a_run(table):
    reply = table(["env:COLOUR=red\\,green,", "conf=backend:native,"], "sh", "-c", 'echo "${COLOUR-none} ${PYTORCH_ALLOC_CONF-none} $VRAMSCOPE_DRYRUN_HISTORY"; exit 1', env={"COLOUR": "blue"})
    assert [run["output"] for run in reply["runs"]] == ["red,green backend:native 0", "red,green none 0", "none backend:native 0", "none none 0"]


def test_the_text(dryrun, program):
    out = dryrun(["--vary", "gpu=L4,4GiB", "--vary", "batch=2,16,x", "--context", "100MiB"], "./train.sh").out
    assert out == """\
6 runs on simulated GPUs: 3 fit, 1 ran out of memory, 2 failed, not because of
memory

                               on the
gpu   batch  run                  GPU   to spare
L4    2      fits            2.10 GiB  19.94 GiB
L4    16     fits           16.10 GiB   5.94 GiB
L4    x      exit status 2          -          -
4GiB  2      fits            2.10 GiB   1.90 GiB
4GiB  16     out of memory  100.0 MiB          -
4GiB  x      exit status 2          -          -

Added          --batch: not in the command, so added at its end
Failed         gpu=L4, batch=x: exit status 2; train: error: invalid batch: x
               gpu=4GiB, batch=x: exit status 2; train: error: invalid batch: x

Next: the report of one of these runs
  vramscope dryrun --gpu L4 --context 100MiB -- ./train.sh --batch x
"""


def test_units_and_quiet(dryrun, program):
    words = ["--vary", "batch=2", "--gpu", "L4", "--context", "100MiB", "--quiet"]
    text = lambda *more: dryrun([*words, *more], program, "--batch", "1").out  # noqa: E731
    assert text("--bytes").splitlines()[-1].split() == ["2", "fits", "2,252,341,248", "B", "21,406,679,040", "B"]
    assert text("--si").splitlines()[-1].split() == ["2", "fits", "2.25", "GB", "21.41", "GB"]
    assert text().startswith("1 run on L4 (simulated): 1 fits\n\n") and "Next" not in text() and "Added" not in text()
    assert "\x1b" not in text("--color", "never") and "\x1b" in text("--color", "always")


def test_the_kv_cache(dryrun, program, table):
    """With it the columns are more than 80 columns have room for, so the ones that matter least are in a line below."""
    axes = ["gpu=L4", "gpu-memory-utilization=0.8,0.95", "tensor_parallel_size=1", "env:KV=100,12345"]
    reply = table(axes, program)
    assert [run["kv_cache"]["tokens"] for run in reply["runs"]] == [1600, 197520] * 2
    assert reply["runs"][1]["kv_cache"] == reply["runs"][1]["reply"]["kv_cache"]
    words = [word for axis in axes for word in ("--vary", axis)]
    narrow = dryrun([*words, "--context", "100MiB"], program).out
    assert narrow.startswith("""\
4 runs on simulated GPUs: 4 fit

                    tensor_
     gpu-memory-  parallel_                  on the  tokens of  requests
gpu  utilization       size  env:KV  run        GPU   KV cache   at once
L4           0.8          1     100  fits  1.10 GiB      1,600      1.56
L4           0.8          1   12345  fits  1.10 GiB    197,520    192.89
L4          0.95          1     100  fits  1.10 GiB      1,600      1.56
L4          0.95          1   12345  fits  1.10 GiB    197,520    192.89

More           "to spare" in a wider terminal (COLUMNS=120), or with --json
Added          --gpu-memory-utilization, --tensor_parallel_size: not in the
               command, so added at its end
""")
    wide = dryrun([*words, "--context", "100MiB"], program, env={"COLUMNS": "120"}).out.splitlines()
    assert wide[4].endswith("  to spare") and wide[5].endswith("  20.94 GiB") and not any(line.startswith("More") for line in wide)


def test_pytorchs_figures(dryrun, folder, table):
    (folder / "run.sh").write_text(f"#!/bin/sh\nexec {FAKE} context 0 take 0 {GiB} \"$@\"\n")
    (folder / "run.sh").chmod(0o755)
    words = ["./run.sh", *torch_stats([(300 * MiB, 290 * MiB, 512 * MiB, 0, 0)])]
    run = table(["values=keep,true"], *words, options=["--context", "100MiB"])["runs"][1]
    assert (run["peak_reserved_bytes"], run["peak_allocated_bytes"]) == (512 * MiB, 300 * MiB)
    out = dryrun(["--vary", "values=keep,true", "--gpu", "L4", "--context", "100MiB"], *words).out
    assert [line.split() for line in out.splitlines() if line.startswith(("values", "keep", "true"))] == [
        ["values", "run", "GPU", "reserved", "allocated", "to", "spare"],
        *([word, "fits", "1.10", "GiB", "512.0", "MiB", "300.0", "MiB", "20.94", "GiB"] for word in ("keep", "true")),
    ]


def test_a_later_run_that_cannot_be_started(dryrun, table):
    reply = table(["env:PATH=/usr/bin:/bin,/nonexistent,/bin"], "sh", "-c", "true", code=1)
    assert [run["settings"]["env:PATH"] for run in reply["runs"]] == ["/usr/bin:/bin"] and reply["run_count"] == 3
    assert reply["why"] == "no such program" and reply["interrupted"] is False
    done = dryrun(["--vary", "env:PATH=/usr/bin:/bin,/nonexistent"], "sh", "-c", "true")
    assert done.code == 1 and done.out.startswith("Incomplete: 1 of 2 runs on H100") and "Ended          no such program\n" in done.out


def test_nothing_can_be_started(dryrun):
    done = dryrun(["--vary", "gpu=L4,T4"], "no-such-program")
    assert (done.code, done.out, done.err) == (127, "", "vramscope: no-such-program: no such program\n")


def interrupted(tmp, folder, *options):
    """Ctrl-C in the second run."""
    mark = folder / "mark"
    mark.unlink(missing_ok=True)
    script = f"[ $N = 2 ] && {{ trap 'exit 5' INT; {FAKE} context 0 leave; touch {mark}; while :; do sleep 0.05; done; }}; exec {FAKE} context 0 take 0 {GiB}"
    words = [make.BINARY, "dryrun", *options, "--gpu", "L4", "--vary", "env:N=1,2,3", "--", "sh", "-c", script]
    child = subprocess.Popen(words, env=make.environment(TMPDIR=str(tmp)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not mark.exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err, os.listdir(tmp)) == (130, "", [])
    return out


def test_interrupted(vramscope, tmp, folder):
    reply = json.loads(interrupted(tmp, folder, "--json"))
    assert [run["settings"] for run in reply["runs"]] == [{"env:N": "1"}] and reply["interrupted"] is True and reply["why"] == "it was interrupted"
    assert interrupted(tmp, folder).startswith("Interrupted: 1 of 3 runs on L4 (simulated): 1 fits\n")


def test_progress(vramscope, tmp):
    """On the terminal, while the programs themselves print nothing there."""
    master, slave = pty.openpty()
    subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=slave, check=True)
    words = [make.BINARY, "dryrun", "--vary", "gpu=L4,T4", "--", "sh", "-c", "echo 'hid'den; echo 'hid'den >&2"]
    done = subprocess.run(words, env=make.environment(TMPDIR=str(tmp)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, text=True, check=True)
    os.close(slave)
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert "run 1 of 2: gpu=L4" in shown and "run 2 of 2: gpu=T4" in shown and "hidden" not in shown + done.stdout


def test_options_that_are_axes(table, program, dryrun):
    """--compare and --world with several numbers are --vary of the same."""
    for options, axis in ((["--compare", "H100,L4:9GiB"], "gpu=H100,L4:9GiB"), (["--world", "8,64"], "world=8,64")):
        done = dryrun(["--json", *options], program, "--batch", "4")
        reply = json.loads(done.out)
        assert done.code == 0 and reply["method"] == "dryrun_vary"
        same = json.loads(dryrun(["--json", "--vary", "dryrun:" + axis], program, "--batch", "4").out)
        for run in (*reply["runs"], *same["runs"]):
            run.pop("time_us", None)
            run["reply"] = run["reply"]["devices"]
        assert reply["runs"] == same["runs"] and len(reply["runs"]) == 2
    both = json.loads(dryrun(["--json", "--compare", "H100,L4", "--world", "2,4", "--vary", "batch=1,2"], program).out)
    assert [run["settings"] for run in both["runs"]][:2] == [
        {"dryrun:gpu": "H100", "dryrun:world": "2", "batch": "1"}, {"dryrun:gpu": "H100", "dryrun:world": "2", "batch": "2"}]
    assert len(both["runs"]) == 8
    assert re.search(r"^gpu +run ", dryrun(["--compare", "H100,L4"], program).out, re.M)
    text = dryrun(["--compare", "H100,L4", "--vary", "--gpu=1,2"], program).out
    assert re.search(r"^gpu +--gpu +run ", text, re.M), text


@pytest.mark.parametrize(
    "options, says",
    (
        (["--vary", "gpu"], "takes NAME=VALUE,VALUE,..."),
        (["--vary", "gpu=L4,H1000"], "gpu=H1000: unknown GPU"),
        (["--vary", "rank=1,2"], "rank=1: --rank says which one of --world N it is"),
        (["--vary", "world=2,4", "--rank", "3"], "world=2: of 2 ranks the last one is --rank 1"),
        (["--vary", "gpu=L4", "--gpu", "L4"], "--gpu is given, too"),
        (["--vary", "batch=1"], "\"batch\" is not a word of the command"),
        (["--vary", "gpu=L4", "--find-smallest"], "--vary makes a table of runs, --find-smallest is about one run"),
        (["--vary", "gpu=L4", "--world", "2", "--ranks-that-differ"], "--ranks-that-differ is about one run"),
        (["--vary", "gpu=L4", "--history", "100"], "--history is about one run"),
        (["--vary", "gpu=L4", "--history", "recorder"], "--history is about one run"),
        (["--vary", "gpu=L4", "--snapshot", "x.pickle"], "--snapshot is about one run"),
        (["--vary", "gpu=L4", "--top", "3"], "--top is about owners"),
        (["--vary", "env:A=1,2,3,4,5,6,7,8,9", "--vary", "env:B=1,2,3,4,5,6,7,8"], "72 runs"),
    ),
)
def test_usage(dryrun, options, says, folder):
    """Said before anything is started."""
    done = dryrun(options, "sh", "-c", f"touch {folder}/started")
    assert (done.code, done.out) == (2, "") and not (folder / "started").exists()
    assert done.err.startswith("vramscope: ") and done.err.count("\n") == 1 and says in done.err
