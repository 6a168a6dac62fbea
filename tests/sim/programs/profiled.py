"""A training whose last steps PyTorch's profiler and its memory history record together: profiled.py TRACE SNAPSHOT."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function


def step(model, optimizer, x):
    with record_function("my_step"):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def main(trace, snapshot):
    model = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(256, 1024, device="cuda")
    step(model, optimizer, x)
    torch.cuda.memory._record_memory_history(enabled=None)
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    before = torch.cuda.memory_allocated()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, with_stack=True) as profiler:
        for _ in range(3):
            step(model, optimizer, x)
        torch.randn(1000)  # memory of the CPU, which the profiler records, too
        held = torch.empty(1000, 1000, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            other = torch.empty(3000, 1000, device="cuda")
        other.record_stream(torch.cuda.current_stream())
        del other, held
    torch.cuda.memory._dump_snapshot(snapshot)
    profiler.export_chrome_trace(trace)
    print(f"before {before} peak {torch.cuda.max_memory_allocated()}")


main(*sys.argv[1:])
