"""Measures how much GPU memory a piece of code adds, and its peak, exactly.

    with Scope() as scope:
        train_one_step()
    scope.allocated.used      # bytes allocated at its end minus those at its beginning
    scope.allocated.peak      # the most bytes allocated while it ran
    scope.allocated.peaked    # the part of that peak that was freed again

Scopes may nest and overlap, in any threads, and each has a peak of its own for its device. PyTorch's allocator keeps only one
peak; at the beginning of a scope it is read, merged into every open scope, and reset. Other code does not see that:
`torch.cuda.max_memory_allocated()`, `memory_stats()` and `reset_peak_memory_stats()` return the same as without scopes,
because the first scope replaces them in `torch._C` by functions that merge the reset peaks back. A scope takes about four
microseconds.

A scope measures its whole device: like PyTorch's figures, its figures include allocations of other threads.

If another thread allocates and frees in the microsecond between reading and resetting, or if the peak is reset in a way
that vramscope does not see, the true peak is between `peak` and `most`. Then `is_exact` is False and `note` says why.

With PyTorch's backend:cudaMallocAsync, which keeps no sums, the first of these two cases cannot be detected.

If vramscope's own allocator serves PyTorch (`vramscope.torch.use_allocator`), it keeps the scopes, and they are always exact.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import BuiltinFunctionType, TracebackType
from typing import Any, NamedTuple

from vramscope import _pytorch

__all__ = ["KINDS", "Figures", "Scope", "device_number", "scope_source"]

KINDS = ("allocated", "requested", "active", "reserved")

_NOTES = (
    (1, "other threads allocated and freed memory in the moment in which PyTorch's peak was reset"),
    (2, "PyTorch's peak was reset in a way that vramscope could not follow"),
    (4, "PyTorch's sums were reset in a way that vramscope could not follow"),
    (8, "PyTorch's statistics could not be read at the end"),
    (16, "other threads used memory all the time while the scope began"),
)


class Figures(NamedTuple):
    """One kind of bytes over the life of a scope, on the scope's device.

    start  when the scope began
    end    when it ended, or was last read
    peak   the highest in between
    most   equal to peak; if the peak is uncertain, its upper bound
    """

    start: int
    end: int
    peak: int
    most: int

    @property
    def used(self) -> int:
        """Bytes allocated at the end minus those at the start; negative where more was freed than allocated."""
        return self.end - self.start

    @property
    def peaked(self) -> int:
        """By how many bytes the peak was above both start and end: fastai's "delta peaked"."""
        return self.peak - self.start - max(0, self.used)

    @property
    def is_exact(self) -> bool:
        """True: `peak` is the peak. False: it is at least `peak` and at most `most`."""
        return self.most <= self.peak


_NOTHING = Figures(0, 0, 0, 0)


