"""fastai's memory tools: a replacement for `fastai.utils.mem` with the same names. Use `import vramscope.fastai as mem`.

    mem.gpu_mem_get()                     # GPUMemory(total=8192, free=7484, used=708): MB of the current GPU
    with mem.GPUMemTrace() as trace:      # memory that a piece of code added, and its peak
        train_one_step()
    @mem.gpu_mem_restore                  # in a notebook: frees memory after an out-of-memory error

Differences from fastai: the peak of a trace is exact (vramscope.scopes) instead of sampled by a thread, and measuring it does
not empty the cache; traces may nest, in any number of threads; GPU numbers are PyTorch's, also with CUDA_VISIBLE_DEVICES;
pynvml is not needed. The lines are those of fastai 1.0.61, the last release with this module.

MB are 2**20 bytes, rounded down. Names, meanings and texts: fastai's utils/mem.py and its documentation page utils.mem.
"""

from __future__ import annotations

import functools
import gc
import os
import platform
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar

from vramscope import _cards, errors
from vramscope._holders import FrameHold, held_by_frames
from vramscope.scopes import KINDS, Figures, Scope

__all__ = [
    "GPUMemTrace", "GPUMemory", "b2mb", "get_ref_free_exc_info", "gpu_mem_get", "gpu_mem_get_all", "gpu_mem_get_free",
    "gpu_mem_get_free_no_cache", "gpu_mem_get_used", "gpu_mem_get_used_fast", "gpu_mem_get_used_no_cache",
    "gpu_mem_held_by_error", "gpu_mem_restore", "gpu_mem_restore_ctx", "gpu_mem_trace", "gpu_with_max_free_mem",
    "preload_pytorch",
]

P = ParamSpec("P")
R = TypeVar("R")


class GPUMemory(NamedTuple):
    """Memory of a GPU in MB; all three are 0 without a GPU."""

    total: int
    free: int
    used: int


is_osx: bool = platform.system() == "Darwin"


def __getattr__(name: str) -> Any:
    """fastai computes these when it is imported; here they are evaluated on access."""
    if name == "use_gpu":
        return _cards.torch_with_cuda() is not None
    if name == "IS_IN_IPYTHON":
        return _is_in_ipython()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- free and used memory of the GPUs


def preload_pytorch() -> None:
    """Initializes CUDA, so that later measurements do not include the memory of its context (half a GB on many GPUs)."""
    import torch

    torch.ones((1, 1)).cuda()


def b2mb(num: float) -> int:
    """Bytes as MB, rounded down (towards 0)."""
    return int(num / 2**20)


def gpu_mem_get(id: Any = None) -> GPUMemory:
    """Total, free and used memory of a GPU, in MB. `id` is PyTorch's number, "cuda:1" or a torch.device; None is PyTorch's
    current GPU.

    As in fastai all three are 0 without a GPU, and for a number that no GPU has. Used includes all processes and the driver's own
    memory. Raises ValueError for what names no CUDA device.
    """
    room = _cards.room(_cards.current() if id is None else _number(id))
    return GPUMemory(0, 0, 0) if room is None else GPUMemory(b2mb(room.total), b2mb(room.free), b2mb(room.used))


def _number(id: Any) -> int:
    try:
        return int(id)
    except (TypeError, ValueError):
        pass
    text = str(id)  # of a torch.device, too; without PyTorch
    if text == "cuda":
        return _cards.current()
    if text.startswith("cuda:") and text[5:].isdecimal():
        return int(text[5:])
    raise ValueError(f'a number of PyTorch\'s or "cuda:1" was expected, not {id!r}')


def gpu_mem_get_all() -> list[GPUMemory]:
    """`gpu_mem_get` for each GPU that this process can use; [] without a GPU."""
    return [gpu_mem_get(number) for number in range(_cards.count())]


def gpu_mem_get_free() -> int:
    """Free MB of the current GPU; memory in PyTorch's cache is not free."""
    return gpu_mem_get().free


