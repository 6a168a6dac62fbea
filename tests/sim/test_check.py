"""`vramscope check -- COMMAND` as a gate: a repository with a baseline, a change that adds memory, the change taken back."""

import json
import os
import subprocess

import conftest as make
import pages
import pytest

GUIDE = "docs/guide/check.md"
MiB = 1 << 20

TRAIN = """
import sys

import torch

import model

net = model.Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    loss = net(torch.empty(256, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
sys.exit(len(sys.argv) > 1)
"""

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(1024, 4096, device="cuda")
        self.last = torch.nn.Linear(4096, 1024, device="cuda")

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))
"""

WIDER = MODEL.replace("        self.last =", '        self.middle = torch.nn.Linear(4096, 4096, device="cuda")\n        self.last =').replace(
    "torch.relu(self.first(x))", "self.middle(torch.relu(self.first(x)))")

SETTINGS = """
gpu = "8GiB"
max-allocated = "1GiB"
max-retries = 0
no-oom = true
max-growth = 0
baseline = "memory.json"
tolerance = "2%"

[budgets.model]
owner = "model.py:*"
max = "+5%"
"""


@pytest.fixture
def repository(tmp_path):
    for name, text in (("train.py", TRAIN), ("model.py", MODEL), ("vramscope.toml", SETTINGS)):
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    return tmp_path


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def check(folder, *options, words=("train.py",), code=0):
    environment = make.environment_of({"GITHUB_WORKSPACE": str(folder)})
    done = subprocess.run([make.BINARY, "check", *options, "--", make.PYTHON, *words], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=make.TIMEOUT)
    assert done.returncode == code, (done.stdout, done.stderr[-2000:])
    return done.stdout


def test_a_gate(repository):
    check(repository, "--update-baseline")
    text = (repository / "memory.json").read_text()
    baseline = json.loads(text)
    assert baseline["budgets"] == {"model": sum(size * count for owner in baseline["owners"] if owner["owner"].startswith("model.py")
                                                for size, count in owner["sizes"])}
    assert str(repository) not in text and "site-packages" not in text
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "a")
    check(repository, "--update-baseline")
    assert (repository / "memory.json").read_text() == text  # the same bytes each time
    same = json.loads(check(repository, "--json"))
    assert same["verdict"] == "holds" and {row["status"] for row in same["diff"]["rows"]} == {"same"}

    (repository / "model.py").write_text(WIDER)
    layer = (4096 * 4096 + 4096) * 4  # its parameters
    found = json.loads(check(repository, "--json", code=1))
    rows = {row["key"]: row for row in found["checks"]}
    assert {key for key, row in rows.items() if row["verdict"] == "broken"} == {"max", "baseline-allocated", "baseline-reserved", "baseline-driver"}
    place = next(place for place in rows["baseline-allocated"]["places"] if place["function"] == "__init__")
    line = 1 + WIDER.splitlines().index('        self.middle = torch.nn.Linear(4096, 4096, device="cuda")')
    assert (place["path"], place["line"], place["bytes"]) == (str(repository / "model.py"), line, layer)
    out = check(repository, "--github", code=1)
    assert f"::error file=model.py,line={line},title=GPU memory%3A " in out and f"model.py:{line} __init__: 64.02 MiB" in out

    git(repository, "checkout", "--quiet", "model.py")
    assert json.loads(check(repository, "--json"))["verdict"] == "holds"


def yaml_of(text):
    """YAML as Python's values; the environment of the programs has a reader of it."""
    words = [make.PYTHON, "-c", "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))"]
    return json.loads(subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout)


def test_the_action(repository):
    """action.yml: its last step, run as GitHub runs it, with what the steps before it installed."""
    action = yaml_of((make.ROOT / "action.yml").read_text())
    install, package, last = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite" and {step["shell"] for step in action["runs"]["steps"]} == {"bash"}
    assert "/tools/setup" in install["run"] and "pip install" in package["run"]
    assert last["env"] == {"ARGUMENTS": "${{ inputs.arguments }}"} and last["working-directory"] == "${{ inputs.working-directory }}"
    (repository / "model.py").write_text(WIDER)
    programs = repository / "bin"
    programs.mkdir()
    (programs / "vramscope").symlink_to(make.BINARY)
    summary = repository / "summary.md"
    arguments = f"--config none.json --max-allocated 200MiB -- {make.PYTHON} train.py"
    environment = make.environment_of({"GITHUB_WORKSPACE": str(repository), "GITHUB_STEP_SUMMARY": str(summary), "ARGUMENTS": arguments})
    (repository / "none.json").write_text("{}")
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", last["run"]], cwd=repository, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "::error file=model.py,line=" in done.stdout, (done.stdout, done.stderr[-2000:])
    assert summary.read_text().startswith("### GPU memory\n\nBroken: 1 of 1 check\n")


