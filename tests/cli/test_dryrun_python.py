"""dryrun of programs in Python: what vramscope_dryrun.py does. fake_torch stands for torch; dry_runs.py for CUDA."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from dry_runs import FAKE, note, torch_stats

import conftest as make

GiB, MiB = 1 << 30, 1 << 20
FAKE_TORCH = str(Path(__file__).parent / "fake_torch")
PYTHON = sys.executable


@pytest.fixture
def python(dryrun, folder):
    """python(options, script) -> the JSON, with the program's output under "printed"."""

    def run(options, script, *words, env=None, code=0):
        (folder / "program.py").write_text(script)
        done = dryrun(
            ["--json", "--exit-code", "child", *options], PYTHON, *words, "program.py", env={"PYTHONPATH": FAKE_TORCH, "HOME": str(folder), **(env or {})}
        )
        assert done.code == code, done.err
        return {**json.loads(done.out), "printed": done.err}

    return run


TRAIN = """
import torch
module = torch.nn.Module()
module._parameters["w"] = weight = torch.Tensor(1000000, True)
weight.grad = torch.Tensor(1000000)
optimizer = torch.optim.AdamW([weight])
for i in range(3):
    optimizer.step()
torch.alloc(5 << 30)
torch.free(5 << 30)
"""
TRAINED = {"peak_allocated_bytes": 16000000 + 5 * GiB, "peak_requested_bytes": 16000000 + 5 * GiB - 1}
TRAINED["peak_reserved_bytes"] = 4 * 4 * MiB + 5 * GiB


def peaks(reply):
    return {key: value for key, value in reply["processes"][0]["devices"][0]["torch"].items() if key.startswith("peak_")}


def test_torch_program(python, folder):
    reply = python(["--snapshot", "kept.pickle"], TRAIN, env={"FAKE_SNAPSHOT": str(folder / "snapshot.pickle")})
    assert peaks(reply) == TRAINED and reply["printed"] == ""
    process = reply["processes"][0]
    assert process["steps"] == 3 and process["complete"] is True and process["torch_version"] == "9.9.0"
    assert process["history"] == {"on": True, "why": None, "calls": []}
    model = {"parameters": 10**6, "parameter_bytes": 4 * 10**6, "trainable_bytes": 4 * 10**6}
    assert process["model"] == {**model, "gradient_bytes": 4 * 10**6, "optimizer_bytes": 8 * 10**6, "optimizer": "AdamW"}
    assert (folder / "kept.pickle").exists()
    owners = reply["report"][0]["peak"]["owners"]
    assert owners and all("label" in owner for owner in owners)


def test_model_of_a_function_that_is_gone(python):
    """What lived only inside a function is known from the optimizer's first steps."""
    lines = TRAIN.strip().splitlines()
    script = "import torch\ndef main():\n" + "".join(f"    {line}\n" for line in lines[1:]) + "main()\n"
    assert python([], script)["processes"][0]["model"]["optimizer_bytes"] == 8 * 10**6


def test_resets_take_no_peaks_away(python):
    script = TRAIN + "torch.cuda.reset_peak_memory_stats()\nprint(torch.cuda.memory_stats()['allocated_bytes']['all']['peak'])\n"
    reply = python([], script)
    assert peaks(reply) == TRAINED and reply["printed"] == "16000000\n"


def test_own_recording_does_not_end_ours(python):
    script = TRAIN + (
        "torch.cuda._record_memory_history(max_entries=5, context=None, stacks='all', clear_history=True)\n"
        "print(torch._C.state.recording, torch._C.state.resets)\n"
        "torch.cuda._record_memory_history(None)\n"
        "print(torch._C.state.recording, torch._C.state.resets)\n"
    )
    reply = python([], script)
    recording = "{'enabled': 'all', 'context': 'all', 'stacks': 'python', 'max_entries': 1000000} 0\n"
    assert reply["printed"] == 2 * recording
    assert [call["enabled"] for call in reply["processes"][0]["history"]["calls"]] == ["all", None]
    reply = python(["--history", "77"], TRAIN + "print(torch._C.state.recording['max_entries'])")
    assert reply["printed"] == "77\n"