class Scope:
    """Measures the GPU memory of a piece of code: `with Scope() as scope: ...`, or begin() and end().

    device: a number, "cuda:1" or a torch.device; None is the device that is current when the scope begins.

    allocated, requested, active, reserved: its Figures in bytes, by PyTorch's statistics of these names (all pools). While the
    scope is open they are those up to now. A scope can begin again; its figures then start again.

    It needs PyTorch, but no GPU: before CUDA is initialized all figures are 0.
    """

    __slots__ = ("_asked", "_begin", "_figures", "_native", "_notes", "device")

    device: int | None

    def __init__(self, device: Any = None) -> None:
        self._asked = None if device is None else device_number(device)
        self._native: Any = None
        self._begin: Any = None
        self._figures: dict[str, Figures] = {}
        self.device = self._asked

    # ---- the life of a scope

    def begin(self) -> Scope:
        """Begins the scope, and returns it."""
        if _book is None:
            _install()
        if self._native is not None:
            self.end()
        asked = self._asked
        number = asked if asked is not None else _current_device()
        ours = sys.modules.get("vramscope.torch")
        if ours is not None and (allocator := ours.active_allocator(number)) is not None:
            self._native = _OurScope(allocator, number)
        elif _book:
            self._native = _book.begin(number, _has_begun())
        self.device = number
        return self

    def end(self) -> Scope:
        """Ends the scope, and returns it; its figures stay as they are. Has no effect on a scope that is not open."""
        if self._native is not None:
            self._native.end(_has_begun())
        return self

    __enter__ = begin

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._native is not None:
            self._native.end(_has_begun())

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self._native is not None and self._native.is_open

    # ---- its figures

    def figures(self) -> dict[str, Figures]:
        """All figures by kind: {"allocated": Figures, ...}. Those of an open scope are up to now."""
        native = self._native
        if native is None:
            return dict.fromkeys(KINDS, _NOTHING)
        if native.is_open:
            native.read(_has_begun())
        return {kind: Figures(*four) for kind, four in native.figures.items()}

    def of(self, kind: str) -> Figures:
        """The figures of one kind: `scope.of("reserved")` is `scope.reserved`."""
        native = self._native
        if native is None:
            return _NOTHING
        if native.is_open:
            native.read(_has_begun())
        return Figures(*native.figures[kind])

    @property
    def allocated(self) -> Figures:
        """Bytes of live blocks (torch.cuda.memory_allocated)."""
        return self.of("allocated")

    @property
    def requested(self) -> Figures:
        """The same before rounding: requested bytes."""
        return self.of("requested")

    @property
    def active(self) -> Figures:
        """Bytes allocated, or freed and waiting for another stream."""
        return self.of("active")

    @property
    def reserved(self) -> Figures:
        """Bytes that the allocator holds from the driver (torch.cuda.memory_reserved)."""
        return self.of("reserved")

    @property
    def is_exact(self) -> bool:
        """Whether all figures are exact."""
        figures = self.figures().values()
        return not self._bits() & 24 and all(figure.is_exact for figure in figures)

    @property
    def note(self) -> str:
        """A sentence why figures are not exact, or why all are 0 (no PyTorch, or it has not used CUDA); "" if all is known."""
        if self._native is None and _book is False:
            torch, failure = _pytorch.load()
            return failure if torch is None else "this PyTorch was built without CUDA"
        if self._native is not None and not _has_begun():
            return "PyTorch has not used CUDA in this process"
        if self.is_exact:
            return ""
        return "; ".join(text for bit, text in _NOTES if self._bits() & bit)

    @property
    def events(self) -> tuple[int, int, int, int]:
        """Its position among the events of its device: the blocks allocated and freed until it began, and until it ended."""
        return (0, 0, 0, 0) if self._native is None else self._native.events

    @property
    def retries(self) -> int:
        """How often PyTorch freed its cache since the scope began because cudaMalloc failed (num_alloc_retries)."""
        return self._counts()[0]

    @property
    def ooms(self) -> int:
        """The out-of-memory errors since the scope began, also those that the program handled (num_ooms)."""
        return self._counts()[1]

    @property
    def fragmented(self) -> int:
        """Cached bytes at the end that empty_cache() cannot return, because blocks share the segment
        (inactive_split_bytes)."""
        return self._counts()[2]

    def _counts(self) -> tuple[int, int, int]:
        native = self._native
        if native is None:
            return 0, 0, 0
        if native.is_open:
            native.read(_has_begun())
        counts: tuple[int, int, int] = native.counts
        return counts

    def _bits(self) -> int:
        return 0 if self._native is None else self._native.notes

    def __repr__(self) -> str:
        if self._native is None:
            return "<vramscope.Scope, not begun>"
        used, peak = self.allocated.used, self.allocated.peak
        state = "open" if self.is_open else "ended"
        doubt = "" if self.is_exact else f", or up to {self.allocated.most:,}"
        return f"<vramscope.Scope of cuda:{self.device}, {state}: {used:+,} bytes allocated, peak {peak:,}{doubt}>"


class _OurScope:
    """A scope of vramscope's own allocator, with the methods of _native.TorchScope."""

    notes = 0
    events = (0, 0, 0, 0)

    def __init__(self, allocator: Any, device: int) -> None:
        self._device = device
        self._before = self._sums()
        self._scope = allocator.scope_begin(device)
        self._last: dict[str, tuple[int, int, int]] = {}
        self.counts = (0, 0, self._before[2])
        self.is_open = True

    def read(self, has_begun: bool) -> None:
        self._take(self._scope.read())

    def end(self, has_begun: bool) -> None:
        if self.is_open:
            self._take(self._scope.end())
            self.is_open = False

    def _take(self, figures: dict[str, tuple[int, int, int]]) -> None:
        self._last = figures
        retries, ooms, fragmented = self._sums()
        before = self._before
        self.counts = (retries - before[0] if retries >= before[0] else retries,  # a sum that fell was reset in between
                       ooms - before[1] if ooms >= before[1] else ooms, fragmented)

    def _sums(self) -> tuple[int, int, int]:
        from vramscope import _native

        sums = _native.live_statistics(self._device)
        return sums["num_alloc_retries"], sums["num_ooms"], sums["inactive_split_bytes.all.current"]

    @property
    def figures(self) -> dict[str, tuple[int, int, int, int]]:
        return {kind: (*self._last[kind], self._last[kind][2]) for kind in KINDS}


# ---- PyTorch

# None: not checked yet. False: there is no PyTorch, or one without CUDA.
_book: Any = None
_torch: Any = None
_installing = threading.Lock()
_pool_peaks: dict[int, dict[tuple[Any, str], int]] = {}  # by device: peaks of private pools that our resets discarded


