"""vramscope fit: which changes it finds. A program that only pretends to use CUDA (dry_runs.py) does as if changes were applied to it, so the memory of each
set is known here; real programs are in tests/sim/test_fit.py, the search itself in tests/unit/dryrun/test_cheapest.c."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from dry_runs import FAKE

import conftest as make

GiB, MiB = 1 << 30, 1 << 20
BLOCKS = 12
PROGRAM = """
import json, os, sys
GiB = 1 << 30
changes = json.loads(os.environ.get("VRAMSCOPE_CHANGES", '{"changes": []}'))["changes"]
refused, fatal = os.environ.get("REFUSED", "").split(), os.environ.get("FATAL", "").split()
batch = int(sys.argv[sys.argv.index("--batch") + 1]) if "--batch" in sys.argv else 8
applied = {}

def tell(number, **members):
    if os.environ.get("SILENT"):
        return
    with open(os.environ["VRAMSCOPE_CHANGES_LIST"], "a") as file:
        file.write(json.dumps({"pid": os.getpid(), "change": number, **members}) + "\\n")

for number, change in enumerate(changes):
    name = change["name"]
    if name in fatal:
        sys.exit("it cannot be done")
    if name in refused or os.environ.get("SILENT"):
        tell(number, applied=False, text="it is not there")
        continue
    applied[name] = change
    tell(number, applied=True, text="to it")
    if name == "checkpoint":
        chosen = min(len(range(0, 12, change["every"])), change["first"])
        tell(number, blocks=chosen)
        change["share"] = chosen / 12
activations = batch * 1.5 * (1 - 0.75 * applied.get("checkpoint", {}).get("share", 0)) * (0.25 if "save_on_cpu" in applied else 1)
state = 4 if "adam_8bit" in applied else 8
allocated = int((4 + state + activations) * GiB)
reserved = allocated + (0 if "allocator" in applied else 2 * GiB)
if os.environ.get("UNREADABLE") in applied:
    os.remove(os.environ["VRAMSCOPE_CHANGES_LIST"])
    os.mkdir(os.environ["VRAMSCOPE_CHANGES_LIST"])
device = {"device": 0, "card": 0, "peak_allocated_bytes": allocated, "peak_requested_bytes": allocated, "peak_reserved_bytes": reserved,
          "num_ooms": 0, "num_alloc_retries": 0}
stats = {"schema": 1, "complete": True, "visible": [{"device": 0, "card": 0}], "devices": [device], "steps": 2, "torch": "9.9.0"}
end = ["kill", "9"] if os.environ.get("KILLED") in applied else []
if os.environ.get("WAIT"):
    import time
    time.sleep(60)
os.execv(os.environ["FAKE"], [os.environ["FAKE"], "context", "0", "take", "0", str(reserved), "need", "0", "file", "stats.%p.json", json.dumps(stats), *end])
"""


@pytest.fixture
def program(folder):
    (folder / "train.py").write_text(PROGRAM)
    return [sys.executable, "train.py"]


@pytest.fixture
def fit(vramscope, program):
    def run(gpu, *options, code=0, words=(), **more):
        done = vramscope("fit", "--json", "--gpu", gpu, "--context", "0MiB", *options, "--", *program, *words, env={"FAKE": FAKE, **more})
        assert done.code == code, done.err
        return json.loads(done.out)

    return run


def names(changes):
    return [change["name"] for change in changes["changes"]]


def needed(reply, key, at):
    return reply["runs"][at[key]]["needed_bytes"]


def test_the_cheapest_set(fit, folder):
    """26 GiB are needed, 18 of them fit. Checkpointing saves 9 at most, so it is enough alone, and in part."""
    reply = fit("18GiB", "-o", "found.json")
    answer = reply["answer"]
    assert (reply["method"], reply["capacity_bytes"], answer["end"]) == ("fit", 18 * GiB, "found")
    (change,) = answer["changes"]["changes"]
    assert change == {"name": "checkpoint", "first": 11}  # 26 - 0.75 * 11 = 17.75; with 10 blocks 18.5
    assert json.loads((folder / "found.json").read_text()) == answer["changes"]
    proof = reply["runs"][answer["proof"]]
    assert (proof["roomy"], proof["verdict"], proof["needed_bytes"]) == (False, "fits", int(17.75 * GiB))
    assert reply["runs"][0]["needed_bytes"] == 26 * GiB and reply["runs"][0]["roomy"]
    alone = {reply["runs"][at]["title"]: reply["runs"][at]["needed_bytes"] for at in answer["alone"]}
    assert alone["allocator (expandable_segments:True)"] == 24 * GiB
    assert alone["checkpoint"] == 17 * GiB and alone["checkpoint (every 2)"] == int(21.5 * GiB)
    assert len(reply["runs"]) <= 24


def test_a_pair(fit):
    """16 GiB: the allocator's settings and checkpointed blocks together."""
    answer = fit("16GiB")["answer"]
    assert names(answer["changes"]) == ["allocator", "checkpoint"]
    assert [step["name"] for step in answer["steps"]] == ["allocator", "checkpoint"]
    assert all(step["run"] is not None for step in answer["steps"])


