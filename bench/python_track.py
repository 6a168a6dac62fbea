#!/usr/bin/env python3
"""What MemTracker.track() costs with many live tensors, beside the tool that it takes the place of, in one process.

    python_track.py [--tensors N] [--rounds N] [--peer FOLDER]

To be run under the simulated CUDA. FOLDER has the other gpu_mem_track.py (Pytorch-Memory-Utils); without it only ours
is measured. Both in turn, round by round. Prints as JSON, on the last line, for each name, behind track_ or peer_, a list of the rounds' milliseconds:

    first     the first track() of a tracker
    changed   a track() after one more tensor
    same      a track() after nothing
    totals_*  the same with detail=False
"""

import argparse
import contextlib
import importlib.util
import json
import tempfile
import time
import warnings
from pathlib import Path


def load_peer(folder):
    """The module of the same name from a folder, under another one."""
    spec = importlib.util.spec_from_file_location("peer_gpu_mem_track", Path(folder) / "gpu_mem_track.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MemTracker


def timed(call):
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def round_of(torch, make, figures, prefix):
    for detail, kind in ((True, ""), (False, "totals_")):
        tracker = make(detail=detail)
        figures.setdefault(f"{prefix}_{kind}first_ms", []).append(timed(tracker.track))
        figures.setdefault(f"{prefix}_{kind}same_ms", []).append(timed(tracker.track))
        more = torch.empty(77, device="cuda")
        figures.setdefault(f"{prefix}_{kind}changed_ms", []).append(timed(tracker.track))
        del more


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--tensors", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--peer", help="a folder with the other tool's gpu_mem_track.py")
    options = options.parse_args()
    warnings.simplefilter("ignore")
    import torch

    from vramscope.gpu_mem_track import MemTracker

    sides = {"track": MemTracker}
    if options.peer:
        sides["peer"] = load_peer(options.peer)
    tensors = [torch.empty(1 + i % 100, 16, device="cuda") for i in range(options.tensors)]
    rows = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for _ in range(options.rounds):
            for prefix, make in sides.items():
                round_of(torch, make, rows, prefix)
    del tensors
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
