"""What `vramscope dryrun` says of real PyTorch programs: its figures are the program's own, its sizes are the smallest that do.

The program is the truth here: each one prints at its end what PyTorch's statistics say, and the report must agree to the byte.
"""

import functools
import json
import os
import pickle
import re
import subprocess
import textwrap

import pytest

import conftest as make

MiB, GiB = 1 << 20, 1 << 30
EXAMPLE = make.ROOT / "examples" / "train_gpt.py"
GUIDE = make.ROOT / "docs" / "guide" / "dryrun.md"

TRAIN = """
    import json, sys
    import torch
    from torch import nn

    def figures():
        stats = torch.cuda.memory_stats()
        names = ("allocated", "requested", "reserved")
        return {f"peak_{name}_bytes": stats[f"{name}_bytes.all.peak"] for name in names} | {
            "ooms": stats["num_ooms"], "retries": stats["num_alloc_retries"]}

    class Adam:
        "Allocates as AdamW does, whose constructor imports torch._dynamo: that takes as long as to import torch."

        def __init__(self, parameters):
            self.parameters, self.state = list(parameters), []

        @torch.no_grad()
        def step(self):
            self.state = self.state or [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]
            for p, (mean, square) in zip(self.parameters, self.state):
                mean.lerp_(p.grad, 0.1)
                square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(mean, square.sqrt().add_(1e-8), value=-0.001)

        def zero_grad(self):
            for p in self.parameters:
                p.grad = None

    def train(width=1024, batch=4096, steps=3, optimizer=Adam):
        model = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(width, width), nn.GELU()))).cuda()
        optimizer = optimizer(model.parameters())
        for _ in range(steps):
            loss = model(torch.empty(batch, width).cuda()).square().mean()  # its values do not matter, and cost time
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return model
"""
RUN_FILE = "\nimport runpy\nrunpy.run_path('train.py', run_name='__main__')\n"
PARAMETERS = 4 * (1024 * 1024 + 1024)


@pytest.fixture
def report(dryrun):
    """report(options, script, ...) -> (the JSON, what the program printed)."""

    def run(options, script, *words, code=0, **settings):
        done = dryrun(["--json", *options], script, *words, **settings)
        assert done.code == code, done.err[-4000:]
        return json.loads(done.out), done.err

    return run


def last_line(text):
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


# Figures.


@pytest.mark.parametrize("conf", ("", "expandable_segments:True", "max_split_size_mb:32,roundup_power2_divisions:4"))
def test_figures_are_the_programs(report, conf):
    options = ["--conf", conf] if conf else []
    reply, printed = report(["--gpu", "A100-80", *options], TRAIN + "    model = train(optimizer=torch.optim.AdamW)\n    print(json.dumps(figures()))\n")
    own = last_line(printed)
    assert reply["devices"][0]["torch"] == own == reply["processes"][0]["devices"][0]["torch"]
    assert own["peak_requested_bytes"] <= own["peak_allocated_bytes"] <= own["peak_reserved_bytes"]
    # The driver's peak is PyTorch's plus the context and at most 256 MiB.
    driver = reply["devices"][0]["driver_peak_bytes"]
    assert driver >= own["peak_reserved_bytes"] + reply["devices"][0]["context_bytes"]
    assert driver <= own["peak_reserved_bytes"] + reply["devices"][0]["context_bytes"] + 256 * MiB
    process = reply["processes"][0]
    assert process["complete"] and process["end"] == "ended" and process["steps"] == 3 and process["history"]["on"]
    assert process["allocator"]["settings"] == conf
    assert reply["verdict"] == "fits" and reply["steps"] == 3
    # The engine's peak is computed from the events: another way to the same number.
    assert reply["report"][0]["peak"]["requested_bytes"] == own["peak_requested_bytes"]
    assert reply["report"][0]["trust"]["complete"] is True
    model = process["model"]  # sizes that follow from the shapes alone
    assert model["parameters"] == PARAMETERS and model["parameter_bytes"] == model["trainable_bytes"] == 4 * PARAMETERS
    assert model["optimizer_bytes"] == 8 * PARAMETERS and model["optimizer"] == "AdamW"


