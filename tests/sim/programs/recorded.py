"""A program that `vramscope run` records: a small training, several streams and threads, generators, a cache that is emptied. It writes
PyTorch's own history to a file, and prints PyTorch's figures on a line. --end is how the process ends.

    recorded.py [--history FILE] [--profile FILE] [--steps N] [--stacks python|all] [--keeps-cache] [--storm N]
                [--end exit|kill|_exit|oom|caught|wait|fail]
"""

import argparse
import json
import os
import pickle
import signal
import sys
import threading
import time

import recorder
import torch


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--history")
    parser.add_argument("--profile")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--stacks", default="python")
    parser.add_argument("--storm", type=int, default=0)
    parser.add_argument("--end", default="exit")
    parser.add_argument("--keeps-cache", action="store_true")
    return parser.parse_args()


class Twice(torch.autograd.Function):
    """Has Python in its backward pass, which runs on a thread of autograd's."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clone() * 2


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()


def train_step(model, optimizer, i):
    x = torch.randn(64 + i, 512, device="cuda")
    loss = Twice.apply(model(x)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def streams(held):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        held.append(torch.empty(1000, device="cuda"))
        held[-1].record_stream(torch.cuda.default_stream())
        freed = torch.empty(2000, device="cuda")
    del freed  # while another stream is the current one


def threads(held):
    def allocate(i):
        held.extend(torch.empty(3000 + 100 * i + k, device="cuda") for k in range(20))

    for i in range(4):  # one after the other: the order of events is that of one thread
        thread = threading.Thread(target=allocate, args=(i,))
        thread.start()
        thread.join()


def generators(held):
    held.extend(torch.empty(n, device="cuda") for n in (lambda k: (k * 512 + i for i in range(5)))(7))
    exec(compile("\n\nheld.append(torch.empty(77, device='cuda'))\n", "<made>", "exec"), {"held": held, "torch": torch})


def main(options):
    if options.history:
        torch.cuda.memory._record_memory_history(max_entries=1000000, stacks=options.stacks)
    held = []
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for i in range(options.steps):
        train_step(model, optimizer, i)
    streams(held)
    threads(held)
    generators(held)
    torch.empty(50_000_000, device="cuda")  # its segment is cached, then released
    if not options.keeps_cache:
        torch.cuda.empty_cache()
    held.append(torch.empty(30_000_000, device="cuda"))
    return held, model, optimizer


def storm(count):
    """So many allocations and frees; a few stay."""
    kept = []
    for i in range(count):
        kept.append(torch.empty(1000 + i % 977, device="cuda"))
        if len(kept) > 60:
            del kept[::2]
    return kept


def out_of_memory():
    return [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(1000)]


def tell(history):
    torch.cuda.synchronize()
    snapshot = torch.cuda.memory._snapshot()
    if history:
        with open(history, "wb") as file:
            pickle.dump(snapshot, file)
    stats = torch.cuda.memory_stats()
    print(json.dumps({"pid": os.getpid(), "torch": torch.__version__, "stats": {k: v for k, v in stats.items() if isinstance(v, int)}}), flush=True)


if __name__ == "__main__":
    given = parse()
    if given.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            kept = main(given)
        profile.export_chrome_trace(given.profile)
    else:
        kept = main(given)
    kept_too = storm(given.storm)
    if given.end == "oom":
        out_of_memory()
    if given.end == "caught":
        try:
            out_of_memory()
        except torch.cuda.OutOfMemoryError:
            pass
    if given.end in ("kill", "_exit", "wait"):
        recorder.wait_until_written()
    tell(given.history)
    if given.end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if given.end == "_exit":
        os._exit(7)
    if given.end == "wait":
        time.sleep(60)
    if given.end == "fail":
        sys.exit(5)
