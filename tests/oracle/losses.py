"""Recordings that lost events: runs, their files with gaps, and what a reader has to make of them (docs/formats/vram.md, "Losses"),
derived naively from the events before a gap and the state after it."""

import random
from collections import defaultdict
from dataclasses import dataclass, replace

import ranges
from run import DeviceRun, Event, Run
from simulate import EPOCH_US, Program, SimulatedDevice, Workload
from vram_writer import Writer


class LoggedDevice(SimulatedDevice):
    """Its events also go to a log that several devices share."""

    def __init__(self, log, *arguments, **settings):
        self.log = log
        super().__init__(*arguments, **settings)

    def _record(self, action, address, size, stream, pool, stack, block):
        super()._record(action, address, size, stream, pool, stack, block)
        is_block = action in ("alloc", "free_requested", "free_completed")
        self.log.append((self.device, self.events[-1], block.size if is_block else 0))

    def note(self, *arguments):
        super().note(*arguments)
        self.log.append((self.device, self.events[-1], 0))


@dataclass
class Gap:
    first: int  # in the log
    end: int
    time: int  # of the state
    state: list


@dataclass
class Lossy:
    log: list  # (device, event, rounded)
    devices: int
    gaps: list
    end: list

    @property
    def lost(self):
        return sum(gap.end - gap.first for gap in self.gaps)


def lossy_run(seed, steps=120, gaps=3):
    """A run of one or two devices whose steps alternate; gaps begin anywhere and end between two steps."""
    rng, log, clock = random.Random(seed), [], [EPOCH_US + seed * 1000]
    sims = [LoggedDevice(log, device, rng, clock, base=0x7F0000000000, limit=rng.choice((None, 128 << 20)),
                         expandable=rng.random() < 0.5) for device in range(rng.choice((1, 2)))]
    streams, pools = [0, 0x50000000][: rng.randint(1, 2)], [(0, 0), (0, 1)][: rng.randint(1, 2)]
    loads = [Workload(sim, rng, Program(rng), streams, pools) for sim in sims]
    points = []
    for _ in range(steps):
        rng.choice(loads).step()
        points.append((len(log), clock[0], [s for sim in sims for s in sim.segments()]))
    found, at = [], 0
    for end, time, state in sorted(rng.sample(points, gaps), key=lambda point: point[0]):
        first = rng.randint(at, end)
        if first < end:
            found.append(Gap(first, end, time, state))
            at = end
    return Lossy(log, len(sims), found, points[-1][2])


def write(run, ends=True, states=True):
    """The file. Without `states` it ends at the first gap, as where the process was killed there."""
    w, lost, at = Writer(), 0, 0
    for gap in run.gaps:
        for entry in run.log[at:gap.first]:
            w.event(*entry)
        lost += gap.end - gap.first
        w.lost(lost, run.log[gap.first][1].time)
        if not states:
            return w.finish()
        w.state(1, gap.time, gap.state)
        at = gap.end
    for entry in run.log[at:]:
        w.event(*entry)
    if ends:
        w.state(2, run.log[-1][1].time, run.end)
    return w.finish()


# ---- what the trace is


def known(stack):
    return stack.frames if stack is not None and stack.frames else None


