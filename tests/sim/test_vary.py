"""`vramscope dryrun --vary` with PyTorch: the figures of each row are those of the same run made alone, with its history, and of PyTorch."""

import json
import shlex
import subprocess

import conftest as make

PROGRAM = """
import json, os, sys

batch = int(sys.argv[sys.argv.index("--batch") + 1])

import torch

model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(8))).cuda()
for _ in range(2):
    model(torch.empty(batch << 14, 2048, device="cuda")).square().mean().backward()
stats = torch.cuda.memory_stats()
with open(os.environ["FIGURES"] + "." + str(batch), "a") as file:
    print(json.dumps([stats["reserved_bytes.all.peak"], stats["allocated_bytes.all.peak"]]), file=file)
"""


def test_rows_are_runs(tmp_path):
    """One that fits in both GPUs, one that fits in one of them, and one whose option is wrong; with settings that change the peak."""
    (tmp_path / "train.py").write_text(PROGRAM)
    environment = make.environment_of({"FIGURES": str(tmp_path / "figures")})
    axes = ["gpu+conf=L4+expandable_segments:True,4GiB+", "batch=1,4,x"]
    command = [make.PYTHON, "train.py", "--batch", "9"]

    def run(*words):
        return subprocess.run([make.BINARY, "dryrun", "--json", *words], env=environment, cwd=tmp_path, capture_output=True, text=True,
                              timeout=make.TIMEOUT)

    done = run("--vary", axes[0], "--vary", axes[1], "--", *command)
    assert done.returncode == 0, done.stderr[-2000:]
    runs = json.loads(done.stdout)["runs"]
    assert [row["verdict"] for row in runs] == ["fits", "fits", "no_cuda", "fits", "does_not_fit", "no_cuda"]
    assert "invalid literal for int" in runs[2]["output"].splitlines()[-1] and "OutOfMemoryError" in runs[4]["output"]
    for row in runs:
        alone = json.loads(run(*row["alone"][2:]).stdout)
        assert alone["processes"] == [] or alone["processes"][0]["history"]["on"] is True
        for key in ("verdict", "exit_code", "signal", "needs", "fit", "oom", "model", "training_bytes", "steps"):
            assert row["reply"][key] == alone[key], (shlex.join(row["alone"]), key)
        assert row["reply"]["devices"] == alone["devices"]
        assert (row["verdict"], row["exit_code"]) == (alone["verdict"], alone["exit_code"])
        torch = alone["devices"][0]["torch"]
        assert (row["peak_reserved_bytes"], row["peak_allocated_bytes"]) == (
            (torch["peak_reserved_bytes"], torch["peak_allocated_bytes"]) if torch else (None, None))
    told = [json.loads(line) for line in (tmp_path / "figures.1").read_text().splitlines()]
    figures = [[row["peak_reserved_bytes"], row["peak_allocated_bytes"]] for row in runs]
    assert told == [figures[0], figures[3], figures[0], figures[3]]  # of the table, then of the runs alone
    assert runs[0]["peak_reserved_bytes"] != runs[3]["peak_reserved_bytes"]
