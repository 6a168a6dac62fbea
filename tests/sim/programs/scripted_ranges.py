"""Ranges on threads that run no Python, so that no lock of Python's orders them: TorchScript's tasks run on PyTorch's own threads.

    scripted_ranges.py THREADS COUNT
"""

import sys

import torch
from torch.autograd.profiler import record_function

THREADS, COUNT = (int(word) for word in sys.argv[1:])


@torch.jit.script
def mark(name: str, count: int):
    for _ in range(count):
        with record_function(name):
            pass
    return count


@torch.jit.script
def mark_all(threads: int, count: int):
    tasks = [torch.jit.fork(mark, f"thread {i}", count) for i in range(threads)]
    done = 0
    for task in tasks:
        done += torch.jit.wait(task)
    return done


torch.set_num_interop_threads(THREADS)
held = torch.empty(1000, device="cuda")
assert mark_all(THREADS, COUNT) == THREADS * COUNT
