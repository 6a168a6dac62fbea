#!/usr/bin/env python3
"""Allocations and frees below a deep Python stack: bench/run_record starts it, with and without a recorder.

    record_program.py [--history off|python|all] [--depth N] [--rounds N]

Prints the nanoseconds of one event (an allocation or a free) as JSON: the least of several rounds, of this thread's time.
"""

import argparse
import json
import time

import torch

PAIRS = 2000


def measure(rounds):
    best = float("inf")
    for _ in range(rounds):
        begin = time.thread_time_ns()
        for _ in range(PAIRS):
            torch.empty(4096, dtype=torch.uint8, device="cuda")
        best = min(best, (time.thread_time_ns() - begin) / (2 * PAIRS))
    return best


def recurse(depth, rounds):
    return recurse(depth - 1, rounds) if depth > 1 else measure(rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--history", default="off")
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    torch.empty(1, device="cuda")
    if options.history != "off":
        torch.cuda.memory._record_memory_history(max_entries=100_000, stacks=options.history)
    print(json.dumps({"ns": recurse(options.depth - 3, options.rounds)}))  # <module>, main and measure are frames, too


main()
