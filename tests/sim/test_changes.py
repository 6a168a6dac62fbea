"""Changes that are applied to a program from outside (python/vramscope_changes): each one has the effect, to the byte, of the same change made by hand in
the program's source (programs/changed.py), and the results are those of the unchanged program where the list says so."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import BINARY, PROGRAMS, PYTHON, ROOT, environment, environment_of, finish
from training import last_line

PROGRAM = [str(PYTHON), str(PROGRAMS / "changed.py")]
BUILT = Path(BINARY).parent
EXPANDABLE = {"name": "allocator", "settings": "expandable_segments:True"}


def write(folder, *changes, numerics=False):
    changes = [change if isinstance(change, dict) else {"name": change} for change in changes]
    (folder / "fit.json").write_text(json.dumps({"schema": 1, "allows_numerics": numerics, "changes": changes}))


def dryrun(folder, *arguments, changes=(), options=(), numerics=False, program=PROGRAM, code=0, **settings):
    """(the reply, what the program printed last)"""
    write(folder, *changes, numerics=numerics)
    with_changes = ["--with", "fit.json"] if changes else []
    argv = [BINARY, "dryrun", "--json", "--exit-code", "child", "--gpu", "24GiB", *with_changes, *options, "--", *program, *arguments]
    done = finish(argv, environment_of(settings), folder)
    assert done.code == code, done.err[-4000:]
    return json.loads(done.out), last_line(done.err) if code == 0 and program is PROGRAM else done.err


def each_unchanged(folder, argv, env, runs):
    """{arguments: what the program printed last} without changes of ours: one program, which imports PyTorch once for all runs (programs/forked.py)."""
    done = finish([*argv, "--", str(PYTHON), str(PROGRAMS / "forked.py"), "changed.py", json.dumps(runs)], env, folder)
    assert done.code == 0, done.err[-4000:]
    printed = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    return {tuple(run): told for run, told in zip(runs, printed, strict=True)}


CPU = ["--device", "cpu", "--width", "64"]


def on_cpu(folder, *arguments, changes=(), **settings):
    write(folder, *changes)
    argv = [BINARY, "run", "--json", *(["--with", "fit.json"] if changes else []), "--", *PROGRAM, *CPU, *arguments]
    done = finish(argv, environment(**settings), folder)  # PyTorch's libraries need those of CUDA
    assert done.code == 0, done.err[-4000:]
    return json.loads(done.out), last_line(done.err)


def outcomes(reply):
    """[(name, applied, text)]"""
    return [(change["name"], one["applied"], one["text"]) for change in reply["changes"] for one in change["outcomes"]]


# ---- the effect is that of the change made by hand

CASES = [
    (EXPANDABLE, ["--width", "320"], [], "expandable_segments:True"),
    ("set_to_none", ["--zeros"], [], "AdamW.zero_grad(set_to_none=False)"),
    ("bucket_view", ["--ddp"], ["--world", "2"], "the gradients of GPT"),
    ("foreach_off", ["--batch", "1"], [], "AdamW"),
    ("fused", ["--batch", "1"], [], "AdamW"),
    ({"name": "cublas_workspace", "config": ":16:8"}, [], [], ":16:8"),
    ({"name": "checkpoint"}, [], [], "6 of 6 × Block (GPT.blocks)"),
    ({"name": "checkpoint", "every": 2}, [], [], "3 of 6 × Block (GPT.blocks)"),
    ({"name": "checkpoint", "first": 2}, [], [], "2 of 6 × Block (GPT.blocks)"),
    ("save_on_cpu", [], [], "all saved tensors of the main thread"),
    ("adam_paged", [], [], "AdamW"),
    ("adam_8bit", [], [], "AdamW"),
    ("bf16_parameters", ["--autocast"], [], re.compile(r"\d+ parameters of AdamW")),
]


def by_hand(change):
    """The program's arguments with which it makes the change itself."""
    change = change if isinstance(change, dict) else {"name": change}
    return ["--by-hand", change["name"], *(word for key in ("every", "first") if key in change for word in (f"--{key}", str(change[key])))]


@pytest.fixture(scope="module")
def peaks(tmp_path_factory):
    """{arguments: the peaks} of the program as it is and with each change by hand."""
    runs = [run for change, arguments, options, _ in CASES if not options for run in (arguments, [*arguments, *by_hand(change)])]
    runs = [list(run) for run in dict.fromkeys(map(tuple, runs))]
    argv = [BINARY, "dryrun", "--json", "--exit-code", "child", "--gpu", "24GiB"]
    found = each_unchanged(tmp_path_factory.mktemp("peaks"), argv, environment_of({}), runs)
    return {arguments: told["peaks"] for arguments, told in found.items()}


