"""The GPUs of this machine: used and free memory, processes, and other figures of NVIDIA's management library (NVML).

    from vramscope import devices

    for device in devices.all():
        print(device.name, device.memory().used)
    devices.select("GPU-8f6c,cuda:1")     # by number, UUID, PCI id, MIG, serial, or as PyTorch numbers them

Nothing here imports PyTorch, creates a CUDA context or takes GPU memory, except `preload`, which does so on purpose. Sizes
are bytes, times microseconds. **An unknown figure is None**, never 0, and `reasons` of the same object says why, by the name
of the figure: "NOT_SUPPORTED", "NO_PERMISSION", "NOT_VISIBLE" (hidden by this container or system) and others, which
include/vramscope/reasons.def explains.

Names and rules are those of NVML and CUDA as NVIDIA documents them; include/vramscope/devices.h describes all of them.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from dataclasses import dataclass
from typing import Any

from vramscope import _native, errors
from vramscope._collector import Collector
from vramscope._sizes import parse_size

__all__ = [
    "METRICS", "Account", "Collector", "Device", "Driver", "Memory", "Process", "all", "ask_cuda", "close", "costs", "driver",
    "most_free", "pick", "preload", "refresh", "select", "text",
]

# name: (unit, cost, meaning); the unit of a text is "TEXT". Cost: CHEAP, SLOW (read at most once a second), LOCKS (programs on
# the GPU would wait meanwhile, so it is not read here).
METRICS: dict[str, tuple[str, str, str]] = _native.METRICS


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a GPU. If all are known, total = reserved + used + free and used = attributed + unattributed."""

    total: int | None
    reserved: int | None  # by the driver for itself; None with NVML's first call, which counts it as used
    used: int | None
    free: int | None
    attributed: int | None  # to the processes that NVML lists; None unless they were requested
    unattributed: int | None
    api: int  # the version of NVML's call, 1 or 2; 0: no call, because it is the machine's memory
    is_shared: bool  # the machine's memory: shared with the host and all its programs
    is_approximate: bool  # the operating system manages the GPU's memory (GH200)
    shared_with: int | None  # MIG: the first of the units that share this memory, else the unit itself
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Process:
    """A process with memory on a GPU. If it is not visible here (another container), its names and texts are empty."""

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
    is_pid_hidden: int | None  # this process is in a pid namespace of its own
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class Device:
    """A whole GPU or a MIG device. Attributes are those at the time of listing; methods query NVML again.

    All methods raise NotFoundError if the GPU has disappeared, and DeviceError."""

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
    is_divided: bool  # a GPU in MIG mode: programs run on its MIG devices
    is_simulated: bool
    is_unified: bool  # it uses the machine's memory
    cuda_index: int | None  # the N of "cuda:N" in this process
    total_bytes: int | None
    reasons: dict[str, str]
    unit: int

    def memory(self, with_processes: bool = False) -> Memory:
        """Its memory. `with_processes` also sums its processes, for which NVML takes a lock (milliseconds)."""
        return Memory(**_library().memory(self._unit(), with_processes))

    def used_fast(self) -> int | None:
        """Used bytes, in one NVML call (about 10 us), for frequent queries."""
        return _library().used_fast(self.unit)

    def processes(self) -> list[Process]:
        """The processes with memory on it, largest first. Empty if NVML does not list them (see `may_list_processes`).

        NVML takes a lock (milliseconds), so do not call this in a tight loop."""
        return [Process(**row) for row in _library().processes(self._unit())["rows"]]

    def may_list_processes(self) -> bool:
        """Whether NVML lists processes, with process ids that are visible here."""
        found = _library().processes(self._unit())
        return found["count"] is not None and not found["may_miss"]

    def accounts(self) -> list[Account]:
        """The processes in the driver's account, if its accounting mode is on."""
        return [Account(**row) for row in _library().accounts(self._unit())["rows"]]

    def metric(self, name: str) -> int | None:
        """A number of METRICS in its unit; None if it is unknown. Raises ArgumentError for a name that is not in METRICS."""
        return _library().metric(self._unit(), name.upper())[0]

    def metric_reason(self, name: str) -> str:
        """"KNOWN", or why `metric` returns None."""
        return _library().metric(self._unit(), name.upper())[1]

    def text(self, name: str) -> str | None:
        """A text of METRICS; None if it is unknown."""
        return _library().text(self._unit(), name.upper())[0]

    def _unit(self) -> int:
        """Its current number: `refresh` may have changed it."""
        if not self.uuid:
            return self.unit
        unit = _library().with_uuid(self.uuid)
        if unit is None:
            raise errors.NotFoundError(f"{self.name} ({self.uuid}) has disappeared")
        return unit


# ---- one connection for the process, opened when it is first needed

_lock = threading.Lock()
_shared: _native.Devices | None = None
_knows_cuda = False  # CUDA's numbers were requested
_inherited: list[_native.Devices] = []  # a forked child must not close what its parent uses