def gpu_mem_get_free_no_cache() -> int:
    """Empties PyTorch's cache, and returns the free MB of the current GPU."""
    _empty_cache()
    return gpu_mem_get().free


def gpu_mem_get_used() -> int:
    """Used MB of the current GPU, including PyTorch's cache."""
    return gpu_mem_get().used


def gpu_mem_get_used_fast(gpu_handle: Any) -> int:
    """Used MB of the GPU of a handle, for frequent queries.

    gpu_handle: a handle of pynvml (nvmlDeviceGetHandleByIndex), a vramscope.devices.Device, or PyTorch's number of the GPU.
    """
    if isinstance(gpu_handle, int):
        return gpu_mem_get(gpu_handle).used
    if hasattr(gpu_handle, "used_fast"):
        return b2mb(_used_by_device(gpu_handle))
    import pynvml

    return b2mb(pynvml.nvmlDeviceGetMemoryInfo(gpu_handle).used)


def gpu_mem_get_used_no_cache() -> int:
    """Empties PyTorch's cache, and returns the used MB of the current GPU."""
    _empty_cache()
    return gpu_mem_get().used


def gpu_with_max_free_mem() -> tuple[int | None, int]:
    """The number of the GPU with the most free memory (the first of equals), and its free MB; (None, 0) without a GPU."""
    free = [memory.free for memory in gpu_mem_get_all()]
    if not free:
        return None, 0
    most = max(free)
    return free.index(most), most


def _used_by_device(device: Any) -> int:
    """Used bytes as in `_cards.Room`: total - free, which includes the driver's reserve."""
    memory = device.memory()
    return 0 if memory.total is None or memory.free is None else memory.total - memory.free


def _empty_cache() -> None:
    from vramscope import memory

    memory.empty_cache()


# ---- memory of a piece of code


