"""Steps with random allocations: with vramscope.Tracker, or measured by PyTorch's own functions and nothing of ours.

    steps_random.py tracker|pytorch STEPS SEED

Prints the figures of each step as JSON, and the program's own peaks at the end, which nobody has reset.
"""

import json
import random
import sys

import torch

WHICH, STEPS, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
STATS = ("num_alloc_retries", "num_ooms", "inactive_split_bytes.all.current")


def work(random, held):
    for _ in range(random.randrange(12)):
        kind = random.randrange(10)
        if kind < 5:
            held.append(torch.empty(random.choice((300, 5000, 1 << 20, 3 << 20, 40 << 20, 400 << 20)), dtype=torch.uint8, device="cuda"))
        elif kind < 8 and held:
            held.pop(random.randrange(len(held)))
        elif kind == 8:
            torch.cuda.empty_cache()
        else:
            try:
                torch.empty(random.choice((6 << 30, 9 << 30)), dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError:
                pass
        while len(held) > 12:
            held.pop(0)


def by_tracker():
    import vramscope

    tracker, rows = vramscope.Tracker(warn=False), []
    choice, held, gone = random.Random(SEED), [], random.Random(SEED + 1)
    for _ in range(STEPS):
        with tracker.step():
            work(choice, held)
            if gone.random() < 0.2:
                torch.cuda.reset_peak_memory_stats()  # of the program's own, in the middle: the figures of the step are the same
            if gone.random() < 0.1:
                torch.cuda.reset_accumulated_memory_stats()
            work(choice, held)
        step = tracker.last
        rows.append([step.peak_allocated, step.peak_reserved, step.allocated, step.reserved, step.fragmented, step.growth])
        assert step.is_exact and tracker.log()["vramscope/peak_allocated_bytes"] == step.peak_allocated
        work(choice, held)
    return rows


def by_pytorch():
    rows, choice, held, before = [], random.Random(SEED), [], None
    for _ in range(STEPS):
        torch.cuda.reset_peak_memory_stats()
        start = torch.cuda.memory_allocated()
        work(choice, held)
        work(choice, held)
        stats = torch.cuda.memory_stats()
        end = torch.cuda.memory_allocated()
        rows.append([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), end, torch.cuda.memory_reserved(),
                     stats["inactive_split_bytes.all.current"], end - (start if before is None else before)])
        before = end
        work(choice, held)
    return rows


print(json.dumps(by_tracker() if WHICH == "tracker" else by_pytorch()))
