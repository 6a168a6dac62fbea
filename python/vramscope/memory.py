"""PyTorch's memory functions, whoever allocates.

Each is what torch.cuda.memory has under that name, with the same arguments and results. Where vramscope's own allocator
serves PyTorch (`vramscope.torch.use_allocator`), which PyTorch's functions refuse, it answers; else the call goes
through to PyTorch. `total_reserved_allocated_free` and `free_tensor` are in addition.

Sizes are bytes. `device` is a number, "cuda:1", a torch.device, or None for the current one.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vramscope import _cards
from vramscope.scopes import device_number

__all__ = [
    "Freed", "MemoryFigures", "dump_snapshot", "empty_cache", "free_tensor", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "record_memory_history", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "snapshot", "total_reserved_allocated_free",
]


def _ours(device: Any = None) -> tuple[Any, int]:
    """(vramscope's own allocator of that device, or None where PyTorch's serves; the device's number)."""
    number = device_number(device)
    module = sys.modules.get("vramscope.torch")
    return (None if module is None else module.active_allocator(number)), number


def _cuda() -> Any:
    """torch.cuda. Raises RuntimeError, as PyTorch does, where PyTorch is there without CUDA, and ImportError without
    PyTorch."""
    import torch

    return torch.cuda


def _has_torch() -> bool:
    """Has the program imported PyTorch? Without that CUDA is not used by it."""
    return sys.modules.get("torch") is not None


# ---- statistics


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """{group: {pool: {metric: figure}}, scalar: figure}, as torch.cuda.memory_stats_as_nested_dict; {} while CUDA is
    not used."""
    allocator, number = _ours(device)
    stats: dict[str, Any] = {}
    if allocator is not None:
        stats = allocator.memory_stats(number)
    elif _has_torch() and _cuda().is_initialized():
        stats = _cuda().memory_stats_as_nested_dict(number)
    return stats


def memory_stats(device: Any = None, *, nested: bool = False) -> dict[str, Any]:
    """{"allocated_bytes.all.peak": 1234, ...}, sorted, as torch.cuda.memory_stats; {} while CUDA is not used.

    nested: as `memory_stats_as_nested_dict`.
    """
    stats = memory_stats_as_nested_dict(device)
    if nested:
        return stats
    flat: list[tuple[str, Any]] = []
    _flatten("", stats, flat)
    return OrderedDict(sorted(flat))


def _flatten(prefix: str, stats: Any, to: list[tuple[str, Any]]) -> None:
    if not isinstance(stats, dict):
        to.append((prefix, stats))
        return
    for name, inner in stats.items():
        _flatten(f"{prefix}.{name}" if prefix else str(name), inner, to)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Resets peaks to what is allocated now. Open scopes keep theirs."""
    allocator, number = _ours(device)
    if allocator is not None:
        allocator.reset_peak(number)
    else:
        _cuda().reset_peak_memory_stats(number)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """The sums (`allocated`, `freed`, `num_...`) begin anew at 0."""
    allocator, number = _ours(device)
    if allocator is not None:
        allocator.reset_accumulated(number)
    else:
        _cuda().reset_accumulated_memory_stats(number)


def empty_cache() -> None:
    """Releases cached memory to the driver, on every device."""
    allocator, _ = _ours()
    if allocator is not None:
        allocator.empty_cache()
    if _has_torch() and _cuda().is_initialized():
        _cuda().empty_cache()


class MemoryFigures(NamedTuple):
    """Bytes of a device.

    total      of the card
    reserved   of that, what this process' allocator has of the driver
    allocated  the used part
    free       reserved - allocated: free inside the cache, to be handed out again without asking the driver
    """

    total: int
    reserved: int
    allocated: int
    free: int


def total_reserved_allocated_free(device: Any = None) -> MemoryFigures:
    """The four figures that people look for first. All 0 without a GPU; the last three while CUDA is not used."""
    stats = memory_stats_as_nested_dict(device)
    reserved, allocated = (stats.get(group, {}).get("all", {}).get("current", 0)
                           for group in ("reserved_bytes", "allocated_bytes"))
    room = _cards.room(device_number(device))
    return MemoryFigures(0 if room is None else room.total, reserved, allocated, reserved - allocated)


# ---- the summary for people

_BYTES = ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNTS = (" ", "K", "M")
_ROWS = (
    ("allocated_bytes", "Allocated memory", True), ("active_bytes", "Active memory", True),
    ("requested_bytes", "Requested memory", True), ("reserved_bytes", "GPU reserved memory", True),
    ("inactive_split_bytes", "Non-releasable memory", True), ("allocation", "Allocations", False),
    ("active", "Active allocs", False), ("segment", "GPU reserved segments", False),
    ("inactive_split", "Non-releasable allocs", False),
)
_SINGLE_ROWS = (("oversize_allocations", "Oversize allocations"), ("oversize_segments", "Oversize GPU segments"))
_METRICS = ("current", "peak", "allocated", "freed")
_WIDTH = 75


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of the statistics, as torch.cuda.memory_summary prints it. abbreviated: without the two pools."""
    stats = memory_stats_as_nested_dict(device)
    lines = [
        "=" * _WIDTH,
        f"{'':18}PyTorch CUDA memory summary, device ID {device_number(device):<17d} ",
        "-" * _WIDTH,
        (f"            CUDA OOMs: {stats.get('num_ooms', 0):<12d} |"
         f"        cudaMalloc retries: {stats.get('num_alloc_retries', 0):<8d}  "),
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for group, name, is_bytes in _ROWS:
        lines += ["-" * _WIDTH, *_rows_of(stats.get(group, {}), name, is_bytes, abbreviated)]
    for group, name in _SINGLE_ROWS:
        lines += ["-" * _WIDTH, *_rows_of({"all": stats.get(group, {})}, name, False, True)]
    lines.append("=" * _WIDTH)
    return "|" + "|\n|".join(lines) + "|\n"


def _rows_of(group: dict[str, Any], name: str, is_bytes: bool, abbreviated: bool) -> list[str]:
    rows = [("all", name)]
    if not abbreviated:
        rows += [("large_pool", "      from large pool"), ("small_pool", "      from small pool")]
    whole = [group.get("all", {}).get(metric, 0) for metric in _METRICS]
    steps = [_step(figure, is_bytes) for figure in whole]
    lines = []
    for pool, text in rows:
        figures = [group.get(pool, {}).get(metric, 0) for metric in _METRICS]
        cells = [_cell(figure, step, is_bytes) for figure, step in zip(figures, steps, strict=True)]
        lines.append(f" {text:<21} | " + " | ".join(cells) + " ")
    return lines


def _step(figure: int, is_bytes: bool) -> int:
    """Which unit a column has: that of its first row."""
    unit, limit, steps = (1024, 768 * 1024, len(_BYTES)) if is_bytes else (1000, 750 * 1000, len(_COUNTS))
    step = 0
    while step + 1 < steps and figure >= limit:
        figure //= unit
        step += 1
    return step


def _cell(figure: int, step: int, is_bytes: bool) -> str:
    figure //= (1024 if is_bytes else 1000) ** step
    return f"{figure:6d} {_BYTES[step]}" if is_bytes else f"{figure:7d} {_COUNTS[step]} "


# ---- history


def record_memory_history(enabled: str | None = "all", *more: Any, **named: Any) -> None:
    """Begins (None: ends) to keep what is allocated and freed, with stacks, for `snapshot`.

    Arguments as of torch.cuda.memory._record_memory_history: enabled, context, stacks, max_entries, ...
    """
    allocator, _ = _ours()
    if allocator is not None:
        allocator.record_memory_history(enabled, *more, **named)
    else:
        _cuda().memory._record_memory_history(enabled, *more, **named)


def snapshot(device: Any = None, **named: Any) -> dict[str, Any]:
    """All segments and blocks, and the history: what torch.cuda.memory._snapshot gives and `vramscope.open` reads."""
    allocator, _ = _ours(device)
    taken: dict[str, Any]
    taken = allocator.memory_snapshot() if allocator is not None else _cuda().memory._snapshot(device, **named)
    return taken


def dump_snapshot(filename: str = "dump_snapshot.pickle", **named: Any) -> None:
    """Writes `snapshot` to a file, for `vramscope report` and for PyTorch's viewer."""
    allocator, _ = _ours()
    if allocator is not None:
        allocator.dump_snapshot(filename)
    else:
        _cuda().memory._dump_snapshot(filename, **named)


# ---- freeing


@dataclass(frozen=True)
class Freed:
    """What `free_tensor` found and did. `str()` of it is for people.

    bytes             of the storages of what was given, on GPUs; views counted once
    still_held        of those, bytes of storages that are still there
    holders           who holds them, in words: "variable x of main (train.py:12)", "attribute cache of Trainer", ...
    allocated, reserved   PyTorch's figures (before, after), of all devices together
    driver_free       free memory by the driver (before, after), of those devices; None where nobody tells
    """

    bytes: int
    still_held: int
    holders: list[str]
    allocated: tuple[int, int]
    reserved: tuple[int, int]
    driver_free: tuple[int, int] | None
    devices: list[int] = field(default_factory=list)

    @property
    def is_free(self) -> bool:
        """Is all of it gone?"""
        return self.still_held == 0

    @property
    def freed(self) -> int:
        """Bytes by which PyTorch has less allocated."""
        return self.allocated[0] - self.allocated[1]

    def __str__(self) -> str:
        from vramscope._native import bytes_text

        def change(pair: tuple[int, int]) -> str:
            return f"{bytes_text(pair[0])} -> {bytes_text(pair[1])}"

        lines = [f"freed {bytes_text(max(0, self.freed))} of {bytes_text(self.bytes)}",
                 f"  allocated by PyTorch  {change(self.allocated)}",
                 f"  reserved by PyTorch   {change(self.reserved)}"]
        if self.driver_free is not None:
            lines.append(f"  free at the driver    {change(self.driver_free)}")
        if self.still_held:
            lines.append(f"  {bytes_text(self.still_held)} still held by")
            holders = self.holders or ["objects outside Python (a graph of autograd, C++ code)"]
            lines += [f"    {holder}" for holder in holders]
        return "\n".join(lines)


def free_tensor(obj: Any, *, empty_cache: bool = True, force: bool = False) -> Freed:
    """Lets go of a tensor, or of all tensors of a module, an optimizer, a list, a dict; and tells who still holds them.

    Python frees what nobody holds, so what is asked for is a reason why memory is *not* freed: give the last reference
    away, as in `free_tensor(cache.pop("key"))`, or leave it where it is and read who has it. Cycles are collected.

    empty_cache   PyTorch's cache is emptied then, so that the driver's figure shows it
    force         takes the memory from under those who still hold it: their tensors are empty from then on, and code
                  that uses them fails or, on the GPU, reads what is not there. For memory that has to come back before
                  a debugger is done.
    """
    from vramscope import _holders

    tensors = _holders.tensors_of(obj)
    devices = sorted({tensor.device.index for tensor in tensors})
    weak_object = _weak(obj)
    weak = [weakref.ref(tensor) for tensor in tensors]
    storages = _holders.Storages(tensors)
    before = _figures(devices)
    del obj, tensors
    gc.collect()
    alive = [tensor for tensor in (ref() for ref in weak) if tensor is not None]
    mine = [alive, weak]  # what this function itself holds
    holders = _holders.describe_holders(alive, None if weak_object is None else weak_object(), ignore=mine)
    if force:
        storages.empty()
    still_held = storages.held_bytes()
    del alive, mine
    if empty_cache:
        globals()["empty_cache"]()
    after = _figures(devices)
    driver = None if before[2] is None or after[2] is None else (before[2], after[2])
    return Freed(storages.bytes, still_held, holders, (before[0], after[0]), (before[1], after[1]), driver, devices)


def _weak(obj: Any) -> Any:
    try:
        return weakref.ref(obj)
    except TypeError:  # a list, a dict
        return None


def _figures(devices: list[int]) -> tuple[int, int, int | None]:
    """(allocated, reserved, free at the driver) of these devices together."""
    figures = [total_reserved_allocated_free(device) for device in devices]
    rooms = [_cards.room(device) for device in devices]
    free = None if any(room is None for room in rooms) else sum(room.free for room in rooms if room is not None)
    return sum(figure.allocated for figure in figures), sum(figure.reserved for figure in figures), free
