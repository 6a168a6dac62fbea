"""Runs programs under settings: recorded, and measured by PyTorch's own statistics.

    whatif.py FOLDER SETTINGS...        writes FOLDER/<name>.pickle, recorded under the defaults, and FOLDER/<name>.<i>.pickle under the
                                        i-th settings, from 0 on; prints {name: {settings: {statistic: value}}}
    whatif.py --rank FOLDER SETTINGS... the same for the programs of a rank, in the environment of a job
    whatif.py --ooms FOLDER SETTINGS... the same under settings with a limit, ended by the first request that fails:
                                        FOLDER/<name>.oom<i>.pickle is the moment of its failure; prints the names of the files
    whatif.py --limits JSON             JSON is {name: [bytes that may be reserved]}; prints {name: [whether it ran]}
"""

import gc
import itertools
import json
import sys
import time
from pathlib import Path

import torch
from loads import MiB, alike, anomaly, begin, churn, dying_pools, graph, growth, pools, streams, tensor, train

STATISTICS = ("reserved_bytes.all.peak", "allocated_bytes.all.peak", "active_bytes.all.peak", "segment.all.peak",
              "num_alloc_retries", "num_device_alloc", "num_device_free")
CONTEXTS = ("alloc", None, "all")  # stacks of allocations alone, of nothing, of frees too


def cache_of_keys(steps=60):
    """A KV cache that grows by concatenation, beside the temporaries of each step."""
    caches = [tensor(2 * MiB) for _ in range(4)]
    for step in range(steps):
        for i, cache in enumerate(caches):
            grown = tensor(cache.numel() + 300_000 + 4096 * i)
            scores = tensor(cache.numel() // 3)
            caches[i] = grown
            del scores, cache, grown
    return caches


def lengths(steps=12):
    """Training on batches of changing length."""
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    for step in range(steps):
        model(torch.empty(100 + step * 7919 % 1900, 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def conv(steps=6):
    """Training on images of changing size: cuDNN's workspaces come and go beside the activations."""
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 96, 3, padding=1),
                          nn.ReLU(), nn.Conv2d(96, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    for step in range(steps):
        model(torch.empty(8, 3, 128 + 32 * (step * 5 % 4), 224, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def fsdp(steps=4):
    """A rank of FSDP2: parameters are gathered on streams of their own, and their memory comes back when events say so."""
    from torch.distributed.fsdp import fully_shard

    nn = torch.nn
    model = nn.Sequential(*(nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Linear(3072, 768)) for _ in range(4)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        model(torch.randn(400 + 700 * (step * 3 % 4), 768).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def two_streams():
    """Work on two streams that hand tensors to each other, each freed when both are done."""
    held = []
    for i in range(80):
        with torch.cuda.stream(streams[i % 2]):
            t = tensor((1 + i * 37 % 23) * MiB)
        streams[(i + 1) % 2].wait_stream(streams[i % 2])
        held.append(t)
        if len(held) > 9:
            torch.cuda.synchronize()
            held.pop(i % 5)
    return held


PROGRAMS = {
    "training": train,
    "lengths": lengths,
    "anomaly": anomaly,
    "cache_of_keys": cache_of_keys,
    "churn": lambda: churn(1, empties=0.0),
    "churn_and_empty_cache": lambda: churn(1),
    "growth": lambda: growth(13),
    "alike": lambda: alike(30, 600),
    "two_streams": two_streams,
    "pools": pools,
    "dying_pools": dying_pools,
    "graph": graph,
    "side_streams": lambda: churn(4, 500, side=0.3, empties=0.0),
    "conv": conv,
}
OF_A_RANK = {"fsdp": fsdp}


def measured(program, path, context):
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()
    torch.cuda.memory._record_memory_history(context=context, stacks="python")
    kept = program()
    after = torch.cuda.memory_stats()
    torch.cuda.memory._dump_snapshot(str(path))
    torch.cuda.memory._record_memory_history(enabled=None)
    del kept
    return {name: after[name] - (0 if name.endswith("peak") else before[name]) for name in STATISTICS}


def begin_under(text):
    """A limit in a string counts only where the allocator is made."""
    parts = dict(part.split(":", 1) for part in text.split(",") if part.startswith("per_process"))
    begin(text, float(parts.get("per_process_memory_fraction", 1)))


def forget():
    """Modules that FSDP has wrapped lie in cycles, and autograd's own thread lets go of its last step a little later."""
    for _ in range(100):
        gc.collect()
        if torch.cuda.memory_allocated() == 0:
            return
        time.sleep(0.05)


def judge(programs, folder, settings):
    told = {name: {} for name in programs}
    for (name, program), context in zip(programs.items(), itertools.cycle(CONTEXTS)):
        for i, text in enumerate(("", *settings)):
            if programs is OF_A_RANK:
                forget()
            begin_under(text)
            file = f"{name}.pickle" if i == 0 else f"{name}.{i - 1}.pickle"
            told[name][text] = measured(program, folder / file, context)
    return told


def run_out(folder, settings):
    """An observer writes the snapshot of the first failure, before the program sees the exception."""
    written, wanted = [], []

    def observe(*facts):
        if wanted:
            written.append(wanted.pop())
            torch.cuda.memory._dump_snapshot(str(folder / written[-1]))

    torch._C._cuda_attach_out_of_memory_observer(observe)
    for (name, program), context in zip(PROGRAMS.items(), itertools.cycle(CONTEXTS)):
        for i, text in enumerate(settings):
            begin_under(text)
            wanted[:] = [f"{name}.oom{i}.pickle"]
            torch.cuda.memory._record_memory_history(context=context, stacks="python")
            try:
                kept = program()
                del kept
            except RuntimeError:  # torch.OutOfMemoryError, or of a library that ran out of memory and gave up
                pass
            torch.cuda.memory._record_memory_history(enabled=None)
    return written


def runs_within(name, limit):
    total = torch.cuda.get_device_properties(0).total_memory
    begin("", (limit + 4096) / total)  # PyTorch rounds down
    try:
        kept = PROGRAMS[name]()
    except torch.OutOfMemoryError:
        return False
    except RuntimeError as error:  # a convolution had no memory for its workspace, and the simulated cuDNN has no algorithm without one
        assert "unable to find an engine" in str(error), error
        return False
    del kept
    return True


if sys.argv[1] == "--limits":
    print(json.dumps({name: [runs_within(name, limit) for limit in limits] for name, limits in json.loads(sys.argv[2]).items()}))
elif sys.argv[1] == "--rank":
    torch.distributed.init_process_group("nccl")
    print(json.dumps(judge(OF_A_RANK, Path(sys.argv[2]), sys.argv[3:])))
    torch.distributed.destroy_process_group()
elif sys.argv[1] == "--ooms":
    print(json.dumps(run_out(Path(sys.argv[2]), sys.argv[3:])))
else:
    print(json.dumps(judge(PROGRAMS, Path(sys.argv[1]), sys.argv[2:])))
