"""Tests the functions around our allocator under PyTorch in one process, and prints the results."""

import gc
import json
import os
import pickle
import sys
import threading

import torch
import torch.cuda._memory_viz

import vramscope
import vramscope.torch as vt

folder = sys.argv[1]
found = {"before": [vt.active() is None, vt.active_allocator(0) is None, torch.cuda.is_initialized()]}
try:
    vramscope.use_allocator("max_split_size:64")
except vramscope.FormatError as error:
    found["settings_refused"] = str(error)
found["open_after_refusal"] = vramscope._native.live_is_open()
allocator = vramscope.use_allocator("max_split_size_mb:512", recording=f"{folder}/run.vram")
found["is_active"] = vt.active() is allocator and vt.active_allocator(0) is allocator
found["repr"] = repr(allocator)
try:
    vramscope.use_allocator()
except vramscope.ArgumentError as error:
    found["twice"] = str(error)

# ---- running out: on this thread, on autograd's, on one of the program's
heard = []
torch._C._cuda_attach_out_of_memory_observer(lambda *told: heard.append(told))


def fails(function):
    try:
        function()
    except torch.OutOfMemoryError as error:
        is_theirs = isinstance(error, torch.cuda.OutOfMemoryError)
        return [is_theirs, str(error).startswith("CUDA out of memory. Tried to allocate")]
    return "no failure"


class Greedy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        torch.empty(2**41, dtype=torch.uint8, device="cuda")
        return grad


weight = torch.ones(1000, device="cuda", requires_grad=True)
found["fails"] = [fails(lambda: torch.empty(2**40, dtype=torch.uint8, device="cuda")),
                  fails(lambda: torch.ones(1, device="cuda").expand(2**40).contiguous()),
                  fails(lambda: Greedy.apply(weight).sum().backward())]
thread = threading.Thread(target=lambda: found["fails"].append(fails(lambda: torch.zeros(2**40, device="cuda"))))
thread.start()
thread.join()
found["heard"] = heard
found["text_kept"] = allocator.oom_text().split(". ")[1]
found["still_works"] = (torch.ones(10, device="cuda") + 1).shape[0]
torch.cuda.synchronize()  # the CUDA runtime has no error of ours
found["zero"] = torch.empty(0, device="cuda").data_ptr()


def greedy_observer(device, size, limit, free):
    raise KeyError("an observer's own fault")


torch._C._cuda_attach_out_of_memory_observer(greedy_observer)
hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: heard.append(repr(unraisable.exc_value))
found["fails"].append(fails(lambda: torch.empty(2**40, dtype=torch.uint8, device="cuda")))
sys.unraisablehook = hook
found["observer_fault"] = heard[-1]

# ---- figures
gc.collect()
torch.cuda.empty_cache()
before = torch.cuda.memory_allocated()
scope = allocator.scope_begin()
kept = torch.empty(2**24, dtype=torch.uint8, device="cuda")
torch.empty(2**25, dtype=torch.uint8, device="cuda")
read = scope.read()
del kept
ended = scope.end()
found["scope"] = [*([n - before for n in figures["allocated"]] for figures in (ended, read)), ended["allocations"]]
found["scope_again"] = scope.end() == ended
room = allocator.room()
found["room"] = [room.cached == room.reserved - room.allocated, room.total == torch.cuda.mem_get_info()[1],
                 room.free == torch.cuda.mem_get_info()[0], room.reserved == torch.cuda.memory_reserved()]
found["flat"] = allocator.flat_stats() == dict(torch.cuda.memory_stats())
found["nested"] = allocator.memory_stats() == torch.cuda.memory_stats_as_nested_dict()
found["extras"] = allocator.extras()["requests.failed"]
found["max_split"] = torch.cuda.memory_stats()["max_split_size"]
found["devices"] = ["cuda", "cuda:0", torch.device("cuda"), None, 0]
found["devices"] = len({allocator.memory_summary(device) for device in found["devices"]})
try:
    allocator.memory_stats(7)
except vramscope.ArgumentError:
    found["no_such_device"] = True
allocator.apply("max_split_size_mb:64,roundup_power2_divisions:8")
found["settings"] = "max_split_size_mb" in allocator.settings()
torch._C._accelerator_setAllocatorSettings("max_split_size_mb:128")
found["accelerator"] = torch.accelerator.memory_allocated() == torch.cuda.memory_allocated()

