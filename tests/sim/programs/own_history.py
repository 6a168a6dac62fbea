"""Programs that record and dump their own history of the allocator, in many ways, one after the other in one process.

What each got is written to argv[1], without times: as PyTorch returned it. The same program is run with and without the dry run.
"""

import json
import os
import pickle
import subprocess
import sys

if len(sys.argv) == 2:  # the process that dumps is a child
    subprocess.run([sys.executable, __file__, sys.argv[1], "child"], check=True)
    sys.exit()

import torch

memory, MiB = torch.cuda.memory, 1 << 20
found = {}


def tensor(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def some(sizes=(100, 5 * MiB, 700, 30 * MiB)):
    """Allocates and frees; returns one tensor that stays."""
    held = [tensor(size) for size in sizes]
    del held[1:]
    return held[0]


def python_only(frames):
    return [frame for frame in frames if frame["filename"].endswith(".py")]


def look(name, snapshot=None, plain=lambda frames: frames):
    """Keeps a snapshot of now under a name."""
    taken = memory._snapshot() if snapshot is None else snapshot
    for events in taken["device_traces"]:
        for event in events:
            del event["time_us"]
            if "frames" in event:
                event["frames"] = plain(event["frames"])
    for segment in taken["segments"]:
        for place in (segment, *segment["blocks"]):
            place["frames"] = plain(place["frames"])
    found[name] = taken


def dumped(name):
    memory._dump_snapshot("own.pickle")
    with open("own.pickle", "rb") as file:
        look(name, pickle.load(file))
    os.remove("own.pickle")


def before_the_first_allocation():
    memory._record_memory_history(stacks="python")
    one = some()
    look("first")
    two = some((300, 9 * MiB))
    dumped("dumped")
    assert torch._C._cuda_isHistoryEnabled()
    memory._record_memory_history(enabled=None)
    look("stopped")
    found["traced"] = len(memory._allocation_traceback(two.data_ptr()) or ())
    return one, two


def nothing_recorded():
    held = some((3000, 41 * MiB, 80))
    look("off")
    dumped("off, dumped")
    found["is on"] = torch._C._cuda_isHistoryEnabled()
    found["untraced"] = memory._allocation_traceback(held.data_ptr())
    found["segments"] = torch.cuda.memory_snapshot()
    found["segments without traces"] = torch.cuda.memory_snapshot(include_traces=False)
    return held


def rings():
    memory._record_memory_history(max_entries=10, stacks="python")
    held = [some() for _ in range(4)]
    look("ring of 10")
    held.append(some())
    look("ring of 10 with a snapshot in it")
    memory._record_memory_history(max_entries=25, stacks="python")
    held += [some((900, 2 * MiB)) for _ in range(3)]
    look("ring of 25")
    held += [some((900, 2 * MiB)) for _ in range(9)]
    look("ring of 25, full")
    memory._record_memory_history(None)
    return held


def contexts():
    held = []
    for enabled, context in (("all", None), ("all", "state"), ("all", "alloc"), ("all", "all"), ("state", "all"), ("state", None)):
        memory._record_memory_history(enabled, context, "python")
        held.append(some())
        look(f"{enabled}, {context}")
        del held[: len(held) // 2]
        torch.cuda.empty_cache()
        look(f"{enabled}, {context}, after frees")
        if context != "alloc":  # the next one goes on without an end
            memory._record_memory_history(None)
    return held


def again_and_clear():
    memory._record_memory_history(stacks="python")
    one = some()
    memory._record_memory_history(context=None, stacks="python")
    two = some()
    look("another context")
    memory._record_memory_history(stacks="python", clear_history=True)
    three = some()
    look("cleared")
    memory._record_memory_history(stacks="python", skip_actions=["free_requested", "segment_alloc", "snapshot"])
    four = some((80 * MiB, 6 * MiB))
    look("skipped")
    look("skipped, and the snapshot")
    memory._record_memory_history(None)
    memory._record_memory_history(None)
    look("stopped twice")
    return one, two, three, four


def legacy():
    memory._record_memory_history(True, trace_alloc_max_entries=6)
    one = some()
    look("legacy")
    memory._record_memory_history(True, trace_alloc_max_entries=100, trace_alloc_record_context=True)
    two = some()
    look("legacy with stacks")
    memory._record_memory_history(False)
    return one, two


def refused():
    said = []
    for words in (("some",), ("all", "none"), ("all", "all", "c++")):
        try:
            memory._record_memory_history(*words)
        except RuntimeError as error:
            said.append(str(error).split("\n")[0])
    found["refused"] = said
    look("refused, so off")


def training():
    memory._record_memory_history(stacks="python")
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 512)).cuda()
    side = torch.cuda.Stream()
    for _ in range(2):
        model(torch.zeros(64, 512, device="cuda")).square().mean().backward()
        used = tensor(3 * MiB)
        with torch.cuda.stream(side):
            used.record_stream(side)
        del used
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        held = tensor(4 * MiB)
    look("training")
    found["pool"] = pool.snapshot()
    memory._record_memory_history(None)
    return model, pool, held


def out_of_memory():
    held = []
    for context in ("alloc", "all"):
        torch.cuda.empty_cache()
        memory._record_memory_history("all", context, "python")
        held.append(tensor(3 * MiB))
        try:
            tensor(1 << 40)
        except torch.OutOfMemoryError:
            look(f"out of memory, {context}")
        memory._record_memory_history(None)
    return held


def with_cpp():
    memory._record_memory_history(max_entries=5)  # PyTorch's default has the frames of C++
    held = some()
    look("c++", plain=python_only)
    memory._record_memory_history(None)
    return held


def expandable():
    memory._set_allocator_settings("expandable_segments:True")
    memory._record_memory_history("all", "alloc", "python")
    held = [some(), some((70 * MiB, 50 * MiB))]
    look("expandable")
    del held[1]
    torch.cuda.empty_cache()
    look("expandable, released")
    memory._record_memory_history(None)
    held.append(some((21 * MiB,)))
    look("expandable, off")
    return held


def main():
    kept = []
    for case in (before_the_first_allocation, nothing_recorded, rings, contexts, again_and_clear, legacy, refused, training, out_of_memory, expandable, with_cpp):
        kept.append(case())
        if case is legacy:
            torch.cuda.reset_peak_memory_stats()
    stats = torch.cuda.memory_stats()
    found["stats"] = {str(name): value for name, value in stats.items()}
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, default=str)


main()