def test_an_optimizer_of_optimizers(report):
    """torchtitan's container is an optimizer, and its step that of the optimizers in it: one step, and each parameter once."""
    script = TRAIN + """    class Container(torch.optim.Optimizer):
        def __init__(self, parameters):
            parameters = list(parameters)
            self.parts = [torch.optim.AdamW(parameters[:4]), torch.optim.AdamW(parameters[4:])]
            super().__init__(parameters, {})

        def step(self):
            for part in self.parts:
                part.step()

    model = train(optimizer=Container)
    if sys.argv[1:] == ["gone"]:
        del model
"""
    for words in ([], ["gone"]):  # measured of the objects that are live at the end, and at the steps
        reply, _ = report(["--gpu", "A100-80"], script, *words)
        process = reply["processes"][0]
        assert reply["steps"] == process["steps"] == 3
        model = process["model"]
        assert model["parameters"] == PARAMETERS and model["parameter_bytes"] == model["gradient_bytes"] == 4 * PARAMETERS
        assert model["optimizer_bytes"] == 8 * PARAMETERS and model["optimizer"] == "AdamW"


def test_peaks_survive_resets(report):
    script = TRAIN + "    train()\n"
    # A private pool: since PyTorch 2.15 the statistics have keys for it that JSON cannot have.
    script += "    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):\n        held = torch.empty(1 << 20, device='cuda')\n"
    script += "    before = figures()\n    torch.cuda.empty_cache()\n"
    script += "    torch.cuda.reset_peak_memory_stats()\n    print(json.dumps([before, figures()]))\n"
    reply, printed = report([], script)
    before, after = json.loads([line for line in printed.splitlines() if line.startswith("[")][-1])
    assert reply["devices"][0]["torch"] == before and after["peak_reserved_bytes"] < before["peak_reserved_bytes"]
    assert reply["processes"][0]["complete"] and not [d for d in reply["doubts"] if d["kind"] in ("history_lost", "not_recorded")]


def test_own_recording(report, python, tmp_path):
    """A program's own recordings are what they are without the dry run, event for event and stack for stack; and we get all of ours."""
    assert python("own_history.py", "plain.json", gpu="H100").code == 0
    reply, _ = report(["--gpu", "H100"], "own_history.py", "dry.json")
    plain, dry = (json.loads((tmp_path / name).read_text()) for name in ("plain.json", "dry.json"))
    assert [name for name in plain if plain[name] != dry[name]] == [] and list(plain) == list(dry)
    counts = {name: len(taken["device_traces"][0]) for name, taken in plain.items() if isinstance(taken, dict) and taken.get("device_traces")}
    assert counts["ring of 10"] == 10 and counts["ring of 25, full"] == 25 and counts["first"] > 10 and counts["off"] == counts["stopped"] == 0
    assert plain["is on"] is False and plain["untraced"] is None and plain["traced"] > 0 and len(plain["refused"]) == 3
    found = reply["report"][0]
    assert found["trust"]["complete"] and found["peak"]["requested_bytes"] >= plain["stats"]["requested_bytes.all.peak"]
    process = next(process for process in reply["processes"] if process["history"]["calls"])
    assert process["history"]["on"] and [call["enabled"] for call in process["history"]["calls"]][:3] == ["all", None, "all"]
    said = sorted(doubt["what"] for doubt in reply["doubts"] if doubt["kind"] == "assumed")
    assert ["C++ frames" in said[0], 'context="alloc"' in said[1], len(said)] == [True, True, 2]
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"]


def test_snapshot_is_kept(report, tmp_path):
    first = "import atexit, sys\natexit.register(lambda: print('after ours:', 'torch._inductor' in sys.modules))\n"
    (tmp_path / "train.py").write_text(first + textwrap.dedent(TRAIN) + "train()\n")  # lines of a file are the user's own
    reply, printed = report(["--snapshot", "kept.pickle"], RUN_FILE)
    assert "after ours: False" in printed
    done = subprocess.run([make.BINARY, "report", "--json", "--top", "5", "kept.pickle"], cwd=tmp_path, capture_output=True, text=True)
    kept = json.loads(done.stdout)["devices"][0]
    assert kept["peak"] == reply["report"][0]["peak"]
    assert any(re.fullmatch(r"train.py:\d+ train", owner["label"]) for owner in kept["peak"]["owners"])


