#!/usr/bin/env python3
"""Runs programs of programs.py on a GPU under PyTorch's allocator and under vramscope's, and compares their statistics.

    allocator.py NAME...          needs the Python package (PYTHONPATH=build/release/python)
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

COMPARED = ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "requested_bytes.all.peak", "active_bytes.all.peak",
            "segment.all.peak", "allocation.all.allocated", "segment.all.allocated", "num_alloc_retries", "num_ooms",
            "allocated_bytes.all.allocated", "reserved_bytes.all.allocated", "inactive_split_bytes.all.peak")


def run(name, recording):
    if recording != "native":
        import vramscope

        vramscope.use_allocator(recording=recording)
    import programs
    import torch

    torch.manual_seed(0)
    begin = time.perf_counter()
    programs.PROGRAMS[name]()
    torch.cuda.synchronize()
    statistics = torch.cuda.memory_stats()
    print(json.dumps({**{key: statistics[key] for key in COMPARED}, "seconds": round(time.perf_counter() - begin, 2)}))


def main():
    if sys.argv[1] == "--run":
        return run(*sys.argv[2:])
    different, folder = 0, Path(os.environ.get("OUT", "."))
    for name in sys.argv[1:]:
        told = []
        for recording in ("native", str(folder / f"{name}.vram")):
            done = subprocess.run([sys.executable, __file__, "--run", name, recording], capture_output=True, text=True, check=False)
            try:
                told.append(json.loads(done.stdout.splitlines()[-1]))
            except (IndexError, ValueError):
                told.append({"failed": done.stderr.strip().splitlines()[-3:]})
        differs = {key: (told[0].get(key), told[1].get(key)) for key in {**told[0], **told[1]} if key != "seconds"
                   and told[0].get(key) != told[1].get(key)}
        different |= bool(differs)
        print(json.dumps({"program": name, "equal": not differs, "differs": differs, "seconds": [t.get("seconds") for t in told]}),
              flush=True)
    return different


if __name__ == "__main__":
    sys.exit(main())
