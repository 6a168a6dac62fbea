"""One form for the snapshots of every age.

PyTorch has written the same facts in a dozen shapes since 1.12. This module fills in what a shape leaves out, by the
rules every reader has to follow, so that the figures (truth.py) are written once:

    requested size of a block   its own key, else the newest history entry's real_size, else its size
    address of a block          its own key, else the segment's address plus the sizes of the blocks before it
    frames                      its own key, else the newest history entry's, else none
    addresses                   unsigned 64-bit numbers; the C++ writer shows those of 2^63 and more as negative

A device is listed when it has a segment or an event. Pinned host memory is a list of its own, never a device.
"""

import re
from dataclasses import dataclass, field

from frames import BORDER, Frames

ADDRESS_MASK = 2**64 - 1
SNAPSHOT_KEYS = {
    "segments",
    "device_traces",
    "traces",
    "allocator_settings",
    "external_annotations",
    "host_segments",
    "host_traces",
}
HOST = -1
ACTIVE_STATES = {"active_allocated", "active_pending_free"}
KNOWN_STATES = ACTIVE_STATES | {"inactive"}
GROWS = {"segment_alloc", "segment_map"}
SHRINKS = {"segment_free", "segment_unmap"}


class NotASnapshot(Exception):
    """Plain data, but not the data of a memory snapshot."""


@dataclass
class Block:
    address: int
    size: int
    requested: int
    state: str
    stack: tuple
    has_stack: bool
    has_address: bool = True

    @property
    def active(self):
        return self.state in ACTIVE_STATES

    @property
    def end(self):
        return self.address + self.size


@dataclass
class Segment:
    device: int
    address: int
    total: object  # None where the file does not say
    stream: int
    pool: object  # pair of numbers, None where the age has no pools
    kind: object
    expandable: object
    stack: tuple
    blocks: list
    claims: dict  # the sums the file itself states, by the name of the report's figure

    @property
    def end(self):
        size = self.total if self.total is not None else sum(b.size for b in self.blocks)
        return self.address + size


@dataclass
class Entry:
    """One line of a trace."""

    action: str
    address: object  # None for an out-of-memory entry
    size: int
    stream: int
    time: object
    device_free: object
    pool: object
    stack: tuple
    has_stack: bool


@dataclass
class Memory:
    """One device, or the pinned host memory."""

    device: int
    segments: list = field(default_factory=list)
    entries: list = field(default_factory=list)
    frames: object = None  # frames.Frames of the whole snapshot

    @property
    def blocks(self):
        return [block for segment in self.segments for block in segment.blocks]


@dataclass
class Snapshot:
    devices: dict  # device number -> Memory
    host: object  # Memory or None
    ring_wrapped: bool = False
    settings: dict = field(default_factory=dict)


def end_sums(blocks):
    """The six figures of a set of blocks, segments excepted."""
    return {
        "reserved_bytes": sum(b.size for b in blocks),
        "allocated_bytes": sum(b.size for b in blocks if b.state == "active_allocated"),
        "active_bytes": sum(b.size for b in blocks if b.active),
        "requested_bytes": sum(b.requested for b in blocks if b.active),
        "blocks": len(blocks),
    }


def unsigned(value):
    return value & ADDRESS_MASK


def forward_lines(texts):
    """The frames that the lines of a traceback name, innermost first."""
    found = [re.fullmatch(r' {0,3}File "(.*)", line (\d+)(?:, in (.*))?', line) for text in texts or [] for line in text.split("\n")]
    return [(m[3] or "", m[1], int(m[2])) for m in reversed(found) if m is not None and int(m[2]) > 0]


def stack_of(holder):
    """The identity of a stack: name, file and line of each frame; after a border those of the forward pass."""
    frames = holder.get("frames")
    recorded = tuple((f.get("name", ""), f.get("filename", ""), f.get("line", 0)) for f in frames or [])
    forward = forward_lines(holder.get("forward_frames")) if frames is not None else []
    return (*recorded, BORDER, *forward) if forward else recorded


def read_block(block, running_address):
    history = block.get("history") or [{}]
    newest = history[0]
    holder = block if "frames" in block else newest
    return Block(
        address=unsigned(block.get("address", running_address)),
        size=block["size"],
        requested=block.get("requested_size", newest.get("real_size", block["size"])),
        state=block["state"],
        stack=stack_of(holder),
        has_stack="frames" in holder,
        has_address="address" in block,
    )


def read_segment(segment, device):
    address = unsigned(segment["address"])
    blocks, running = [], address
    for block in segment["blocks"]:
        blocks.append(read_block(block, running))
        running += block["size"]
    claims = {
        "reserved_bytes": segment.get("total_size"),
        "allocated_bytes": segment.get("allocated_size"),
        "active_bytes": segment.get("active_size"),
        "requested_bytes": segment.get("requested_size"),
    }
    pool = segment.get("segment_pool_id")
    return Segment(
        device=device,
        address=address,
        total=segment.get("total_size"),
        stream=segment.get("stream", 0),
        pool=tuple(pool) if pool is not None else None,
        kind=segment.get("segment_type"),
        expandable=segment.get("is_expandable"),
        stack=stack_of(segment),
        blocks=blocks,
        claims={name: value for name, value in claims.items() if value is not None},
    )


def read_entry(entry):
    pool = entry.get("pool_id")
    return Entry(
        action=entry["action"],
        address=unsigned(entry["addr"]) if "addr" in entry else None,
        size=entry["size"],
        stream=entry.get("stream", 0),
        time=entry.get("time_us"),
        device_free=entry.get("device_free"),
        pool=tuple(pool) if pool is not None else None,
        stack=stack_of(entry),
        has_stack="frames" in entry,
    )


def flat_entries(traces):
    """Host traces are one list; a list of lists, as devices have, is read the same."""
    for item in traces:
        if isinstance(item, list):
            yield from item
        else:
            yield item


def as_dict(data):
    """The dict shape of a top-level value; a bare list holds the segments."""
    if isinstance(data, list):
        if not all(isinstance(item, dict) for item in data):
            raise NotASnapshot("a list of something else than segments")
        return {"segments": data}
    if not isinstance(data, dict):
        raise NotASnapshot(f"a {type(data).__name__} at the top")
    if data and not SNAPSHOT_KEYS & data.keys():
        raise NotASnapshot("a dict with none of a snapshot's keys")
    return data


def normalise(data):
    """Plain data of any age -> Snapshot."""
    top = as_dict(data)
    devices = {}

    def memory(device):
        return devices.setdefault(device, Memory(device))

    for segment in top.get("segments", []):
        device = segment.get("device", 0)
        memory(device).segments.append(read_segment(segment, device))
    for device, trace in enumerate(top.get("device_traces", [])):
        if trace:
            memory(device).entries.extend(read_entry(entry) for entry in trace)

    host = Memory(
        HOST,
        [read_segment(segment, HOST) for segment in top.get("host_segments", [])],
        [read_entry(entry) for entry in flat_entries(top.get("host_traces", []))],
    )
    everything = [*devices.values(), host]
    entries = [entry for one in everything for entry in one.entries]
    segments = [one for memory in everything for one in memory.segments]
    stacks = [one.stack for memory in everything for one in (*memory.blocks, *memory.entries)]
    known = Frames(stacks + [segment.stack for segment in segments], len(entries))
    for one in everything:
        one.frames = known
    settings = top.get("allocator_settings") or {}
    return Snapshot(
        devices=dict(sorted(devices.items())),
        host=host if host.segments or host.entries else None,
        ring_wrapped=settings.get("trace_alloc_overflowed") is True,
        settings=settings,
    )
