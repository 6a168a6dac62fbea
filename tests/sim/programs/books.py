"""Holds PyTorch's statistics against its own events, to the byte, and prints what a program found out.

PyTorch counts twice: memory_stats adds up as it goes, the history lists every event. Over one run from the first allocation
both must tell the same story: requested_bytes is the sum of the allocations less the completed frees, reserved_bytes that of
the segments. A simulation that answers wrongly somewhere breaks this first.
"""

import json
import sys
from pathlib import Path

import torch

VERSION = tuple(map(int, torch.__version__.split(".")[:2]))

sys.path.append(str(Path(__file__).parents[3] / "python" / "vramscope_dryrun"))
from vramscope_dryrun import take_snapshot  # noqa: E402

GROWS = {"alloc": "requested", "segment_alloc": "reserved", "segment_map": "reserved"}
SHRINKS = {"free_completed": "requested", "segment_free": "reserved", "segment_unmap": "reserved"}


def begin():
    """Before the first allocation: events with Python stacks, none lost. Ends the program where this PyTorch does not know a setting."""
    try:
        torch.cuda.memory._record_memory_history(max_entries=10_000_000, stacks="python")
    except (RuntimeError, ValueError) as error:
        if "nrecognized" not in str(error):
            raise
        tell(absent=str(error).splitlines()[0])
        sys.exit()


def played(events):
    """The peaks and ends of requested and reserved bytes that the events tell, the number of each action, all addresses."""
    now, peak, actions = {"requested": 0, "reserved": 0}, {"requested": 0, "reserved": 0}, {}
    for event in events:
        action = event["action"]
        actions[action] = actions.get(action, 0) + 1
        if what := GROWS.get(action):
            now[what] += event["size"]
            peak[what] = max(peak[what], now[what])
        elif what := SHRINKS.get(action):
            now[what] -= event["size"]
    return now, peak, actions


def check(device=0):
    """Fails unless statistics, events and segments of a device agree. Returns the figures."""
    torch.cuda.synchronize(device)
    stats, found = torch.cuda.memory_stats(device), take_snapshot(torch)
    events = found["device_traces"][device]
    now, peak, actions = played(events)
    for what in ("requested", "reserved"):
        assert now[what] == stats[f"{what}_bytes.all.current"], (what, now, stats[f"{what}_bytes.all.current"])
        assert peak[what] == stats[f"{what}_bytes.all.peak"], (what, peak, stats[f"{what}_bytes.all.peak"])
    assert actions.get("oom", 0) == stats["num_ooms"], (actions, stats["num_ooms"])
    mine = [s for s in found["segments"] if s["device"] == device]
    assert sum(s["total_size"] for s in mine) == stats["reserved_bytes.all.current"]
    free, total = torch.cuda.mem_get_info(device)
    return {
        "requested_peak": peak["requested"],
        "allocated_peak": stats["allocated_bytes.all.peak"],
        "reserved_peak": peak["reserved"],
        "retries": stats["num_alloc_retries"],
        "ooms": stats["num_ooms"],
        "actions": actions,
        "free": free,
        "total": total,
        "events": len(events),
    }


def trace(device=0):
    """Every event, without what differs between two runs by nature: time and stacks."""
    return [
        [e["action"], e.get("addr", e.get("device_free")), e["size"], e["stream"]]
        for e in take_snapshot(torch)["device_traces"][device]
    ]


def tell(**found):
    print(json.dumps({"torch": VERSION, **found}))