def _library() -> _native.Devices:
    """The connection to NVML. It does not initialize CUDA's driver to learn CUDA's numbers, because forked children could not
    use CUDA then; if PyTorch has already initialized it, the driver is asked."""
    global _shared, _knows_cuda
    with _lock:
        if _shared is None:
            _shared, _knows_cuda = _native.Devices(), False
        elif _shared.is_stale():
            _shared.refresh()
            _knows_cuda = False
        if not _knows_cuda and _torch_has_cuda():
            _knows_cuda = True
            with contextlib.suppress(errors.Error):  # then the numbers come from the environment variables
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
    """Closes NVML. The next call that needs it opens it again."""
    global _shared
    with _lock:
        if _shared is not None:
            _shared.close()
        _shared = None


def refresh() -> None:
    """Lists the GPUs again, for example after MIG was switched on or a lost GPU came back."""
    _library().refresh()


def ask_cuda() -> None:
    """Initializes CUDA's driver in this process (without a context) and asks it for its numbers. "cuda:N" and `cuda_index` need
    this only if the GPUs differ in model, CUDA_DEVICE_ORDER is not PCI_BUS_ID, and PyTorch has not used CUDA yet. Afterwards
    forked children cannot use CUDA.

    Raises NotFoundError (no CUDA), DeviceError."""
    _library().ask_cuda()


def _device(unit: int) -> Device:
    return Device(**_library().info(unit), unit=unit)


# ---- questions


def all() -> list[Device]:
    """All GPUs, each followed by its MIG devices. Empty without a driver; `driver` says why.

    Raises DeviceError if there is a driver that does not answer."""
    try:
        return [_device(unit) for unit in range(_library().count())]
    except errors.NotFoundError:
        return []


def select(text: str | None = None) -> list[Device]:
    """The devices that `text` names, a comma-separated list of "0", "0:2" (MIG), "GPU-8f6c" (a UUID or its beginning),
    "83:00.0" (PCI), a serial number, "cuda:0" (PyTorch's number) or "all". None: all whole GPUs.

    Raises NotFoundError, ArgumentError (an entry that is invalid or ambiguous; `offset` is where it begins), and
    UnsupportedError ("cuda:0" if only CUDA's driver knows its numbers; see `ask_cuda`)."""
    return [_device(unit) for unit in _library().select(text)]


def most_free(cuda_only: bool = False) -> tuple[Device | None, int]:
    """The device with the most free memory, of those on which programs can run, and its free bytes; (None, 0) without a GPU.

    cuda_only: only devices that CUDA, and so PyTorch, offers to this process."""
    try:
        unit, free = _library().most_free(cuda_only)
    except errors.NotFoundError:
        return None, 0
    return (None, 0) if unit is None else (_device(unit), free)


def pick(count: int = 1, *, free: int | str = 0, among: str | None = None) -> list[Device]:
    """The `count` devices with the most free memory, the one with the most first, of those on which programs can run and that
    CUDA_VISIBLE_DEVICES does not hide, as `vramscope pick` chooses them.

        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(device.uuid for device in devices.pick(2, free="20GiB"))

    free   only devices with at least so many free bytes; also "20GiB"
    among  only these devices, as for `select`

    More than one: whole GPUs alone, because a process can use only one MIG device.

    Raises NotFoundError with a sentence that says what there is, if fewer devices suit; ArgumentError, and UnsupportedError
    if only CUDA's driver knows which GPUs CUDA_VISIBLE_DEVICES names (`ask_cuda`)."""
    if not 1 <= count <= 512:
        raise errors.ArgumentError(f"count is a number from 1 to 512, not {count}")
    try:
        size = parse_size(free)
    except ValueError as error:
        raise errors.ArgumentError(str(error)) from None
    return [_device(unit) for unit in _library().pick(count, size, among)]


def driver() -> Driver:
    """The versions of driver, NVML and CUDA. Raises NotFoundError without a driver, DeviceError if it does not answer; `code`
    of the error is NVML's number, and its text says what to do."""
    return Driver(**_library().driver())


def preload(cuda_index: int = 0) -> dict[str, Any]:
    """Creates CUDA's context of this process on "cuda:N" and keeps it, so that later measurements do not include its memory.

    Returns {"bytes": by how much the used memory of the GPU grew (None: unknown), "us": how long it took, "was_there": whether
    the context existed before}. Raises NotFoundError (no driver, no such GPU), DeviceMemoryError, DeviceError."""
    made = _library().preload(cuda_index)
    del made["reasons"]
    return made


def costs() -> list[dict[str, Any]]:
    """The time that each function of NVML has taken in this process so far, most expensive first: function, calls, total_ns,
    most_ns, is_missing (this NVML does not have it)."""
    rows = _library().costs()
    for row in rows:
        del row["reasons"]
    return rows


def text() -> str:
    """A small table of the GPUs as text; a sentence if there is none."""
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
