"""Lies, one at a time, planted in a snapshot that is otherwise complete and true.

Each function changes plain data and says what a reader must notice: (count, first_event), None for a first event that
no entry stands for. `CORRUPTIONS` lists them by the kind of finding.
"""

import random

import shapes
from run import Run
from simulate import EPOCH_US, Program, SimulatedDevice

MIB = 1 << 20
NOWHERE = 0x1234_0000_0000


def honest():
    """A complete trace of one device: blocks that live on, blocks that are gone, a segment given back."""
    rng = random.Random(1)
    sim = SimulatedDevice(0, rng, [EPOCH_US])
    program = Program(rng)

    def malloc(size, stream=0):
        return sim.allocator.malloc(size, stream, (0, 0), program.stack())

    malloc(600)
    large = malloc(4 * MIB)
    huge = malloc(30 * MIB)
    small = malloc(700)
    malloc(3 * MIB)
    sim.allocator.free(large)
    sim.allocator.free(small)
    sim.allocator.free(huge)
    sim.allocator.release_cached()
    malloc(2 * MIB)
    malloc(9000, 3)
    sim.note("snapshot", 0, sim.allocator.requested, 0, None, "")
    return shapes.build(Run([sim.as_run()]), "2.12")


# Finding one's way in plain data


def trace_of(data):
    return data["device_traces"][0]


def find(data, action, nth=0, size=None):
    """Index of the nth entry with this action (and size)."""
    hits = [i for i, e in enumerate(trace_of(data)) if e["action"] == action and size in (None, e["size"])]
    return hits[nth]


def insert(data, at, like, **changes):
    """A changed copy of the entry `like`, at its neighbour's time."""
    trace = trace_of(data)
    entry = {**trace[like], **changes}
    entry["time_us"] = trace[min(at, len(trace) - 1)]["time_us"]
    trace.insert(at, entry)


def brief_block(data, at, address, size):
    """An allocation and its free, so that the end state stays as it was."""
    some = find(data, "alloc")
    for offset, action in enumerate(("alloc", "free_requested", "free_completed")):
        insert(data, at + offset, some, action=action, addr=address, size=size)


def freed_alloc(data):
    """Index of the alloc of the 4 MiB block, which is freed later."""
    return find(data, "alloc", size=4 * MIB)


def live_alloc(data):
    """Index of the alloc of the 3 MiB block, which is alive at the end."""
    return find(data, "alloc", size=3 * MIB)


def first_block(data, state):
    for segment in data["segments"]:
        for block in segment["blocks"]:
            if block["state"] == state:
                return segment, block
    raise LookupError(state)


# The corruptions


def ring_wrapped(data):
    data["allocator_settings"]["trace_alloc_overflowed"] = True
    return 1, None


def no_trace(data):
    data["device_traces"] = [[]]
    return 1, None


def began_late(data):
    del trace_of(data)[: freed_alloc(data) + 1]
    return 2, None  # the 600 bytes, the 4 MiB


def free_without_alloc(data):
    del trace_of(data)[freed_alloc(data)]
    return 1, find(data, "free_requested", size=4 * MIB)


def completion_without_alloc(data):
    at = len(trace_of(data))
    insert(data, at, find(data, "free_completed"), addr=NOWHERE)
    return 1, at


def live_without_alloc(data):
    del trace_of(data)[live_alloc(data)]
    return 1, None


def alloc_not_at_end(data):
    at = len(trace_of(data))
    segment, block = first_block(data, "inactive")
    insert(data, at, find(data, "alloc"), addr=block["address"], size=512)
    return 1, at


def double_free(data):
    at = find(data, "free_requested", size=700)
    insert(data, at + 1, at)
    return 1, at + 1


def double_alloc(data):
    at = live_alloc(data)
    insert(data, at + 1, at)
    return 1, at + 1


def size_mismatch(data):
    at = find(data, "free_requested", size=700)
    completed = find(data, "free_completed", size=700)
    trace_of(data)[at]["size"] = trace_of(data)[completed]["size"] = 701
    return 1, at


def overlap(data):
    live = live_alloc(data)
    at = len(trace_of(data)) - 1
    brief_block(data, at, trace_of(data)[live]["addr"] + 512, 512)
    return 1, at


