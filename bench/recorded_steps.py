"""Steps of one training program with and without the recorder, in turn, in one process: recorded_steps.py FOLDER [BLOCKS]

Prints, as JSON, what a step takes in blocks of steps that are not recorded, and how much more it takes in the recorded blocks between them: of
processors (all threads, the recorder's own too) and by the clock. Each recorded block is compared with the mean of its two neighbours, so that what
changes slowly in the machine cancels; the figure is the median of the blocks, and its spread the quartiles. Begin and end of a recording are not
counted. The kernels of the simulated GPU take no time: a step is what PyTorch does on the host.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch
import vramscope
from torch import nn

STEPS = 10  # of a block


def program():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="cuda")
    model = nn.TransformerEncoder(layer, 12)
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        model(torch.empty(8, 256, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


def block(steps):
    """Seconds of a processor and of the clock for one step of a block."""
    began, began_processor = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        next(steps)
    return (time.process_time() - began_processor) / STEPS, (time.perf_counter() - began) / STEPS


def recorded_block(steps, path):
    with vramscope.record(path):
        next(steps)  # its stacks are new to the recording
        seconds = block(steps)
    path.unlink()
    next(steps)
    return seconds


def main():
    folder, blocks = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    steps = program()
    for _ in range(2):
        block(steps)
    plain, recorded = [block(steps)], []
    for i in range(blocks):
        recorded.append(recorded_block(steps, folder / f"{i}.vram"))
        plain.append(block(steps))
    figures = {}
    for kind, name in enumerate(("processor", "clock")):
        more = [recorded[i][kind] / ((plain[i][kind] + plain[i + 1][kind]) / 2) - 1 for i in range(blocks)]
        low, middle, high = statistics.quantiles(more, n=4)
        figures[name] = {"step_s": statistics.median(p[kind] for p in plain), "more": middle, "quartiles": [low, high]}
    print(json.dumps(figures))


main()
