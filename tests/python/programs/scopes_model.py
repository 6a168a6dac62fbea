"""TorchStatistics over an allocator of our own, which keeps one peak as PyTorch's does: random scopes, resets of the
user, resets behind our back, and other threads that allocate and free while a peak is reset. Needs neither PyTorch nor
a GPU.

Prints {"scopes", "bounded", "views"}; an assertion is a failure.
"""

import json
import random
import sys

from vramscope._native import TorchStatistics

GROUPS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
          "inactive_split_bytes", "requested_bytes")
METRICS = ("current", "peak", "allocated", "freed")


class Allocator:
    """Sizes add to every statistic alike. `peak` is what a user without scopes would see."""

    def __init__(self, noise):
        self.current = self.low_peak = self.peak = self.allocated = self.freed = self.blocks = self.gone = 0
        self.history = [0]  # allocated bytes after each change
        self.noise = noise  # called while a peak is reset

    def change(self, size):
        self.current += size
        if size > 0:
            self.allocated += size
            self.blocks += 1
        else:
            self.freed -= size
            self.gone += 1
        self.low_peak, self.peak = max(self.low_peak, self.current), max(self.peak, self.current)
        self.history.append(self.current)

    def read(self, device):
        def four():
            return dict(zip(METRICS, (self.current, self.low_peak, self.allocated, self.freed), strict=True))

        stats = {group: {pool: four() for pool in ("all", "small_pool", "large_pool")} for group in GROUPS}
        stats["allocation"]["all"].update(allocated=self.blocks, freed=self.gone)
        return stats | {"oversize_allocations": four(), "oversize_segments": four(), "max_split_size": -1}

    def reset(self, device):
        self.noise(self)
        self.low_peak = self.current


def one_run(seed, with_noise):
    chance = random.Random(seed)

    def noise(allocator):
        for _ in range(chance.choice((0, 0, 1, 2, 3)) if with_noise else 0):
            allocator.change(chance.choice((1, -1)) * min(chance.randrange(1, 1000), max(1, allocator.current - 1)))

    allocator = Allocator(noise)
    allocator.change(5000)
    statistics = TorchStatistics(allocator.read, allocator.reset, allocator.reset)
    open_scopes, done, views = [], [], 0
    for _ in range(80):
        action = chance.random()
        if action < 0.4:
            frees = chance.random() < 0.5 and allocator.current > 1
            allocator.change(chance.randrange(1 - allocator.current, 0) if frees else chance.randrange(1, 2000))
        elif action < 0.6:
            scope = statistics.begin(0, True)
            open_scopes.append((scope, len(allocator.history) - 1))
        elif action < 0.75 and open_scopes:
            scope, begun = open_scopes.pop(chance.randrange(len(open_scopes)))
            scope.end(True)
            done.append((scope, begun, len(allocator.history) - 1))
        elif action < 0.85:
            def reset(device):
                allocator.noise(allocator)
                allocator.low_peak = allocator.peak = allocator.current

            statistics.reset(0, reset)
        else:
            told = statistics.view(0, allocator.read(0))
            if not with_noise:
                for group in ("allocated_bytes", "segment", "inactive_split_bytes"):
                    for pool in ("all", "small_pool", "large_pool"):
                        assert told[group][pool]["peak"] == allocator.peak, (seed, told[group][pool], allocator.peak)
                assert told["oversize_segments"]["peak"] == allocator.peak
                views += 1
    bounded = 0
    for scope, begun, ended in done:
        truth = max(allocator.history[begun:ended + 1])
        for start, end, peak, most in scope.figures.values():
            assert (start, end) == (allocator.history[begun], allocator.history[ended]), seed
            if with_noise:
                assert peak <= truth <= most, (seed, peak, truth, most, scope.notes)
            else:
                assert peak == most == truth, (seed, peak, truth, most)
        bounded += any(most > peak for _, _, peak, most in scope.figures.values())
    return len(done), bounded, views


total = [0, 0, 0]
for seed in range(int(sys.argv[1])):
    for with_noise in (False, True):
        total = [a + b for a, b in zip(total, one_run(seed, with_noise), strict=True)]


def behind():
    """A reset that vramscope does not see: the scope says so, and its bounds contain the true peak."""
    allocator = Allocator(lambda _: None)
    allocator.change(1000)
    statistics = TorchStatistics(allocator.read, allocator.reset, allocator.reset)
    scope = statistics.begin(0, True)
    allocator.change(700)
    scope.read(True)
    allocator.change(600)
    allocator.change(-900)
    allocator.low_peak = allocator.current
    scope.end(True)
    _, _, peak, most = scope.figures["allocated"]
    assert scope.notes == 2 and peak == 1700 and most == 2300, (scope.notes, peak, most)
    assert statistics.state(0)[2] == 1


def sums():
    """The sums were reset, too: there is no bound."""
    allocator = Allocator(lambda _: None)
    allocator.change(1000)
    statistics = TorchStatistics(allocator.read, allocator.reset, allocator.reset)
    scope = statistics.begin(0, True)
    allocator.change(10)
    scope.read(True)
    allocator.change(-500)
    allocator.low_peak = allocator.current
    allocator.allocated = allocator.freed = allocator.blocks = allocator.gone = 0
    scope.end(True)
    assert scope.notes & 4 and scope.notes & 2 and scope.figures["allocated"][3] == 2**63 - 1


behind()
sums()
print(json.dumps({"scopes": total[0], "bounded": total[1], "views": total[2]}))
