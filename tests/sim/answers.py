"""What the engine answers about a recording of a program, and how its figures are named in PyTorch's statistics."""

import json
import subprocess

from conftest import BINARY

PEAKS = {  # a run of `whatif`: torch.cuda.memory_stats() of the program that runs so
    "reserved_peak_bytes": "reserved_bytes.all.peak",
    "allocated_peak_bytes": "allocated_bytes.all.peak",
    "active_peak_bytes": "active_bytes.all.peak",
    "segments_peak": "segment.all.peak",
    "retries": "num_alloc_retries",
    "device_allocs": "num_device_alloc",
    "device_frees": "num_device_free",
}


def query(path, method, **params):
    """The bytes of the reply of `vramscope query`."""
    words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in params.items()]
    done = subprocess.run([BINARY, "query", path, method, *words], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def ask(path, method, **params):
    return json.loads(query(path, method, **params))


def differences(run, statistics, names=PEAKS):
    """{figure: (of the run, of PyTorch)} where they are not equal."""
    return {ours: (run[ours], statistics[theirs]) for ours, theirs in names.items() if run[ours] != statistics[theirs]}
