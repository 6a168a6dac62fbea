"""Random programs on the caching allocator, and the truth about them.

The truth is written down while the program runs: the allocator's own counters after every event, and for every block
when it was allocated, freed and its free completed. It never reads the trace that it produced. So a reader of the trace, ours
or the oracle's, can be compared with what really happened, also where the recorder kept only the last entries or left
an action out.

    run, sims = random_run(seed)            a Run for shapes.py, one SimulatedDevice per device
    truth = sims[0].expected(first, skip)   figures of the report, for a trace that begins at entry `first`
"""

import random
from dataclasses import dataclass

from caching_allocator import CachingAllocator
from run import BlockState, DeviceRun, Event, Run, SegmentState, Stack

EPOCH_US = 1_760_000_000_000_000
HIGH_ADDRESS = (1 << 63) + (1 << 44)  # the C++ writer shows such addresses as negative


@dataclass
class Life:
    """The life of one block; events are indices in the device's full trace."""

    address: int
    size: int
    stack: object
    stream: int
    pool: tuple
    born: int
    requested_at: object = None
    completed_at: object = None


class Program:
    """A synthetic program: a tree of functions whose paths are the stacks."""

    FILES = ("train.py", "model/attention.py", "model/mlp.py", "torch/nn/modules/module.py", "optim/adamw.py")
    NATIVE = ("at::empty_cuda(long)", "c10::cuda::CUDACachingAllocator::malloc(int)", "??", "f<int, char>(T&&) [clone]")

    def __init__(self, rng):
        self.rng = rng
        self.python = [
            (f"step_{i}" if i % 7 else "fönction_\u65e5\u672c", rng.choice(self.FILES), rng.randint(1, 900))
            for i in range(rng.randint(4, 40))
        ]
        self.native = [(name, rng.choice(("??", "", "libc10.so")), 0) for name in self.NATIVE]

    def stack(self):
        """Mostly a deep path; sometimes nothing could be captured, sometimes the stack is empty."""
        roll = self.rng.random()
        if roll < 0.03:
            return None
        if roll < 0.06:
            return Stack(())
        leaf = self.rng.randrange(len(self.python))
        path = []
        while True:  # each function has one caller, so stacks with the same leaf are equal
            path.append(self.python[leaf])
            if leaf == 0:
                break
            leaf = leaf * 2 // 3
        native = self.native[: leaf % len(self.native) + self.rng.randint(0, 1)]
        return Stack(native + path)


