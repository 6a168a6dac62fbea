"""PyTorch on vramscope's own allocator.

    import torch, vramscope

    vramscope.use_allocator()                       # before anything of CUDA is used
    ... the unchanged program ...
    torch.cuda.memory_summary()                     # PyTorch's functions work as usual

The allocator makes the same decisions as PyTorch's own: the same sizes, segments and addresses, the same statistics and
history. In addition it has exact scopes, recordings (`.vram`) that survive the process, and figures that PyTorch does not
keep.

PyTorch calls such an allocator "pluggable" and refuses to return statistics, history, snapshots and the memory fraction, and
to call out-of-memory observers, while one is active. vramscope replaces those functions of PyTorch by its own, so the
program and its libraries need no change. `Allocator` lists the remaining differences.

If PyTorch has already started to use its own allocator, or if vramscope's is wanted for a part of the program only, use
`with use_allocator(pool=True):`. Memory that is allocated inside comes from a `torch.cuda.MemPool` that gets its segments
from vramscope.

Sizes are bytes. `device` is a number, "cuda:1", a torch.device, or None for the current one.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, NamedTuple, Self

from vramscope import _native, _pytorch
from vramscope.errors import ArgumentError, Error, LimitError, NotFoundError, UnsupportedError

__all__ = ["Allocator", "Room", "active", "active_allocator", "use_allocator"]


class Room(NamedTuple):
    """Bytes of a GPU and of the allocator, at one moment.

    total      the memory of the GPU
    free       bytes that the driver can still give
    reserved   bytes that the allocator holds from the driver
    allocated  the part of reserved that is in live blocks
    cached     reserved - allocated
    waiting    the part of cached that is pending free: freed, but another stream may still use it
    """

    total: int
    free: int
    reserved: int
    allocated: int
    cached: int
    waiting: int


# ---- the allocator: a process has at most one, since PyTorch cannot switch back

_active: Allocator | None = None
_metadata = threading.local()  # .text: the metadata that this thread has set, for _cuda_getMemoryMetadata


def active() -> Allocator | None:
    """vramscope's allocator, if all of PyTorch in this process uses it; None if PyTorch uses its own."""
    return _active


def active_allocator(device: int = 0) -> Allocator | None:
    """The same for one device; all devices have the same allocator."""
    return _active


def use_allocator(
    conf: str | None = None,
    *,
    pool: bool = False,
    gpus: str = "cuda",
    recording: str | PathLike[str] | None = None,
    replace: bool = False,
    drop_events: bool = False,
) -> Allocator:
    """Makes PyTorch use vramscope's allocator for the rest of the process, and returns it.

    conf       PyTorch's settings, such as "expandable_segments:True,max_split_size_mb:128". None: the environment variable
               VRAMSCOPE_ALLOC_CONF, else PYTORCH_CUDA_ALLOC_CONF, else PYTORCH_ALLOC_CONF.
    pool       use it only for memory that is allocated inside `with use_allocator(pool=True):`.
    gpus       "cuda": all GPUs that this process sees, also simulated ones under `vramscope dryrun`.
    recording  record every event to this new `.vram` file from now on. `replace`: overwrite an existing file.
               `drop_events`: as in Allocator.record.

    Initializes the CUDA driver, but creates no context; so, as after torch.cuda.init(), children that use CUDA have to be
    spawned, not forked.

    Raises RuntimeError if PyTorch has already used its own allocator; vramscope.UnsupportedError if there is no PyTorch or no
    CUDA, or if vramscope cannot raise this PyTorch's OutOfMemoryError; vramscope.FormatError for invalid settings, with the
    byte.
    """
    torch, failure = _pytorch.load()
    if torch is None:
        raise UnsupportedError(failure)
    path = None if recording is None else fspath(recording)
    if pool:
        return _pool_allocator(torch, _Opening(conf, gpus, path, replace, drop_events))
    return _global_allocator(torch, _Opening(conf, gpus, path, replace, drop_events))


