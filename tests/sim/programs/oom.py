"""Programs that run out of memory, each for another reason, recorded; and the same programs with what `vramscope oom` says would
have let the failed request pass.

    oom.py --record FOLDER      writes FOLDER/<name>.pickle, prints {name: {"at": request, "lines": {tag: line}}}
    oom.py --try JSON           JSON is a list of {"name", "at", and what is changed: "settings", "limit": bytes that may be reserved,
                                "free": {tag: [numbers]}, "empty": bool, "batch": factor, "shrink": {tag: factor}}; prints for each
                                whether request `at` passed
"""

import collections
import json
import os
import sys
from pathlib import Path

import torch
from loads import MiB, begin, streams

FRACTION = {"limited": 0.25}


class Run:
    """One run of a program: what it holds, by tag, and what is done right before its request number `at`."""

    def __init__(self, change):
        self.change = change
        self.kept = collections.defaultdict(list)
        self.lines = {}
        self.requests = 0

    def keep(self, tag, tensor):
        self.lines[tag] = sys._getframe(1).f_lineno
        self.kept[tag].append(tensor)
        return tensor

    def before(self):
        """In front of every request that may fail."""
        self.requests += 1
        if self.requests != self.change.get("at"):
            return
        for tag, numbers in self.change.get("free", {}).items():
            for number in numbers:
                self.kept[tag][number].untyped_storage().resize_(0)
        if self.change.get("empty"):
            torch.cuda.empty_cache()

    def batch(self, size):
        return int(size * self.change.get("batch", 1))

    def bytes(self, tag, mib):
        """What torch.empty takes for so many MiB, of which the tag's share is kept."""
        return bytes_on_card(mib * MiB * self.change.get("shrink", {}).get(tag, 1))


def bytes_on_card(size):
    return {"size": (int(size + 0.5),), "dtype": torch.uint8, "device": "cuda"}


def full(r):
    """Nothing is cached, and too much is held."""
    for _ in range(5):
        r.keep("weights", torch.empty(**r.bytes("weights", 500)))
    for i in range(8):
        r.keep("states", torch.empty(**r.bytes("states", 40 + 20 * i)))
    r.before()
    r.keep("request", torch.empty(**r.bytes("request", 700)))


def fragmented(r):
    """Half of each segment is held."""
    for i in range(18):
        whole = torch.empty(**bytes_on_card(200 * MiB))
        del whole
        r.keep("left", torch.empty(**r.bytes("left", 100)))
        r.keep("right", torch.empty(**r.bytes("right", 100)))
    r.kept["right"].clear()
    r.before()
    r.keep("request", torch.empty(**r.bytes("request", 350)))


def limited(r):
    """The card has enough free memory; the process may not have it."""
    for _ in range(6):
        r.keep("weights", torch.empty(**r.bytes("weights", 140)))
    r.before()
    r.keep("request", torch.empty(**r.bytes("request", 300)))


def other_pool(r):
    """What is cached belongs to a private pool that lives on."""
    r.keep("weights", torch.empty(**r.bytes("weights", 600)))
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        cached = [torch.empty(**bytes_on_card(400 * MiB)) for _ in range(5)]
        r.keep("inside", torch.empty(**r.bytes("inside", 300)))
    del cached
    r.keep("more", torch.empty(**r.bytes("more", 310)))
    r.before()
    r.keep("request", torch.empty(**r.bytes("request", 900)))


def other_stream(r):
    """What is cached shares the segments of another stream with small blocks; the first stream used it last."""
    beside = []
    with torch.cuda.stream(streams[1]):
        for _ in range(10):
            whole = torch.empty(**bytes_on_card(330 * MiB))
            del whole
            r.keep("small", torch.empty(**r.bytes("small", 30)))
            beside.append(torch.empty(**bytes_on_card(300 * MiB)))
            beside[-1].record_stream(streams[0])
        del beside
    r.before()
    r.keep("request", torch.empty(**r.bytes("request", 800)))


def growing(r):
    """A list that gets longer with every round."""
    history = []
    for _ in range(200):
        r.before()
        work = r.keep("work", torch.empty(**r.bytes("work", 190)))
        r.before()
        history.append(r.keep("history", torch.empty(**r.bytes("history", 35))))
        r.kept["work"].clear()
        del work


def caught(r):
    """The first error is caught, and half of what is held is freed; the second one is not."""
    for _ in range(6):
        r.keep("weights", torch.empty(**r.bytes("weights", 500)))
    try:
        r.before()
        torch.empty(**bytes_on_card(1600 * MiB))
    except torch.OutOfMemoryError:
        r.kept["weights"] = r.kept["weights"][:3]
    for i in range(9):
        r.keep("others", torch.empty(**r.bytes("others", 100 + 10 * i)))
    r.before()
    r.keep("request", torch.empty(**r.bytes("request", 1300)))


def training(r):
    """Each step has a larger batch."""
    width = 2048
    weights = [r.keep("weights", torch.empty(width, width, device="cuda", requires_grad=True)) for _ in range(12)]
    for step in range(1, 12):
        x = r.keep("inputs", torch.empty(r.batch(9000 * step), width, device="cuda"))
        for weight in weights:
            r.before()
            x = r.keep("products", torch.mm(x, weight))
            r.before()
            x = r.keep("outputs", torch.tanh(x))
            r.kept["products"].clear()
        loss = x.sum()
        r.kept["inputs"].clear()
        r.kept["outputs"].clear()
        del x
        loss.backward()
        for weight in weights:
            weight.grad = None
        del loss


def captured(r):
    """The request is made while a graph is captured: the cache of the default pool cannot be emptied for it."""
    for _ in range(3):
        r.keep("weights", torch.empty(**r.bytes("weights", 600)))
    cached = torch.empty(**bytes_on_card(900 * MiB))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        r.keep("inside", torch.empty(**r.bytes("inside", 400)))
        del cached
        r.before()
        r.keep("request", torch.empty(**r.bytes("request", 700)))


PROGRAMS = (full, fragmented, limited, other_pool, other_stream, growing, caught, training, captured)
BY_NAME = {program.__name__: program for program in PROGRAMS}


def run(program, change):
    """The number of the request that failed; None: none did."""
    r = Run(change)
    try:
        program(r)
    except torch.OutOfMemoryError:
        return r, r.requests
    return r, None


def fraction_of(name, limit=None):
    if limit is None:
        return FRACTION.get(name, 1.0)
    return (limit + 4096) / torch.cuda.get_device_properties(0).total_memory  # PyTorch rounds down


def record(folder):
    told = {}
    for name, program in BY_NAME.items():
        begin("", fraction_of(name))
        torch.cuda.memory._record_memory_history(context="all", stacks="python")
        r, failed = run(program, {})
        torch.cuda.memory._dump_snapshot(str(folder / f"{name}.pickle"))
        torch.cuda.memory._record_memory_history(enabled=None)
        told[name] = {"at": failed, "lines": r.lines}
        del r
    return told


def attempt(change):
    name = change["name"]
    begin(change.get("settings", ""), fraction_of(name, change.get("limit")))
    r, failed = run(BY_NAME[name], change)
    del r
    return failed is None or failed > change["at"]


def finish(result):
    """Without the interpreter's end: pools, streams and errors that were caught would go in any order."""
    print(json.dumps(result), flush=True)
    os._exit(0)


if sys.argv[1] == "--record":
    finish(record(Path(sys.argv[2])))
else:
    finish([attempt(change) for change in json.loads(sys.argv[2])])
