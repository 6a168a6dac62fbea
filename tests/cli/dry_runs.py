"""Programs that only pretend to use CUDA, for dry runs.

FAKE_CUDA does to the simulated machine what the simulated libraries would do, word by word of its command line. What real programs
do is in tests/sim."""

import json
import os

import conftest as make

FAKE = os.environ.get("FAKE_CUDA", "")

# A program built with AddressSanitizer wants its library to be the first; here the simulated ones are.
if "ASAN_OPTIONS" in make.PASSED_ON and "ASAN_OPTIONS" in os.environ:
    os.environ["ASAN_OPTIONS"] += ":verify_asan_link_order=0"


def note(**members):
    return ["note", json.dumps(members)]


def torch_stats(peaks, complete=True, **more):
    """As vramscope_dryrun.py writes them, for each card (allocated, requested, reserved, ooms, retries)."""
    devices = [
        {
            "device": i,
            "card": i,
            "peak_allocated_bytes": a,
            "peak_requested_bytes": q,
            "peak_reserved_bytes": r,
            "num_ooms": o,
            "num_alloc_retries": t,
        }
        for i, (a, q, r, o, t) in enumerate(peaks)
    ]
    visible = [{"device": i, "card": i} for i in range(len(peaks))]
    stats = {"schema": 1, "complete": complete, "visible": visible, "devices": devices, "steps": 0, "torch": "9.9.0", **more}
    return ["file", "stats.%p.json", json.dumps(stats)]