class Memory:
    """The live blocks and the segments of one device, by its events."""

    def __init__(self):
        self.live = {}  # address: [size, requested, stream, pool, frames, is pending]
        self.whole = {}  # segments that are not expandable: (address, size, stream, pool)
        self.mapped = defaultdict(list)  # ranges by (stream, pool)

    def follow(self, event, rounded):
        owner, part = (event.stream, event.pool), (event.address, event.address + event.size)
        if event.action == "alloc":
            self.live[event.address] = [rounded, event.size, *owner, known(event.stack), False]
        elif event.action == "free_requested":
            self.live[event.address][5] = True
        elif event.action == "free_completed":
            del self.live[event.address]
        elif event.action == "segment_alloc":
            self.whole[event.address] = (event.size, *owner)
        elif event.action == "segment_free":
            del self.whole[event.address]
        elif event.action == "segment_map":
            self.mapped[owner] = ranges.joined([*self.mapped[owner], part])
        elif event.action == "segment_unmap":
            self.mapped[owner] = ranges.without_range(self.mapped[owner], part)

    @classmethod
    def of(cls, segments):
        memory = cls()
        for s in segments:
            if s.expandable:
                memory.mapped[s.stream, s.pool] = ranges.joined([*memory.mapped[s.stream, s.pool], (s.address, s.address + s.size)])
            else:
                memory.whole[s.address] = (s.size, s.stream, s.pool)
            for b in s.blocks:
                if b.state != "inactive":
                    pending = b.state == "active_pending_free"
                    memory.live[b.address] = [b.size, b.requested, s.stream, s.pool, known(b.stack), pending]
        return memory


def is_same(old, new):
    return old[:4] == new[:4] and not (old[5] and not new[5]) and (old[4] == new[4] or old[4] is None or new[4] is None)


def differences(old, new, time, segments):
    """(event, rounded) that lead from one memory to the other."""
    stacks = {b.address: b.stack if known(b.stack) else None for s in segments for b in s.blocks}
    frees, allocs = [], []
    for address in sorted(old.live.keys() | new.live.keys()):
        before, after = old.live.get(address), new.live.get(address)
        base = Event("", address, 0, time=time)
        if before and after and is_same(before, after):
            if after[5] and not before[5]:
                frees.append((replace(base, action="free_requested", size=before[1], stream=before[2], pool=before[3]), before[0]))
            continue
        if before:
            gone = replace(base, size=before[1], stream=before[2], pool=before[3])
            frees += [(replace(gone, action=action), before[0])
                      for action in ("free_requested", "free_completed")[before[5]:]]
        if after:
            come = replace(base, size=after[1], stream=after[2], pool=after[3])
            allocs.append((replace(come, action="alloc", stack=stacks[address]), after[0]))
            if after[5]:
                allocs.append((replace(come, action="free_requested"), after[0]))
    return frees + segment_changes(old, new, time) + allocs


def segment_changes(old, new, time):
    def of(action, owner, start, end):
        return Event(action, start, end - start, owner[0], time, owner[1]), 0

    gone, come = [], []
    for address, (size, *owner) in old.whole.items():
        if new.whole.get(address) != (size, *owner):
            gone.append(of("segment_free", owner, address, address + size))
    for address, (size, *owner) in new.whole.items():
        if old.whole.get(address) != (size, *owner):
            come.append(of("segment_alloc", owner, address, address + size))
    for owner in old.mapped.keys() | new.mapped.keys():
        for into, action, mine, other in ((gone, "segment_unmap", old, new), (come, "segment_map", new, old)):
            left = mine.mapped[owner]
            for part in other.mapped[owner]:
                left = ranges.without_range(left, part)
            into += [of(action, owner, *part) for part in left]
    return sorted(gone, key=segment_order) + sorted(come, key=segment_order)


def segment_order(change):
    return change[0].action, change[0].address


def expected(run, ends=True, states=True):
    """The Run that a reader sees, and for each device the number of events before its first gap."""
    traces, memories = [[] for _ in range(run.devices)], [Memory() for _ in range(run.devices)]
    before, at = None, 0
    segments = run.end

    def follow(device, event, rounded):
        traces[device].append(event)
        memories[device].follow(event, rounded)

    for gap in run.gaps:
        for entry in run.log[at:gap.first]:
            follow(*entry)
        before = before or [len(trace) for trace in traces]
        if not states:
            return traces, before
        for device in range(run.devices):
            state = [s for s in gap.state if s.device == device]
            for event, rounded in differences(memories[device], Memory.of(state), gap.time, state):
                follow(device, event, rounded)
        at = gap.end
    for entry in run.log[at:]:
        follow(*entry)
    made = Run([DeviceRun(trace, [s for s in segments if s.device == i]) for i, trace in enumerate(traces)])
    return made, before