class GPUMemTrace:
    """Measures GPU memory from start to stop, in MB: how much more (or less) is allocated, and the temporary memory in between.

        trace = GPUMemTrace()             # starts at once
        some_code()
        trace.report("after some_code")   # △Used Peaked MB:     12      7 (after some_code)
        delta_used, delta_peaked = trace.data()

        with GPUMemTrace(ctx="load"):     # reports at its end: △Used Peaked MB:     12      7 (load: exit)
            some_code()

    Delta used    used now - used at the start.
    Delta peaked  peak since the start - used at the start - delta used (if that is positive): memory that was needed only
                  temporarily.

    silent          report and report_n_reset print nothing. Later: trace.silent(True), trace.silent = False.
    ctx             a text that begins the notes of all reports.
    on_exit_report  print a report at the end of `with`.
    kind            what is measured: "allocated" (PyTorch's tensors; the default), "requested", "active", "reserved"
                    (with PyTorch's cache): exact, and only this process. "device": the whole GPU, as fastai measured: a
                    thread samples NVML every millisecond, PyTorch's cache is emptied for each reading, and every report
                    says "sampled".
    device          in any form that PyTorch accepts; None is the one that is current at the start.

    used_start, used_peak, delta_used and delta_peaked are MB at the last reading. `figures()` has bytes.

    Raises AssertionError if PyTorch finds no GPU.
    """

    def __init__(self, silent: bool = False, ctx: str | None = None, on_exit_report: bool = True, *,
                 kind: str = "allocated", device: Any = None) -> None:
        if kind not in (*KINDS, "device"):
            raise ValueError(f"kind is one of {', '.join(KINDS)}, device; not {kind!r}")
        self.is_running: bool = False
        assert _cards.torch_with_cuda() is not None, "pytorch CUDA is required"
        self._is_silent = silent
        self.ctx = ctx
        self.on_exit_report = on_exit_report
        self.kind = kind
        self._meter: _Meter = _DeviceMeter(device) if kind == "device" else _ScopeMeter(device, kind)
        self.used_start: int = 0
        self.used_peak: int = 0
        self.delta_used: int = 0
        self.delta_peaked: int = 0
        self.start()

    # ---- measuring

    def start(self) -> None:
        """Starts measuring, or starts again."""
        self.is_running = True
        self.reset()
        self.peak_monitor_start()

    def stop(self) -> None:
        """Takes the last reading, which `data` and the reports return from now on."""
        if not self.is_running:
            return
        self.peak_monitor_stop()
        self.data_set()
        self._meter.end()
        self.is_running = False

    def reset(self) -> None:
        """Sets the start and the peak to the current value."""
        self._meter.begin()
        self.used_start = self.used_peak = b2mb(self._meter.look()[0])
        if not self.is_running:
            self._meter.end()

    def data(self) -> tuple[int, int]:
        """(delta used, delta peaked) in MB, up to now or, if it was stopped, up to then."""
        if self.is_running:
            self.data_set()
        return self.delta_used, self.delta_peaked

    def data_set(self) -> None:
        """Takes a reading and sets used_peak, delta_used and delta_peaked."""
        _, end, peak, _ = self._meter.look()
        self.used_peak = max(self.used_peak, b2mb(peak))
        self.delta_used = b2mb(end) - self.used_start
        self.delta_peaked = self.used_peak - self.used_start - max(0, self.delta_used)

    def figures(self) -> Figures:
        """The figures in bytes: vramscope.scopes.Figures (start, end, peak, most, used, peaked, is_exact)."""
        return self._meter.figures()

    @property
    def note(self) -> str:
        """"" if the figures are exact, "sampled", or why the peak is not exact."""
        return self._meter.note()

    def peak_monitor_start(self) -> None:
        """Starts the thread that samples, which only kind "device" has."""
        self._meter.watch()

    def peak_monitor_stop(self) -> None:
        """Takes a last sample and ends that thread."""
        self._meter.unwatch()

    def peak_monitor_func(self) -> None:
        """What that thread runs: kind "device" samples until `peak_monitor_stop`. The other kinds are exact without samples: it
        only takes a reading."""
        self._meter.sample()
        if self.is_running:
            self.data_set()

    # ---- reporting

    @property
    def silent(self) -> Any:
        """A truth value that can also be called, as in fastai: silent(True), silent(silent=False)."""
        return _Silence(self)

    @silent.setter
    def silent(self, silent: bool) -> None:
        self._is_silent = bool(silent)

    def report(self, note: str | None = "", *, subctx: str | None = None) -> None:
        """Prints both deltas, with the context and the note if given. (Older versions of fastai call the note `subctx`.)"""
        if self._is_silent:
            return
        words = [str(word) for word in (self.ctx, note or subctx) if word]
        print(f"{self}" + (f" ({': '.join(words)})" if words else ""))

    def report_n_reset(self, note: str | None = "", *, subctx: str | None = None) -> None:
        """`report`, then `reset`."""
        self.report(note, subctx=subctx)
        self.reset()

    def __repr__(self) -> str:
        used, peaked = self.data()
        note = self.note
        doubt = f" ({note})" if note else ""
        return f"△Used Peaked MB: {used:6,.0f} {peaked:6,.0f}{doubt}"

    # ---- with

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()
        if self.on_exit_report:
            self.report("exit")

    def __del__(self) -> None:
        if getattr(self, "is_running", False):
            self._meter.abandon()
            self.is_running = False


class _Silence:
    """trace.silent: `if trace.silent`, `trace.silent(False)`."""

    def __init__(self, trace: GPUMemTrace) -> None:
        self._trace = trace

    def __call__(self, silent: bool = True) -> None:
        self._trace._is_silent = bool(silent)

    def __bool__(self) -> bool:
        return self._trace._is_silent

    def __eq__(self, other: object) -> bool:
        return bool(self) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(bool(self))


