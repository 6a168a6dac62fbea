"""What `exporter` tells of a program that records, against PyTorch's own statistics in that program."""

import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest
from conftest import BINARY, PYTHON, environment_of, finish, simulation

FAKE = Path(BINARY).parent / "fake" / "libnvidia-ml.so.1"
SCENARIOS = Path(__file__).parents[1] / "fake" / "scenarios"
MiB = 1 << 20

# tell(name) asks the exporter about this process and keeps its answer with PyTorch's statistics of the same moment.
BEGINNING = """
    import json, os, subprocess, sys, torch

    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "VRAMSCOPE_RECORD", "PYTHONPATH")}
    environment |= {"VRAMSCOPE_NVML": sys.argv[2], "VRAMSCOPE_FAKE_NVML": "machine.txt"}

    def tell(name, cards=1, has_stats=True):
        row = f"memory.used = 20GiB\\nprocess = none\\nprocess = {os.getpid()} C 10GiB\\n"
        second = f"[card like 0]\\nuuid = GPU-a1b2c3d4-0000-4000-8000-000000000002\\n{row}"
        with open("machine.txt", "w") as file:
            file.write(f"include = {sys.argv[3]}/h200.txt\\n[card 0]\\n{row}{second * (cards - 1)}")
        told = subprocess.run([sys.argv[1], "exporter", "--once"], env=environment, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        stats = [torch.cuda.memory_stats(device) for device in range(torch.cuda.device_count() if has_stats else 0)]
        print("told", json.dumps({"name": name, "pid": os.getpid(), "exporter": told.stdout, "stats": stats}), flush=True)

    def take(mib, device=0):
        return torch.empty(mib << 20, dtype=torch.uint8, device=f"cuda:{device}")

    def fails(mib):
        try:
            take(mib)
        except torch.OutOfMemoryError:
            return
        raise AssertionError("there was memory")
"""
OF_PYTORCH = {
    "allocated_bytes": "allocated_bytes.all.current", "reserved_bytes": "reserved_bytes.all.current",
    "peak_allocated_bytes": "allocated_bytes.all.peak", "peak_reserved_bytes": "reserved_bytes.all.peak",
    "alloc_retries_total": "num_alloc_retries", "ooms_total": "num_ooms",
}


def figures(text):
    """{GPU: {name behind vramscope_process_pytorch_: (value, labels)}}"""
    found = {}
    for name, labels, value in re.findall(r"^vramscope_process_pytorch_(\w+)\{(.*)\} (\S+)$", text, re.M):
        of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        found.setdefault(int(of["gpu"]), {})[name] = (int(value), of)
    return found


def run(folder, script, *options, gpu="4GiB", recorder=True, **settings):
    """{name: what the exporter and PyTorch told}"""
    (folder / "program.py").write_text(textwrap.dedent(BEGINNING) + textwrap.dedent(script))
    argv = [str(PYTHON), "program.py", BINARY, str(FAKE), os.path.relpath(SCENARIOS, folder)]
    if recorder:
        argv = [BINARY, "run", "--gpu", gpu, "-q", *(options or ("-o", "run.vram")), "--", *argv]
    else:
        settings |= {**simulation(), "VRAMSCOPE_SIM_GPU": gpu, "PYTHONPATH": Path(BINARY).parent / "python"}
    done = finish(argv, environment_of(settings), folder)
    assert done.code == 0, done.out[-2000:] + done.err[-4000:]
    return {told["name"]: told for told in map(json.loads, re.findall(r"^told (\{.*)$", done.out, re.M))}


def compare(told, gpu=0, device=0, without=()):
    have = figures(told["exporter"])[gpu]
    stats = told["stats"][device]
    for name, key in OF_PYTORCH.items():
        if name in without:
            assert name not in have
        else:
            assert have[name][0] == stats[key], (told["name"], name)
            assert have[name][1]["pid"] == str(told["pid"])
    return have


PEAKS = """
    kept = [take(300) for _ in range(4)]
    tell("four")
    del kept[1:]
    tell("one")
    torch.cuda.empty_cache()
    tell("emptied")
    fails(5000)
    tell("failed")
    kept.append(take(2000))
    del kept[1:]
    kept.append(take(3000))
    tell("flushed")
    fails(4000)
    tell("failed again")
"""