def test_a_snapshot_imports_nothing_and_is_pytorchs(python):
    """What the last snapshot of a dry run is taken with, against PyTorch's own, which imports torch._inductor."""
    script = TRAIN + (
        "    sys.path.append(sys.argv[1])\n"
        "    from books import begin, take_snapshot, tell\n"
        "    begin()\n"
        "    model = train()\n"
        "    import time\n"
        "    ours, last = take_snapshot(torch), None\n"
        "    while ours['segments'] != last:  # a thread of the backward pass may still free memory\n"
        "        time.sleep(0.1)\n"
        "        last, ours = ours['segments'], take_snapshot(torch)\n"
        "    imported = ['torch._inductor' in sys.modules, '_inductor' in torch.__dict__]\n"
        "    pytorchs = torch.cuda.memory._snapshot()\n"
        "    imported.append('torch._inductor' in sys.modules)\n"
        "    events = [[e for e in s['device_traces'][0] if e['action'] != 'snapshot'] for s in (ours, pytorchs)]\n"
        "    tell(imported=imported, equal=events[0] == events[1] and ours['segments'] == pytorchs['segments'],\n"
        "         named=sum(bool(e['frames']) for e in events[0]))\n"
    )
    found = python(script, make.PROGRAMS).result
    assert found["imported"] == [False, False, True] and found["equal"] and found["named"] > 50


# Out of memory.


def test_out_of_memory(report, dryrun):
    def script(optimizer):
        return TRAIN + f"    train(batch=1 << 20, optimizer={optimizer})\n"

    reply, printed = report(["--gpu", "4GiB"], script("Adam"), code=1)
    assert "OutOfMemoryError" in printed
    asked = float(re.search(r"Tried to allocate ([0-9.]+) GiB", printed)[1])
    assert reply["verdict"] == "does_not_fit" and reply["devices"][0]["torch"]["ooms"] == 1
    assert reply["oom"]["asked_bytes"] == pytest.approx(asked * GiB, rel=0.01)
    assert reply["oom"]["allocated_bytes"] <= reply["oom"]["reserved_bytes"] < 4 * GiB
    assert reply["report"][0]["ooms"][-1]["requested_bytes"] == reply["oom"]["asked_bytes"]
    assert all(row["fits"] in ("no", "unknown") for row in reply["fit"])
    assert all(row["fits"] == "no" for row in reply["fit"] if row["total_bytes"] < asked * GiB)
    # The state of the optimizer was not there yet: what it takes is said.
    text = " ".join(dryrun(["--gpu", "4GiB"], script("torch.optim.AdamW")).out.split())
    assert "Does not fit" in text and "failed to allocate" in text and "at least" in text and "4 + 4 + 8 bytes a parameter" in text


def test_out_of_memory_that_the_program_handles(report):
    script = TRAIN + (
        "    batch = 1 << 20\n"
        "    while True:\n"
        "        try:\n"
        "            train(batch=batch)\n"
        "            break\n"
        "        except torch.OutOfMemoryError:\n"
        "            batch //= 2\n"
        "    print(json.dumps(figures()))\n"
    )
    reply, printed = report(["--gpu", "4GiB"], script)
    assert reply["verdict"] == "handled" and reply["devices"][0]["torch"] == last_line(printed)
    assert reply["devices"][0]["torch"]["ooms"] >= 2


def test_memory_that_pytorch_did_not_ask_for(report):
    """PyTorch's allocator takes what it can get, and then the first kernel does not get the memory of its code: PyTorch counts no
    out-of-memory error, but that is what it is."""
    script = """
        import torch

        blocks, size = [], 512 << 20
        while size >= 32 << 20:
            if torch.cuda.mem_get_info()[0] > size:
                blocks.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            else:
                size //= 2
        blocks[0].add_(1)
    """
    reply, printed = report(["--gpu", "1GiB"], script, code=1)
    assert "CUDA error: out of memory" in printed and "OutOfMemoryError" not in printed
    assert reply["verdict"] == "does_not_fit" and reply["devices"][0]["torch"]["ooms"] == 0
    assert reply["oom"]["asked_bytes"] == 92 * MiB and reply["oom"]["free_bytes"] < 32 * MiB and reply["oom"]["allocated_bytes"] is None


# Values.


@pytest.mark.parametrize("times", (9999, 10000))
def test_a_line_that_reads_for_ever(report, times):
    """It is told while it runs, and by name at the end."""
    reply, printed = report([], "    import torch\n    flag = torch.zeros(1, device='cuda')\n"
                            f"    for _ in range({times}):\n        flag.item()\n")
    assert ("one line has read 10,000 values" in printed) is (times == 10000)
    (read,) = [doubt for doubt in reply["doubts"] if doubt["kind"] == "value_read"]
    assert read["count"] == times and read["line"] == 4


