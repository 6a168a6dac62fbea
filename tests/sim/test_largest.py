"""`vramscope dryrun --find-largest` with PyTorch: for three programs, whose memory grows with a straight line, with a square and in steps,
the answer is that of all runs (--vary), and the runs that both made have the same figures."""

import json
import subprocess

import conftest as make
import pytest

# The batch size of a small network with its gradients: a straight line.
BATCH = """
import sys
import torch

batch = int(sys.argv[2])
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(6))).cuda()
model(torch.empty(batch << 12, 1024, device="cuda")).square().mean().backward()
"""

# The length of a sequence whose attention is computed as a matrix: a square.
SEQUENCE = """
import sys
import torch

length = int(sys.argv[2])
query = torch.empty(8, length, 64, device="cuda", requires_grad=True)
(query @ query.transpose(1, 2)).softmax(-1).bmm(query).sum().backward()
"""

# The number of layers, with AdamW, where PyTorch's segments make steps.
LAYERS = """
import sys
import torch

layers = [torch.nn.Linear(1500, 1500, bias=False, device="cuda") for _ in range(int(sys.argv[2]))]
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.empty(64, 1500, device="cuda")).sum().backward()
    optimizer.step()
"""

PROGRAMS = {
    "batch": (BATCH, "1GiB", range(1, 7)),
    "sequence": (SEQUENCE, "1GiB", range(384, 2689, 384)),
    "layers": (LAYERS, "900MiB", range(1, 17, 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_all_runs(name, tmp_path):
    text, gpu, values = PROGRAMS[name]
    (tmp_path / "train.py").write_text(text)

    def reply_of(option, given):
        words = [make.BINARY, "dryrun", "--json", "--gpu", gpu, option, f"{name}={given}", "--", make.PYTHON, "train.py", f"--{name}", "1"]
        done = subprocess.run(words, cwd=tmp_path, env=make.environment_of({}), capture_output=True, text=True, timeout=make.TIMEOUT)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    found = reply_of("--find-largest", f"{values.start}..{values.stop - 1}:{values.step}")
    scan = {int(run["settings"][name]): run for run in reply_of("--vary", ",".join(map(str, values)))["runs"]}
    fitting = [value for value, run in scan.items() if run["verdict"] == "fits"]
    assert fitting == list(values)[: len(fitting)] and 1 < len(fitting) < len(values)  # the search is put to a test
    assert (found["answer"]["largest"], found["answer"]["does_not_fit"]) == (fitting[-1], fitting[-1] + values.step)
    assert found["answer"]["contradiction"] is None and len(found["runs"]) <= 6
    for run in found["runs"]:
        same = scan[int(run["settings"][name])]
        for key in ("verdict", "needed_bytes", "peak_reserved_bytes", "peak_allocated_bytes", "headroom_bytes"):
            assert run[key] == same[key], (run["settings"], key)
