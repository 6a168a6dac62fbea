"""Compares what `vramscope run` records of a program on a real GPU with PyTorch's own history of the same run.

    recorder.py VRAMSCOPE OUT [cost|libraries|PROGRAM...]

One line of JSON for each program of programs.py (all of them by default): how many events PyTorch has, how many of the recording are equal in
order, action, address, size and stream; how many allocations have a Python stack in both, and in how many it is the same; the findings of
the recording's report; what libraries other than PyTorch's allocator had at the end. `cost` alone prints the nanoseconds of an event
(bench/record_program.py) and the milliseconds of a training step with nothing, with the recorder and with PyTorch's history; `libraries` what
`vramscope where` says of a process that uses many libraries, beside NVML's figure.
"""

import json
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH = HERE.parent.parent / "bench" / "record_program.py"
SEEN = {"alloc", "free_requested", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom"}
ALONE = {"full_of_tensors", "gpt_ran_out"}  # they fill the card
STEPS = """
import sys, time, torch
from torch import nn
if sys.argv[1] != "off":
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks=sys.argv[1])
layer = nn.TransformerEncoderLayer(768, 12, batch_first=True)
model = nn.TransformerEncoder(layer, 12).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(2, 64, 768, device="cuda", dtype=torch.bfloat16)
def step():
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
for _ in range(20):
    step()
best = 1e9
for _ in range(10):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    best = min(best, (time.perf_counter() - begin) / 10)
print(1e3 * best)
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=200, **options)


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def events_of(snapshot):
    return [e for e in snapshot["device_traces"][0] if e["action"] in SEEN]


def figures(event):
    return event["action"], event["addr"] if event["action"] != "oom" else 0, event["size"], event["stream"]


def frames_of(event):
    return [(f["filename"], f["line"], f["name"]) for f in event["frames"] if f["filename"].endswith((".py", ">"))]


def compare(theirs, ours):
    wanted, got = events_of(theirs), events_of(ours)
    pairs = list(zip(wanted, got, strict=False))
    equal = next((i for i, (its, mine) in enumerate(pairs) if figures(its) != figures(mine)), len(pairs))
    stacks = [(frames_of(its), frames_of(mine)) for its, mine in pairs[:equal] if its["action"] == "alloc"]
    both = [(its, mine) for its, mine in stacks if its and mine]
    answer = {"events": len(wanted), "equal": equal, "with_stack": len([1 for its, _ in stacks if its]), "both": len(both),
              "same_stack": sum(its == mine for its, mine in both)}
    if equal < len(wanted):
        answer["differs"] = [figures(wanted[equal]), figures(got[equal]) if equal < len(got) else None]
    other = next(((its, mine) for its, mine in both if its != mine), None)
    return answer | ({"other_stack": other} if other else {})


def judge(vramscope, out, name):
    recording, history, exported = out / f"{name}.vram", out / f"{name}.pickle", out / f"{name}.exported"
    begin = time.monotonic()
    done = run(vramscope, "run", "-q", "-o", recording, "--", "python3", HERE / "programs.py", name, history, "all", "python")
    answer = {"program": name, "exit": done.returncode, "seconds": round(time.monotonic() - begin)}
    answer["says"] = [line for line in done.stderr.splitlines() if "vramscope" in line][:3]
    try:
        report = json.loads(run(vramscope, "report", "--json", recording).stdout)
        answer["findings"] = [f["kind"] for device in report["devices"] for f in device["trust"]["findings"]]
        reserved = json.loads(run(vramscope, "query", recording, "reserved").stdout)
        answer["libraries"] = reserved["libraries"]
        run(vramscope, "export", "-q", "-f", recording, "pickle", "-o", exported)
        answer |= compare(load(history), load(exported))
    except (OSError, ValueError, KeyError) as error:
        answer["error"] = repr(error)
        answer["end"] = done.stderr[-600:]
    for path in (history, exported):
        path.unlink(missing_ok=True)
    print(json.dumps(answer), flush=True)


def cost(vramscope, out):
    prefix = [vramscope, "run", "-q", "--force", "-o", out / "cost.vram", "--"]
    ways = {"nothing": ([], "off"), "recorder": (prefix, "off"), "history_python": ([], "python"), "history_all": ([], "all")}
    events, steps = {}, {}
    for _ in range(2):
        for name, (before, history) in ways.items():
            event = run(*before, "python3", BENCH, "--history", history)
            step = run(*before, "python3", "-c", STEPS, history)
            for figures_of, done, read in ((events, event, lambda text: json.loads(text)["ns"]), (steps, step, float)):
                figures_of.setdefault(name, []).append(read(done.stdout.splitlines()[0]) if done.stdout else done.stderr[-300:])
        print(json.dumps({"event_ns": events, "step_ms": steps}), flush=True)


LIBRARIES = """
import os, sys, torch
import torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512")
x = torch.randn(512, 512, device="cuda")
x @ x
torch.nn.functional.conv2d(torch.randn(8, 3, 64, 64, device="cuda"), torch.randn(16, 3, 3, 3, device="cuda"))
torch.linalg.eigh(x)
torch.fft.fft(x)
dist.init_process_group("nccl", rank=0, world_size=1)
dist.all_reduce(x)
torch.cuda.synchronize()
free, total = torch.cuda.mem_get_info()
print(total - free, torch.cuda.memory_reserved(), flush=True)
sys.stdin.read()
"""


def libraries(vramscope, out):
    """What the card has used, and the rows of `where`, alone on the card."""
    command = [vramscope, "run", "-q", "-o", out / "libraries.vram", "--", "python3", "-c", LIBRARIES]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    used, reserved = map(int, process.stdout.readline().split())
    where = json.loads(run(vramscope, "where", "--json").stdout)
    print(run(vramscope, "where").stdout, flush=True)
    process.communicate("")
    print(json.dumps({"used": used, "reserved": reserved, "where": where["devices"]}), flush=True)


def main():
    vramscope, out, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    if names in (["cost"], ["libraries"]):
        {"cost": cost, "libraries": libraries}[names[0]](vramscope, out)
        return
    names = names or run("python3", HERE / "programs.py", "--list").stdout.split()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: judge(vramscope, out, name), [name for name in names if name not in ALONE]))
    for name in sorted(ALONE & set(names)):
        judge(vramscope, out, name)


main()