WAITS = """
    import sys
    import torch

    def wait(flag, most):
        for i in range(most):
            if (flag + 1)[0] == 2:                    # 7
                break
        return i

    flag = torch.zeros(1, device="cuda")
    print("ended", wait(flag, int(sys.argv[1])), flush=True)
    x = torch.full((3,), 2.5, device="cuda")
    host = torch.tensor([4.5, 5.5], pin_memory=True)
    kept = torch.empty(2, device="cuda").copy_(host)
    x + 1
    told = [x.sum().item(), x.tolist(), kept.tolist()]  # 17
    told += [(x + 1).sum().item(), [v for v in (x + 1).tolist()]]  # 18
    host.zero_()
    kept.cpu()
    print(told, flush=True)
"""


def test_values_of_places(report, dryrun, tmp_path):
    """Each named line reads what it is given, all others zeros; a loop that waits ends with the value that its sentence names."""
    (tmp_path / "waits.py").write_text(textwrap.dedent(WAITS).lstrip())
    run = "\nimport runpy\nrunpy.run_path('waits.py')\n"
    reply, printed = report([], run, "700")
    assert "ended 699" in printed and "[0.0, [0.0, 0.0, 0.0], [0.0, 0.0], 0.0, [0.0, 0.0, 0.0]]" in printed
    (advice,) = re.findall(r"waits.py:(\d+) wait has read the same value from the GPU 500 times.*--values (\S+)", printed)
    assert advice == ("6", "waits.py:6=true")
    stuck = [doubt for doubt in reply["doubts"] if doubt.get("repeats")]
    assert [(doubt["place"], doubt["repeats"], doubt["give"]) for doubt in stuck] == [("waits.py:6 wait", 500, "waits.py:6=true")]

    options = ["--values", advice[1], "--values", "waits.py:16=keep", "--values", "waits.py:17=1.5:float32", "--values", "waits.py:99=1"]
    reply, printed = report(options, run, "100000")
    assert "ended 0" in printed and "has read the same value" not in printed
    assert "[4.5, 5.5]" in printed and "1.5, [1.5, 1.5, 1.5]]" in printed
    assert [(place["reads"], place["misfits"], place["nearest"]) for place in reply["value_places"]] == [
        (1, 0, None), (3, 0, None), (2, 0, None), (0, 0, "waits.py:19 <module>")]


# Ends.

OWNERS = []


def owners_of_training(report):
    """At the peak of a step, in a run that ends by itself: PyTorch's own history has them."""
    if not OWNERS:
        reply, _ = report([], TRAIN + "    train(steps=1)\n")
        assert reply["processes"][0]["history_source"] == "snapshot"
        OWNERS.extend(rows_of(reply["report"][0]["peak"]))
    assert "backward pass (no Python stack)" in [label for label, _, _ in OWNERS] and len(OWNERS) > 3
    return OWNERS


def rows_of(peak):
    return [(row["label"], row["bytes"], row["count"]) for row in peak["owners"]]


@pytest.mark.parametrize(
    "end, code, is_complete",
    (
        ("sys.exit(7)", 7, True),
        ("raise ValueError('no')", 1, True),
        ("import os; os._exit(5)", 5, True),
        ("import os; os.kill(os.getpid(), 9)", 137, False),
        ("import ctypes; ctypes.string_at(0)", 139, False),
    ),
)
def test_ends(report, end, code, is_complete):
    """A killed process leaves what its allocator reported while it ran, whatever the program reset; and its history, which the recorder
    has."""
    script = "    train(steps=1)\n    print(json.dumps(figures()), flush=True)\n    torch.cuda.empty_cache()\n"
    reply, printed = report([], TRAIN + script + f"    torch.cuda.reset_peak_memory_stats()\n    {end}\n", code=code)
    own = last_line(printed)
    if not is_complete:
        own |= {"peak_requested_bytes": None, "retries": None}
    assert reply["devices"][0]["torch"] == own == reply["processes"][0]["devices"][0]["torch"]
    assert reply["verdict"] == "stopped" and reply["processes"][0]["complete"] is is_complete
    assert reply["processes"][0]["end"] == ("ended" if is_complete else "killed")
    assert reply["processes"][0]["history_source"] == ("snapshot" if is_complete else "recording")
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "history_lost"]
    peak = reply["report"][0]["peak"]
    assert peak["allocated_bytes"] == own["peak_allocated_bytes"] and rows_of(peak) == owners_of_training(report)
    assert reply["devices"][0]["driver_peak_bytes"] > 100 * MiB  # the node knows, whatever became of the process