def test_each_run_can_be_made_alone(fit, vramscope):
    reply = fit("18GiB")
    for at in (0, reply["answer"]["alone"][-1], reply["answer"]["proof"]):
        run = reply["runs"][at]
        done = vramscope(*run["alone"][1:2], "--json", *run["alone"][2:], env={"FAKE": FAKE})
        assert json.loads(done.out)["devices"][0]["driver_peak_bytes"] == run["needed_bytes"], done.err


def test_the_file_is_applied_by_dryrun(fit, vramscope, program):
    fit("18GiB", "-o", "found.json")
    run = ["dryrun", "--gpu", "18GiB", "--context", "0MiB"]
    assert vramscope(*run, "--", *program, env={"FAKE": FAKE}).code == 1
    done = vramscope(*run, "--with", "found.json", "--", *program, env={"FAKE": FAKE})
    assert done.code == 0 and "Changed        checkpoint (first 11): to it" in done.out


def test_a_program_that_fits(fit, folder):
    reply = fit("26GiB", "-o", "found.json")
    assert (reply["answer"]["end"], len(reply["runs"]), reply["answer"]["changes"]) == ("fits", 2, None)
    assert not (folder / "found.json").exists()


def test_nothing_is_enough(fit, folder):
    reply = fit("9GiB", "-o", "found.json", code=1)
    assert (reply["answer"]["end"], reply["answer"]["changes"]) == ("none", None)
    assert set(names(reply["answer"]["least"])) >= {"allocator", "save_on_cpu"}
    assert len(reply["runs"]) <= 24 and not (folder / "found.json").exists()


def test_numerics_are_asked_for(fit):
    assert fit("12GiB", code=1)["answer"]["end"] == "none"
    answer = fit("12GiB", "--allow-numerics")["answer"]
    assert answer["changes"]["allows_numerics"] is True and "adam_8bit" in names(answer["changes"])


def test_a_change_that_does_not_apply(fit):
    reply = fit("18GiB", REFUSED="checkpoint bucket_view set_to_none fused foreach_off")
    assert "checkpoint" not in names(reply["answer"]["changes"])
    tried = [change for run in reply["runs"] for change in run["reply"]["changes"] if change["name"] == "checkpoint"]
    assert len(tried) == 2 and tried[0]["outcomes"][0]["text"] == "it is not there"  # both kinds of it, each once


def test_a_change_with_which_the_program_fails(fit):
    reply = fit("18GiB", FATAL="checkpoint")
    assert "checkpoint" not in names(reply["answer"]["changes"])
    failed = [run for run in reply["runs"] if run["verdict"] != "fits"]
    assert failed and all(run["output"] == "it cannot be done" for run in failed)


def test_the_need_of_a_run_that_was_killed_is_unknown(fit, vramscope, program):
    """A change can take all memory of the host; what the GPU had until then is no figure of a set that fits."""
    reply = fit("18GiB", KILLED="checkpoint")
    killed = [run for run in reply["runs"] if run["verdict"] == "stopped"]
    assert killed and all(run["needed_bytes"] is None and run["least_bytes"] is None for run in killed)
    done = vramscope("fit", "--gpu", "18GiB", "--context", "0MiB", "--", *program, env={"FAKE": FAKE, "KILLED": "checkpoint"})
    said = " ".join(done.out.split())
    assert re.search(r"checkpoint[^:]*: the program failed with it \(ended by signal 9 \(", said) and not re.search(r"checkpoint[^:,]*\(\d+\.\d+ GiB\)", said)