class SimulatedDevice:
    """One device's allocator with its recorder and the true figures."""

    def __init__(self, device, rng, clock, **settings):
        self.device, self.rng, self.clock = device, rng, clock
        self.allocator = CachingAllocator(self._record, **settings)
        self.events = []
        self.lives = []
        self.after = [(0, 0, 0, 0)]  # requested, held, reserved, allocated: before the first event, then after each
        self.bookmarks = []  # (events so far, mapped ranges, live blocks), looked up in the allocator's own tables
        self.context, self.metadata = "N/A", ""

    def _record(self, action, address, size, stream, pool, stack, block):
        index = len(self.events)
        self.clock[0] += self.rng.randint(0, 60)
        now, context, metadata = self.clock[0], self.context, self.metadata
        self.events.append(Event(action, address, size, stream, now, pool, stack, context, metadata))
        a = self.allocator
        self.after.append((a.requested, a.handed_out, a.reserved, a.allocated))
        if action == "alloc":
            block.life = Life(address, size, stack, stream, pool, index)
            self.lives.append(block.life)
        elif action == "free_requested":
            block.life.requested_at = index
        elif action == "free_completed":
            block.life.completed_at = index

    def note(self, action, address, size, stream, stack, metadata):
        """An entry that changes nothing: a snapshot was taken, a tensor was annotated."""
        self.clock[0] += 1
        self.events.append(Event(action, address, size, stream, self.clock[0], stack=stack, metadata=metadata))
        self.after.append(self.after[-1])

    def bookmark(self):
        runs = list(self.allocator.runs())
        mapped = [(run[0].address, run[-1].end) for run in runs]
        live = [(b.address, b.requested, b.stack) for run in runs for b in run if not b.free]
        self.bookmarks.append((len(self.events), mapped, live))

    def segments(self):
        """The end state, as the allocator's own blocks show it."""
        result = []
        for run in self.allocator.runs():
            pool, small, stream = run[0].arena
            states = [
                BlockState(
                    b.address,
                    b.size,
                    b.requested,
                    "active_allocated" if b.used else "active_pending_free" if b.waits else "inactive",
                    b.stack if not b.free else None,
                )
                for b in run
            ]
            size = sum(b.size for b in run)
            kind = "small" if small else "large"
            result.append(
                SegmentState(
                    self.device, run[0].address, size, stream, kind, pool, run[0].expandable, states,
                    run[0].segment_stack, counter=len(result),
                )
            )
        return result

    def as_run(self):
        return DeviceRun(self.events, self.segments())

    # The truth, for the part of the trace that was recorded

    def kept(self, first, skip):
        return [i for i in range(first, len(self.events)) if self.events[i].action not in skip]

    def end(self):
        blocks = [b for run in self.allocator.runs() for b in run]
        used = [b for b in blocks if b.used]
        waits = [b for b in blocks if b.waits]
        return {
            "reserved_bytes": self.allocator.reserved,
            "allocated_bytes": sum(b.size for b in used),
            "active_bytes": sum(b.size for b in used + waits),
            "requested_bytes": self.allocator.requested,
            "blocks": len(blocks),
            "segments": sum(1 for _ in self.allocator.runs()),
        }

    def at_request(self, kept):
        actions = {self.events[i].action for i in kept}
        return "free_requested" in actions and "free_completed" not in actions

    def live_after(self, index, at_request):
        """Lives that the requested curve counts after event `index` of the full trace."""
        return [
            life
            for life in self.lives
            if life.born <= index
            and ((ended := life.requested_at if at_request else life.completed_at) is None or ended > index)
        ]

    def expected(self, first=0, skip=(), ring_wrapped=False):
        kept = self.kept(first, skip)
        at_request = self.at_request(kept)
        column = 1 if at_request else 0
        before = self.after[first]
        curve = [before[column]] + [self.after[i + 1][column] for i in kept]
        reserved = [before[2]] + [self.after[i + 1][2] for i in kept]
        peak, top = max(curve), curve.index(max(curve)) - 1
        actions = [self.events[i].action for i in kept]
        found = self.expected_findings(first, kept, at_request, ring_wrapped)
        return {
            "device": self.device,
            "end": self.end(),
            "trace": {
                "events": len(kept),
                "allocs": actions.count("alloc"),
                "frees": actions.count("free_requested"),
                "baseline_requested_bytes": curve[0],
            },
            "peak": {
                "requested_bytes": peak,
                "event": top,
                "time_us": self.events[kept[top]].time if top >= 0 else None,
            },
            "peak_reserved": {
                "reserved_bytes": max(reserved),
                "event": reserved.index(max(reserved)) - 1,
            },
            "ooms": [
                {
                    "event": place,
                    "requested_bytes": self.events[i].size,
                    "device_free_bytes": self.events[i].address,
                }
                for place, i in enumerate(kept)
                if self.events[i].action == "oom"
            ],
            "trust": {
                "complete": not any(f["kind"] != "frees_at_request" for f in found),
                "findings": found,
            },
        }

    def expected_findings(self, first, kept, at_request, ring_wrapped):
        """The findings of a run without contradictions, which can only be incomplete."""
        found = []

        def add(kind, count, event=None):
            if count:
                found.append({"kind": kind, "count": count, "first_event": event})

        if not kept:
            add("no_trace", 1 if self.allocator.reserved else 0)
            return found
        add("ring_wrapped", 1 if ring_wrapped else 0)
        add("frees_at_request", 1 if at_request else 0)
        place = {index: i for i, index in enumerate(kept)}
        older = [life for life in self.lives if life.born < first]
        freed = []
        for life in older:
            seen = [place[i] for i in (life.requested_at, life.completed_at) if i in place]
            if seen:
                freed.append(min(seen))
        never_completed = [life for life in older if life.completed_at is None]
        unseen_frees = [
            life for life in never_completed if life.requested_at is None or life.requested_at not in place
        ]
        add("free_without_alloc", len(freed), min(freed, default=None))
        add("live_without_alloc", len(never_completed))
        alive = len(freed) + len(unseen_frees)
        if alive or self.after[first][2]:
            add("began_late", max(alive, 1), -1)
        return found