def test_a_recording_that_was_cut_is_said(report, dryrun):
    """Here the file is as it was a while before, else a hundredth of a second before the kill."""
    script = """
        import os, shutil, time, torch
        recording = f"{os.environ['VRAMSCOPE_SIM_RUN']}/recording.{os.getpid()}.vram"
        first = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
        time.sleep(0.5)
        shutil.copy(recording, "before.vram")
        held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        shutil.copy("before.vram", recording + ".part")
        os.replace(recording + ".part", recording)
        os.kill(os.getpid(), 9)
    """
    reply, _ = report([], script, code=137)
    (process,) = reply["processes"]
    (row,) = process["devices"][0]["owners"]
    assert row["bytes"] == MiB and process["devices"][0]["torch"]["peak_allocated_bytes"] == 65 * MiB
    assert {"kind": "history_cut", "processes": 1, "bytes": 64 * MiB} in reply["doubts"]
    out = " ".join(dryrun([], script).out.split())
    assert "a process was killed before its last events were recorded: 64.00 MiB of its peak have no owner" in out


def test_children_by_spawn(report, tmp_path):
    (tmp_path / "spawn.py").write_text(
        "import torch, torch.multiprocessing as multiprocessing\n"
        "def work(rank):\n"
        "    torch.cuda.set_device(rank)\n"
        "    held = torch.empty((rank + 1) << 30, dtype=torch.uint8, device='cuda')\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.spawn(work, nprocs=2)\n"
    )
    script = "\nimport runpy, sys\nsys.argv = ['spawn.py']\nrunpy.run_path('spawn.py', run_name='__main__')\n"
    reply, _ = report(["--gpu", "2xL4"], script)
    peaks = [device["torch"]["peak_reserved_bytes"] for device in reply["devices"]]
    assert peaks == [GiB, 2 * GiB]
    assert sum(process["complete"] for process in reply["processes"]) == 2


@pytest.mark.parametrize("method", ("fork", "forkserver"))
def test_children_by_fork(report, tmp_path, method):
    """They end with os._exit; one is terminated while it waits."""
    (tmp_path / "forks.py").write_text(
        "import multiprocessing, time\n"
        "def work(size, ready):\n"
        "    import torch\n"
        "    held = torch.empty(size << 20, dtype=torch.uint8, device='cuda')\n"
        "    time.sleep(0.2)  # the recorder writes every hundredth of a second\n"
        "    ready.set()\n"
        "    time.sleep(600 if size == 96 else 0)\n"
        "if __name__ == '__main__':\n"
        f"    context = multiprocessing.get_context('{method}')\n"
        "    events = [context.Event() for _ in range(2)]\n"
        "    children = [context.Process(target=work, args=pair) for pair in zip((64, 96), events)]\n"
        "    for child, event in zip(children, events):\n"
        "        child.start()\n"
        "        event.wait()\n"
        "    children[1].terminate()\n"
        "    for child in children:\n"
        "        child.join()\n"
    )
    reply, _ = report([], "\nimport runpy\nrunpy.run_path('forks.py', run_name='__main__')\n")
    used = sorted((process["devices"][0]["torch"]["peak_allocated_bytes"] >> 20, process["complete"]) for process in reply["processes"])
    assert used == [(64, True), (96, False)]
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "history_lost"]
    owners = {process["history_source"]: process["devices"][0]["owners"] for process in reply["processes"]}
    for source, size in (("snapshot", 64), ("recording", 96)):
        (row,) = owners[source]
        assert row["bytes"] == size * MiB and "forks.py:4" in row["label"]


POOL = """
import ctypes, multiprocessing, sys

def work(number, barrier):
    cudart = ctypes.CDLL("libcudart.so.13")
    memory = ctypes.c_void_p()
    status = cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(number + 1 << 21))
    barrier.wait()  # all hold theirs
    sys.exit(status)

if __name__ == "__main__":
    context, count = multiprocessing.get_context(sys.argv[1]), int(sys.argv[2])
    barrier = context.Barrier(count)
    children = [context.Process(target=work, args=(number, barrier)) for number in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print("failed", sum(child.exitcode != 0 for child in children), file=sys.stderr)
"""