def test_what_is_unknown_is_no_proof(fit, folder):
    """Where it cannot be read what became of the changes, nothing is known of their set."""
    reply = fit("18GiB", UNREADABLE="checkpoint")
    assert "checkpoint" not in names(reply["answer"]["changes"])
    unknown = [run for run in reply["runs"] if any(change["applied"] is None for change in run["reply"]["changes"])]
    assert unknown and not {reply["runs"].index(run) for run in unknown} & {*reply["answer"]["alone"], reply["answer"]["proof"]}


def test_a_program_that_does_not_load_the_hook(vramscope, program):
    """As none of the changes can be applied, one of them is tried."""
    python, script = program
    words = ["--json", "--gpu", "18GiB", "--context", "0MiB", "--", python, "-I", script]
    reply = json.loads(vramscope("fit", *words, env={"FAKE": FAKE, "SILENT": "1"}).out)
    (change,) = reply["runs"][1]["reply"]["changes"]
    assert reply["answer"]["end"] == "none" and len(reply["runs"]) == 2 and "-E, -I or -S" in change["outcomes"][0]["text"]


def test_few_runs(fit):
    reply = fit("16GiB", "--runs", "4", code=1)
    assert len(reply["runs"]) <= 4 and reply["answer"]["is_cut"]


def test_a_parameter(fit):
    """With a batch of N 14 + 1.5 N GiB are needed."""
    reply = fit("18GiB", "--batch", "batch=1..64", words=["--batch", "8"])
    (parameter,) = reply["answer"]["parameters"]
    assert (parameter["name"], parameter["largest"], parameter["changes"]) == ("batch", 2, None)
    assert needed(reply, "run", parameter) == 17 * GiB
    (none,) = fit("12800MiB", "--batch", "batch=1..64", code=1)["answer"]["parameters"]  # 12.75 at least with a batch of 8
    assert none["largest"] == 5 and "save_on_cpu" in names(none["changes"])


def test_several_parameters(fit, vramscope, program):
    """Each for itself, the other as in the command; the program needs 14 + 1.5 N GiB, whatever --seq says."""
    options = ["--batch", "batch=1..64", "--batch", "seq=1..4"]
    words = ["--batch", "8", "--seq", "2"]
    reply = fit("18GiB", *options, "--runs", "40", words=words)
    batch, seq = reply["answer"]["parameters"]
    assert (batch["name"], batch["largest"], seq["name"], seq["largest"]) == ("batch", 2, "seq", None)
    runs = [run for run in reply["runs"] if run["value"] is not None]
    for run in runs:
        value = {"batch": "8", "seq": "2", run["parameter"]: run["value"]}
        assert run["alone"][-4:] == ["--batch", value["batch"], "--seq", value["seq"]]
    assert {run["parameter"] for run in runs} == {"batch", "seq"}
    assert all(run["parameter"] is None for run in reply["runs"] if run["value"] is None)
    # Few runs are shared out, and a parameter for which none was left says so.
    few = fit("18GiB", *options, "--runs", "2", words=words, code=1)["answer"]["parameters"]
    assert [(p["was_tried"], p["largest"]) for p in few] == [(False, None), (True, None)]
    shown = vramscope("fit", "--gpu", "18GiB", "--context", "0MiB", *options, "--runs", "2", "--", *program, *words, env={"FAKE": FAKE}).out
    assert "batch: not tried, no run was left (--runs)" in shown and "seq: none of the values that ran fits" in shown
    for wrong, said in ((["batch=1..2", "batch=3..4"], "batch=3..4: this parameter is given twice"),
                        ([f"env:N{i}=1..2" for i in range(9)], "env:N8=1..2: there are 8 already")):
        done = vramscope("fit", *(part for axis in wrong for part in ("--batch", axis)), "--", *program, *words)
        assert done.code == 2 and f"--batch {said}" in done.err


def test_other_failures(vramscope, folder):
    for script, said in (("exit 3", "failed (exit status 3), not because of memory"), ("exit 0", "did not use the GPU")):
        (folder / "other.sh").write_text(f"#!/bin/sh\n{script}\n")
        done = vramscope("fit", "--gpu", "18GiB", "-o", "found.json", "--", "sh", "other.sh")
        assert done.code == 6 and said in done.out and not (folder / "found.json").exists()
    done = vramscope("fit", "--", "no-such-program")
    assert done.code == 127 and "no-such-program" in done.err