def test_own_recording_of_a_history_that_was_full():
    """Marks and blocks that our history has lost: the setting is still known, stacks of older blocks are taken as they are."""
    path = Path(__file__).parents[2] / "python" / "vramscope_dryrun" / "vramscope_history.py"
    history = runpy.run_path(str(path))
    setting, stack = history["_Setting"], ["line"]

    def event(action, addr=0, size=512):
        return {"action": action, "addr": addr, "size": size, **({} if action == "snapshot" else {"frames": stack})}

    events = [event("alloc", 512), event("snapshot"), event("alloc", 1024), event("snapshot"), event("free_completed", 1024), event("alloc", 2048)]
    marks = [setting("all", "all", 3, False), history["_PROGRAMS"], history["_OURS"], history["_PROGRAMS"]]
    trace = history["_Trace"](events, marks, 4)
    assert trace.is_cut and [(e["action"], e["addr"]) for e in trace.ring.in_order()] == [("snapshot", 0), ("free_completed", 1024), ("alloc", 2048)]
    assert [trace.frames_of(trace.blocks, address, stack) for address in (256, 512, 1024)] == [stack] * 3
    trace = history["_Trace"](events, [*marks[:2], setting(), setting("state", None)], 4)  # stopped, then without stacks
    assert trace.is_cut and trace.ring.in_order() == [{"action": "alloc", "addr": 2048, "size": 512}]
    assert [trace.frames_of(trace.blocks, address, stack) for address in (256, 1024, 2048)] == [[]] * 3
    trace = history["_Trace"](events, [setting("all", "state"), history["_PROGRAMS"]], 2)
    assert not trace.is_cut and [trace.frames_of(trace.blocks, address, stack) for address in (512, 2048)] == [[], stack]


def test_without_history(python):
    reply = python(["--no-history"], TRAIN + "print(torch._C.state.recording)")
    assert reply["printed"] == "None\n" and peaks(reply) == TRAINED and reply["report"] is None
    assert reply["processes"][0]["history"]["on"] is False


@pytest.mark.parametrize(
    "end, code, verdict",
    (
        ("import sys; sys.exit(4)", 4, "stopped"),
        ("raise ValueError('no')", 1, "stopped"),
        ("torch.alloc(100 << 30)", 1, "does_not_fit"),
        ("\ntry:\n    torch.alloc(100 << 30)\nexcept torch.OutOfMemoryError:\n    pass", 0, "handled"),
    ),
)
def test_every_way_out(python, end, code, verdict):
    reply = python([], TRAIN + end, code=code)
    assert peaks(reply) == TRAINED and reply["verdict"] == verdict
    if verdict != "stopped":
        assert reply["oom"]["asked_bytes"] == 100 * GiB
        assert reply["oom"]["allocated_bytes"] == 16000000


@pytest.mark.parametrize("end, code, is_seen", (("os._exit(6)", 6, True), ("os.kill(os.getpid(), 9)", 137, False)))
def test_ways_out_without_pythons_exit(python, end, code, is_seen):
    reply = python([], TRAIN + "import os; " + end, code=code)
    assert reply["processes"][0]["complete"] is is_seen
    assert ({"kind": "history_lost", "processes": 1} in reply["doubts"]) is not is_seen
    assert not is_seen or peaks(reply) == TRAINED


def test_randomness(figures):
    """Fixed unless the user wants otherwise; a seed of the user's own stays."""
    program = ["sh", "-c", "exit $(( ${PYTHONHASHSEED:-99} ))"]

    def answer(*options, **env):
        reply = figures(options, *program, env=env)
        return reply["exit_code"], reply["repeatable"]

    assert answer() == (0, True) and answer("--random") == (99, False)
    assert answer(PYTHONHASHSEED="7") == (7, True) and answer("--random", PYTHONHASHSEED="7") == (7, False)
    assert figures([], "true", env={"PYTHONHASHSEED": "random"})["repeatable"] is False


def test_addresses_are_fixed(figures, tmp_path):
    maps = tmp_path / "maps"
    seen = set()
    for options in ([], [], ["--random"]):
        figures(options, "sh", "-c", f"grep stack /proc/self/maps > {maps}")
        seen.add((tuple(options), maps.read_text().split()[0]))
    assert len({place for options, place in seen if not options}) == 1