def pool_of(tmp_path, method, count, *options):
    """(reply, standard error) of a program with so many processes that hold memory at the same time."""
    (tmp_path / "pool.py").write_text(POOL)
    done = subprocess.run([make.BINARY, "dryrun", "--json", *options, "--", make.PYTHON, "pool.py", method, str(count)], cwd=tmp_path,
                          env=make.environment_of({}), capture_output=True, text=True, timeout=make.TIMEOUT, check=True)
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_a_pool_of_64_workers(tmp_path, method):
    reply, told = pool_of(tmp_path, method, 64, "--context", "300MiB")
    assert "failed 0" in told and reply["verdict"] == "fits" and reply["doubts"] == []
    peaks = sorted(process["devices"][0]["driver_peak_bytes"] for process in reply["processes"])
    assert peaks == [(300 + 2 * number) * MiB for number in range(1, 65)]
    if method == "spawn":  # forked ones leave by os._exit, and without PyTorch nothing follows that
        assert {process["end"] for process in reply["processes"]} == {"ended"}
    assert reply["devices"][0]["driver_peak_bytes"] == sum(peaks)


def test_more_processes_than_a_gpu_can_have(tmp_path):
    """256 get it, the others an error; the report says whose memory it lacks."""
    reply, told = pool_of(tmp_path, "fork", 260, "--gpu", "B300", "--context", "2MiB")
    assert "failed 4" in told and len(reply["processes"]) == 260
    assert reply["doubts"] == [{"kind": "not_recorded", "what": "GPU memory", "processes": 4,
                                "why": "256 other processes use it, and no more can"}]
    peaks = [process["devices"][0]["driver_peak_bytes"] for process in reply["processes"] if process["devices"]]
    assert len(peaks) == 256 and reply["devices"][0]["driver_peak_bytes"] == sum(peaks)


def test_the_same_run_twice(report, tmp_path_factory):
    """Event for event with addresses and stacks, under autocast, which frees its casts in the order of a hash table of addresses.
    Without a backward pass: its thread races with the program's for addresses of the host. The snapshots lie outside of the
    program's directory: Python reads its names when it imports a module, so one file more is another order of addresses."""
    kept = tmp_path_factory.mktemp("kept")
    script = """
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 4).cuda()
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.zeros(4, 128, 64, device="cuda")).float().square().mean()
        del loss
    """
    runs = []
    for name in ("first.pickle", "other.pickle"):
        reply, _ = report(["--snapshot", str(kept / name)], script)
        assert reply["repeatable"] is True
        with open(kept / name, "rb") as file:
            (trace,) = [trace for trace in pickle.load(file)["device_traces"] if trace]
        runs.append([{key: value for key, value in entry.items() if key != "time_us"} for entry in trace])
    assert len(runs[0]) > 1000 and runs[0] == runs[1]


def test_a_server(report):
    """It waits for requests in another process than the one that holds the model, and is ended once both are idle."""
    script = """
    import http.server, multiprocessing, time

    def engine(ready):
        import torch
        weights = torch.zeros(64, 1 << 20, dtype=torch.uint8, device="cuda")
        ready.set()
        time.sleep(600)

    context = multiprocessing.get_context("fork")
    ready = context.Event()
    context.Process(target=engine, args=(ready,)).start()
    ready.wait()
    http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler).serve_forever()
    """
    reply, _ = report(["--until", "idle"], script)
    assert reply["verdict"] == "fits" and reply["ended_us"] > 5_000_000
    (process,) = reply["processes"]
    assert process["complete"] and process["devices"][0]["torch"]["peak_allocated_bytes"] == 64 << 20
    assert reply["report"][0]["peak"]["owners"][0]["bytes"] == 64 << 20


def test_a_server_that_says_when_it_is_ready(report):
    """It listens and answers before its model is loaded. PyTorch's store for ranks listens, too, with another protocol."""
    script = """
    import http.server, threading
    import torch
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, 1, True)
    asked, is_loaded = threading.Semaphore(0), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if is_loaded.is_set() and self.path == "/health" else 503)
            self.end_headers()
            asked.release()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    weights = torch.zeros(64, 1 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        asked.acquire()
    cache = torch.zeros(32, 1 << 20, dtype=torch.uint8, device="cuda")
    is_loaded.set()
    threading.Event().wait()
    """
    reply, _ = report(["--until", "ready"], script)
    assert (reply["until"], reply["verdict"], reply["exit_code"]) == ("ready", "fits", 0)
    assert 0 < reply["ended_us"] <= reply["time_us"]
    (process,) = reply["processes"]
    assert process["complete"] and process["devices"][0]["torch"]["peak_allocated_bytes"] == 96 << 20