class _ScopeMeter:
    """Exact figures of PyTorch's allocator."""

    def __init__(self, device: Any, kind: str) -> None:
        self._scope = Scope(device)
        self._kind = kind

    def begin(self) -> None:
        self._scope.begin()

    def end(self) -> None:
        self._scope.end()

    def look(self) -> tuple[int, int, int, int]:
        return self.figures()

    def figures(self) -> Figures:
        return self._scope.of(self._kind)

    def note(self) -> str:
        figures = self.figures()
        if figures.is_exact and self._scope.is_exact:
            return ""
        return f"the peak is up to {b2mb(figures.most - figures.peak) + 1}MB more: {self._scope.note}"

    def watch(self) -> None:
        pass

    def sample(self) -> None:
        pass

    def unwatch(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class _DeviceMeter:
    """NVML's figures of the whole GPU: read after PyTorch's cache is emptied, and sampled in between."""

    def __init__(self, device: Any) -> None:
        from vramscope.scopes import device_number

        self._asked = device
        self._device = device_number(device)
        self._handle: Any = None
        self._start = self._end = self._peak = 0
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        from vramscope.scopes import device_number

        self._device = device_number(self._asked)
        self._handle = _cards.device(self._device)
        self._start = self._end = self._peak = self._used_no_cache()

    def end(self) -> None:
        self.unwatch()

    def look(self) -> tuple[int, int, int, int]:
        if self._thread is not None:
            self._end = self._used_no_cache()
            self._peak = max(self._peak, self._end)
        return self.figures()

    def figures(self) -> Figures:
        return Figures(self._start, self._end, self._peak, sys.maxsize)

    def note(self) -> str:
        return "sampled"

    def watch(self) -> None:
        self.unwatch()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=_sample, args=(self, self._stop), name="NVML samples", daemon=True)
        self._thread.start()

    def sample(self) -> None:
        if self._stop is not None:
            _sample(self, self._stop)

    def unwatch(self) -> None:
        if self._stop is None or self._thread is None:
            return
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self.look()
        self._stop = self._thread = None

    def abandon(self) -> None:
        """Ends the measurement without waiting for the thread, because the interpreter may be exiting."""
        if self._stop is not None:
            self._stop.set()

    def used(self) -> int:
        if self._handle is not None:
            try:
                return _used_by_device(self._handle)
            except errors.Error:
                return 0  # the GPU has disappeared
        room = _cards.room(self._device)
        return 0 if room is None else room.used

    def _used_no_cache(self) -> int:
        _empty_cache()
        return self.used()


_Meter = _ScopeMeter | _DeviceMeter


def _sample(meter: _DeviceMeter, stop: threading.Event) -> None:
    while True:
        meter._peak = max(meter._peak, meter.used())
        if stop.is_set():
            return
        time.sleep(0.001)


def gpu_mem_trace(func: Callable[P, R]) -> Callable[P, R]:
    """A decorator: each call is a GPUMemTrace that reports at its end, with the function's name as its context.

    Prints `△Used Peaked MB:      0      0 (my_function: exit)`, of a method `(Class.method: exit)`.
    """

    @functools.wraps(func)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with GPUMemTrace(ctx=func.__qualname__, on_exit_report=True):
            return func(*args, **kwargs)

    return wrapper


# ---- after an error: memory that its frames keep


def _is_in_ipython() -> bool:
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


_OUT_OF_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "HIP out of memory", "CUBLAS_STATUS_ALLOC_FAILED",
                  "CUDNN_STATUS_ALLOC_FAILED", "CUSOLVER_STATUS_ALLOC_FAILED")
