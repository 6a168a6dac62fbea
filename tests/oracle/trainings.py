"""Programs that train, and what checkpoints of a function would make of them: naively, from the rules of docs/formats/query.md.

    run = training_run(seed)                      a Run for shapes.py; stacks end in FUNCTION, the backward pass has none
    edited = Checkpointed(requests, "model.py:11")     .requests: (True, block, size) of an allocation, (False, block, None) of a free
"""

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from run import Run, Stack
from simulate import EPOCH_US, SimulatedDevice

MIB = 1 << 20
MODULE = "/home/u/model.py"
LIBRARY = "/opt/venv/lib/python3.11/site-packages/torch/nn/functional.py"


# ---- programs ---------------------------------------------------------------------------------------------------


class Operation:
    """One allocation of a layer: where, how large, and what becomes of it."""

    def __init__(self, rng, line):
        inner = [("gelu", LIBRARY, rng.choice((100, 200)))] if rng.random() < 0.4 else []
        self.frames = [*inner, ("forward", MODULE, line)]
        self.size = 2 * MIB * rng.randint(1, 12)
        self.fate = rng.choice(("temporary", "temporary", "saved", "saved", "saved", "held", "cached"))


class Training:
    """Layers called in a loop, a head behind them, then the backward pass in reverse; steps of it, perhaps cut."""

    def __init__(self, rng, sim):
        self.rng, self.sim = rng, sim
        lines = [10] * rng.randint(1, 5) if rng.random() < 0.3 else sorted(rng.choice((10, 11, 12)) for _ in range(rng.randint(1, 6)))
        self.operations = [Operation(rng, line) for line in lines]
        self.result = Operation(rng, lines[-1])
        self.saves_result = rng.random() < 0.3
        self.has_head, self.between = rng.random() < 0.8, rng.random() < 0.3
        self.depth, self.varies = rng.randint(1, 5), rng.random() < 0.3
        self.keeps = rng.random() < 0.7  # the code behind a call saves its result
        self.python_backward = rng.random() < 0.2
        self.allocs_of_result = rng.choice((1, 1, 2, 3))  # in the backward pass, before it frees the result
        self.holds_input = rng.random() < 0.3
        self.cached = {}

    def malloc(self, size, frames):
        return self.sim.allocator.malloc(size, 0, (0, 0), Stack(frames))

    def caller(self, line):
        return [("<module>", "/home/u/train.py", line)]

    def backward(self, size):
        frames = []
        if self.python_backward and self.rng.random() < 0.3:
            frames = [("backward", MODULE, 70), ("apply", "/opt/venv/lib/python3.11/site-packages/torch/autograd/function.py", 300)]
        return self.malloc(size, frames)

    def call(self, number, factor):
        saved, temporaries, held = [], [], []
        for i, operation in enumerate(self.operations):
            if operation.fate == "cached" and i in self.cached:
                continue
            block = self.malloc(operation.size * factor, operation.frames + self.caller(50))
            if operation.fate == "cached":
                self.cached[i] = block
            {"temporary": temporaries, "saved": saved, "held": held, "cached": []}[operation.fate].append(block)
            while temporaries and self.rng.random() < 0.6:
                self.sim.allocator.free(temporaries.pop(0))
        result = self.malloc(self.result.size * factor, self.result.frames + self.caller(50))
        for block in temporaries:
            self.sim.allocator.free(block)
        if self.between:
            held.append(self.malloc(2 * MIB, self.caller(51)))
        return saved, result, held

    def step(self, stops):
        """`stops`: a probability; false where it stopped."""
        free = self.sim.allocator.free
        calls, dropped = [], []
        if self.holds_input:  # until the forward pass is over
            dropped.append(self.malloc(self.result.size, self.caller(49)))
        for number in range(self.depth):
            calls.append(self.call(number, 1 + number % 2 if self.varies else 1))
            if number > 0 and not self.keeps and not self.saves_result:
                free(calls[-2][1])
            if self.rng.random() < stops:
                return False
        head = [self.malloc(2 * MIB * self.rng.randint(1, 9), self.caller(60)) for _ in range(2)] if self.has_head else []
        if self.holds_input:
            free(dropped.pop())
        gradient = self.backward(4 * MIB)
        for block in head:
            free(block)
        for last, (saved, result, held) in zip([True] + [False] * len(calls), reversed(calls)):
            if self.rng.random() < 0.4:
                free(gradient)
                gradient = self.backward(2 * MIB * self.rng.randint(1, 4))
            for _ in range(self.allocs_of_result if self.saves_result else 0):
                after = self.backward(result.requested)
                free(gradient)
                gradient = after
            if self.saves_result or self.keeps or last:
                free(result)
            for block in reversed(saved):
                if self.rng.random() < stops / 4:
                    return False
                after = self.backward(2 * MIB * self.rng.randint(1, 6))
                free(gradient)
                gradient = after
                free(block)
            dropped += held
        after = self.backward(2 * MIB)
        free(after)
        free(gradient)
        self.malloc(2 * MIB, self.caller(61))  # the optimizer's: it stays
        for block in dropped:
            free(block)
        return True