@pytest.mark.parametrize("change, arguments, options, text", CASES)
def test_the_peaks_are_those_of_the_change_by_hand(tmp_path, peaks, change, arguments, options, text):
    hand = [*arguments, *by_hand(change)]
    change = change if isinstance(change, dict) else {"name": change}
    reply, told = dryrun(tmp_path, *arguments, changes=[change], options=options, numerics=True)
    ((name, applied, said),) = outcomes(reply)
    assert (name, applied) == (change["name"], True)
    assert text.fullmatch(said) if isinstance(text, re.Pattern) else said == text
    if options:
        assert told["peaks"] == dryrun(tmp_path, *hand, options=options)[1]["peaks"]
    else:
        assert told["peaks"] == peaks[tuple(hand)]
    if change["name"] != "bucket_view":  # one bucket of so small a model is allocated later than its gradients
        assert told["peaks"] != peaks[tuple(arguments)]


# ---- the results

SAME = ["save_on_cpu", "checkpoint", "foreach_off", {"name": "checkpoint", "every": 2}, "set_to_none"]


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    """{arguments: what the program printed} without changes of ours."""
    runs = [["--zeros"], ["--norm", "BatchNorm"], ["--norm", "BatchNorm", "--by-hand", "checkpoint"], ["--compile"]]
    found = each_unchanged(tmp_path_factory.mktemp("cpu"), [BINARY, "run", "--json"], environment(), [[*CPU, *run] for run in runs])
    return {arguments[len(CPU):]: told for arguments, told in found.items()}


def test_results_on_the_cpu(tmp_path, cpu):
    """Without a GPU the same changes are applied, and losses and gradients of the program are those of the plain one."""
    arguments = ["--zeros"]
    plain = cpu[("--zeros",)]
    for change in SAME:
        reply, told = on_cpu(tmp_path, *arguments, changes=[change])
        assert [applied for _, applied, _ in outcomes(reply)] == [True]
        assert told["losses"] == pytest.approx(plain["losses"], rel=1e-6) and told["norms"] == pytest.approx(plain["norms"], rel=1e-5)
    reply, told = on_cpu(tmp_path, *arguments, changes=["checkpoint", "foreach_off", "save_on_cpu"])
    assert all(applied for _, applied, _ in outcomes(reply)) and len(outcomes(reply)) == 3
    assert told["losses"] == pytest.approx(plain["losses"], rel=1e-6) and told["norms"] == pytest.approx(plain["norms"], rel=1e-5)
    assert told["keys"] == plain["keys"]


def test_batch_normalization_counts_a_batch_once(tmp_path, cpu):
    """A checkpoint repeats the forward pass; running statistics are those of the plain program."""
    plain = cpu["--norm", "BatchNorm"]
    _, told = on_cpu(tmp_path, "--norm", "BatchNorm", changes=["checkpoint"])
    assert (told["buffers"], told["losses"], told["digest"]) == (plain["buffers"], plain["losses"], plain["digest"])
    assert cpu["--norm", "BatchNorm", "--by-hand", "checkpoint"]["buffers"] != plain["buffers"]  # what the change by hand gets wrong


# ---- other programs


def test_two_models_share_the_count(tmp_path):
    reply, _ = dryrun(tmp_path, "--models", "2", changes=[{"name": "checkpoint", "first": 8}])
    assert outcomes(reply) == [("checkpoint", True, "6 of 6 × Block (GPT.blocks)"), ("checkpoint", True, "2 of 6 × Block (GPT.blocks)")]


def test_a_compiled_model(tmp_path, cpu):
    reply, told = on_cpu(tmp_path, "--compile", changes=["checkpoint", "foreach_off"])
    assert outcomes(reply)[0] == ("checkpoint", True, "6 of 6 × Block (GPT.blocks)")
    assert told["losses"] == pytest.approx(cpu[("--compile",)]["losses"], rel=1e-4)


OWN = """
import torch
from torch import nn

class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p -= p.grad

model = nn.Linear(8, 8).cuda()
optimizer = Own(model.parameters())
model(torch.zeros(2, 8).cuda()).sum().backward()
optimizer.step()
"""


def test_what_does_not_apply_says_why(tmp_path):
    reply, _ = dryrun(tmp_path, changes=["foreach_off", "checkpoint", "bucket_view"], program=[str(PYTHON), "-c", OWN])
    assert outcomes(reply) == [("foreach_off", False, "Own has no foreach"), ("checkpoint", False, "no model with repeated blocks ran"),
                               ("bucket_view", False, "the program made no DistributedDataParallel")]


def test_optimizers_that_bitsandbytes_has_not(tmp_path):
    """Its Adam takes the decay from the weights, PyTorch's adds it to the gradients."""
    program = "import torch\nw = torch.nn.Linear(8, 8).cuda()\nfor more in ({}, {'weight_decay': 0.1}, {'amsgrad': True}):\n"
    program += "    print(type(torch.optim.Adam(w.parameters(), **more)).__module__)\n"
    for change in ("adam_8bit", "adam_paged"):
        reply, said = dryrun(tmp_path, changes=[change], numerics=True, program=[str(PYTHON), "-c", program])
        assert {(applied, text) for _, applied, text in outcomes(reply)} == {
            (True, "Adam"), (False, "Adam has weight_decay, which bitsandbytes applies as AdamW does"), (False, "Adam has amsgrad=True")}


