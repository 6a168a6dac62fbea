"""1,000 random scopes, nested and overlapping, of two devices, over random allocations in N threads that nothing holds
back.

The truth is computed from the history that PyTorch's allocator keeps, event by event: a scope knows how many blocks had
been allocated and freed on its device when it began and ended, and these two numbers name one moment of the history.

Prints {"scopes", "exact", "source", "wrong": [...]}.
"""

import json
import random
import sys
import threading

import torch

from vramscope.scopes import Scope, scope_source

THREADS, SEED, SCOPES = map(int, sys.argv[1:4])
SMALL = 1_000_000  # these are split to a multiple of 512 bytes, so that their size as a block is known
torch.cuda.init()
torch.cuda.memory._record_memory_history(max_entries=2_000_000, context=None)


def warm_up():
    """Figures come from memory once they have proved themselves in two states."""
    for device in range(2):
        for size in (100, 200):
            with Scope(device):
                torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")


def work(number, done):
    chance = random.Random(SEED * 1000 + number)
    torch.cuda.set_device(number % 2)
    opened, blocks, left = [], [], SCOPES // THREADS
    while left or opened:
        action = chance.random()
        if action < 0.3 and left and len(opened) < 8:
            opened.append(Scope(chance.choice((None, 0, "cuda:1", torch.device("cuda", 1)))).begin())
            left -= 1
        elif action < 0.6 and opened:
            scope = opened.pop(chance.choice((-1, -1, -1, chance.randrange(len(opened)))))
            done.append(scope.end())
        elif action < 0.85 or not blocks:
            device = chance.choice((number % 2, 0, 1))
            blocks.append(torch.empty(chance.randrange(1, SMALL), dtype=torch.uint8, device=f"cuda:{device}"))
        else:
            for _ in range(chance.randrange(1, 4)):
                if blocks:
                    blocks.pop(chance.randrange(len(blocks)))


def timeline(device):
    """(allocated, freed) -> index; and at each index what was allocated, requested and reserved."""
    moments, totals, reserved = {(0, 0): 0}, [(0, 0, 0)], 0
    allocated = requested = blocks = freed = 0
    for event in torch.cuda.memory._snapshot()["device_traces"][device]:
        size, action = event["size"], event["action"]
        if action == "segment_alloc":
            reserved += size
        if action not in ("alloc", "free_requested"):
            continue
        sign = 1 if action == "alloc" else -1
        blocks, freed = blocks + (sign > 0), freed + (sign < 0)
        allocated += sign * (-(-size // 512) * 512)
        requested += sign * size
        moments[blocks, freed] = len(totals)
        totals.append((allocated, requested, reserved))
    return moments, totals


def check(scope, moments, totals):
    a0, f0, a1, f1 = scope.events
    begin, end = moments[a0, f0], moments[a1, f1]
    wrong = []
    for which, kind in enumerate(("allocated", "requested", "reserved")):
        figures = scope.figures()[kind]
        truth = max(total[which] for total in totals[begin:end + 1])
        if (figures.start, figures.end) != (totals[begin][which], totals[end][which]):
            wrong.append([kind, "ends", *figures, totals[begin][which], totals[end][which]])
        if not figures.peak <= truth <= figures.most:
            wrong.append([kind, "peak", *figures, truth, scope.note])
    return wrong


warm_up()
done = []
threads = [threading.Thread(target=work, args=(number, done)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
lines = [timeline(device) for device in range(2)]
wrong = [row for scope in done for row in check(scope, *lines[scope.device])]
print(json.dumps({"scopes": len(done), "exact": sum(scope.is_exact for scope in done), "wrong": wrong[:5],
                  "source": [scope_source(device) for device in range(2)]}))
