"""The scripts of examples/fleet for jobs, as far as they run here: the one for torchrun on simulated GPUs, and the names of ranks' recordings."""

import json
import os
import re
import subprocess
from pathlib import Path

import conftest as make
import pytest

FLEET = make.PROGRAMS.parents[2] / "examples" / "fleet"
PROGRAM = """
import os, time
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("gloo")
weights = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
time.sleep(0.2 * rank)  # so that the ranks fail in their order
try:
    if str(rank) in os.environ["FAILING"].split(","):
        activations = torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture
def job(tmp_path):
    """job(failing ranks) -> (what torchrun.sh printed, the names of the recordings that it left)."""
    (tmp_path / "train.py").write_text(PROGRAM)

    def run(*failing):
        path = os.pathsep.join([str(Path(os.environ["VRAMSCOPE"]).parent), str(Path(os.environ["VRAMSCOPE_SIM_PYTHON"]).parent), os.environ["PATH"]])
        env = {**os.environ, "PATH": path, "VRAMSCOPE_RUN_OPTIONS": "--gpu 2x3GiB", "FAILING": ",".join(map(str, failing)), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([FLEET / "torchrun.sh", "kept", "train.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, sorted(os.listdir(tmp_path / "kept"))

    return run


def test_ranks_that_ran_out_of_memory(job, tmp_path):
    printed, files = job(0, 1)
    host = os.uname().nodename
    assert files == [f"{host}.rank0.vram", f"{host}.rank1.vram"]
    assert re.search(r"rank 0 first, then rank 1", printed) and "4.00 GiB at train.py:13 <module>" in printed, printed
    reply = json.loads(subprocess.run([os.environ["VRAMSCOPE"], "oom", "--json", tmp_path / "kept"], capture_output=True, text=True, check=True).stdout)
    assert (reply["failed"], reply["first"], reply["named_by_rank"]) == ([0, 1], 0, True)
    assert [file["rank"] for file in reply["files"]] == [0, 1]


def test_a_job_without_a_failure_leaves_nothing(job):
    printed, files = job()
    assert files == [] and "Out of memory" not in printed


def test_recordings_of_ranks_have_their_rank(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [os.environ["VRAMSCOPE"], "run", "--quiet", "--gpu", "2x3GiB", "-o", "run.vram", "--", os.environ["VRAMSCOPE_SIM_PYTHON"], "-m",
               "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    (tmp_path / "run.rank0.vram").write_text("of an earlier job\n")
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "FAILING": "", "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    kept, other, last = sorted((path.name for path in tmp_path.glob("*.vram")), key=lambda name: ("rank1" in name, len(name)))
    assert (kept, last) == ("run.rank0.vram", "run.rank1.vram") and re.fullmatch(r"run\.rank0\.\d+\.vram", other)
    assert (tmp_path / kept).read_text() == "of an earlier job\n"


def test_the_scripts_can_be_read():
    for script, shell in (("torchrun.sh", "sh"), ("slurm.sbatch", "bash")):
        assert subprocess.run([shell, "-n", FLEET / script], check=False).returncode == 0
    read = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))"
    done = subprocess.run([os.environ["VRAMSCOPE_SIM_PYTHON"], "-c", read, FLEET / "kubernetes.yaml"], capture_output=True, text=True, check=True)
    exporter, job = json.loads(done.stdout)
    (container,) = exporter["spec"]["template"]["spec"]["containers"]
    assert container["command"][:2] == ["vramscope", "exporter"] and f":{container['ports'][0]['containerPort']}" in container["command"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][:2] == ["vramscope", "run"]