class _Opening(NamedTuple):
    conf: str | None
    gpus: str
    recording: str | None
    replace: bool
    drop_events: bool


_is_dropping = False  # whether the current recording may lose events


def _open(how: _Opening, is_global: bool) -> None:
    global _is_dropping
    if _native.live_is_open():
        raise ArgumentError("this process has an allocator of vramscope's already")
    _native.live_open(how.gpus, how.conf, how.recording, how.replace, how.drop_events, is_global)
    _is_dropping = how.drop_events
    atexit.register(_leave)


def _leave() -> None:
    """Called when the interpreter exits: takes no more Python stacks, and ends a recording."""
    _native.live_leave()
    try:
        _native.live_recording_stop()
    except NotFoundError:  # there is none
        pass
    except Error as error:
        warnings.warn(f"vramscope: {error}", RuntimeWarning, stacklevel=1)


def _global_allocator(torch: Any, how: _Opening) -> Allocator:
    global _active
    if not torch.backends.cuda.is_built():
        raise UnsupportedError("this PyTorch is built without CUDA")
    if torch.cuda.is_initialized():
        raise RuntimeError(
            "vramscope.use_allocator() comes too late: PyTorch has begun to use CUDA with its own allocator. "
            "Call it before anything of torch.cuda is used, or use use_allocator(pool=True) for a part of the program."
        )
    _open(how, is_global=True)
    pluggable = _pluggable(torch, "vs_torch_alloc")
    _set_functions(pluggable.allocator())
    torch.cuda.memory.change_current_allocator(pluggable)
    _active = Allocator(torch, pluggable)
    _active.patch()
    return _active


def _pool_allocator(torch: Any, how: _Opening) -> Allocator:
    if _active is not None:
        raise ArgumentError("all of PyTorch is on vramscope's allocator already")
    if not _native.live_is_open():
        _open(how, is_global=False)
    elif how.conf is not None:
        _native.live_settings_apply(how.conf)
    return Allocator(torch, _pluggable(torch, "vs_torch_segment_alloc"), is_global=False)


# ---- PyTorch's side: functions by their addresses


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(_native.__file__)


def _pluggable(torch: Any, alloc: str) -> Any:
    return torch.cuda.memory.CUDAPluggableAllocator(_native.__file__, alloc, "vs_torch_free")


# The setters of PyTorch's allocator object with our functions. PyTorch names some of them without "_fn".
_FUNCTIONS = (
    ("set_init_fn", "vs_torch_init"),
    ("set_reset_fn", "vs_torch_reset"),
    ("set_memory_fraction_fn", "vs_torch_memory_fraction"),
    ("set_base_alloc_fn", "vs_torch_base_alloc"),
    ("set_record_stream_fn", "vs_torch_record_stream"),
    ("set_begin_allocate_to_pool", "vs_torch_begin_allocate_to_pool"),
    ("set_end_allocate_to_pool_fn", "vs_torch_end_allocate_to_pool"),
    ("set_release_pool", "vs_torch_release_pool"),
)


