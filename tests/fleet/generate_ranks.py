#!/usr/bin/env python3
"""Writes the snapshots of the ranks of a job: a transformer's training, about 0.9 MB for each rank.

    tests/fleet/generate_ranks.py --ranks 1000 today/
    tests/fleet/generate_ranks.py --ranks 1000 --yesterday yesterday/

All ranks make the same requests, each at its own addresses and times. Rank 417 has 512 MiB more from its start on. The last
rank is cut off in the middle. Today every rank keeps 64 MiB at metrics.py:19; yesterday none did.
"""

import argparse
import pickle
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import generate_snapshot  # noqa: E402

MiB = 1 << 20
EVENTS = 6000
ODD, ODD_BYTES = 417, 512 * MiB
CACHE_BYTES = 64 * MiB


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


MAIN = [frame("main", "/home/me/job/train.py", 40), frame("<module>", "/home/me/job/train.py", 60)]
CACHE = [frame("update", "/home/me/job/metrics.py", 19), *MAIN]
LEFT = [frame("load", "/home/me/job/checkpoint.py", 77), *MAIN]


def add_block(data, address, size, frames):
    """A block in a segment of its own, from the beginning to the end."""
    trace = data["device_traces"][0]
    time = trace[0]["time_us"] - 10
    common = {"addr": address, "size": size, "stream": 0, "frames": frames, "time_us": time}
    trace[:0] = [{"action": "segment_alloc", **common}, {"action": "alloc", **common}]
    block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames}
    sizes = dict.fromkeys(("total_size", "allocated_size", "active_size", "requested_size"), size)
    data["segments"].append({**data["segments"][0], **sizes, "address": address, "segment_type": "large", "is_expandable": False,
                             "frames": frames, "blocks": [block]})


def shift(data, bytes_, us):
    """The same run at other addresses and times. Each dict is changed once, however often it is shared."""
    for event in {id(event): event for event in data["device_traces"][0]}.values():
        event["addr"] += bytes_
        event["time_us"] += us
    for segment in data["segments"]:
        segment["address"] += bytes_
        for block in segment["blocks"]:
            block["address"] += bytes_


def write_job(folder, ranks, is_today=True, events=EVENTS):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data, _ = generate_snapshot.generate(events, 1)
    free = max(segment["address"] + segment["total_size"] for segment in data["segments"])
    if is_today:
        add_block(data, free, CACHE_BYTES, CACHE)
    odd = min(ODD, ranks // 2)
    for rank in range(ranks):
        shift(data, 512 if rank % 2 == 0 else -512, 3)  # other bytes in each file
        written = data
        if rank == odd:
            written = {**data, "segments": list(data["segments"]), "device_traces": [list(data["device_traces"][0])]}
            add_block(written, free + 4096 * MiB, ODD_BYTES, LEFT)
        content = pickle.dumps(written, protocol=4)
        (folder / f"rank{rank}_memory_snapshot.pickle").write_bytes(content[:len(content) // 2] if rank == ranks - 1 else content)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--yesterday", action="store_true")
    parser.add_argument("folder")
    options = parser.parse_args()
    write_job(options.folder, options.ranks, not options.yesterday, options.events)


if __name__ == "__main__":
    main()