def test_the_guide_shows_the_gate(repository):
    """The console block of the guide is what the repository of these tests prints. UPDATE_GOLDEN=1 writes it."""
    settings = SETTINGS[: SETTINGS.index("[budgets")].replace("max-retries = 0\n", "")
    (repository / "vramscope.toml").write_text(settings)
    check(repository, "--update-baseline")
    (repository / "model.py").write_text(WIDER)
    real = check(repository, code=1)
    command = "$ vramscope check -- python3 train.py\n"
    text = pages.again(GUIDE, lambda block: block.source.split(command)[0] + command + real, "console")
    if os.environ.get("UPDATE_GOLDEN") == "1":
        (make.ROOT / GUIDE).write_text(text)
    assert (make.ROOT / GUIDE).read_text() == text
    assert [block.source.count(command) for block in pages.read(GUIDE) if block.language == "console"] == [1]


def test_a_program_that_fails(repository):
    """Its figures are lower bounds: what is above a limit is, the rest cannot be judged, and no baseline is written."""
    found = json.loads(check(repository, "--json", "--max-driver", "1MiB", "--config", "vramscope.toml", "--baseline", "other.json", "--update-baseline",
                             words=("train.py", "fail"), code=2) or "null")
    assert found is None and not (repository / "other.json").exists()
    (repository / "vramscope.toml").write_text('max-allocated = "1GiB"\nmax-driver = "1MiB"\n')
    found = json.loads(check(repository, "--json", words=("train.py", "fail"), code=1))
    assert [(row["key"], row["verdict"]) for row in found["checks"]] == [("max-allocated", "unknown"), ("max-driver", "broken")]
    assert found["checks"][0]["sentence"].endswith("because the program failed with exit status 1")


def test_budgets_of_steps(repository):
    """The first step makes the optimizer's state; before it less is allocated. A wrong key is told before anything runs."""
    (repository / "vramscope.toml").write_text(
        '[budgets.first]\nsteps = "1"\nmax-allocated = 1\n[budgets.later]\nsteps = "2-"\nowner = "torch/optim/*"\nmax = 1\n'
        '[budgets.last]\nsteps = "50"\nmax-allocated = "1GiB"\n')
    found = json.loads(check(repository, "--json", code=1))
    rows = {row["budget"]: row for row in found["checks"]}
    assert [row["verdict"] for row in found["checks"]] == ["broken", "broken", "unknown"]
    assert 0 < rows["first"]["measured"] <= found["run"]["peak_allocated_bytes"] and rows["first"]["places"]
    assert rows["later"]["measured"] == 2 * 4096 * 1024 * 4 + (4096 + 1024) * 4  # the momentum of each parameter
    assert "there is no step 50: " in rows["last"]["sentence"]
    (repository / "train.py").write_text("raise SystemExit('it ran')")
    (repository / "vramscope.toml").write_text('[budgets.first]\nsteps = "0"\nmax-allocated = 1\n')
    done = subprocess.run([make.BINARY, "check", "--", make.PYTHON, "train.py"], cwd=repository, env=make.environment_of({}), capture_output=True, text=True)
    assert done.returncode == 2 and "steps takes a range" in done.stderr and "it ran" not in done.stderr


def test_an_error_of_memory(repository):
    (repository / "vramscope.toml").write_text('gpu = "600MiB"\nno-oom = true\nmax-retries = 0\n')
    found = json.loads(check(repository, "--json", code=1))
    assert [(row["key"], row["verdict"]) for row in found["checks"]] == [("no-oom", "broken"), ("max-retries", "broken")]
    assert found["checks"][0]["measured"] == 1 <= found["checks"][1]["measured"]


def test_a_program_without_pytorch(tmp_path):
    done = subprocess.run([make.BINARY, "check", "--json", "--no-oom", "--max-allocated", "1GiB", "--", "true"], cwd=tmp_path,
                          env=make.environment_of({}), capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert done.returncode == 2 and [row["verdict"] for row in found["checks"]] == ["unknown", "unknown"]
    assert all("the program did not use the GPU" in row["sentence"] for row in found["checks"])
    assert os.listdir(tmp_path) == []