def outside_segment(data):
    at = len(trace_of(data)) - 1
    brief_block(data, at, NOWHERE, 512)
    return 1, at


def double_map(data):
    at = find(data, "segment_alloc", nth=1)
    insert(data, at + 1, at)
    return 1, at + 1


def unmap_unknown(data):
    at = find(data, "segment_free")
    insert(data, at + 1, at)
    return 1, at + 1


def unmap_live(data):
    mapped, at = find(data, "segment_alloc"), find(data, "snapshot")
    insert(data, at, mapped)
    insert(data, at, mapped, action="segment_free")
    return 1, at


def _claim(key):
    def lie(data):
        data["segments"][0][key] += 512
        return 1, None

    return lie


def block_layout(data):
    _, block = first_block(data, "inactive")
    block["address"] += 512
    return 1, None


def blocks_out_of_order(data):
    segment, _ = first_block(data, "inactive")
    segment["blocks"].reverse()
    return 1, None


def segment_overlap(data):
    first = data["segments"][0]
    address, size = first["address"] + 512, first["total_size"]
    free = {"address": address, "size": size, "requested_size": 0, "state": "inactive", "frames": []}
    sums = {"allocated_size": 0, "active_size": 0, "requested_size": 0}
    data["segments"].append({**first, **sums, "address": address, "blocks": [free]})
    return 1, None


def negative_requested(data):
    trace_of(data)[freed_alloc(data)]["size"] += 512
    return 1, None


def negative_reserved(data):
    trace_of(data)[find(data, "segment_free")]["size"] -= 512
    return 1, None


def time_backwards(data):
    trace = trace_of(data)
    at = len(trace) // 2
    trace[at]["time_us"] = trace[at - 1]["time_us"] - 1
    return 1, at


def unknown_action(data):
    at = 3
    insert(data, at, 0, action="teleport", addr=0)
    return 1, at


def unknown_state(data):
    _, block = first_block(data, "inactive")
    block["state"] = "frozen"
    return 1, None


def frees_at_request(data):
    data["device_traces"][0] = [e for e in trace_of(data) if e["action"] != "free_completed"]
    return 1, None


def _mark(is_estimate):
    def lie(data):
        data["allocator_settings"]["vramscope_whatif"] = {"is_estimate": is_estimate, "ran_out": False, "capacity_bytes": None,
                                                          "edited_allocations": 0}
        return 1, None

    return lie


def _recorder(kind):
    def lie(data):
        data["allocator_settings"][f"vramscope_{kind}"] = 1
        return 1, None

    return lie


CORRUPTIONS = [
    ("ring_wrapped", ring_wrapped),
    ("no_trace", no_trace),
    ("began_late", began_late),
    ("free_without_alloc", free_without_alloc),
    ("free_without_alloc", completion_without_alloc),
    ("live_without_alloc", live_without_alloc),
    ("alloc_not_at_end", alloc_not_at_end),
    ("double_free", double_free),
    ("double_alloc", double_alloc),
    ("size_mismatch", size_mismatch),
    ("overlap", overlap),
    ("outside_segment", outside_segment),
    ("double_map", double_map),
    ("unmap_unknown", unmap_unknown),
    ("unmap_live", unmap_live),
    ("segment_sums", _claim("total_size")),
    ("segment_sums", _claim("allocated_size")),
    ("segment_sums", _claim("active_size")),
    ("segment_sums", _claim("requested_size")),
    ("block_layout", block_layout),
    ("block_layout", blocks_out_of_order),
    ("segment_overlap", segment_overlap),
    ("negative_curve", negative_requested),
    ("negative_curve", negative_reserved),
    ("time_backwards", time_backwards),
    ("unknown_action", unknown_action),
    ("unknown_state", unknown_state),
    ("frees_at_request", frees_at_request),
    ("whatif", _mark(is_estimate=False)),
    ("whatif_estimate", _mark(is_estimate=True)),
    ("rounded_requests", _recorder("rounded_requests")),
    ("inferred_segments", _recorder("inferred_segments")),
    ("unknown_streams", _recorder("unknown_streams")),
    ("native_stacks", _recorder("native_stacks")),
    ("missing_annotations", _recorder("missing_annotations")),
]
