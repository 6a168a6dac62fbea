#!/usr/bin/env python3
"""What an exact scope costs, beside PyTorch's own way to a peak (reset_peak_memory_stats, then max_memory_allocated),
in one process.

    python_scopes.py [--rounds N] [--calls N]

To be run under the simulated CUDA, whose allocations are PyTorch's own. All in turn, round by round. Prints as JSON, on the last line, for
each name a list of the rounds' microseconds: this thread's processor time for one beginning and end, the allocation inside taken off.

    scope        with Scope(): one allocation and its end, so that there is a peak to reset
    scope_empty  with Scope(): nothing
    scope_four   the same inside three others
    scope_dict   a scope with PyTorch's dict, where its figures are not found in memory
    trace        with GPUMemTrace(silent=True): one allocation
    step         with Tracker().step(): one allocation
    step_log     the same, and Tracker.log()
    peer         PyTorch's two functions around one allocation
"""

import argparse
import json
import time


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--calls", type=int, default=2000)
    options = options.parse_args()

    import torch

    from vramscope import Tracker, _native
    from vramscope.fastai import GPUMemTrace
    from vramscope.scopes import Scope, scope_source

    def allocate():
        block = torch.empty(1000, device="cuda")
        del block

    def scope():
        with Scope():
            allocate()

    def scope_empty():
        with Scope():
            pass

    def trace():
        with GPUMemTrace(silent=True):
            allocate()

    tracker = Tracker()

    def step():
        with tracker.step():
            allocate()

    def step_log():
        with tracker.step():
            allocate()
        tracker.log()

    def peer():
        torch.cuda.reset_peak_memory_stats()
        allocate()
        torch.cuda.max_memory_allocated()

    allocate()
    kept = torch.empty(5000, device="cuda")
    for _ in range(4):
        scope()
    assert scope_source() == "memory", scope_source()
    told, reset = (getattr(torch._C, name).__wrapped__ for name in ("_cuda_memoryStats", "_cuda_resetPeakMemoryStats"))

    def not_found(device):
        stats = told(device)
        stats["segment"]["small_pool"]["freed"] += 1  # stands nowhere in memory
        return stats

    untrusted = _native.TorchStatistics(not_found, reset, reset)

    def scope_dict():
        one = untrusted.begin(0, True)
        allocate()
        one.end(True)

    def time_of(call, calls):
        begin = time.thread_time()
        for _ in range(calls):
            call()
        return (time.thread_time() - begin) / calls * 1e6

    def round_of():
        alone = time_of(allocate, options.calls)
        figures = {"scope": time_of(scope, options.calls) - alone, "scope_empty": time_of(scope_empty, options.calls)}
        with Scope(), Scope(), Scope():
            figures["scope_four"] = time_of(scope, options.calls) - alone
        figures["scope_dict"] = time_of(scope_dict, options.calls // 10) - alone
        figures["step"] = time_of(step, options.calls) - alone
        tracker.log()  # of that many steps
        figures["step_log"] = time_of(step_log, options.calls) - alone
        figures["trace"] = time_of(trace, options.calls // 10) - alone
        figures["peer"] = time_of(peer, options.calls // 10) - alone
        return figures

    rows = [round_of() for _ in range(options.rounds)]
    del kept
    print(json.dumps({name: [row[name] for row in rows] for name in rows[0]}))


if __name__ == "__main__":
    main()