def not_recorded(reply):
    return [doubt for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"]


def test_what_the_hook_cannot_write_is_said(python, dryrun, folder):
    """The program continues unchanged, and the report says what is missing and why."""
    reply = python([], TRAIN, env={"FAKE_NO_STATS": "1"})
    why = "RuntimeError: this allocator keeps no statistics"
    assert not_recorded(reply) == [{"kind": "not_recorded", "what": "PyTorch's figures", "why": why, "processes": 1}]
    assert reply["printed"] == "" and reply["devices"][0]["torch"] is None
    reply = python([], TRAIN, env={"FAKE_SNAPSHOT": str(folder / "gone.pickle")})
    assert peaks(reply) == TRAINED
    assert [(doubt["what"], doubt["why"].split(":")[0]) for doubt in not_recorded(reply)] == [("the history", "FileNotFoundError")]
    (folder / "program.py").write_text(TRAIN)
    env = {"PYTHONPATH": FAKE_TORCH, "HOME": str(folder), "FAKE_NO_STATS": "1"}
    out = " ".join(dryrun([], PYTHON, "program.py", env=env).out.split())
    assert f"not recorded: PyTorch's figures ({why})" in out


def test_an_exit_without_figures(figures):
    """It ended as programs do, and still the figures of its end are not there."""
    words = [FAKE, "context", "0", *torch_stats([], complete=False), *note(note="exit")]
    reply = figures([], *words)
    assert [doubt["what"] for doubt in not_recorded(reply)] == ["PyTorch's figures"] and len(reply["doubts"]) == 1
    problem = ["file", "problems.%p.jsonl", '{"what": "PyTorch\'s figures", "why": "OSError: no space"}\n{"what": 3}\n{"wh']
    reply = figures([], *words, *problem)
    assert [doubt["why"] for doubt in not_recorded(reply)] == ["OSError: no space"] and len(reply["doubts"]) == 1


def test_what_is_assumed(figures, dryrun):
    """Of two processes: by the line of the call, which is the innermost one of the user's own code."""
    frames = [{"name": "broadcast", "file": "/venv/lib/python3.11/site-packages/l/ddp.py", "line": 9}, {"name": "fit", "file": "/home/me/train.py", "line": 12}]
    lines = [{"assumed": "all equal", "times": 1, "frames": frames}, {"assumed": "all equal", "times": 4, "frames": frames[1:]},
             {"assumed": "all equal", "times": 2, "frames": []}, {"assumed": "it ends"}, {"assumed": "it ends", "frames": 3}]  # fmt: skip
    problems = ["file", "problems.%p.jsonl", "\n".join(map(json.dumps, lines))]
    reply = figures([], FAKE, "context", "0", *problems)
    doubts = [doubt for doubt in reply["doubts"] if doubt["kind"] == "assumed"]
    assert doubts == [
        {"kind": "assumed", "what": "all equal", "place": "train.py:12 fit", "count": 5, "processes": 1},
        {"kind": "assumed", "what": "all equal", "place": None, "count": 2, "processes": 1},
        {"kind": "assumed", "what": "it ends", "place": None, "count": None, "processes": 1},
    ]
    out = " ".join(dryrun([], FAKE, "context", "0", *problems).out.split())
    assert "assumed: all equal (train.py:12 fit, 5 times); all equal, 2 times; it ends" in out


def test_children_by_spawn_and_fork(python):
    script = """
import multiprocessing, os, sys
def work(size):
    import torch
    torch.alloc(size << 30)
if __name__ == "__main__":
    for method, sizes in (("spawn", (2, 3)), ("fork", (9,))):
        context = multiprocessing.get_context(method)
        for size in sizes:
            process = context.Process(target=work, args=(size,))
            process.start()
            process.join()
    import torch
    torch.alloc(1 << 30)
    if os.fork() == 0:
        sys.exit(0)  # runs what was to be run at the end: not ours
    os.wait()
"""
    reply = python([], script)
    seen = sorted((p["complete"], p["devices"][0]["torch"]["peak_reserved_bytes"] // GiB) for p in reply["processes"] if p["devices"])
    assert seen == [(True, 1), (True, 2), (True, 3), (True, 9)]  # a forked worker ends by os._exit


@pytest.mark.parametrize("first", ("import torch", "import torch.cuda", "from torch.optim import AdamW", "__import__('torch.nn')"))
def test_every_way_to_import(python, first):
    script = first + "\nimport torch\ntorch.alloc(5 << 20)\n"
    assert python([], script)["processes"][0]["complete"] is True


def test_looking_for_torch_is_no_import(python):
    script = "import importlib.util, sys\nspec = importlib.util.find_spec('torch')\nassert 'torch' not in sys.modules\n"
    script += "import torch\nassert torch.__spec__.loader.__class__.__name__ == 'SourceFileLoader'\n"
    script += "assert 'exec_module' not in vars(torch.__spec__.loader)\ntorch.alloc(5 << 20)\n"
    assert python([], script)["processes"][0]["complete"] is True


SEES_NOTHING = """
import sys
assert not [entry for entry in sys.path if entry.rstrip("/").endswith("/dryrun") or "vramscope" in entry and entry.endswith("python")], sys.path
assert not [name for name in sys.modules if "vramscope" in name], sys.modules
"""


def test_leaves_no_trace(python):
    script = SEES_NOTHING + "try:\n    import sitecustomize\n    print('there')\nexcept ImportError:\n    print('none')\n"
    # The Python of the tests may have a sitecustomize of its own: it is the same as without us.
    plain = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, env=make.environment())
    assert python([], script)["printed"] == plain.stdout
    for words in (["-I"], ["-S"], ["-E"], ["-s"]):
        python([], "print(1)", *words)


def test_another_sitecustomize_runs(python, folder):
    other = folder / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys\nsys.said = 'hello'\nvalue = 7\n")
    script = SEES_NOTHING + "import sitecustomize\nprint(sys.said, sitecustomize.value, sitecustomize.__file__)\n"
    env = {"PYTHONPATH": f"{other}:{FAKE_TORCH}"}
    assert python([], script, env=env)["printed"] == f"hello 7 {other}/sitecustomize.py\n"
    assert python([], TRAIN, env=env)["steps"] == 3
    (other / "sitecustomize.py").write_text("raise ValueError('broken')\n")
    plain = subprocess.run([PYTHON, "-c", "1"], capture_output=True, text=True, env=make.environment(**env))
    assert python([], "1", env=env)["printed"] == plain.stderr


def test_visible_devices_are_cards(python):
    script = "import torch\ntorch.alloc(1 << 30, device=0)\n"
    reply = python(["--gpu", "3xL4"], script, env={"CUDA_VISIBLE_DEVICES": "2,1", "FAKE_DEVICES": "2"})
    assert [device["device"] for device in reply["processes"][0]["devices"]] == [2]
    assert [device["torch"] is not None for device in reply["devices"]] == [False, False, True]


def test_a_python_program_without_torch(python):
    reply = python([], "print('hello')")
    assert reply["verdict"] == "no_cuda" and reply["processes"] == [] and reply["printed"] == "hello\n"


ENDINGS = """
import atexit, os, runpy, sys
end = runpy.run_path(sys.argv[1])["Ending"](lambda what, error: print("lost", what, error, flush=True))
said = lambda text: print(text, os.getpid() == parent, flush=True)
parent = os.getpid()
end.add("first", lambda: said("first"))
end.add("broken", lambda: 1 / 0)
atexit.register(said, "library")
end.add("last", lambda: said("last"))
if os.fork() == 0:
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("way", ("", "os._exit(0)", "sys.exit(0)", "end.run(); os._exit(0)"))
def test_the_end_of_a_process(way, tmp_path):
    """Each function once in each process, whatever ends it and whether another one failed; before a library that was imported earlier."""
    (tmp_path / "ends.py").write_text(ENDINGS + way)
    path = Path(__file__).parents[2] / "python" / "vramscope_dryrun" / "vramscope_end.py"
    done = subprocess.run([PYTHON, "ends.py", path], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    ends = ["first {}", "lost broken division by zero", "last {}"]
    library = [] if "_exit" in way else ["library True"]
    assert done.stdout.splitlines() == [text.format(False) for text in ends] + [text.format(True) for text in ends] + library