def test_a_program_without_pytorch(tmp_path):
    write(tmp_path, EXPANDABLE, "fused")
    done = finish([BINARY, "run", "--with", "fit.json", "--", str(PYTHON), "-c", "print('hello')"], environment_of({}), tmp_path)
    assert done.code == 0
    lines = " ".join(done.out.split())
    assert "hello Not changed allocator (expandable_segments:True): no process of the program imported PyTorch" in lines
    assert "Not changed fused: the program made no optimizer of PyTorch's" in lines


def test_a_python_that_does_not_load_the_hook(tmp_path):
    """What the program did is not known then, so nothing is said of its optimizers."""
    reply, _ = dryrun(tmp_path, changes=["fused"], program=[str(PYTHON), "-I", "-c", "print('hello')"])
    ((name, applied, text),) = outcomes(reply)
    assert (name, applied) == ("fused", False) and "loaded the hook" in text and "-I" in text


def test_the_programs_own_error_is_shown(tmp_path):
    program = "import torch\ntorch.optim.AdamW([torch.zeros(2, requires_grad=True)], lr=-1)\n"
    _, plain = dryrun(tmp_path, program=[str(PYTHON), "-c", program], code=1)
    _, told = dryrun(tmp_path, changes=["fused"], program=[str(PYTHON), "-c", program], code=1)
    assert plain.splitlines()[-1] == told.splitlines()[-1] == "ValueError: Invalid learning rate: -1"


# ---- vramscope.apply


def test_apply(tmp_path):
    """The same from within the program, before PyTorch is imported."""
    write(tmp_path, EXPANDABLE, "checkpoint", "bucket_view")
    package = BUILT / "python"
    done = finish([*PROGRAM, "--device", "cpu", "--apply", "fit.json"], environment(PYTHONPATH=package), tmp_path)
    text, made = done.result["applied"]
    assert made == [["allocator", True, "expandable_segments:True"], ["checkpoint", True, "6 of 6 × Block (GPT.blocks)"]]
    assert text == "allocator: expandable_segments:True\ncheckpoint: 6 of 6 × Block (GPT.blocks)"


LATE = """
import json, torch, vramscope
from torch import nn
model = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)) for _ in range(4)))
done = vramscope.apply("fit.json")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
model(torch.ones(2, 8)).sum().backward()
try:
    vramscope.apply("wrong.json")
except vramscope.Error as error:
    wrong = str(error)
print(json.dumps([done.outcomes, optimizer.defaults["foreach"], wrong]))
"""


def test_apply_to_models_that_exist(tmp_path):
    write(tmp_path, EXPANDABLE, "checkpoint", "foreach_off")
    (tmp_path / "wrong.json").write_text('{"schema": 1, "changes": [{"name": "smaller"}]}')
    done = finish([str(PYTHON), "-c", LATE], environment(PYTHONPATH=BUILT / "python"), tmp_path)
    outcomes, foreach, wrong = done.result
    assert outcomes == [["allocator", True, "expandable_segments:True"], ["foreach_off", True, "SGD"],
                        ["checkpoint", True, "4 of 4 × Sequential (Sequential)"]]  # as they happened
    assert foreach is False and 'there is no change "smaller"' in wrong


# ---- files that are refused


@pytest.mark.parametrize("command", ["run", "dryrun"])
@pytest.mark.parametrize("text, says", [
    ('{"schema": 1, "changes": [{"name": "smaller"}]}', 'fit.json: there is no change "smaller"'),
    ('{"schema": 1, "changes": [{"name": "adam_8bit"}]}', "fit.json: adam_8bit changes the numerics of the program"),
    ('{"schema": 1', "fit.json: "),
    (None, "fit.json: "),
])
def test_a_file_that_is_refused(tmp_path, command, text, says):
    """Before the program runs."""
    if text is not None:
        (tmp_path / "fit.json").write_text(text)
    done = subprocess.run([BINARY, command, "--with", "fit.json", "--", str(PYTHON), "-c", "print('ran')"], cwd=tmp_path,
                          env=environment_of({}), capture_output=True, text=True, check=False)
    assert done.returncode not in (0, 1) and says in done.stderr and "ran" not in done.stdout


# ---- the lists


def test_every_change_has_a_function_a_section_and_a_program():
    text = (ROOT / "src/changes/changes.def").read_text()
    names = re.findall(r"^VS_CHANGE\((\w+),", text, re.M)
    hook = (ROOT / "python/vramscope_changes/vramscope_changes.py").read_text()
    guide = (ROOT / "docs/formats/fit.md").read_text()
    tried = {case[0] if isinstance(case[0], str) else case[0]["name"] for case in CASES}
    assert len(names) >= 9 and set(names) == tried
    for name in names:
        assert f'"{name}": lambda' in hook and f"| `{name}` |" in guide