_ASSERT = "device-side assert triggered"


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether it is an out-of-memory error of the GPU, by its class or its text, or was raised from one."""
    torch = sys.modules.get("torch")
    kinds: list[type[BaseException]] = [errors.DeviceMemoryError]
    for holder in (torch, getattr(torch, "cuda", None)):
        kind = getattr(holder, "OutOfMemoryError", None)
        if isinstance(kind, type):
            kinds.append(kind)
    seen: BaseException | None = error
    for _ in range(16):
        if seen is None:
            break
        if isinstance(seen, tuple(kinds)) or any(text in str(seen) for text in _OUT_OF_MEMORY):
            return True
        seen = seen.__cause__
    return False


def _family(error: BaseException) -> list[BaseException]:
    """An error with its causes, contexts and group members, each of which keeps its own frames."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or any(one is other for other in found):
            continue
        found.append(one)
        waiting += [one.__cause__, one.__context__, *(one.exceptions if isinstance(one, BaseExceptionGroup) else ())]
    return found


def gpu_mem_held_by_error(error: BaseException | None = None) -> list[FrameHold]:
    """The frames of an error that keep GPU memory: (function, file, line, bytes, variables), outermost call first.

    None is the error that is being handled, else the last unhandled one (sys.last_value), such as that of the previous cell of
    a notebook. If this module has cleared the frames of the error, the result is what they kept before.
    """
    if error is None:
        error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if error is None:
        return []
    remembered: list[FrameHold] | None = getattr(error, _REMEMBERED, None)
    return held_by_frames(_family(error)) if remembered is None else list(remembered)


_REMEMBERED = "_vramscope_held"


def _clear_frames(error: BaseException) -> None:
    with suppress(Exception):  # some errors accept no attributes; clearing the frames matters more
        setattr(error, _REMEMBERED, gpu_mem_held_by_error(error))
    for one in _family(error):
        traceback.clear_frames(one.__traceback__)


def get_ref_free_exc_info() -> tuple[type[BaseException] | None, BaseException | None, TracebackType | None]:
    """sys.exc_info() after clearing the local variables of all its frames, so that their tensors can be freed although a
    notebook keeps the error. Call it inside `except`."""
    kind, error, trace = sys.exc_info()
    if error is not None:
        _clear_frames(error)
    traceback.clear_frames(trace)
    return kind, error, trace


def gpu_mem_restore(func: Callable[P, R]) -> Callable[P, R]:
    """A decorator for notebooks: clears the frames of an out-of-memory error in `func`, so that their tensors can be freed.

    IPython keeps the last error for its debugger, the error keeps the frames, and those keep every tensor of the failed call.
    Without this decorator that memory is not freed before another cell fails.

    The environment variable FASTAI_TB_CLEAR_FRAMES: "0" clears no frames; "1" clears those of every error, also of
    KeyboardInterrupt; unset, those of out-of-memory errors and device-side assertions. Has no effect outside IPython.
    """

    @functools.wraps(func)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        wish = os.environ.get("FASTAI_TB_CLEAR_FRAMES")
        if not _is_in_ipython() or wish == "0":
            return func(*args, **kwargs)
        try:
            return func(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            is_assert = _ASSERT in str(error)
            if wish != "1" and not (isinstance(error, Exception) and (is_assert or _is_out_of_memory(error))):
                raise
            get_ref_free_exc_info()
            trace = error.__traceback__
            del args, kwargs  # this frame still runs, so clear_frames does not clear its variables
            gc.collect()
            if is_assert:
                warnings.warn(
                    f"after '{_ASSERT}' CUDA cannot be used any more: restart the kernel. "
                    "With os.environ['CUDA_LAUNCH_BLOCKING'] = '1' at the very beginning the error names its line.",
                    stacklevel=2)
            raise error.with_traceback(trace) from None

    return wrapper


class gpu_mem_restore_ctx:
    """The same for a block: `with gpu_mem_restore_ctx(): ...` clears the frames of any error, inside IPython or not.

    The variables of the function that contains the `with` stay, because its frame still runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        if error is None:
            return True
        _clear_frames(error)
        traceback.clear_frames(trace)
        gc.collect()
        error.__suppress_context__ = True
        return False  # do not suppress the error
