"""Steps of a training program (simulated_step.py) with and without the recorder, in turn, in one process: recorded_steps.py FOLDER [BLOCKS]

Prints, as JSON, what a step takes in each block of steps that are not recorded, and how much more it takes in each of the recorded blocks between them: of
processors (all threads, the recorder's own too) and by the clock. Each recorded block is compared with the mean of its two neighbours, so that what
changes slowly in the machine cancels. Begin and end of a recording are not counted. The kernels of the simulated GPU take no time: a step is what PyTorch does on the host.
"""

import json
import sys
import time
from pathlib import Path

import vramscope
from simulated_step import steps

STEPS = 3  # of a block: what it is compared with is then less than a tenth of a second away


def block(program):
    """Seconds of a processor and of the clock for one step of a block."""
    began, began_processor = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        next(program)
    return (time.process_time() - began_processor) / STEPS, (time.perf_counter() - began) / STEPS


def recorded_block(program, path):
    with vramscope.record(path):
        next(program)  # its stacks are new to the recording
        seconds = block(program)
    path.unlink()
    next(program)
    return seconds


def main():
    folder, blocks = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400
    program = steps("cuda")
    for _ in range(2):
        block(program)
    plain, recorded = [block(program)], []
    for i in range(blocks):
        recorded.append(recorded_block(program, folder / f"{i}.vram"))
        plain.append(block(program))
    figures = {}
    for kind, name in enumerate(("processor", "clock")):
        more = [recorded[i][kind] / ((plain[i][kind] + plain[i + 1][kind]) / 2) - 1 for i in range(blocks)]
        figures[name] = {"plain_s": [seconds[kind] for seconds in plain], "more": more}
    print(json.dumps(figures))


main()
