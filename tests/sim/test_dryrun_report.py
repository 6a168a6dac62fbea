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
import pages
from training import TRAIN, last_line

MiB, GiB = 1 << 20, 1 << 30
EXAMPLE = make.ROOT / "examples" / "train_gpt.py"
GUIDE = make.ROOT / "docs" / "guide" / "dryrun.md"

RUN_FILE = "\nimport runpy\nrunpy.run_path('train.py', run_name='__main__')\n"
PARAMETERS = 4 * (1024 * 1024 + 1024)


# Figures.


@pytest.mark.parametrize("conf", ("", "expandable_segments:True", "max_split_size_mb:32,roundup_power2_divisions:4"))
def test_figures_are_the_programs(report, conf):
    options = ["--conf", conf] if conf else []
    script = TRAIN + "    model = train(optimizer=torch.optim.AdamW)\n    print(json.dumps(figures()))\n"
    reply, printed = report(["--gpu", "A100-80", *options], script)
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


def test_overhead_is_the_difference_of_the_peaks(dryrun):
    """Requested most in the first step, reserved most in the last: free blocks of 40 MiB have no room for 50."""
    script = """
    import torch
    MIB = 1 << 20
    def take(*sizes):
        return [torch.empty(size * MIB, dtype=torch.uint8, device="cuda") for size in sizes]
    kept = take(100, 100)
    del kept
    kept = take(60, 60, LAST)
    """
    for last, shown in (
        (50, "250.0 MiB reserved by PyTorch (200.0 MiB allocated, 200.0 MiB requested)"
             " Overhead 50.00 MiB more reserved than requested, each at its own peak (20.0%): fragmentation is noticeable"),
        (150, "350.0 MiB reserved by PyTorch (270.0 MiB allocated, 270.0 MiB requested)"
              " Overhead 80.00 MiB more reserved than requested at the peak (22.9%): fragmentation is noticeable"),
    ):
        done = dryrun(["--gpu", "A100-80"], textwrap.dedent(script).replace("LAST", str(last)))
        said = " ".join(done.out.split())
        peak, overhead = shown.split(" Overhead ")
        assert peak in said and f"Overhead {overhead}" in said, done.out


def test_free_memory_of_private_pools_is_named(dryrun):
    """No other pool can use it, so it is no fragmentation that a setting of the allocator mends."""
    script = """
    import torch
    MIB, graphs = 1 << 20, []
    for _ in range(GRAPHS):
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            torch.ones(100 * MIB, dtype=torch.uint8, device="cuda")
    """
    for graphs, shown in (
        (3, "200.0 MiB more reserved than requested, each at its own peak (66.7%):"
            " 200.0 MiB free in private pools (CUDA graphs), which no other pool can use"),
        (1, "0 B more reserved than requested at the peak (0.0%): fragmentation is low"),
    ):
        done = dryrun(["--gpu", "A100-80"], textwrap.dedent(script).replace("GRAPHS", str(graphs)))
        assert f"Overhead {shown} Beside" in " ".join(done.out.split()), done.out


def test_pending_frees_are_requested(dryrun):
    """A block that another stream may still use: no line of the report may read as if more was requested than there is."""
    script = """
    import torch
    side = torch.cuda.Stream()
    for _ in range(3):
        block = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
        block.record_stream(side)
        del block
    """
    for events, shown in (
        ("at-sync", "300.0 MiB reserved by PyTorch (100.0 MiB allocated, 300.0 MiB requested with pending frees)"),
        ("at-once", "100.0 MiB reserved by PyTorch (100.0 MiB allocated, 100.0 MiB requested)"),
    ):
        done = dryrun(["--gpu", "A100-80", "--events", events], textwrap.dedent(script))
        assert shown in " ".join(done.out.split()), done.out


def test_the_recorders_history(report):
    """In place of PyTorch's: the same figures, owners and steps; the program's own history is not touched, and PyTorch has none else."""
    script = TRAIN + """    model = train(optimizer=torch.optim.AdamW)
    torch.cuda.memory._record_memory_history(max_entries=100, stacks="python")
    x = torch.empty(1000, device="cuda")
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    print(json.dumps({"figures": figures(), "events": [[e["action"], e["size"]] for e in events if e["action"] == "alloc"]}))
"""
    replies, owns = zip(*(report(["--gpu", "A100-80", "--history", history], script) for history in ("torch", "recorder")), strict=True)
    by_torch, by_recorder = replies
    own, other = map(last_line, owns)
    assert own["events"] == other["events"] == [["alloc", 4000]] and own["figures"] == other["figures"]
    assert [reply["processes"][0]["history_source"] for reply in replies] == ["snapshot", "recording"]
    for key in ("steps", "verdict", "needs", "model"):
        assert by_torch[key] == by_recorder[key], key
    peaks = [reply["report"][0]["peak"] for reply in replies]
    for key in ("requested_bytes", "allocated_bytes", "reserved_bytes"):
        assert peaks[0][key] == peaks[1][key] != 0, key
    owners = [[(owner["label"], owner["bytes"], owner["count"]) for owner in peak["owners"]] for peak in peaks]
    assert owners[0] == owners[1] and len(owners[0]) > 2
    assert by_torch["report"][0]["steps"]["count"] == by_recorder["report"][0]["steps"]["count"]
    assert by_recorder["report"][0]["trust"]["complete"] and not [d for d in by_recorder["doubts"] if d["kind"].startswith("history")]


