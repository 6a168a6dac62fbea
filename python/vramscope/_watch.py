"""Measures the GPU memory of a piece of a program: exact figures from a scope, and owners from PyTorch's history.

The pytest plugin and the notebook magic use it. Sizes are bytes.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from vramscope import _pytorch
from vramscope.fastai import GPUMemTrace
from vramscope.scopes import Figures, Scope

if TYPE_CHECKING:
    from vramscope.query import Snapshot

__all__ = ["Watch", "why_not"]

_MOST_EVENTS = 1_000_000


_SIMULATION = "a simulated one is enough: pytest --vramscope-simulate H100, or vramscope dryrun -- COMMAND"


def why_not() -> str | None:
    """A sentence why GPU memory cannot be measured here; None if it can."""
    torch, failure = _pytorch.load()
    if torch is None:
        return failure if find_spec("torch") is None else f"{failure}; on a GPU it would: {_SIMULATION}"
    if not torch.cuda.is_available():
        return f"there is no GPU here; {_SIMULATION}"
    return None


class Watch:
    """Measures from `__enter__` to `__exit__` on each of `devices`; None is the device that is current at the beginning. For the
    devices in `sampled` it also samples NVML's figures of the whole GPU, every millisecond.

    owners=True records PyTorch's history meanwhile, so that `owners()` can name lines. If the program already records one, that
    is read and left unchanged; earlier events are told apart by their time.
    """

    def __init__(self, devices: Iterable[int | None] = (None,), owners: bool = True, sampled: Iterable[int | None] = ()):
        self.scopes: dict[int, Scope] = {}
        self.traces: dict[int, GPUMemTrace] = {}
        self.current: int = 0  #: the device that None stands for
        self._wanted = list(devices)
        self._sampled = list(sampled)
        self._keeps_owners = owners
        self._began_history = False
        self._began_us = 0
        self._ooms: dict[int, int] = {}  # of each device, at the beginning
        self._snapshot: Snapshot | None = None
        self._pickle: bytes | None = None

    def __enter__(self) -> Self:
        import torch

        torch.cuda.init()
        self.current = torch.cuda.current_device()
        if self._keeps_owners:
            self._begin_history()
        self._began_us = time.time_ns() // 1000
        self._ooms = {device: _ooms_of(device) for device in map(self.number, self._wanted)} if self._keeps_owners else {}
        for device in dict.fromkeys(self.number(device) for device in self._wanted):
            torch.cuda.synchronize(device)
            self.scopes[device] = Scope(device)
        for device in dict.fromkeys(self.number(device) for device in self._sampled):
            self.traces[device] = GPUMemTrace(silent=True, kind="device", device=device)
        for scope in self.scopes.values():
            scope.begin()
        return self

    def __exit__(self, *error: object) -> None:
        import torch

        for device, scope in self.scopes.items():
            with suppress(Exception):  # a device-side assertion; the figures of the allocator are still right
                torch.cuda.synchronize(device)
            scope.end()
        for trace in self.traces.values():
            trace.stop()

    def number(self, device: int | None) -> int:
        return self.current if device is None else device

    def figures(self, kind: str, device: int | None = None) -> Figures:
        """The figures of one kind of bytes; "device": of the whole GPU, sampled."""
        number = self.number(device)
        return self.traces[number].figures() if kind == "device" else self.scopes[number].of(kind)

    def note(self, kind: str, device: int | None = None) -> str:
        """Why these figures are not exact; "" if they are."""
        number = self.number(device)
        return self.traces[number].note if kind == "device" else self.scopes[number].note

    def close(self) -> None:
        """Stops recording the history, if this object started it. Call `owners` before this."""
        if self._began_history:
            self._began_history = False
            from vramscope import memory

            memory.record_memory_history(enabled=None)

    # ---- owners

    def _begin_history(self) -> None:
        import torch

        from vramscope import memory

        enabled = getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)
        try:
            if not enabled():
                memory.record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=_MOST_EVENTS)
                self._began_history = True
        except RuntimeError:  # a back end without a history, such as cudaMallocAsync
            self._keeps_owners = False

    def snapshot(self) -> Snapshot | None:
        """The history at the first call of this method, as a `vramscope.Snapshot`; None if none was recorded."""
        if self._snapshot is None and self._keeps_owners:
            import vramscope

            self._snapshot = vramscope.open(self.snapshot_bytes())
        return self._snapshot

    def snapshot_bytes(self) -> bytes:
        """That history as the pickle that PyTorch would write."""
        from vramscope import memory

        if self._pickle is None:
            self._pickle = pickle.dumps(memory.snapshot())
        return self._pickle

    def owners(self, of: str, device: int | None = None, top: int = 5) -> dict[str, Any] | None:
        """The owners of the memory, as the reply of the query `live` by line. of="peak": at the peak since the beginning;
        of="left": allocated since the beginning and still live. None if no history was recorded."""
        snapshot = self.snapshot()
        if snapshot is None:
            return None
        device = self.number(device)
        since = "start" if self._began_history else f"@{self._began_us}"
        if of == "left":
            left: dict[str, Any] = snapshot.query(
                "live", device=device, at="end", since=since, measure="grown", by="line", top=top
            )
            return left
        at = "peak" if self._began_history else self._peak_since(snapshot, device, since)
        at_peak: dict[str, Any] = snapshot.query("live", device=device, at=at, by="line", top=top)
        return at_peak

    def inventory(self, device: int | None = None) -> dict[str, Any] | None:
        """What was allocated since the beginning and was live at the peak, as the reply of the query `inventory`, with the peak
        of `figures` above its value at the beginning, and the out-of-memory errors since. The peak of reserved bytes depends on
        what was cached before, so it is None. Returns None if no history was recorded."""
        snapshot = self.snapshot()
        if snapshot is None:
            return None
        device = self.number(device)
        figures = self.figures("allocated", device)
        known = {"peak_allocated_bytes": figures.peak - figures.start, "peak_reserved_bytes": None,
                 "ooms": _ooms_of(device) - self._ooms[device]}
        if not any(entry["device"] == device and entry["events"] for entry in snapshot.query("info")["devices"]):
            return {"schema": 1, "method": "inventory", "device": device, **known, "complete": True, "frames": [], "stacks": []}
        since = "start" if self._began_history else f"@{self._began_us}"
        at = "peak" if self._began_history else self._peak_since(snapshot, device, since)
        return {**snapshot.query("inventory", device=device, at=at, since=since), **known}

    def _peak_since(self, snapshot: Snapshot, device: int, since: str | int) -> int:
        """The event with the most requested bytes from `since` on, found by repeatedly narrowing the interval of the curve that
        contains it."""
        until: str | int = "end"
        while True:
            reply = snapshot.query("timeline", device=device, axis="event", points=256, **{"from": since, "to": until})
            columns = reply["columns"]
            highs = columns["requested_high_bytes"]
            piece = max(range(len(highs)), key=highs.__getitem__)
            end: int = columns["event"][piece]
            begin: int = columns["event"][piece - 1] if piece else reply["from"]["event"]
            if end - begin <= 1 or (begin, end) == (since, until):
                return end
            since, until = begin, end


def _ooms_of(device: int) -> int:
    from vramscope import memory

    errors: int = memory.memory_stats(device).get("num_ooms", 0)
    return errors


def owners_text(reply: dict[str, Any] | None, indent: str = "  ") -> list[str]:
    """The lines of a printed table: bytes and owner, largest first."""
    from vramscope._sizes import bytes_text

    if reply is None:
        return [indent + "unknown: PyTorch keeps no history with this allocator"]
    lines = [f"{indent}{bytes_text(group['bytes']):>10}  {group['label']}" for group in reply["groups"]]
    rest = reply["rest"]
    if rest["groups"]:
        lines.append(f"{indent}{bytes_text(rest['bytes']):>10}  in {rest['groups']} more places")
    return lines or [indent + "nothing"]


def device_text(device: int) -> str:
    """ "cuda:0, NVIDIA H100 80GB HBM3 (simulated)"."""
    return f"cuda:{device}, {sys.modules['torch'].cuda.get_device_name(device)}"
