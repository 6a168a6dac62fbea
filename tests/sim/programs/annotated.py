"""A program with named ranges of all kinds, which it writes down itself as they begin and end: [name, "START" or "END"], in the file TOLD.

    annotated.py TOLD [--history FILE] [--profile FILE] [--late MODULE:RECORDER:FILE] [--end exit|kill] [--storm N]
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pickle
import signal
import threading
import time

import torch

told = []


@contextlib.contextmanager
def function(name):
    with torch.profiler.record_function(name):
        told.append([name, "START"])
        yield
        told.append([name, "END"])


@contextlib.contextmanager
def pushed(name):
    assert torch.cuda.nvtx.range_push(name) == -2  # what NVTX says where no tool counts
    told.append([name, "START"])
    yield
    told.append([name, "END"])
    torch.cuda.nvtx.range_pop()


def marked(name, call):
    """PyTorch marks this itself."""
    told.append([name, "START"])
    call()
    told.append([name, "END"])


def train(steps, held):
    model = torch.nn.Linear(64, 64).cuda()
    optimizers = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.Adam(model.parameters())
    for i in range(steps):
        with function(f"step {i}"), pushed("forward"):
            with function("inner"):
                loss = model(torch.randn(8, 64, device="cuda")).sum()
            with function("inner"):
                held.append(torch.empty(1000 + i, device="cuda"))
        loss.backward()
        for optimizer in optimizers[: 1 + i % 2]:
            name = type(optimizer).__name__
            marked(f"Optimizer.step#{name}.step", optimizer.step)
            marked(f"Optimizer.zero_grad#{name}.zero_grad", optimizer.zero_grad)


def overlap(held):
    """Ranges that end in the order in which they began, and on another thread."""
    first, second = torch.cuda.nvtx.range_start("first"), torch.cuda.nvtx.range_start("second")
    told.extend([["first", "START"], ["second", "START"]])
    held.append(torch.empty(3000, device="cuda"))

    def end():
        with pushed("thread"), function("thread's"):
            torch.cuda.nvtx.range_end(first)
            told.append(["first", "END"])

    thread = threading.Thread(target=end)
    with pushed("around"):
        thread.start()
        thread.join()
    torch.cuda.nvtx.range_end(second)
    told.append(["second", "END"])
    torch.cuda.nvtx.range_pop()  # there is none
    torch.cuda.nvtx.mark("has no length")


def odd_names():
    for name in ("", "é" * 200, "x" + "é" * 200, "😀" * 5000, "a\nb\x07\x1b[31m", "\udc80\udcff".encode("utf-8", "surrogatepass").decode("latin-1")):
        with function(name), pushed(name):
            torch.empty(1, device="cuda")


def storm(count):
    kept = []
    for i in range(count):
        kept.append(torch.empty(1000 + i % 977, device="cuda"))
        if len(kept) > 60:
            del kept[::2]


def recorder(words):
    module, path, recording = words.split(":")
    spec = importlib.util.spec_from_file_location("recorder", module)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made, made.load(path), recording


def late(words):
    """Two recordings, each begun and ended within a range."""
    made, library, recording = recorder(words)
    torch.empty(1, device="cuda")
    for i in range(2):
        with torch.profiler.record_function("before"):
            made.begin(library, f"{recording}.{i}")
            with function(f"recorded {i}"):
                torch.empty(100, device="cuda")
            with torch.profiler.record_function("cut off"):
                told.append(["cut off", "START"])
                made.end(library)
        with torch.profiler.record_function("between"):
            torch.empty(200, device="cuda")


def main(options):
    held = []
    with function("outer"):  # before the first request, with which the recording begins
        if options.history:
            torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python", global_record_annotations=True)
        train(4, held)
        overlap(held)
        odd_names()
        storm(options.storm)
        if options.end == "kill":
            write(options.told)
            time.sleep(2)  # the recorder writes what it has every hundredth of a second
            os.kill(os.getpid(), signal.SIGKILL)
    if options.history:
        with open(options.history, "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)


def write(path):
    with open(path, "w") as file:
        json.dump(told, file)


def profiled(options):
    """Two of its steps are traced; all are marked."""
    def stepped():
        told.extend([[f"ProfilerStep#{stepped.count}", "END"], [f"ProfilerStep#{stepped.count + 1}", "START"]])
        stepped.count += 1
        profile.step()

    stepped.count = 0
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule,
                                on_trace_ready=lambda p: p.export_chrome_trace(options.profile)) as profile:
        told.append(["ProfilerStep#0", "START"])
        for _ in range(2):
            train(1, [])
            stepped()
        train(1, [])
    told.append(["ProfilerStep#2", "END"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("told")
    for option in ("--history", "--profile", "--late"):
        parser.add_argument(option)
    parser.add_argument("--end", default="exit")
    parser.add_argument("--storm", type=int, default=0)
    given = parser.parse_args()
    if given.late:
        late(given.late)
    elif given.profile:
        profiled(given)
    else:
        main(given)
    write(given.told)