def test_a_snapshot_of_the_recorders_history(dryrun, tmp_path):
    done = dryrun(["--gpu", "A100-80", "--history", "recorder", "--snapshot", "made.pickle"], TRAIN + "    train()\n")
    assert done.code == 0, done.err
    with open(tmp_path / "made.pickle", "rb") as file:
        trace = pickle.load(file)["device_traces"][0]
    assert len([event for event in trace if event["action"] == "alloc"]) > 20
    other = dryrun(["--gpu", "A100-80", "--history", "recorder"], TRAIN + "    train()\n", VRAMSCOPE_RECORD=tmp_path / "mine.vram")
    assert other.code == 2 and "--history recorder: the program is recorded already (VRAMSCOPE_RECORD is set)" in other.err
    both = dryrun(["--history", "recorder", "--no-history"], "pass")
    assert both.code == 2 and "--history recorder records the history that --no-history forbids" in both.err


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


def test_an_optimizer_around_another(report):
    """accelerate's shows the parameters and the state of the one that it stands around: they are there once."""
    script = TRAIN + """    class Around(torch.optim.Optimizer):
        def __init__(self, parameters):
            self.optimizer = torch.optim.AdamW(parameters)
            Around.living = self

        state = property(lambda self: self.optimizer.state)
        param_groups = property(lambda self: self.optimizer.param_groups)

        def step(self):
            self.optimizer.step()

        def zero_grad(self, set_to_none=True):
            self.optimizer.zero_grad(set_to_none)

    model = train(optimizer=Around)
"""
    model = report(["--gpu", "A100-80"], script)[0]["processes"][0]["model"]
    assert (model["parameter_bytes"], model["optimizer_bytes"], model["optimizer"]) == (4 * PARAMETERS, 8 * PARAMETERS, "AdamW")


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
    assert reply["report"][0]["peak"]["metadata"] == []  # the program set none


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
        "    import gc\n"
        "    take_snapshot(torch)\n"
        "    imported = ['torch._inductor' in sys.modules, '_inductor' in torch.__dict__]\n"
        "    torch.cuda.memory._snapshot()\n"
        "    imported.append('torch._inductor' in sys.modules)\n"
        "    gc.collect()\n"  # the backward pass, and cycles of what was imported, may free memory: until nothing does
        "    def ours():\n"
        "        vars(torch).pop('_inductor', None)\n"  # as if it had not been imported
        "        return take_snapshot(torch)\n"
        "    def told(snapshot):\n"
        "        events = [{**e, 'time_us': 0} for e in snapshot['device_traces'][0] if e['action'] != 'snapshot']\n"
        "        return events, snapshot['segments']\n"  # each snapshot sets PyTorch's clock again, so times may differ
        "    before, after = None, told(ours())\n"
        "    while before != after:\n"
        "        before, pytorchs, after = after, told(torch.cuda.memory._snapshot()), told(ours())\n"
        "    tell(imported=imported, equal=after == pytorchs, named=sum(bool(e['frames']) for e in after[0]))\n"
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


def test_a_line_that_reads_for_ever(report):
    """It is told while it runs, and by name at the end; a line that reads less often is not."""
    reply, printed = report([], """
    import torch
    flag = torch.zeros(1, device='cuda')
    for _ in range(9999):
        flag.item()
    print("so far", flush=True)
    for _ in range(10000):
        flag.item()
    """)
    before, after = printed.split("so far")
    assert "one line has read 10,000 values" not in before and "one line has read 10,000 values" in after
    read = [doubt for doubt in reply["doubts"] if doubt["kind"] == "value_read"]
    assert sorted((doubt["line"], doubt["count"]) for doubt in read) == [(5, 9999), (8, 10000)]


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
    def again(block):
        return "".join(f"$ {command}\n{shown(command.removeprefix('vramscope dryrun '))}" for command, _ in pages.commands(block))

    page = str(GUIDE.relative_to(make.ROOT))
    assert len(pages.blocks_of(__file__)[page]) >= 4
    real = pages.again(page, again, "console")
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GUIDE.write_text(real)
    without_time = lambda words: TIME.sub("TIME", words)  # noqa: E731
    assert without_time(GUIDE.read_text()) == without_time(real)
