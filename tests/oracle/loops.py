"""Programs that run a loop: what is allocated, kept, replaced, freed later or left pending in each round is drawn from a seed."""

import random

from run import Run, Stack
from simulate import EPOCH_US, SimulatedDevice

MODULES = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/container.py"
STREAM, OTHER = 0, 0x5000_0000
CALLERS = ([], [], [], [("main", "train.py", 90)], [("forward", MODULES, 250), ("<module>", "train.py", 99)],
           [("__init__", "model.py", 4), ("<module>", "train.py", 99)])
FATES = ("temporary", "temporary", "kept", "replaced", "window", "pending", "cleared", "swells")


class Line:
    """One line of the loop."""

    def __init__(self, rng, number, callers):
        inner = [("empty", "torch/functional.py", 7 + i) for i in range(rng.choice((1, 1, 2)))]  # several stacks of one line
        self.stacks = [Stack([frame, ("work", "train.py", number), ("main", "train.py", 60 + number), *callers]) for frame in inner]
        self.fate = rng.choice(FATES)
        self.size = rng.choice((1, 700, 5000, 1 << 16, 3 << 20)) + rng.randrange(300)
        self.varies = rng.random() < 0.15
        self.every = rng.choice((1, 1, 1, 1, 2, 7))
        self.held = []


def play(sim, rng, line, number):
    """One round of a line."""
    if number % line.every:
        return
    size = line.size + (rng.randrange(4000) if line.varies else 0) + (number * 512 if line.fate == "swells" else 0)
    block = sim.allocator.malloc(size, STREAM, (0, 0), rng.choice(line.stacks))
    if line.fate == "pending":
        sim.allocator.record_stream(block, OTHER)
    line.held.append(block)
    keep = {"temporary": 0, "replaced": 1, "swells": 1, "window": 3, "pending": 0}.get(line.fate, 10**6)
    while len(line.held) > keep:
        sim.allocator.free(line.held.pop(0))


def loop_run(seed):
    rng = random.Random(seed)
    sim = SimulatedDevice(0, rng, [EPOCH_US + seed * 1000])
    callers, annotations = rng.choice(CALLERS), []
    lines = [Line(rng, number, callers) for number in range(rng.randint(1, 7))]
    told = rng.choice((None, None, None, "ProfilerStep#{}", "Optimizer.step#SGD.step"))
    weights = [sim.allocator.malloc(rng.randint(1, 1 << 20), STREAM, (0, 0), Stack([("load", "train.py", 55)])) for _ in range(rng.randrange(9))]
    for number in range(rng.choice((3, 5, 9, 10, 20, 40))):
        if told:
            sim.clock[0] += 1
            annotations.append((told.format(number), "START", 0, sim.clock[0]))
        for line in lines:
            play(sim, rng, line, number)
        if rng.random() < 0.05:
            sim.allocator.free(sim.allocator.malloc(rng.randint(1, 1 << 18), STREAM, (0, 0), Stack([("log", "train.py", 70)])))
    for line in lines:
        while line.fate == "cleared" and line.held:
            sim.allocator.free(line.held.pop())
    if weights and rng.random() < 0.5:
        sim.allocator.free(weights.pop())
    if rng.random() < 0.5:
        sim.allocator.process_waiting(rng.randrange(5))
    return Run([sim.as_run()], annotations=annotations)