class Workload:
    """Random calls on one simulated device."""

    def __init__(self, sim, rng, program, streams, pools):
        self.sim, self.rng, self.program = sim, rng, program
        self.streams, self.pools = streams, pools
        self.blocks = []

    def size(self):
        """Anything from a scalar to a segment of its own, small ones more often."""
        top = self.rng.choice((10, 14, 18, 20, 21, 23, 24, 26))
        return self.rng.choice((1, 512, 513, 1 << 20, (1 << 20) + 1, self.rng.randint(1, 1 << top)))

    def step(self):
        sim, rng = self.sim, self.rng
        roll = rng.random()
        if roll < 0.52 or not self.blocks:
            pool = rng.choice(self.pools)
            block = sim.allocator.malloc(self.size(), rng.choice(self.streams), pool, self.program.stack())
            if block is not None:
                self.blocks.append(block)
            else:
                self.free_some(len(self.blocks) // 2)
        elif roll < 0.90:
            self.free_some(1)
        elif roll < 0.94:
            sim.allocator.record_stream(rng.choice(self.blocks), rng.choice(self.streams))
        elif roll < 0.98:
            sim.allocator.process_waiting(rng.randint(0, len(sim.allocator.waiting)))
        elif roll < 0.985:
            sim.allocator.release_cached(self.program.stack())
        elif roll < 0.99:
            sim.note("snapshot", 0, sim.allocator.requested, 0, None, "")
        elif self.blocks:
            block = rng.choice(self.blocks)
            sim.note("annotate", block.address, block.requested, block.arena[2], self.program.stack(), "grad «w»")

        if rng.random() < 0.02:
            sim.bookmark()

    def free_some(self, count):
        for _ in range(count):
            block = self.blocks.pop(self.rng.randrange(len(self.blocks)))
            self.sim.allocator.free(block, self.rng.choice((None, self.program.stack())))


def random_run(seed):
    """(Run, [SimulatedDevice]): all choices come from the seed."""
    rng = random.Random(seed)
    clock = [EPOCH_US + seed * 1000]
    sims = []
    for device in range(rng.choice((1, 1, 1, 2, 3))):
        sim = SimulatedDevice(
            device,
            rng,
            clock,
            base=HIGH_ADDRESS if rng.random() < 0.15 else 0x7F0000000000,
            limit=rng.choice((None, None, 64 << 20, 256 << 20)),
            expandable=rng.random() < 0.3,
        )
        streams = [0, 0x5000_0000, 0x5000_0100, 3][: rng.randint(1, 4)]
        pools = [(0, 0), (0, 0), (0, 1), (1, 0)][: rng.choice((1, 1, 3, 4))]
        load = Workload(sim, rng, Program(rng), streams, pools)
        for _ in range(int(2 ** rng.uniform(2, 9))):
            sim.metadata = rng.choice(("", "", '{"step":1}'))
            load.step()
        sims.append(sim)
    return Run([sim.as_run() for sim in sims]), sims


def pinned_host_run(rng, clock, program):
    """Pinned host memory: every block is its own segment, sizes are powers of two, addresses are the host's."""
    events, segments, cached, used = [], [], [], []

    def record(action, address, size, stack):
        clock[0] += rng.randint(1, 9)
        events.append(Event(action, address, size, 0, clock[0], stack=stack, context=""))

    for _ in range(rng.randint(6, 20)):
        stack = program.stack()
        if used and rng.random() < 0.4:
            address, size, stack = used.pop(rng.randrange(len(used)))
            record("free_requested", address, size, stack)
            record("free_completed", address, size, stack)
            cached.append((address, size))
            continue
        size = 1 << rng.randint(9, 22)
        again = [c for c in cached if c[1] == size]
        if again:
            cached.remove(again[0])
            address = again[0][0]
        else:
            address = 0x7FFE00000000 + len(segments) * (1 << 24)
            segments.append((address, size, stack))
            record("segment_alloc", address, size, stack)
        record("alloc", address, size, stack)
        used.append((address, size, stack))

    live = {address: stack for address, _, stack in used}
    return DeviceRun(
        events,
        [
            SegmentState(
                -1, address, size, 0, "small", (0, 0), False,
                [BlockState(address, size, size, "active_allocated" if address in live else "inactive",
                            live.get(address))],
                stack,
            )
            for address, size, stack in sorted(segments, key=lambda s: s[0])
        ],
    )


def sample_run(seed=7, steps=120):
    """One run with everything in it: two devices, pinned host memory, streams with waiting frees, private pools,
    expandable segments, an out-of-memory event, annotations, forward stacks, metadata."""
    rng = random.Random(seed)
    clock = [EPOCH_US]
    program = Program(rng)
    sims = [
        SimulatedDevice(0, rng, clock, limit=200 << 20),
        SimulatedDevice(1, rng, clock, base=HIGH_ADDRESS, expandable=True),
    ]
    annotations = []
    for sim in sims:
        load = Workload(sim, rng, program, [0, 0x5000_0000, 0x5000_0100], [(0, 0), (0, 0), (0, 1), (1, 0)])
        for step in range(steps):
            sim.context = "Torch-Compiled Region: 0/0" if step % 10 > 6 else "N/A"
            sim.metadata = f'{{"step":{step // 30}}}' if step % 5 == 0 else ""
            if step % 30 in (0, 29):
                stage = "START" if step % 30 == 0 else "END"
                annotations.append(("Optimizer.step#AdamW.step", stage, sim.device, clock[0]))
            load.step()
        load.free_some(len(load.blocks) // 2)  # so that the end is not the peak
        allocator = sim.allocator
        allocator.process_waiting(len(allocator.waiting))
        allocator.release_cached(program.stack())
        if sim.device == 0:
            allocator.malloc(512 << 20, 0, (0, 0), program.stack())  # does not fit
        for size in (700, 3 << 20, 5 << 20):  # live, and waiting for another stream at the end
            block = allocator.malloc(size, 0, (0, 0), program.stack())
            if block is not None and size != 700:
                allocator.record_stream(block, 0x5000_0000)
                allocator.free(block)
        block = load.blocks[-1]
        sim.note("annotate", block.address, block.requested, block.arena[2], program.stack(), "weight «w»")
        sim.note("snapshot", 0, allocator.requested, 0, None, "")
        for i, event in enumerate(sim.events):
            if event.action == "alloc":
                event.category = rng.choice(("parameter", "gradient", "activation", "unknown"))
                if i % 9 == 0:
                    event.forward = [f"  File \"train.py\", line {i}, in loss\n    y = f(x)\n", "  File \"a.py\"\n"]
    run = Run([sim.as_run() for sim in sims], annotations=annotations)
    with_stack = next(s for s in run.devices[0].segments if s.stack is not None)
    with_stack.forward = ["  File \"train.py\", line 1, in step\n"]
    next(b for s in run.devices[0].segments for b in s.blocks if b.state != "inactive").forward = ["  one line\n"]
    run.host = pinned_host_run(rng, clock, program)
    return run