def test_without_pytorch(vramscope):
    done = vramscope("fit", "--gpu", "8GiB", "--", FAKE, "context", "0", "take", "0", str(12 * GiB), "need", "0")
    assert done.code == 1 and "does not use PyTorch's allocator" in " ".join(done.out.split())


def test_a_page_without_a_history(build, vramscope, program, folder):
    """Of the pretended program there is none: the answer is given, and said why there is no page."""
    if not build["page_reads_files"]:
        pytest.skip("this build's page reads no files")
    words = ["--gpu", "18GiB", "--context", "0MiB", "--html", "fit.html", "--", *program]
    done = vramscope("fit", *words, env={"FAKE": FAKE})
    assert done.code == 0 and "fits with" in done.out
    assert "fit.html: no page written" in done.err and os.listdir(folder) and not (folder / "fit.html").exists()
    (folder / "fit.html").write_text("mine")
    done = vramscope("fit", *words, env={"FAKE": FAKE})
    assert done.code == 3 and done.out == "" and "fit.html: file exists" in done.err
    assert (folder / "fit.html").read_text() == "mine"
    done = vramscope("fit", "--html", "-", "--", *program)
    assert done.code == 2 and "--html needs a file" in done.err


def test_wrong_options(vramscope):
    for options, said in ((["--gpu", "L4,T4"], "alike"), (["--runs", "65"], "--runs takes 1 to 64"), (["--batch", "batch=x"], "--batch")):
        done = vramscope("fit", *options, "--", "true")
        assert done.code == 2 and said in done.err, done.err


def test_the_text(vramscope, program):
    done = vramscope("fit", "--gpu", "16GiB", "--context", "0MiB", "-o", "found.json", "--", *program, env={"FAKE": FAKE, "REFUSED": "bucket_view"})
    said = " ".join(done.out.split())
    assert done.code == 0
    assert said.startswith("The program needs 26.00 GiB; a GPU with 16.00 GiB (simulated): 10.00 GiB too much")
    assert "fits with" in said and "1 allocator (expandable_segments:True) 26.00 GiB -> 24.00 GiB 2 checkpoint to it 24.00 GiB -> " in said
    assert f"vramscope run --with found.json -- {sys.executable} train.py" in said and 'vramscope.apply("found.json")' in said


# ---- an engine for inference, which makes its KV cache as large as the card allows

ENGINE = """
import json, os, sys
GiB = 1 << 30
length = int(sys.argv[sys.argv.index("--max-len") + 1])
bytes = 10 * GiB + length * (1 << 20)
cache = {"engine": "vLLM", "blocks": 12800, "blocks_per_request": length // 16, "max_model_len": length}
stats = {"schema": 1, "complete": True, "visible": [{"device": 0, "card": 0}], "devices": [], "steps": 0, "torch": "9.9.0"}
os.execv(os.environ["FAKE"], [os.environ["FAKE"], "context", "0", "take", "0", str(bytes), "need", "0",
                              "file", "stats.%p.json", json.dumps(stats), "file", "problems.%p.jsonl", json.dumps({"kv_cache": cache})])
"""


@pytest.fixture
def serve(vramscope, folder):
    (folder / "serve.py").write_text(ENGINE)

    def run(gpu, *options, code=0, form=("--json",)):
        command = [sys.executable, "serve.py", "--max-len", "2048"]
        done = vramscope("fit", *form, "--gpu", gpu, "--context", "0MiB", *options, "--", *command, env={"FAKE": FAKE})
        assert done.code == code, done.err
        return json.loads(done.out) if form else " ".join(done.out.split())

    return run


def test_an_engine_that_starts(serve):
    reply = serve("16GiB", "--batch", "max-len=1024..131072:1024")
    answer = reply["answer"]
    assert (answer["end"], answer["is_engine"], answer["changes"], answer["alone"]) == ("fits", True, None, [])
    proof = reply["runs"][answer["proof"]]
    assert not proof["roomy"] and proof["reply"]["kv_cache"]["tokens"] == 12800 * 16
    assert [run["needed_bytes"] for run in reply["runs"]] == [None] * len(reply["runs"])  # it takes what there is
    (longest,) = answer["parameters"]
    assert longest["largest"] == 6 * 1024 and longest["changes"] is None
    run = reply["runs"][longest["run"]]
    assert not run["roomy"] and run["verdict"] == "fits" and run["reply"]["kv_cache"]["max_model_len"] == 6144
    assert "starts on a GPU with 16.00 GiB (simulated): 204,800 tokens of KV cache, 100.00 requests of 2,048 tokens" in serve("16GiB", form=())