@pytest.mark.parametrize("options", [(), ("--ring", "16MiB", "-o", "run.vram"), ("--on-oom", "run.vram")], ids=["all", "ring", "on-oom"])
def test_figures_are_pytorchs(tmp_path, options):
    """Also of a recording that forgets, or that goes on in another file behind a failure."""
    told = run(tmp_path, PEAKS, *options, RANK="3", WORLD_SIZE="8", SLURM_JOB_ID="4711")
    assert list(told) == ["four", "one", "emptied", "failed", "flushed", "failed again"]
    for moment in told.values():
        have = compare(moment)
        assert all((labels["job"], labels["rank"]) == ("4711", "3") for _, labels in have.values())
    last = figures(told["failed again"]["exporter"])[0]
    assert (last["alloc_retries_total"][0], last["ooms_total"][0]) == (3, 2)  # a retry by itself, and one for each failure
    assert last["peak_allocated_bytes"][0] == 3300 * MiB


def test_the_limit_of_a_memory_fraction(tmp_path):
    """A cache that is flushed for the limit is a retry without a cudaMalloc that fails: then nothing tells how many there were."""
    told = run(tmp_path, """
        torch.cuda.set_per_process_memory_fraction(0.5)
        fails(3000)
        tell("refused")
        kept = [take(1000)]
        kept.clear()
        take(1500)
        tell("flushed")
    """)
    compare(told["refused"])
    assert told["flushed"]["stats"][0]["num_alloc_retries"] == 2
    compare(told["flushed"], without=("alloc_retries_total",))


def test_expandable_segments(tmp_path):
    """A failure to map pages is not seen, so retries are left out."""
    told = run(tmp_path, PEAKS, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    compare(told["four"], without=("alloc_retries_total",))
    compare(told["failed again"], without=("alloc_retries_total",))


def test_two_gpus_and_a_fork(tmp_path):
    """A GPU of which the program has the second number; a child that uses no GPU tells nothing, and takes nothing from its parent's figures."""
    told = run(tmp_path, """
        kept = [take(100), take(700, device=1)]
        kept.append(take(50, device=1))
        if os.fork() == 0:
            with open("child.json", "w") as file:
                file.write("x")
            os._exit(0)
        os.wait()
        tell("both", cards=2)
    """, gpu="2x4GiB")
    compare(told["both"], gpu=0, device=0)
    compare(told["both"], gpu=1, device=1)


def test_a_recording_that_begins_late_and_ends(tmp_path):
    """Peaks and counters are those since it began, and begin again with the next one; behind its end nothing is told."""
    told = run(tmp_path, """
        import vramscope

        kept = take(2000)
        kept = None
        torch.cuda.empty_cache()
        kept = [take(100)]
        torch.cuda.reset_peak_memory_stats()
        with vramscope.record("late.vram"):
            kept.append(take(400))
            kept.pop()
            tell("within")
        tell("behind")
        torch.cuda.reset_peak_memory_stats()
        with vramscope.record("again.vram"):
            kept.append(take(10))
            tell("again")
    """, recorder=False)
    assert compare(told["within"])["peak_allocated_bytes"][0] == 500 * MiB
    assert figures(told["behind"]["exporter"]) == {}
    assert compare(told["again"])["peak_allocated_bytes"][0] == 110 * MiB


def test_a_process_without_pytorchs_allocator_has_none(tmp_path):
    """Also not one that is forked from a process that has them: it has its parent's open, which are not taken for its own."""
    told = run(tmp_path, """
        import time

        def shared(pid):
            names = []
            for fd in os.listdir(f"/proc/{pid}/fd"):
                try:
                    names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
                except OSError:
                    pass
            return sum("vramscope-figures" in name for name in names)

        before = shared(os.getpid())
        kept = [take(100)]
        tell("parent")
        child = os.fork()
        if child == 0:
            tell("child", has_stats=False)
            os._exit(0)
        os.waitpid(child, 0)
        print("told", json.dumps({"name": "counts", "counts": [before, shared(os.getpid())]}))
    """)
    compare(told["parent"])
    assert told["counts"]["counts"] == [0, 1]
    assert figures(told["child"]["exporter"]) == {}


def test_growth_is_that_of_the_report(tmp_path):
    told = run(tmp_path, """
        model = torch.nn.Linear(512, 512, device="cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        tell("before")
        losses = []
        for step in range(12):
            losses.append(model(torch.ones(64, 512, device="cuda")).sum())
            losses[-1].backward(retain_graph=True)
            optimizer.step()
            optimizer.zero_grad()
        import time
        time.sleep(0.5)  # until it is written
        tell("grown")
    """)
    report = json.loads(subprocess.run([BINARY, "report", "--json", tmp_path / "run.vram"], capture_output=True, text=True, check=True).stdout)
    growth = [line["bytes_per_step"] for line in report["devices"][0]["growth"] if line["kind"] == "allocated"]
    assert "step_growth_bytes" not in figures(told["before"]["exporter"])[0]
    assert figures(told["grown"]["exporter"])[0]["step_growth_bytes"][0] == sum(growth) > 64 * 512 * 4
    compare(told["grown"])