def training_run(seed):
    rng = random.Random(seed)
    sim = SimulatedDevice(0, rng, [EPOCH_US + seed * 1000])
    training = Training(rng, sim)
    stops = rng.choice((0, 0, 0.1))
    for _ in range(rng.randint(1, 4)):
        if not training.step(stops):
            break
    if rng.random() < 0.25:  # a request that fails: in the forward pass, in a call or in the backward pass
        frames = rng.choice(([], training.caller(62), [("forward", MODULE, 10), *training.caller(50)]))
        sim.allocator.limit = sim.allocator.reserved + 2 * MIB
        training.malloc(64 << 30, frames)
    return Run([sim.as_run()])


# ---- what checkpoints make of them --------------------------------------------------------------------------------


@dataclass
class Request:
    kind: str  # alloc, free, oom
    block: object
    size: int
    stack: tuple


@dataclass
class Call:
    first: int
    last: int
    next: object = None
    saved: list = field(default_factory=list)
    result: object = None
    recomputes_result: bool = False


def requests_of(memory, frames_of):
    """Of a trace whose recording began with the program: blocks are numbered in the order of their allocations."""
    found, live, blocks = [], {}, 0
    for entry in memory.entries:
        if entry.action == "alloc":
            live[entry.address], blocks = blocks, blocks + 1
            found.append(Request("alloc", live[entry.address], entry.size, frames_of(entry)))
        elif entry.action == "free_requested":
            found.append(Request("free", live.pop(entry.address), entry.size, None))
        elif entry.action == "oom":
            found.append(Request("oom", None, entry.size, frames_of(entry)))
    return found


def is_backward(stack):
    return not stack or stack[-1][0] == "apply"


def a_line(requests):
    """One of those that the layers have."""
    return max(f[2] for r in requests if r.stack and not is_backward(r.stack) for f in r.stack if f[1] == MODULE)