def test_ranks_on_cards_of_their_own(report):
    script = TRAIN + (
        "    import os\n"
        "    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "    held = torch.empty((int(os.environ['RANK']) + 1) << 30, dtype=torch.uint8, device='cuda')\n"
    )
    reply, _ = report(["--gpu", "L4", "--ranks", "3"], script)
    assert [device["torch"]["peak_reserved_bytes"] // GiB for device in reply["devices"]] == [1, 2, 3]
    assert [process["exit_code"] for process in reply["processes"]] == [0, 0, 0]


def test_owners_of_each_process(report, dryrun):
    """Each rank sees one GPU, as its number 0, and each has its memory from a line of its own."""
    script = """
    import os, torch

    rank = int(os.environ["RANK"])
    os.environ["CUDA_VISIBLE_DEVICES"] = str(2 - rank)

    def first(): return torch.zeros(3 << 30, dtype=torch.uint8, device="cuda")
    def second(): return torch.zeros(5 << 30, dtype=torch.uint8, device="cuda")
    def third(): return torch.zeros(4 << 30, dtype=torch.uint8, device="cuda"), torch.zeros(1 << 20, device="cuda")

    held = (first, second, third)[rank]()
    """
    reply, _ = report(["--gpu", "L4", "--ranks", "3"], script)
    found = {}
    for process in reply["processes"]:
        (device,) = process["devices"]
        found[process["rank"]] = (device["device"], device["owner_count"], [(row["label"].split()[-1], row["bytes"] >> 20) for row in device["owners"]])
        assert device["torch"]["peak_requested_bytes"] == sum(row["bytes"] for row in device["owners"])
    assert found == {0: (2, 1, [("first", 3072)]), 1: (1, 1, [("second", 5120)]), 2: (0, 1, [("third", 4100)])}
    main = next(process for process in reply["processes"] if process["pid"] == reply["report_pid"])
    assert main["rank"] == 1 and main["devices"][0]["owners"] == reply["report"][0]["peak"]["owners"]
    assert [row["peak_driver_bytes"] for row in reply["inventories"]] == [main["devices"][0]["driver_peak_bytes"]]
    text = dryrun(["--gpu", "L4", "--ranks", "3"], script).out
    rows = re.findall(r"^  (rank \d) +(\d) .* (\w+)$", text, re.M)
    assert rows == [("rank 1", "1", "second"), ("rank 2", "0", "third"), ("rank 0", "2", "first")], text
    assert "Owners         of rank 1\n" in text


# What memory is for, as the program or the hook in it says.


def test_parts(report, dryrun):
    """PyTorch's memory metadata is what tells vLLM's memory apart (tests/sim/test_vllm.py); any program may set it."""
    script = """
    import torch

    def hold(metadata, mebibytes):
        torch.cuda.memory._set_memory_metadata(metadata)
        return torch.zeros(mebibytes << 20, dtype=torch.uint8, device="cuda")

    weights, cache, rest, lost = hold("weights", 48), hold("KV cache", 64), hold("", 1), hold("lost", 16)
    del lost
    torch.cuda.memory._set_memory_metadata("weights")
    more = torch.zeros(32 << 20, dtype=torch.uint8, device="cuda")
    """
    reply, _ = report([], script)
    peak = reply["report"][0]["peak"]
    assert [(part["key"], part["bytes"] >> 20, part["count"]) for part in peak["metadata"]] == [
        ("weights", 80, 2), ("KV cache", 64, 1), (None, 1, 1)]
    assert (peak["metadata_count"], reply["kv_cache"]) == (3, None)
    text = dryrun([], script).out
    assert re.search(r"80.00 MiB +55.2% .* weights\n", text) and re.search(r"1.00 MiB +0.7% .* no metadata set\n", text)
    assert "hold" in text  # the lines follow
    assert report([], TRAIN + "    train(batch=8)\n")[0]["report"][0]["peak"]["metadata"] == []


def test_kv_cache(report, dryrun):
    """What an engine's configuration says of its cache: those of two engines, of which the smaller one is shown."""
    script = """
    import json, os, torch

    held = torch.zeros(1 << 20, device="cuda")
    with open(os.path.join(os.environ["VRAMSCOPE_SIM_RUN"], f"problems.{os.getpid()}.jsonl"), "a") as file:
        for blocks in (30_000, 28_415, 29_000):
            cache = {"engine": "vLLM", "blocks": blocks, "blocks_per_request": 8192, "max_model_len": 131_072}
            file.write(json.dumps({"kv_cache": cache}) + "\\n")
    """
    requests = 28_415 / 8192
    assert report([], script)[0]["kv_cache"] == {"engine": "vLLM", "engines": 3, "blocks": 28_415, "blocks_per_request": 8192,
                                                 "max_model_len": 131_072, "tokens": int(requests * 131_072), "requests": requests}
    text = " ".join(dryrun([], script).out.split())
    assert "KV cache 454,640 tokens in each of 3 engines: 3.46 requests of 131,072 tokens" in text


# The smallest size.


@pytest.mark.parametrize("conf", ("", "expandable_segments:True"))
def test_find_smallest(report, dryrun, conf):
    """2% below what it says the program fails, 2% above it runs."""
    options = ["--conf", conf] if conf else []
    script = TRAIN + "    train(batch=1 << 17)\n"
    reply, _ = report(["--gpu", "H100", "--find-smallest", *options], script)
    smallest = reply["smallest_bytes"]
    torch, context = reply["devices"][0]["torch"], reply["devices"][0]["context_bytes"]
    assert torch["peak_allocated_bytes"] + context <= smallest
    assert smallest <= 1.01 * reply["devices"][0]["driver_peak_bytes"]
    above = dryrun([*options, "--gpu", f"H100:{int(smallest * 1.02) >> 20}MiB", "--json"], script)
    assert above.code == 0 and json.loads(above.out)["verdict"] == "fits"
    below = dryrun([*options, "--gpu", f"H100:{int(smallest * 0.98) >> 20}MiB", "--json"], script)
    assert below.code == 1 and json.loads(below.out)["verdict"] == "does_not_fit"


# The example, and the guide that shows it.


@functools.cache  # the guide shows runs that tests look at, too
def example(*options, words=(), **settings):
    env = make.environment(LD_PRELOAD=None, TRITON_LIBCUDA_PATH=None, COLUMNS="80", LC_ALL="C.UTF-8", **settings)
    command = [make.BINARY, "dryrun", *options, "--", str(make.PYTHON), str(EXAMPLE), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=make.TIMEOUT)


def test_example():
    done = example("--gpu", "24GiB", words=())
    assert done.returncode == 0 and "Fits in" in done.stdout, done.stderr[-2000:]
    report = done.stdout[done.stdout.index("Fits in") :].splitlines()
    assert len(report) <= 30 and all(len(line) <= 80 for line in report)
    assert any("train_gpt.py:" in line for line in report)
    printed = re.findall(r"peak ([0-9.]+) GiB", done.stdout)[-1]
    assert f"{printed} GiB allocated" in " ".join(report)
    done = example("--gpu", "4GiB", words=())
    assert done.returncode == 1 and "Does not fit" in done.stdout


BLOCK = re.compile(r"^```console\n\$ vramscope dryrun (?!--find)(.*)\n((?:.*\n)*?)^```$", re.M)
TIME = re.compile(r"\b(in|Ran) +([0-9.]+ (min|m?s)\b ?)+")


def shown(command):
    """What a console block of the guide shows: the program's own output left out."""
    words = command.split()
    at = words.index("--")
    done = example(*words[:at], words=tuple(words[at + 3 :]))
    if "--vary" in words or "--find-largest" in words:
        return done.stdout.replace(f"{make.PYTHON} {EXAMPLE}", "python3 train_gpt.py")
    return "...\n" + done.stdout[re.search(r"^(Fits in|Does not fit|Ran through)", done.stdout, re.M).start() :]


def test_guide():
    """Each block but the search, which runs the program seven times and has tests of its own."""
    text = GUIDE.read_text()
    assert len(BLOCK.findall(text)) >= 2
    real = BLOCK.sub(lambda block: f"```console\n$ vramscope dryrun {block[1]}\n{shown(block[1])}```", text)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GUIDE.write_text(real)
    without_time = lambda words: TIME.sub("TIME", words)  # noqa: E731
    assert without_time(GUIDE.read_text()) == without_time(real)
