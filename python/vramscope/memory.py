"""PyTorch's memory functions, for PyTorch's allocator and for vramscope's.

Each function is that of torch.cuda.memory with the same name, arguments and results. If vramscope's allocator serves PyTorch
(`vramscope.torch.use_allocator`), it is asked, since PyTorch's own functions refuse then; else PyTorch's function is called.
The other public names of torch.cuda.memory are there, too: they are PyTorch's own, which `use_allocator` makes work with
vramscope's allocator as far as that can. `total_reserved_allocated_free` and `free_tensor` are additional.

Sizes are bytes. `device` is a number, "cuda:1", a torch.device, or None for the current one.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from vramscope import _cards, _pytorch
from vramscope.scopes import device_number

__all__ = [
    "Freed", "MemoryFigures", "dump_snapshot", "empty_cache", "free_tensor", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "record_memory_history", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "snapshot", "total_reserved_allocated_free",
]


def __getattr__(name: str) -> Any:
    """What torch.cuda.memory has and this module does not define."""
    if not name.startswith("_") and _pytorch.load()[0] is not None:
        names = import_module("torch.cuda.memory")
        if name in names.__all__:
            return getattr(names, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _ours(device: Any = None) -> tuple[Any, int]:
    """(vramscope's allocator of that device, or None if PyTorch uses its own; the device's number)."""
    number = device_number(device)
    module = sys.modules.get("vramscope.torch")
    return (None if module is None else module.active_allocator(number)), number


def _cuda() -> Any:
    """The module torch.cuda. Raises ImportError without PyTorch; like PyTorch, its functions raise RuntimeError in a build
    without CUDA."""
    import torch

    return torch.cuda


def _has_torch() -> bool:
    """Whether the program has imported PyTorch, without which it does not use CUDA."""
    return sys.modules.get("torch") is not None


# ---- statistics


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """{group: {pool: {metric: figure}}, scalar: figure}, as torch.cuda.memory_stats_as_nested_dict; {} before CUDA is
    initialized."""
    allocator, number = _ours(device)
    stats: dict[str, Any] = {}
    if allocator is not None:
        stats = allocator.memory_stats(number)
    elif _has_torch() and _cuda().is_initialized():
        stats = _cuda().memory_stats_as_nested_dict(number)
    return stats


def memory_stats(device: Any = None, *, nested: bool = False) -> dict[str, Any]:
    """{"allocated_bytes.all.peak": 1234, ...}, sorted, as torch.cuda.memory_stats; {} before CUDA is initialized.

    nested: return the same as `memory_stats_as_nested_dict`.
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
    """Resets all peaks to the current values. Open scopes keep their own peaks."""
    allocator, number = _ours(device)
    if allocator is not None:
        allocator.reset_peak(number)
    else:
        _cuda().reset_peak_memory_stats(number)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Resets the accumulated statistics (`allocated`, `freed`, `num_...`) to 0."""
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

    total      the memory of the GPU as PyTorch has it (total_memory); before CUDA is initialized, the driver's figure
    reserved   what this process's allocator holds from the driver
    allocated  the part of reserved that is in live blocks
    free       reserved - allocated, which the allocator can use again without the driver
    driver_total   the memory of the GPU as the driver has it, with what it reserves for itself; None: unknown
    """

    total: int
    reserved: int
    allocated: int
    free: int
    driver_total: int | None = None


def total_reserved_allocated_free(device: Any = None) -> MemoryFigures:
    """Total, reserved, allocated and free bytes. All are 0 without a GPU, and the last three before CUDA is initialized."""
    stats = memory_stats_as_nested_dict(device)
    reserved, allocated = (stats.get(group, {}).get("all", {}).get("current", 0)
                           for group in ("reserved_bytes", "allocated_bytes"))
    number = device_number(device)
    room = _cards.room(number)
    driver_total = None if room is None else room.total
    total = driver_total or 0
    if _has_torch() and _cuda().is_initialized() and 0 <= number < _cuda().device_count():
        total = _cuda().get_device_properties(number).total_memory
    return MemoryFigures(total, reserved, allocated, reserved - allocated, driver_total)


# ---- the summary as a table

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
    """The statistics as a table, like torch.cuda.memory_summary. abbreviated: without the rows of the two pools."""
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
    """The unit of a column, chosen for the figure in its first row."""
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
    """Starts (with None: stops) recording allocations and frees with their stacks, for `snapshot`.

    The arguments are those of torch.cuda.memory._record_memory_history: enabled, context, stacks, max_entries, ...
    """
    allocator, _ = _ours()
    if allocator is not None:
        allocator.record_memory_history(enabled, *more, **named)
    else:
        _cuda().memory._record_memory_history(enabled, *more, **named)


def snapshot(device: Any = None, **named: Any) -> dict[str, Any]:
    """All segments, blocks and the history, like torch.cuda.memory._snapshot; `vramscope.open` reads it."""
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
    """The result of `free_tensor`; `str()` shows it as text.

    bytes                 bytes of the storages of the given tensors on GPUs, each storage once
    still_held            the bytes of those storages that are still referenced
    holders               what refers to them: "variable x of main (train.py:12)", "attribute cache of Trainer", ...
    allocated, reserved   PyTorch's figures (before, after), summed over the devices
    driver_free           the driver's free bytes (before, after), summed over the devices; None if unknown
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
        """Whether all storages were freed."""
        return self.still_held == 0

    @property
    def freed(self) -> int:
        """By how many bytes PyTorch's allocated memory fell."""
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
    """Drops a tensor, or all tensors of a module, an optimizer, a list or a dict, and reports what still refers to them.

    Python frees an object when its last reference goes, so this function answers why memory was *not* freed. Pass the last
    reference, as in `free_tensor(cache.pop("key"))`, or keep it and read the holders. Reference cycles are collected first.

    empty_cache   also empty PyTorch's cache, so that the driver's figure shows the effect
    force         release the memory although it is still referenced. The tensors are empty afterwards, and code that uses them
                  fails or, on the GPU, reads invalid memory. Meant for a debugger that holds the frames of a failed call
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
    mine = [alive, weak]  # the references of this function itself
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
    """(allocated, reserved, free by the driver), summed over these devices."""
    figures = [total_reserved_allocated_free(device) for device in devices]
    rooms = [_cards.room(device) for device in devices]
    free = None if any(room is None for room in rooms) else sum(room.free for room in rooms if room is not None)
    return sum(figure.allocated for figure in figures), sum(figure.reserved for figure in figures), free