class Checkpointed:
    def __init__(self, requests, line):
        self.recorded, self.line = requests, line
        self.allocs = [i for i, r in enumerate(requests) if r.kind != "free"]
        self.alloc = {r.block: i for i, r in enumerate(requests) if r.kind == "alloc"}
        self.free = {r.block: i for i, r in enumerate(requests) if r.kind == "free"}
        self.size = {block: requests[i].size for block, i in self.alloc.items()}
        failures = [i for i in self.allocs if requests[i].kind == "oom"]
        backward = [i for i in self.allocs if is_backward(requests[i].stack) and requests[i].kind == "alloc"]
        self.failure = failures[-1] if failures and not [i for i in backward if i > failures[-1]] else None
        self.inside = self.function()
        self.calls, self.told = self.find_calls()
        for call in self.calls:
            self.judge(call)
        self.vote()
        self.judge_results()
        self.recomputed = 0
        self.requests = self.edit()

    # functions and calls

    def place(self, stack):
        places = [i for i, frame in enumerate(stack or ()) if frame in self.inside]
        return places[-1] if places else None

    def function(self):
        """All lines of the file and function that were called from where the line was."""
        stacks = {r.stack for r in self.recorded if r.stack}
        callers = {s[i + 1:] for s in stacks for i, f in enumerate(s) if f[1] == MODULE and f[2] == self.line}
        names = {f[:2] for s in stacks for f in s if f[1] == MODULE and f[2] == self.line}
        return {f for s in stacks for i, f in enumerate(s) if f[:2] in names and s[i + 1:] in callers}

    def find_calls(self):
        runs, before = [], None
        for i in self.allocs:
            stack = self.recorded[i].stack
            place = None if is_backward(stack) else self.place(stack)
            caller = None if place is None else stack[place + 1:]
            if caller is not None and caller == before:
                runs[-1].append(i)
            elif caller is not None:
                runs.append([i])
            before = caller
        calls, told = [], Counter()
        for run in runs:
            cuts, by = self.split(run)
            told[by] += len(cuts) if by != "runs" else 1
            edges = [0, *cuts, len(run)]
            calls += [Call(run[a], run[b - 1]) for a, b in zip(edges, edges[1:])]
        for call in calls:
            call.next = next((i for i in self.allocs if i > call.last), None)
        return calls, told

    def split(self, run):
        stacks = [self.recorded[i].stack for i in run]
        own = [s[self.place(s)] for s in stacks]
        if len(set(own)) > 1:
            return [i for i in range(1, len(run)) if stacks[i] == stacks[0] and own[i - 1] != own[0]], "lines"
        starts = [i for i in range(len(run)) if stacks[i] == stacks[0]]
        if len(starts) == 1:
            return [], "lines"
        for by, tokens in (("sizes", [(s, self.recorded[i].size) for s, i in zip(stacks, run)]), ("stacks", stacks)):
            pieces = [tuple(tokens[a:b]) for a, b in zip(starts, [*starts[1:], len(run)])]
            for period in range(1, min(64, len(pieces) // 2) + 1):
                others = sum(pieces[i] != pieces[i - period] for i in range(period, len(pieces)))
                if 4 * others <= len(pieces) - period:
                    return [start for i, start in enumerate(starts) if i >= period and (len(starts) - i) % period == 0], by
        return [], "runs"

    # what calls save

    def before(self, i):
        """The last allocation or failed request before a request."""
        return max((a for a in self.allocs if a < i), default=None)

    def by_backward(self, block):
        i = self.free.get(block)
        a = None if i is None else self.before(i)
        return a is not None and self.recorded[a].kind == "alloc" and is_backward(self.recorded[a].stack)

    def endless(self, block):
        i = self.free.get(block)
        return i is None or (self.failure is not None and i > self.failure)

    def rows(self, call):
        return [r.block for r in self.recorded[call.first:call.last + 1] if r.kind == "alloc"]

    def survivors(self, call):
        return [b for b in self.rows(call) if self.free.get(b) is None or self.free[b] > call.next]

    def judge(self, call):
        if call.next is None:
            return
        live = self.survivors(call)
        freed = sorted((b for b in live if self.by_backward(b)), key=self.free.get)
        if not freed:
            return
        others = [b for b in live if b != freed[0]]
        newest = others[-1] if others and not self.by_backward(others[-1]) else None
        if newest is not None and (len(freed) > 1 or not self.endless(newest)):
            call.result = newest
        else:
            call.result = freed[0]
        call.saved = [b for b in live if self.by_backward(b) and b != call.result]

    def inner(self, block):
        stack = self.recorded[self.alloc[block]].stack
        return stack[:self.place(stack) + 1]

    def places(self, call):
        seen = Counter()
        for block in self.rows(call):
            yield block, (self.inner(block), seen[self.inner(block)])
            seen[self.inner(block)] += 1

    def vote(self):
        votes = defaultdict(int)
        for call in self.calls:
            for block, place in self.places(call) if call.saved else ():
                if not self.endless(block):
                    votes[place] += 1 if block in call.saved else -1
        for call in self.calls:
            for block, place in self.places(call) if call.next is not None else ():
                if self.endless(block) and votes[place] > 0:
                    call.saved.append(block)

    def forward_frees(self):
        return [i for i, r in enumerate(self.recorded) if r.kind == "free" and self.by_backward(r.block)
                and not is_backward(self.recorded[self.alloc[r.block]].stack)]

    def judge_results(self):
        refuted = set()
        with_result = [c for c in self.calls if c.saved and c.result is not None]
        for call in with_result:
            block = call.result
            if not self.by_backward(block):
                saves = self.endless(block)
            else:
                next_free = min((i for i in self.forward_frees() if i > self.free[block]), default=None)
                first = min((self.free[b] for b in call.saved if self.by_backward(b)), default=-1)
                saves = next_free == first and 1 <= self.own_allocs(block) <= 2
            if not saves:
                refuted.add(self.inner(block))
        for call in with_result:
            call.recomputes_result = self.by_backward(call.result) and self.inner(call.result) not in refuted

    def own_allocs(self, block):
        """Allocations of its size right before its free, behind the last free of another block of the forward pass."""
        free, count = self.free[block], 0
        since = max((i for i in self.forward_frees() if i < free), default=self.alloc[block])
        for i in reversed([a for a in self.allocs if since < a < free]):
            if self.recorded[i].size != self.size[block]:
                break
            count += 1
        return count

    def argument(self, call, until):
        """The newest block of the result's size that is live at the call, if the program frees it before `until`."""
        for i in [a for a in self.allocs if a < call.first][:-65:-1]:
            r = self.recorded[i]
            if r.kind != "alloc" or call.result is None or r.size != self.size[call.result]:
                continue
            if self.free.get(r.block, len(self.recorded)) < call.first or is_backward(r.stack):
                continue
            held = not self.by_backward(r.block) and r.block in self.free and (until is None or self.free[r.block] < until)
            return [r.block] if held else []
        return []

    # the requests of the changed program

    def begin(self, call, until):
        frees = [i for i in self.forward_frees() if call.last < i < until]
        allocs = [a for a in self.allocs if (a > frees[-1] if frees else a > call.last and is_backward(self.recorded[a].stack))]
        return min([until, *allocs[:1]])

    def again(self, call):
        """The call's requests up to the last saved block; ("copy", block) is a block beside its original."""
        self.recomputed += 1
        mine = {*call.saved, *([call.result] if call.recomputes_result else [])}
        stop, rows, copies, out = max(self.alloc[b] for b in mine), set(self.rows(call)), [], []
        if call.recomputes_result:
            out.append((False, call.result, None))
        for r in self.recorded[call.first:stop + 1]:
            if r.kind == "alloc" and r.block in mine:
                out.append((True, r.block, r.size))
            elif r.kind == "alloc" and r.block in self.free:
                copies.append(("copy", r.block))
                out.append((True, copies[-1], r.size))
            elif r.kind == "free" and r.block in rows:
                copies.remove(("copy", r.block))
                out.append((False, ("copy", r.block), None))
        return out + [(False, copy, None) for copy in copies]

    def edit(self):
        inserted, moved = defaultdict(list), {}
        for call in self.calls:
            if not call.saved:
                continue
            saved = sorted(call.saved)
            inserted[call.last + 1] += [(False, b, None) for b in saved]
            frees = [self.free[b] for b in saved if self.by_backward(b)]
            done = max(frees) + 1 if len(frees) == len(saved) else len(self.recorded) + 1
            arguments = [r.block for r in self.recorded[call.first:call.next] if r.kind == "free" and self.alloc[r.block] < call.first
                         and not is_backward(self.recorded[self.alloc[r.block]].stack)]
            for block in arguments or self.argument(call, min(frees, default=None)):
                moved[block] = max(moved.get(block, 0), done)
            if frees:
                at = self.before(self.free[call.result]) if call.recomputes_result else self.begin(call, min(frees))
                inserted[at] += self.again(call)
        if self.failure is not None and is_backward(self.recorded[self.failure].stack):
            self.insert_failed(inserted)
        for block, at in sorted(moved.items()):
            inserted[at].append((False, block, None))
        out = []
        for i, r in enumerate([*self.recorded, None]):
            out += inserted[i]
            if r is not None and r.kind != "oom" and not (r.kind == "free" and r.block in moved):
                out.append((r.kind == "alloc", r.block, r.size if r.kind == "alloc" else None))
        return out

    def insert_failed(self, inserted):
        """The last call of whose saved blocks some were not freed: its backward pass may have begun."""
        for call in reversed(self.calls):
            if call.last > self.failure or all(self.by_backward(b) for b in call.saved):
                continue
            if not any(self.by_backward(b) for b in call.saved):
                inserted[self.begin(call, self.failure)] += self.again(call)
            return

    # figures

    def peak(self):
        """Sizes are multiples of 2 MiB, so that nothing is rounded."""
        live, now, most = {}, 0, 0
        for is_alloc, block, size in self.requests:
            if is_alloc:
                assert block not in live
                live[block] = size
                now += size
            else:
                now -= live.pop(block, 0)
            most = max(most, now)
        return most

    def figures(self):
        saved = [b for call in self.calls for b in call.saved]
        edges = sorted([(self.alloc[b], self.size[b]) for b in saved] + [(self.free[b], -self.size[b]) for b in saved if b in self.free])
        now = most = 0
        for _, size in edges:
            now += size
            most = max(most, now)
        return {"calls": len(self.calls), "recomputed": self.recomputed, "blocks": len(saved), "bytes": sum(map(self.size.get, saved)),
                "most_bytes": most}