# ---- history
for bad in ({"enabled": "none such"}, {"context": "x"}, {"stacks": "x"}, {"skip_actions": ["x"]}):
    try:
        torch.cuda.memory._record_memory_history(**bad)
    except (RuntimeError, vramscope.ArgumentError) as error:
        found.setdefault("history_refused", []).append(str(error))
torch.cuda.memory._record_memory_history(max_entries=5)
torch.cuda.memory._set_memory_metadata({"step": 1})
found["metadata"] = torch.cuda.memory._get_memory_metadata()
with allocator.annotate("a named part"):
    many = [torch.empty(1000, device="cuda") for _ in range(10)]
snapshot = torch.cuda.memory._snapshot()
found["ring"] = [len(snapshot["device_traces"][0]), snapshot["device_traces"][0][-1]["user_metadata"]]
found["annotations"] = [[a["stage"], a["name"]] for a in snapshot["external_annotations"]]
torch.cuda.memory._record_memory_history(None)
found["history_off"] = len(torch.cuda.memory._snapshot()["device_traces"][0])
# as it was in 2.0:
torch.cuda.memory._record_memory_history(True, trace_alloc_max_entries=100, trace_alloc_record_context=True)
many = [torch.empty(1000, device="cuda") for _ in range(3)]
old = torch.cuda.memory._snapshot()["device_traces"][0]
found["legacy"] = [len(old), old[-1]["frames"][0]["name"]]
found["segments_only"] = [sorted(torch.cuda.memory.memory_snapshot()[0]) == sorted(snapshot["segments"][0]),
                          len(torch.cuda.memory_snapshot((9, 9)))]
torch.cuda.memory._record_memory_history(stacks="all")
torch.empty(3000, device="cuda", requires_grad=True).sum().backward()  # autograd's thread runs no Python
torch.cuda.memory._dump_snapshot(f"{folder}/torch.pickle")
vramscope.dump_snapshot(f"{folder}/ours.pickle")
vramscope.memory_stats()
allocator.stop_recording()
try:
    allocator.stop_recording()
except vramscope.NotFoundError:
    found["no_recording"] = True

# ---- many threads at once, with stacks, while others look, empty, fail, and the collector frees tensors where it likes


class Loop:
    pass


def work(number):
    with torch.cuda.stream(torch.cuda.Stream()):
        kept = []
        for i in range(150):
            kept.append(torch.empty(1000 * (1 + i * number), device="cuda", requires_grad=True))
            kept[-1].sum().backward()
            kept[-1].record_stream(torch.cuda.default_stream())
            loop = Loop()
            loop.self, loop.tensor = loop, torch.empty(100, device="cuda")
            if len(kept) > 20:
                kept.clear()


threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    torch.cuda.memory._snapshot()
    torch.cuda.memory_stats()
    torch.cuda.empty_cache()
    gc.collect()
    fails(lambda: torch.empty(2**40, dtype=torch.uint8, device="cuda"))
for thread in threads:
    thread.join()
torch.cuda.synchronize()
gc.collect()
last_stats = torch.cuda.memory_stats()
found["threads"] = all(last_stats[f"{kind}.all.current"] >= 0 for kind in ("allocation", "active", "requested_bytes"))

# ---- what PyTorch has of its own

allocator.record(f"{folder}/second.vram", drop_events=True)
last = torch.empty(4000, device="cuda")  # the process ends with this recording open
base = torch.empty(2**20, device="cuda")
pointer = torch.cuda.caching_allocator_alloc(1000)
torch.cuda.caching_allocator_delete(pointer)
found["strange"] = pointer != 0
try:
    torch.cuda.MemPool()
except RuntimeError as error:
    found["mempool"] = "pluggable" in str(error).lower()
viz = torch.cuda._memory_viz
with open(f"{folder}/ours.pickle", "rb") as file:
    data = pickle.load(file)
found["viz"] = ["Summary >=" in viz.segsum(data) or "MiB" in viz.segsum(data), "# free completed" in viz.trace(data),
                "<html" in viz.trace_plot(data).lower(), "<html" in viz.segment_plot(data).lower(),
                sum(map(viz.calc_active, data["segments"])) == sum(s["active_size"] for s in data["segments"])]
with allocator:
    pass
try:
    torch.cuda.memory_allocated()
except RuntimeError as error:
    found["unpatched"] = "getDeviceStats" in str(error)
with allocator:
    found["patched"] = torch.cuda.memory_allocated() > 0
allocator.patch()
found["path"] = os.path.basename(__file__)
print(json.dumps(found))