def _set_functions(allocator: Any) -> None:
    library = _library()
    for setter, name in _FUNCTIONS:
        if not hasattr(allocator, setter):
            # Without the function PyTorch would silently do nothing, and memory that other streams or graphs still use
            # would be allocated again.
            raise UnsupportedError(f"this PyTorch's pluggable allocator has no {setter}")
        getattr(allocator, setter)(ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


# ---- the allocator


_ENABLED = {None: 0, "state": 1, "all": 2}
_CONTEXTS = {None: 0, "state": 1, "alloc": 2, "all": 3}
_NO_BOUND = 2**64 - 1


class Allocator:
    """vramscope's allocator under PyTorch.

    PyTorch's own functions return its figures; the methods here are for figures that PyTorch does not have, and for code that
    does not use torch.cuda.

    As a context manager with `pool=True`, memory that is allocated inside comes from it. Without `pool`, leaving the block
    only restores PyTorch's functions: the allocator itself stays, because PyTorch cannot switch back.

    While all of PyTorch uses it, PyTorch still refuses torch.cuda.MemPool, CUDA IPC (tensors shared between processes), the
    checkpoints of torch.compile's graph trees, and queries for the largest free block (cacheInfo), which old modes of cuDNN
    make.
    """

    def __init__(self, torch: Any, pluggable: Any, is_global: bool = True) -> None:
        self._torch = torch
        self._pluggable = pluggable
        self._patches: list[tuple[Any, str, Any]] = []
        self._pools: list[Any] = []
        self.is_global = is_global
        """Whether all of PyTorch uses it, and not only the code inside `with`."""

    def __enter__(self) -> Self:
        if self.is_global:
            if not self._patches:
                self.patch()
            return self
        pool = self._torch.cuda.MemPool(self._pluggable.allocator())
        using = self._torch.cuda.use_mem_pool(pool)
        using.__enter__()
        self._pools.append((pool, using))
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_global:
            self.unpatch()
            return
        _, using = self._pools.pop()
        using.__exit__(*error)

    def __repr__(self) -> str:
        what = "all of PyTorch" if self.is_global else "a MemPool"
        return f"<vramscope.torch.Allocator of {what}, {len(_native.live_devices())} device(s)>"

    # ---- figures

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        """{group: {pool: {metric: figure}}, scalar: figure}, as torch.cuda.memory_stats_as_nested_dict, with PyTorch's
        keys."""
        return _nested(_native.live_statistics(self._number(device)))

    def flat_stats(self, device: Any = None) -> dict[str, int]:
        """{"allocated_bytes.all.peak": figure, ...}, sorted, as torch.cuda.memory_stats."""
        return _native.live_statistics(self._number(device))

    def extras(self, device: Any = None) -> dict[str, int]:
        """Figures that PyTorch does not count, in the same form (vs_live_extras in live.h): how requests were served
        (`requests.cache` and others), sizes and lifetimes by powers of two, and figures of each stream
        (`stream.0.small.cached_bytes`)."""
        return _native.live_extras(self._number(device))

    def room(self, device: Any = None) -> Room:
        """Total, free, reserved, allocated, cached and waiting bytes at one moment."""
        return Room(*_native.live_room(self._number(device)))

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        """The same table as torch.cuda.memory_summary."""
        return _native.live_summary(self._number(device), abbreviated)

    def reset_peak(self, device: Any = None) -> None:
        """Resets all peaks to the current values. Open scopes keep their own peaks."""
        _native.live_reset_peak(self._number(device))

    def reset_accumulated(self, device: Any = None) -> None:
        """Resets the accumulated statistics (`allocated`, `freed`, `num_...`) to 0."""
        _native.live_reset_totals(self._number(device))

    def scope_begin(self, device: Any = None) -> Any:
        """Begins a scope with exact peaks. Its read() and end() return {"allocated": (start, end, peak), ...} in bytes."""
        return _native.live_scope_begin(self._number(device))

    # ---- the cache, limits, settings

    def empty_cache(self) -> None:
        """Releases cached memory of every device to the driver."""
        _native.live_empty_cache()

    def fraction(self, device: Any = None) -> float:
        """The fraction that torch.cuda.set_per_process_memory_fraction has set, 0 to 1."""
        return _native.live_fraction(self._number(device))

    def settings(self) -> str:
        """The settings in effect, one per line, and a line for each setting that has no effect."""
        return _native.live_settings()

    def apply(self, conf: str) -> None:
        """Changes the settings from now on. Raises vramscope.FormatError for invalid ones, with the byte."""
        _native.live_settings_apply(conf)

    # ---- history, snapshots, recording

    def record_memory_history(
        self,
        enabled: str | None = "all",
        context: str | None = "all",
        stacks: str = "all",
        max_entries: int = sys.maxsize,
        device: Any = None,
        clear_history: bool = False,
        compile_context: bool = False,
        global_record_annotations: bool = False,
        skip_actions: list[str] | None = None,
        **more: Any,
    ) -> None:
        """The same as torch.cuda.memory._record_memory_history, with its arguments.

        Records Python stacks, and with stacks="all" also native stacks of threads that run no Python. `compile_context`,
        `global_record_annotations` and newer arguments are accepted, and have no effect.
        """
        if enabled not in _ENABLED:
            raise RuntimeError(f"expected state to be 'all', 'state', or None, not {enabled!r}")
        if context not in _CONTEXTS:
            raise RuntimeError(f"expected context to be 'all', 'alloc', 'state', or None, not {context!r}")
        if stacks not in ("python", "all"):
            raise RuntimeError(f"expected stacks to be 'python', or 'all', not {stacks!r}")
        entries = _NO_BOUND if max_entries >= sys.maxsize else max_entries
        skipped = ",".join(skip_actions) if skip_actions else None
        _native.live_history(_ENABLED[enabled], _CONTEXTS[context], stacks == "all", entries, clear_history, skipped)

    def memory_snapshot(self, pool: tuple[int, int] = (0, 0), include_traces: bool = True) -> dict[str, Any]:
        """The same as torch.cuda.memory._snapshot(): segments with their blocks, history, settings. For a private `pool` only
        the segments of that pool."""
        snapshot: dict[str, Any] = pickle.loads(_native.live_snapshot(False, include_traces))  # ours: plain data
        if tuple(pool) != (0, 0):
            snapshot["segments"] = [s for s in snapshot["segments"] if tuple(s["segment_pool_id"]) == tuple(pool)]
        return snapshot

    def dump_snapshot(self, filename: str | PathLike[str] = "dump_snapshot.pickle") -> None:
        """Writes the snapshot to a file that `vramscope report` and PyTorch's viewer open."""
        data = _native.live_snapshot(False, True)
        with open(filename, "wb") as file:
            file.write(data)

    def record(self, path: str | PathLike[str], replace: bool = False, drop_events: bool = False) -> None:
        """Records every event to a new `.vram` file from now on, until `stop_recording` or the end of the process; if that is
        killed, the file stays readable.

        If the file cannot be written fast enough, the program waits, for one event at most a second. With
        `drop_events` it does not wait and loses events. After a loss the recorder writes the state of all memory,
        from which the recording is exact again; `vramscope report` says how many events are missing, and when."""
        global _is_dropping
        _native.live_recording_start(fspath(path), replace, drop_events)
        _is_dropping = drop_events

    def stop_recording(self) -> None:
        """Ends the recording. Raises vramscope.NotFoundError if there is none, vramscope.FileError if the file could
        not be written to its end, vramscope.LimitError if events are missing; with `drop_events` that is a
        RuntimeWarning."""
        try:
            _native.live_recording_stop()
        except LimitError as error:
            if not _is_dropping:
                raise
            warnings.warn(f"vramscope: {error}", RuntimeWarning, stacklevel=2)

    @contextmanager
    def annotate(self, name: str, device: Any = None) -> Iterator[None]:
        """Marks a named range of the program in history and recording."""
        number = self._number(device)
        _native.live_annotation(number, name, True)
        try:
            yield
        finally:
            _native.live_annotation(number, name, False)

    # ---- running out

    def observe_oom(self, observer: Callable[[int, int, int, int], Any], on_rejection: bool = False) -> None:
        """Calls `observer(device, size, limit, free)` when memory runs out, before the error is raised: the bytes that the
        driver would have had to give, the limit (or total) of the GPU, and its free bytes. PyTorch's own function for this is
        torch._C._cuda_attach_out_of_memory_observer."""
        _native.live_observe_oom(observer, on_rejection)

    def oom_text(self) -> str | None:
        """The message of this thread's last out-of-memory error, as in torch.OutOfMemoryError; None if there was none."""
        return _native.live_oom_text()

    # ---- PyTorch's functions that refuse a pluggable allocator

    def patch(self) -> None:
        """Replaces PyTorch's functions that refuse a pluggable allocator. use_allocator calls this."""
        module = self._torch._C
        for name, function in _patches(self):
            if hasattr(module, name):
                self._patches.append((module, name, getattr(module, name)))
                setattr(module, name, function)

    def unpatch(self) -> None:
        """Restores PyTorch's functions, which then refuse."""
        while self._patches:
            module, name, original = self._patches.pop()
            setattr(module, name, original)

    def is_begun(self) -> bool:
        """Whether PyTorch has initialized CUDA."""
        is_begun: bool = self._torch.cuda.is_initialized()
        return is_begun

    def _number(self, device: Any) -> int:
        if isinstance(device, int):
            return device
        if device is not None:
            index: int | None = self._torch.device(device).index
            if index is not None:
                return index
        current: int = self._torch.cuda.current_device() if self._torch.cuda.is_initialized() else 0
        return current


# ---- conversions


def _nested(flat: dict[str, int]) -> dict[str, Any]:
    """Nests keys with dots as PyTorch does; the id of a private pool, "0_1", becomes a pair of numbers."""
    nested: dict[Any, Any] = {}
    for key, value in flat.items():
        *groups, last = key.split(".")
        at = nested
        for group in groups:
            part: Any = group
            if at is nested.get("reserved_bytes_by_private_pools"):
                part = tuple(map(int, group.split("_")))
            at = at.setdefault(part, {})
        at[last] = value
    return nested


def _patches(allocator: Allocator) -> list[tuple[str, Callable[..., Any]]]:
    """Names in torch._C, and the functions that replace them."""

    def snapshot(pool: Any = None) -> dict[str, Any]:
        pool = pool or (0, 0)
        return allocator.memory_snapshot((pool[0], pool[1]), pool[2] if len(pool) > 2 else True)

    def record(
        enabled: Any, context: Any, stacks: Any, max_entries: Any, clear: Any = False, compile_context: Any = False,
        annotations: Any = False, skip: Any = None, host: Any = False, cuda: Any = True,
    ) -> None:
        if cuda:
            allocator.record_memory_history(enabled, context, stacks, max_entries, None, clear, skip_actions=skip)

    def record_legacy(
        enabled: Any, context: Any = True, max_entries: Any = 1, trace_context: Any = False, native: Any = False,
        clear: Any = False, compile_context: Any = False, annotations: Any = False, skip: Any = None, host: Any = False,
        cuda: Any = True,
    ) -> None:
        level = "alloc" if trace_context else "state" if context else None
        stacks = "all" if native else "python"
        record("all" if enabled else None, level, stacks, max_entries, clear, skip=skip, cuda=cuda)

    def set_metadata(metadata: Any) -> None:
        text = metadata if isinstance(metadata, str) else json.dumps(metadata, separators=(",", ":"))
        _metadata.text = text
        _native.live_metadata(text)

    return [
        ("_cuda_memoryStats", allocator.memory_stats),
        ("_cuda_resetPeakMemoryStats", allocator.reset_peak),
        ("_cuda_resetAccumulatedMemoryStats", allocator.reset_accumulated),
        ("_accelerator_isAllocatorInitialized", allocator.is_begun),
        ("_accelerator_emptyCache", allocator.empty_cache),
        ("_accelerator_getDeviceStats", allocator.memory_stats),
        ("_accelerator_resetPeakStats", allocator.reset_peak),
        ("_accelerator_resetAccumulatedStats", allocator.reset_accumulated),
        ("_cuda_memorySnapshot", snapshot),
        ("_cuda_record_memory_history", record),
        ("_cuda_record_memory_history_legacy", record_legacy),
        ("_cuda_getMemoryFraction", allocator.fraction),
        ("_cuda_attach_out_of_memory_observer", allocator.observe_oom),
        ("_cuda_memoryMetadataSupported", lambda: True),
        ("_cuda_setMemoryMetadata", set_metadata),
        ("_cuda_getMemoryMetadata", lambda: getattr(_metadata, "text", "")),
        ("_accelerator_setAllocatorSettings", allocator.apply),
    ]