def test_an_engine_is_judged_by_a_run_on_the_gpu_itself(serve):
    """Also where --runs leaves no run for that: without it nothing would be known."""
    assert [run["roomy"] for run in serve("16GiB", "--runs", "1")["runs"]] == [True, False]
    assert serve("11GiB", "--runs", "1", code=1)["answer"]["end"] == "none"


def test_an_engine_that_does_not_start(serve):
    reply = serve("11GiB", "--batch", "max-len=1024..131072:1024", code=1)
    answer = reply["answer"]
    assert (answer["end"], answer["is_engine"], answer["proof"], answer["estimates"]) == ("none", True, None, [])
    made = [(run["roomy"], run["value"], run["verdict"]) for run in reply["runs"]]
    assert made[:3] == [(True, None, "fits"), (False, None, "does_not_fit"), (False, "1024", "fits")]
    assert (False, "2048", "does_not_fit") in made and answer["parameters"][0]["largest"] == 1024
    said = serve("11GiB", code=1, form=())
    assert said.startswith("vLLM does not start on a GPU with 11.00 GiB (simulated), but on one with more memory") and "Not found" not in said


@pytest.fixture
def page(build):
    """The option for a page, in a build that can write one."""
    return ["--html", "fit.html"] if build["page_reads_files"] else []


def begin(folder, program, page, **more):
    argv = [make.BINARY, "fit", "--json", "--gpu", "18GiB", "--context", "0MiB", "-o", "found.json", *page, "--", *program]
    env = make.environment(FAKE=FAKE, TMPDIR=str(folder), **more)
    return subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_interrupted(folder, program, page):
    child = begin(folder, program, page, WAIT="1")
    assert wait_until(lambda: any(name.startswith("vramscope") for name in os.listdir(folder)))
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130 and json.loads(out)["answer"]["end"] == "interrupted"
    assert sorted(os.listdir(folder)) == ["snapshot.pickle", "train.py"]


def left(mark):
    """The processes with that text in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                found += [pid] if mark.encode() in file.read() else []
        except OSError:
            continue  # it ended, or is another user's
    return found


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def test_killed(folder, program, page):
    """At any instant: no process runs on, nothing stays in the folders, and found.json is whole or not there. (FAKE writes snapshot.pickle.)"""
    began = time.monotonic()
    child = begin(folder, program, page)
    child.communicate(timeout=120)
    whole, took = (folder / "found.json").read_text(), time.monotonic() - began
    kept = {"found.json", "snapshot.pickle", "train.py"}
    seed = random.randrange(1 << 32)
    instants = random.Random(seed)
    for number in range(12):
        (folder / "found.json").unlink(missing_ok=True)
        mark = f"MARK=fit-{os.getpid()}-{number}-{seed}"
        child = begin(folder, program, page, MARK=mark.removeprefix("MARK="), WAIT="1" if number == 0 else "")
        time.sleep(instants.uniform(0, took))
        child.kill()
        child.communicate(timeout=60)
        assert wait_until(lambda: not left(mark)), f"seed {seed}, {number}"  # noqa: B023
        assert set(os.listdir(folder)) <= kept, f"seed {seed}, {number}"
        assert not (folder / "found.json").exists() or (folder / "found.json").read_text() == whole, f"seed {seed}, {number}"


def test_killed_with_processes_that_run_on(folder, program, page):
    """What the program started gets no signal from its end. The folder goes after the processes that use it."""
    (folder / "more.sh").write_text("trap '' TERM\n\"$@\" & (for i in $(seq 200); do sleep 0.1; done) & wait; wait\n")
    mark = f"MARK=fit-more-{os.getpid()}"
    child = begin(folder, ["sh", "more.sh", *program], page, MARK=mark.removeprefix("MARK="), WAIT="1")
    assert wait_until(lambda: len(left(mark)) >= 5)  # vramscope, its keeper, sh, sh, python
    child.kill()
    child.wait(timeout=60)
    assert len(left(mark)) >= 2
    assert wait_until(lambda: not left(mark), 12)
    assert set(os.listdir(folder)) <= {"snapshot.pickle", "train.py", "more.sh"}