def device_number(device: Any = None) -> int:
    """The number of a device in any form that PyTorch accepts: None (the current one), 1, "cuda:1", torch.device("cuda", 1).

    Raises ValueError if it is not a CUDA device.
    """
    if device is None:
        if _book is None:
            _install()
        return _current_device()
    if isinstance(device, int):
        return device
    import torch

    found = torch.device(device)
    if found.type != "cuda":
        raise ValueError(f"a CUDA device was expected, not {device!r}")
    return found.index if found.index is not None else device_number(None)


def scope_source(device: int = 0) -> str:
    """How the scopes of this device read PyTorch's figures: "memory" (directly, fast), "dict" (from PyTorch's dict, always
    correct), or "none"."""
    if _book is None:
        _install()
    return _book.state(device)[0].split(",")[0] if _book else "none"


def _current_device() -> int:
    return _torch._C._cuda_getDevice() if _has_begun() else 0  # asking PyTorch would initialize CUDA, on device 0


def _never() -> bool:
    return False


_has_begun: Callable[[], bool] = _never


def _builtin(name: str) -> Any:
    """PyTorch's own function, also if other code has wrapped it: it is found in the closures of the wrappers. So reading and
    resetting peaks for scopes does not call other code."""
    found = getattr(_torch._C, name)
    for _ in range(8):
        if isinstance(found, BuiltinFunctionType):
            break
        cells = [cell.cell_contents for cell in getattr(found, "__closure__", None) or ()]
        found = next((it for it in cells if callable(it) and getattr(it, "__name__", "") in (name, "reset")), None)
    return found if found is not None else getattr(_torch._C, name)


def _install() -> None:
    """Called before the first scope: finds PyTorch, and replaces its functions that return or reset peaks."""
    with _installing:
        if _book is None:
            _install_once()


def _install_once() -> None:
    global _book, _has_begun, _torch
    torch, _ = _pytorch.load()
    if torch is None or not hasattr(torch._C, "_cuda_memoryStats"):
        _book = False
        return
    from vramscope._native import TorchStatistics

    _torch = torch
    _has_begun = torch.cuda.is_initialized
    read, reset = _builtin("_cuda_memoryStats"), _builtin("_cuda_resetPeakMemoryStats")
    book = TorchStatistics(read, reset, _reset_with_pools(read, reset))
    _replace_all()
    _book = book


def _replace_all() -> None:
    for name in ("_cuda_memoryStats", "_accelerator_getDeviceStats"):
        _replace(name, _telling)
    for name in ("_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats"):
        _replace(name, _resetting)
    for name in ("_cuda_resetAccumulatedMemoryStats", "_accelerator_resetAccumulatedStats"):
        _replace(name, _resetting_sums)


def _replace(name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(_torch._C, name, None)
    if original is None:
        return
    replacement = make(original)
    replacement.__name__ = replacement.__qualname__ = name
    replacement.__doc__ = original.__doc__
    replacement.__wrapped__ = original
    setattr(_torch._C, name, replacement)


def _telling(original: Any) -> Any:
    def stats(device: Any) -> Any:
        told = original(device)
        if _book is None or not _has_begun() or not isinstance(device, int):
            return told
        pools = _pool_peaks.get(device)
        if pools:
            _raise_pools(told, pools)
        return _book.view(device, told)

    return stats


def _resetting(original: Any) -> Any:
    def reset(device: Any) -> Any:
        if not _is_followed(device):
            return original(device)
        result = _book.reset(device, original)
        _pool_peaks.pop(device, None)
        return result

    return reset


def _resetting_sums(original: Any) -> Any:
    def reset(device: Any) -> Any:
        if not _is_followed(device):
            return original(device)
        return _book.reset_sums(device, original)

    return reset


def _is_followed(device: Any) -> bool:
    """Whether PyTorch's own allocator is active on this device."""
    if _book is None or not _has_begun() or not isinstance(device, int):
        return False
    ours = sys.modules.get("vramscope.torch")
    return ours is None or ours.active_allocator(device) is None


# ---- private pools (CUDA graphs, torch.cuda.MemPool): the peaks of their reserved bytes are only in PyTorch's dict


def _pools_of(stats: Any) -> dict[Any, Any]:
    return stats.get("reserved_bytes_by_private_pools") or {}


def _reset_with_pools(read: Any, reset: Any) -> Callable[[int], None]:
    def reset_with_pools(device: int) -> None:
        taken = _pool_peaks.setdefault(device, {})
        for pool, kinds in _pools_of(read(device)).items():
            for kind, figures in kinds.items():
                taken[pool, kind] = max(taken.get((pool, kind), 0), figures["peak"])
        reset(device)

    return reset_with_pools


def _raise_pools(stats: Any, taken: dict[tuple[Any, str], int]) -> None:
    pools = _pools_of(stats)
    for (pool, kind), peak in taken.items():
        figures = pools.get(pool, {}).get(kind)
        if figures is not None:
            figures["peak"] = max(figures["peak"], peak)
