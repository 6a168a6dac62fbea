"""The GPUs of this machine: how full they are, who holds their memory, and what else NVIDIA's management library tells.

    from vramscope import devices

    for device in devices.all():
        print(device.name, device.memory().used)
    devices.select("GPU-8f6c,cuda:1")     # by number, UUID, PCI id, MIG, serial, or as PyTorch numbers them

Nothing here imports PyTorch, makes a CUDA context or takes memory of a card, but `preload`, whose purpose it is. Sizes
are bytes, times microseconds. **What is not known is None**, never 0, and `reasons` of the same object says why, by the
figure's name: "NOT_SUPPORTED", "NO_PERMISSION", "NOT_VISIBLE" (this container or system hides it) and so on, as
include/vramscope/reasons.def explains them.

Names and rules are those of NVML and CUDA as NVIDIA documents them; include/vramscope/devices.h has the whole story.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from dataclasses import dataclass
from typing import Any

from vramscope import _native, errors

__all__ = [
    "METRICS", "Account", "Device", "Driver", "Memory", "Process", "all", "ask_cuda", "close", "costs", "driver",
    "most_free", "preload", "refresh", "select", "text",
]

# name: (unit, what asking costs, meaning); the unit of a text is "TEXT". Cost: CHEAP, SLOW (asked at most once a
# second), LOCKS (programs on the card would wait meanwhile: not sampled here).
METRICS: dict[str, tuple[str, str, str]] = _native.METRICS


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a card. Where all are known, total = reserved + used + free and used = attributed + unattributed."""

    total: int | None
    reserved: int | None  # by the driver for itself; None with NVML's first call, which counts it as used
    used: int | None
    free: int | None
    attributed: int | None  # to the processes that NVML lists; None unless they were requested
    unattributed: int | None
    api: int  # which of NVML's two calls told it, 1 or 2; 0: none, it is the machine's memory
    is_shared: bool  # the machine's memory: shared with the host and all its programs
    is_approximate: bool  # memory of the card that the operating system manages (GH200)
    shared_with: int | None  # MIG: the first unit of those that share this memory, else the unit itself
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Process:
    """A process that holds memory of a card. Where it is not visible here (another container), names and texts are empty."""

    pid: int  # the driver's number: that of the host
    unit: int
    bytes: int | None
    protected_bytes: int | None
    kind: str  # "C" compute, "G" graphics, "C+G", "M" a client of MPS
    gpu_instance: int | None
    compute_instance: int | None
    is_visible: bool
    is_self: bool
    inner_pid: int | None  # its number inside its own container
    start_us: int | None  # since 1970
    user_id: int | None
    user: str
    name: str
    command: str  # may hold control characters
    container: str
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Account:
    """A process of the driver's own account (accounting mode), which may have ended."""

    pid: int
    is_running: bool
    peak_bytes: int | None  # the driver's own high-water mark
    gpu_utilization: int | None  # percent of its life
    memory_utilization: int | None
    time_us: int | None
    start_us: int | None
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver, and what kind of system this is."""

    library: str
    library_version: str
    driver_version: str
    kernel_version: str
    cuda_version: int | None  # 13000 is 13.0
    versions_differ: bool  # library and kernel module: after an upgrade, until the next boot
    is_simulated: bool
    is_wsl: bool
    is_pid_hidden: int | None  # this process lives in a pid namespace of its own
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Device:
    """A whole card, or a MIG device, as it was when it was listed. Its methods ask anew.

    Raises, in all of them: NotFoundError where the card is gone, DeviceError."""

    name: str
    uuid: str
    bus_id: str
    serial: str
    index: int  # NVML's number; may change at each boot, and is not always PyTorch's: see cuda_index
    is_mig: bool
    parent: int | None
    mig_index: int | None
    gpu_instance: int | None
    compute_instance: int | None
    is_divided: bool  # a card in MIG mode: programs run on its MIG devices
    is_simulated: bool
    is_unified: bool  # its memory is the machine's
    cuda_index: int | None  # the N of "cuda:N" in this process
    total_bytes: int | None
    reasons: dict[str, str]
    unit: int

    def memory(self, with_processes: bool = False) -> Memory:
        """How full it is. `with_processes` also lists its processes, for which NVML takes a lock (milliseconds)."""
        return Memory(**_library().memory(self._unit(), with_processes))

    def used_fast(self) -> int | None:
        """Used bytes, in one NVML call (about 10 us), for frequent queries."""
        return _library().used_fast(self.unit)

    def processes(self) -> list[Process]:
        """Who holds its memory, most first. Empty where NVML does not list them, which `may_list_processes` tells.

        NVML takes a lock (milliseconds), so not more often than a person can read."""
        return [Process(**row) for row in _library().processes(self._unit())["rows"]]

    def may_list_processes(self) -> bool:
        """Whether NVML lists processes, and this process sees the numbers that it lists."""
        found = _library().processes(self._unit())
        return found["count"] is not None and not found["may_miss"]

    def accounts(self) -> list[Account]:
        """Processes of the driver's account, where accounting mode is on."""
        return [Account(**row) for row in _library().accounts(self._unit())["rows"]]

    def metric(self, name: str) -> int | None:
        """A number of METRICS, in its unit; None: unknown. Raises ArgumentError for an unknown name."""
        return _library().metric(self._unit(), name.upper())[0]

    def metric_reason(self, name: str) -> str:
        """"KNOWN", or why `metric` has None."""
        return _library().metric(self._unit(), name.upper())[1]

    def text(self, name: str) -> str | None:
        """A text of METRICS; None: unknown."""
        return _library().text(self._unit(), name.upper())[0]

    def _unit(self) -> int:
        """Its number now: cards may have been listed anew meanwhile."""
        if not self.uuid:
            return self.unit
        unit = _library().with_uuid(self.uuid)
        if unit is None:
            raise errors.NotFoundError(f"{self.name} ({self.uuid}) is not there any more")
        return unit


