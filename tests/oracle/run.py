"""A recorded run, free of any file format: what happened on each device and what is left at the end.

The simulator makes runs, shapes.py turns a run into the plain data of any age of PyTorch. Identity matters: two events
that hold the same Stack object came from one captured traceback and share one list in the file; equal frames of
different stacks share one dict.
"""

from dataclasses import dataclass, field, replace

DEFAULT_POOL = (0, 0)


class Stack:
    """One captured traceback, innermost frame first. Frames are (name, filename, line)."""

    __slots__ = ("frames",)

    def __init__(self, frames):
        self.frames = tuple(frames)

    def __repr__(self):
        return f"Stack({len(self.frames)} frames, {self.frames[:1]})"


@dataclass
class Event:
    action: str
    address: int  # of an out-of-memory event: the driver's free bytes
    size: int
    stream: int = 0
    time: int = 0
    pool: tuple = DEFAULT_POOL
    stack: object = None  # Stack, or None where nothing was captured
    context: str = "N/A"
    metadata: str = ""
    forward: object = None  # list of str
    category: object = None


@dataclass
class BlockState:
    address: int
    size: int
    requested: int
    state: str
    stack: object = None
    forward: object = None


@dataclass
class SegmentState:
    device: int
    address: int
    size: int
    stream: int
    kind: str  # "large" or "small"
    pool: tuple
    expandable: bool
    blocks: list
    stack: object = None
    forward: object = None
    counter: int = -1


@dataclass
class DeviceRun:
    events: list
    segments: list


@dataclass
class Run:
    devices: list  # DeviceRun, index = device number
    host: DeviceRun = field(default_factory=lambda: DeviceRun([], []))
    annotations: list = field(default_factory=list)  # (name, stage, device, time)
    conf: str = ""
    extra_settings: dict = field(default_factory=dict)

    def recorded(self, first=0, skip=()):
        """The same run as a recorder would have kept it that began at entry `first` of each device, or that was told
        to leave some actions out. The end state stays whole."""

        def window(device):
            return replace(device, events=[e for e in device.events[first:] if e.action not in skip])

        return replace(self, devices=[window(device) for device in self.devices])
