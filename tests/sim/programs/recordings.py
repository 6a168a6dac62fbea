"""Records programs under all kinds of settings, each from an empty allocator on, for tests that replay them.

    recordings.py FOLDER        writes FOLDER/<name>.pickle, prints {"torch": version, "absent": {name: why this PyTorch has no such
                                recording}, "recordings": {name: {"settings", "fraction", "card": bytes}}}
"""

import json
import pickle
import random
import sys
from pathlib import Path

import torch
from loads import (
    Absent, MiB, alike, anomaly, begin, churn, dying_pools, fill, graph, growth, late_streams, pools, tensor, train)

folder = Path(sys.argv[1])
told, absent = {}, {}


def record(name, *arguments, **options):
    try:
        make(name, *arguments, **options)
    except Absent as why:
        absent[name] = str(why)
        torch.cuda.memory._record_memory_history(enabled=None)


def make(name, program, *arguments, settings="", fraction=1.0, context="all", late=None):
    """`late`: a program that runs before the recording begins, and whose tensors stay."""
    begin(settings, fraction)
    kept = None if late is None else late()
    torch.cuda.memory._record_memory_history(context=context, stacks="python")
    kept = program(*arguments), kept
    path = folder / f"{name}.pickle"
    torch.cuda.memory._dump_snapshot(str(path))
    torch.cuda.memory._record_memory_history(enabled=None)
    if program in (dying_pools, graph) and "pool_id" not in pickle.loads(path.read_bytes())["device_traces"][0][0]:
        raise Absent("its events do not name pools, and these are gone when the recording ends")
    card = torch.cuda.get_device_properties(0).total_memory
    told[name] = {"card": card, "settings": settings, "fraction": fraction}
    del kept


record("training", train)
record("churn", churn, 1)
record("churn_without_stacks", churn, 2, context=None)
record("streams", churn, 3, 700, 0.3)
record("streams_alloc", churn, 4, 700, 0.3, context="alloc")
record("anomaly", anomaly)
record("full", fill)
record("full_then_empty", fill, 160 * MiB, torch.cuda.empty_cache)
record("pools", pools)
record("dying_pools", dying_pools)
record("graph", graph)
record("late", churn, 6, 400, late=train)
kept = []


def alike_before():
    """Most of it goes while the recording runs."""
    kept.extend(alike(30))


def alike_after():
    rng = random.Random(31)
    held = []
    for _ in range(250):
        if kept and rng.random() < 0.1:
            kept.pop(rng.randrange(len(kept)))
        held.append(tensor(rng.randint(12, 60) * MiB // 10))
        if len(held) > 12:
            held.pop(rng.randrange(len(held)))
    del kept[:]
    torch.cuda.empty_cache()
    return held


record("late_alike", alike_after, late=alike_before)
record("late_streams", churn, 6, 400, 0.3, late=late_streams)
record("expandable", churn, 7, settings="expandable_segments:True")
record("expandable_training", train, settings="expandable_segments:True")
record("expandable_streams", churn, 8, 700, 0.3, settings="expandable_segments:True")
record("expandable_full", fill, settings="expandable_segments:True")
record("expandable_pools", pools, settings="expandable_segments:True")
record("expandable_dying_pools", dying_pools, settings="expandable_segments:True")
record("expandable_graph", graph, settings="expandable_segments:True")
record("expandable_late_streams", churn, 6, 400, 0.3, settings="expandable_segments:True", late=late_streams)
record("expandable_late", churn, 9, 400, settings="expandable_segments:True", late=train)
record("split", churn, 10, settings="max_split_size_mb:32")
record("split_full", fill, 300 * MiB, settings="max_split_size_mb:32")
record("divisions", churn, 11, settings="roundup_power2_divisions:[4:2,32:4,>:8]")
record("large_segments", churn, 12, settings="large_segment_size_mb:32")
record("garbage", growth, 13, settings="garbage_collection_threshold:0.4", fraction=0.25)
record("garbage_streams", growth, 17, 0.3, settings="garbage_collection_threshold:0.5", fraction=0.25)
garbage_split = "garbage_collection_threshold:0.6,max_split_size_mb:24"
record("garbage_split", churn, 14, 900, 0.2, 0.0, settings=garbage_split, fraction=0.25)
record("split_late", churn, 16, 400, 0.1, settings="max_split_size_mb:24", late=late_streams)
record("limit", churn, 15, 900, 0.1, 0.0, fraction=0.1)
print(json.dumps({"torch": torch.__version__, "absent": absent, "recordings": told}))