# ---- one library for all, opened when it is first needed

_lock = threading.Lock()
_shared: _native.Devices | None = None
_knows_cuda = False  # CUDA's numbers were requested
_inherited: list[_native.Devices] = []  # a forked child must not close what its parent uses


def _library() -> _native.Devices:
    """CUDA's driver is not initialized for its numbers: children of a process where it is cannot use CUDA. Where PyTorch
    has done it, asking is free."""
    global _shared, _knows_cuda
    with _lock:
        if _shared is None:
            _shared, _knows_cuda = _native.Devices(), False
        elif _shared.is_stale():
            _shared.refresh()
            _knows_cuda = False
        if not _knows_cuda and _torch_has_cuda():
            _knows_cuda = True
            with contextlib.suppress(errors.Error):  # then the variables have to do
                _shared.ask_cuda()
        return _shared


def _torch_has_cuda() -> bool:
    is_initialized = getattr(getattr(sys.modules.get("torch"), "cuda", None), "is_initialized", None)
    return is_initialized is not None and is_initialized()


def _forget() -> None:
    global _shared, _lock
    if _shared is not None:
        _inherited.append(_shared)
    _shared, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def close() -> None:
    """Gives NVML back. The next question opens it again."""
    global _shared
    with _lock:
        if _shared is not None:
            _shared.close()
        _shared = None


def refresh() -> None:
    """Lists the cards anew, where they may have been divided (MIG) or come back."""
    _library().refresh()


def ask_cuda() -> None:
    """Initializes CUDA's driver in this process (no context) for its numbers: needed for "cuda:N" and `cuda_index` only where
    cards differ, CUDA_DEVICE_ORDER is not PCI_BUS_ID, and PyTorch has not used CUDA yet. After it, a child made by fork
    cannot use CUDA.

    Raises NotFoundError (no CUDA), DeviceError."""
    _library().ask_cuda()


def _device(unit: int) -> Device:
    return Device(**_library().info(unit), unit=unit)


# ---- questions


def all() -> list[Device]:
    """All cards, each followed by its MIG devices. Empty where there is no driver; `driver` says why.

    Raises DeviceError where there is a driver that does not answer."""
    try:
        return [_device(unit) for unit in range(_library().count())]
    except errors.NotFoundError:
        return []


def select(text: str | None = None) -> list[Device]:
    """The devices that `text` names: a list with commas of "0", "0:2" (MIG), "GPU-8f6c" (a UUID or its beginning),
    "83:00.0" (PCI), a serial number, "cuda:0" (as PyTorch numbers them), "all". None: all whole cards.

    Raises NotFoundError, ArgumentError (means nothing, or more than one; `offset` is where the entry begins),
    UnsupportedError ("cuda:0", where only CUDA knows that, see `ask_cuda`)."""
    return [_device(unit) for unit in _library().select(text)]


def most_free(cuda_only: bool = False) -> tuple[Device | None, int]:
    """The device with the most free memory on which programs can run, and how many bytes that is; (None, 0) where
    there is none.

    cuda_only: of those that CUDA, and so PyTorch, offers to this process."""
    try:
        unit, free = _library().most_free(cuda_only)
    except errors.NotFoundError:
        return None, 0
    return (None, 0) if unit is None else (_device(unit), free)


def driver() -> Driver:
    """Versions. Raises NotFoundError where there is no driver, DeviceError where it does not answer; `code` of the error
    is NVML's number, its text says what to do."""
    return Driver(**_library().driver())


def preload(cuda_index: int = 0) -> dict[str, Any]:
    """Makes CUDA's context of this process on "cuda:N" and keeps it, so that its memory is not in what is measured
    later.

    Returns {"bytes": by which the card's used memory grew (None: nobody tells), "us": how long it took, "was_there":
    it was there already}. Raises NotFoundError (no driver, no such card), DeviceMemoryError, DeviceError."""
    made = _library().preload(cuda_index)
    del made["reasons"]
    return made


def costs() -> list[dict[str, Any]]:
    """What each function of NVML cost this process so far, the most expensive first: function, calls, total_ns, most_ns,
    is_missing (this NVML does not have it)."""
    rows = _library().costs()
    for row in rows:
        del row["reasons"]
    return rows


def text() -> str:
    """A small table for people; a sentence where there is nothing to show."""
    try:
        found = [_device(unit) for unit in range(_library().count())]
    except errors.Error as error:
        return str(error)
    if not found:
        return "The driver runs, and there is no GPU."
    rows = [("", "GPU", "used", "total", "free"), *map(_row, found)]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    left = [[cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False)] for row in rows]
    right = [[cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)] for row in rows]
    return "\n".join("  ".join(words + figures) for words, figures in zip(left, right, strict=True))


def _row(device: Device) -> tuple[str, str, str, str, str]:
    memory = device.memory()
    used, total, free = ("unknown" if size is None else _native.bytes_text(size)
                         for size in (memory.used, memory.total, memory.free))
    number = f"{device.index}:{device.mig_index}" if device.is_mig else str(device.index)
    return number, device.name, used, total, free
