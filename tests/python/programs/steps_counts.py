"""The same steps twice in one process, with a Tracker and without: retries and errors of each step, and the program's own peaks."""

import gc
import json

import torch
import vramscope


def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")


def steps():
    def plain():
        kept = take(100)
        del kept

    def retry():
        small = [take(1024) for _ in range(6)]
        del small
        large = take(5000)
        del large

    def handled():
        try:
            take(9000)
        except torch.OutOfMemoryError:
            pass
        retry()

    return [plain, retry, handled, plain, plain]


def counts():
    stats = torch.cuda.memory_stats()
    return stats["num_alloc_retries"], stats["num_ooms"]


def run(tracker):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    rows = []
    for step in steps():
        before = counts()
        if tracker is None:
            step()
            rows.append([after - was for was, after in zip(before, counts(), strict=True)])
        else:
            with tracker.step():
                step()
            rows.append([tracker.last.retries, tracker.last.ooms])
    return rows, torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


plain = run(None)
tracker = vramscope.Tracker(warn=False)
for _ in range(4):  # until the statistics are found in memory
    with tracker.step():
        take(1)
tracked = run(tracker)
source = vramscope.scope_source()
tracker.log()
torch.cuda.reset_accumulated_memory_stats()
torch.cuda.empty_cache()
failed = None
try:
    with tracker.step():
        take(9000)
except torch.OutOfMemoryError:
    failed = [tracker.last.ooms, tracker.log()["vramscope/ooms"]]
with tracker.step():  # a reset of the sums within it
    handled = steps()[2]
    handled()
    torch.cuda.reset_accumulated_memory_stats()
    handled()
after_reset = [tracker.last.retries, tracker.last.ooms]
gc.collect()
tracker.log()
for number in range(10):
    with tracker.step():
        take(10 + number)
ten = tracker.log()
print(json.dumps({"plain": plain, "tracked": tracked, "source": source, "failed": failed, "after_reset": after_reset,
                  "ten": ten, "then": tracker.log()}))
