#!/usr/bin/env python3
"""Compares two PyTorch snapshots of one program event by event: one from a real GPU, one from the simulation.

    tests/gpu/compare.py REAL.pickle SIMULATED.pickle [--device N]

Prints what is equal and the first event that differs. Addresses differ by nature; order, action and size must not. Exit
status: 0 all equal, 1 something differs.
"""

import argparse
import pickle
import sys

PEAKS = {"alloc": ("requested", 1), "free_completed": ("requested", -1)}
PEAKS |= {name: ("reserved", 1) for name in ("segment_alloc", "segment_map")}
PEAKS |= {name: ("reserved", -1) for name in ("segment_free", "segment_unmap")}


class PlainData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"names {module}.{name}: not a snapshot")


def load(path, device):
    with open(path, "rb") as file:
        snapshot = PlainData(file).load()
    events = [(e["action"], e["size"]) for e in snapshot["device_traces"][device]]
    segments = [s for s in snapshot["segments"] if s["device"] == device]
    return events, segments


def figures(events, segments):
    """Peaks counted back from the end state, where the trace does not begin with the program."""
    reserved = sum(s["total_size"] for s in segments)
    allocated = sum(b["size"] for s in segments for b in s["blocks"] if b["state"].startswith("active"))
    requested = sum(b["requested_size"] for s in segments for b in s["blocks"] if b["state"].startswith("active"))
    now, peak = {"requested": requested, "reserved": reserved}, {"requested": requested, "reserved": reserved}
    for action, size in reversed(events):
        if action in PEAKS:
            what, sign = PEAKS[action]
            now[what] -= sign * size
            peak[what] = max(peak[what], now[what])
    return {
        "events": len(events), "peak requested": peak["requested"], "peak reserved": peak["reserved"],
        "reserved at the end": reserved, "allocated at the end": allocated, "segments": len(segments),
        "sizes of segments": sorted(s["total_size"] for s in segments),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("real")
    options.add_argument("simulated")
    options.add_argument("--device", type=int, default=0)
    options = options.parse_args()
    (real, real_segments), (ours, our_segments) = load(options.real, options.device), load(options.simulated, options.device)

    equal = next((i for i, (a, b) in enumerate(zip(real, ours)) if a != b), min(len(real), len(ours)))
    same = real == ours
    print(f"{'events equal in order, action and size':40} {equal:>16,} of {len(real):,}")
    if not same:
        print(f"  the first that differs: real {real[equal:equal + 1]}, simulated {ours[equal:equal + 1]}")
    a, b = figures(real, real_segments), figures(ours, our_segments)
    for name in a:
        same &= a[name] == b[name]
        if isinstance(a[name], int):
            print(f"{name:40} {a[name]:>16,} {b[name]:>16,}  {'equal' if a[name] == b[name] else 'DIFFERS'}")
        else:
            print(f"{name:40} {'equal' if a[name] == b[name] else 'DIFFER':>16}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
