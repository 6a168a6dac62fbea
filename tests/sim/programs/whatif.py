"""Runs programs under settings: recorded once under the defaults, and measured by PyTorch's own statistics under all.

    whatif.py FOLDER SETTINGS...        writes FOLDER/<name>.pickle, prints {name: {settings: {statistic: value}}}
    whatif.py --limits JSON             JSON is {name: [bytes that may be reserved]}; prints {name: [whether it ran]}
"""

import json
import sys
from pathlib import Path

import torch
from loads import MiB, alike, anomaly, begin, churn, dying_pools, graph, growth, pools, streams, tensor, train

STATISTICS = ("reserved_bytes.all.peak", "allocated_bytes.all.peak", "active_bytes.all.peak", "segment.all.peak",
              "num_alloc_retries", "num_device_alloc", "num_device_free")


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
}


def measured(program):
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()
    kept = program()
    after = torch.cuda.memory_stats()
    del kept
    return {name: after[name] - (0 if name.endswith("peak") else before[name]) for name in STATISTICS}


def recorded(folder, name, program):
    begin("")
    torch.cuda.memory._record_memory_history(context=None)
    kept = program()
    torch.cuda.memory._dump_snapshot(str(folder / f"{name}.pickle"))
    torch.cuda.memory._record_memory_history(enabled=None)
    del kept


def judge(folder, settings):
    told = {}
    for name, program in PROGRAMS.items():
        recorded(folder, name, program)
        told[name] = {}
        for text in ("", *settings):
            begin(text)
            told[name][text] = measured(program)
    return told


def runs_within(name, limit):
    total = torch.cuda.get_device_properties(0).total_memory
    begin("", (limit + 4096) / total)  # PyTorch rounds down
    try:
        kept = PROGRAMS[name]()
    except torch.OutOfMemoryError:
        return False
    del kept
    return True


if sys.argv[1] == "--limits":
    print(json.dumps({name: [runs_within(name, limit) for limit in limits] for name, limits in json.loads(sys.argv[2]).items()}))
else:
    print(json.dumps(judge(Path(sys.argv[1]), sys.argv[2:])))
