"""fastai's memory tools: `import vramscope.fastai as mem` instead of `fastai.utils.mem`, and every name means the same.

    mem.gpu_mem_get()                     # GPUMemory(total=8192, free=7484, used=708): MB of the current GPU
    with mem.GPUMemTrace() as trace:      # what a piece of code takes, and takes at most
        train_one_step()
    @mem.gpu_mem_restore                  # in a notebook: memory comes back after an out-of-memory error

What is better than there: the peak of a trace is exact (vramscope.scopes), not sampled by a thread, and no cache is
flushed to measure it; traces nest, in any number of threads; GPUs are PyTorch's, whatever CUDA_VISIBLE_DEVICES hides;
NVML is asked without pynvml. Of a trace with a context (`ctx`) the lines are those of fastai's documentation, of one
without those of its present code.

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
    """Memory of a GPU in MB. Of a CPU, and of a GPU that is not there, all three are 0."""

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


# ---- how full the GPUs are


def preload_pytorch() -> None:
    """Starts CUDA, so that the memory of its context (half a GB on many GPUs) is not in what is measured later."""
    import torch

    torch.ones((1, 1)).cuda()


def b2mb(num: float) -> int:
    """Bytes as MB, rounded down (towards 0)."""
    return int(num / 2**20)


def gpu_mem_get(id: int | None = None) -> GPUMemory:
    """Total, free and used memory of a GPU, in MB. `id` is PyTorch's number; None is PyTorch's current GPU.

    All three are 0 on a machine without GPU and for an `id` that is none. Used is what all processes use, and the
    driver.
    """
    try:
        room = _cards.room(_cards.current() if id is None else int(id))
    except (TypeError, ValueError):
        room = None
    return GPUMemory(0, 0, 0) if room is None else GPUMemory(b2mb(room.total), b2mb(room.free), b2mb(room.used))


def gpu_mem_get_all() -> list[GPUMemory]:
    """`gpu_mem_get` of each GPU that this process can use; [] without any."""
    return [gpu_mem_get(number) for number in range(_cards.count())]


def gpu_mem_get_free() -> int:
    """Free MB of the current GPU; what PyTorch holds in its cache is not free."""
    return gpu_mem_get().free


def gpu_mem_get_free_no_cache() -> int:
    """Free MB of the current GPU, after PyTorch's cache was emptied."""
    _empty_cache()
    return gpu_mem_get().free


def gpu_mem_get_used() -> int:
    """Used MB of the current GPU, PyTorch's cache included."""
    return gpu_mem_get().used


def gpu_mem_get_used_fast(gpu_handle: Any) -> int:
    """Used MB of a GPU that is given by a handle, for who asks often.

    gpu_handle: a handle of pynvml (nvmlDeviceGetHandleByIndex), a vramscope.devices.Device, or PyTorch's number of the
    GPU.
    """
    if isinstance(gpu_handle, int):
        return gpu_mem_get(gpu_handle).used
    if hasattr(gpu_handle, "used_fast"):
        return b2mb(_used_by_device(gpu_handle))
    import pynvml

    return b2mb(pynvml.nvmlDeviceGetMemoryInfo(gpu_handle).used)


def gpu_mem_get_used_no_cache() -> int:
    """Used MB of the current GPU, after PyTorch's cache was emptied."""
    _empty_cache()
    return gpu_mem_get().used


def gpu_with_max_free_mem() -> tuple[int | None, int]:
    """The number of the GPU with the most free memory (the first of equals), and its free MB; (None, 0) without any
    GPU."""
    free = [memory.free for memory in gpu_mem_get_all()]
    if not free:
        return None, 0
    most = max(free)
    return free.index(most), most


def _used_by_device(device: Any) -> int:
    """Bytes, in one call of NVML where the driver keeps nothing for itself, as `_cards.Room.used`."""
    memory = device.memory()
    return 0 if memory.total is None or memory.free is None else memory.total - memory.free


def _empty_cache() -> None:
    from vramscope import memory

    memory.empty_cache()


# ---- what a piece of code takes


class GPUMemTrace:
    """What happens to GPU memory from start to stop, in MB: how much more (or less) is in use, and the overhead in
    between.

        trace = GPUMemTrace()             # starts at once
        some_code()
        trace.report("after some_code")   # △used: 12MB, △peaked: 7MB: after some_code
        delta_used, delta_peaked = trace.data()

        with GPUMemTrace(ctx="load"):     # reports at its end: △Used Peaked MB:     12      7 (load: exit)
            some_code()

    Delta used   used now - used at the start.
    Delta peaked the peak since the start - used at the start, less delta used where that is positive: the size of the
    blip.

    silent          report and report_n_reset print nothing. Later: trace.silent(True), trace.silent = False.
    ctx             a text for all its reports; with it they look as in fastai's documentation.
    on_exit_report  `with` prints a report at its end.
    kind            what is measured: "allocated" (PyTorch's tensors; the default), "requested", "active", "reserved"
                    (with PyTorch's cache): exact, and of this process alone. "device": all of the GPU, as fastai did
                    it: a thread samples NVML each millisecond, PyTorch's cache is emptied at each look, and every
                    report says "sampled".
    device          as PyTorch takes it; None is the one that is current at the start.

    used_start, used_peak, delta_used and delta_peaked are MB as of the last look. `figures()` has bytes.

    Raises AssertionError where PyTorch has no GPU.
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
        """Begins to measure, anew."""
        self.is_running = True
        self.reset()
        self.peak_monitor_start()

    def stop(self) -> None:
        """Measures a last time; from now on `data` and the reports say that."""
        if not self.is_running:
            return
        self.peak_monitor_stop()
        self.data_set()
        self._meter.end()
        self.is_running = False

    def reset(self) -> None:
        """What is allocated now is the new start, and the peak."""
        self._meter.begin()
        self.used_start = self.used_peak = b2mb(self._meter.look()[0])
        if not self.is_running:
            self._meter.end()

    def data(self) -> tuple[int, int]:
        """(delta used, delta peaked) in MB, of now or, if it was stopped, of then."""
        if self.is_running:
            self.data_set()
        return self.delta_used, self.delta_peaked

    def data_set(self) -> None:
        """Looks, and sets used_peak, delta_used and delta_peaked."""
        _, end, peak, _ = self._meter.look()
        self.used_peak = max(self.used_peak, b2mb(peak))
        self.delta_used = b2mb(end) - self.used_start
        self.delta_peaked = self.used_peak - self.used_start - max(0, self.delta_used)

    def figures(self) -> Figures:
        """The same in bytes, unrounded: vramscope.scopes.Figures (start, end, peak, most, used, peaked, is_exact)."""
        return self._meter.figures()

    @property
    def note(self) -> str:
        """What is to be known about the figures: "" (exact), "sampled", or why the peak is not exact."""
        return self._meter.note()

    def peak_monitor_start(self) -> None:
        """Of kind "device": starts the thread. The others need none."""
        self._meter.watch()

    def peak_monitor_stop(self) -> None:
        """Of kind "device": the thread takes a last sample and ends."""
        self._meter.unwatch()

    # ---- reporting

    @property
    def silent(self) -> Any:
        """Both: a truth value, and a method: silent(True), silent(silent=False)."""
        return _Silence(self)

    @silent.setter
    def silent(self, silent: bool) -> None:
        self._is_silent = bool(silent)

    def report(self, note: str | None = "", *, subctx: str | None = None) -> None:
        """Prints both deltas, and the context and the note where there are any. (fastai once called the note
        `subctx`.)"""
        if self._is_silent:
            return
        words = [str(word) for word in (self.ctx, note or subctx) if word]
        tail = f" ({': '.join(words)})" if self.ctx is not None else "".join(f": {word}" for word in words)
        print(f"{self}{tail}")

    def report_n_reset(self, note: str | None = "", *, subctx: str | None = None) -> None:
        """The same, and then `reset`."""
        self.report(note, subctx=subctx)
        self.reset()

    def __repr__(self) -> str:
        used, peaked = self.data()
        note = self.note
        doubt = f" ({note})" if note else ""
        if self.ctx is not None:
            return f"△Used Peaked MB: {used:6,.0f} {peaked:6,.0f}{doubt}"
        return f"△used: {used}MB, △peaked: {peaked}MB{doubt}"

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
    """What PyTorch's allocator did, exactly."""

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

    def unwatch(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class _DeviceMeter:
    """What NVML says of the whole GPU: at each look with PyTorch's cache emptied, and sampled in between."""

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

    def unwatch(self) -> None:
        if self._stop is None or self._thread is None:
            return
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self.look()
        self._stop = self._thread = None

    def abandon(self) -> None:
        """Ends the measurement. Does not wait for the thread: the interpreter may be about to end."""
        if self._stop is not None:
            self._stop.set()

    def used(self) -> int:
        if self._handle is not None:
            try:
                return _used_by_device(self._handle)
            except errors.Error:
                return 0  # it is gone
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


# ---- after an error: what its frames hold


def _is_in_ipython() -> bool:
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


_OUT_OF_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "HIP out of memory", "CUBLAS_STATUS_ALLOC_FAILED",
                  "CUDNN_STATUS_ALLOC_FAILED", "CUSOLVER_STATUS_ALLOC_FAILED")
_ASSERT = "device-side assert triggered"


def _is_out_of_memory(error: BaseException) -> bool:
    """Is it one of the errors of a full GPU, by PyTorch's class or by its text, or raised from one?"""
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
    """An error and all that it came from or consists of: each holds frames of its own."""
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
    """Which frames of an error hold how much GPU memory: (function, file, line, bytes, variables), in the order of calls.

    None is the error that is handled right now, or else the last one that nobody handled (sys.last_value), as in the
    next cell of a notebook. Of an error whose frames were cleared here: what they held before.
    """
    if error is None:
        error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if error is None:
        return []
    remembered: list[FrameHold] | None = getattr(error, _REMEMBERED, None)
    return held_by_frames(_family(error)) if remembered is None else list(remembered)


_REMEMBERED = "_vramscope_held"


def _clear_frames(error: BaseException) -> None:
    with suppress(Exception):  # an error that takes no attributes: what matters is that its frames go
        setattr(error, _REMEMBERED, gpu_mem_held_by_error(error))
    for one in _family(error):
        traceback.clear_frames(one.__traceback__)


def get_ref_free_exc_info() -> tuple[type[BaseException] | None, BaseException | None, TracebackType | None]:
    """sys.exc_info(), with the local variables of all its frames gone: what they held can be freed, though somebody (a
    notebook) keeps the error. For use inside `except`."""
    kind, error, trace = sys.exc_info()
    if error is not None:
        _clear_frames(error)
    traceback.clear_frames(trace)
    return kind, error, trace


def gpu_mem_restore(func: Callable[P, R]) -> Callable[P, R]:
    """A decorator for notebooks: when the GPU's memory runs out in `func`, the error is raised without what its frames
    hold.

    IPython keeps the last error for its debugger, the error keeps the frames, and those keep every tensor of the failed
    call: the memory does not come back until another cell fails. With this it does.

    The variable FASTAI_TB_CLEAR_FRAMES: "0" leaves all errors as they are; "1" clears those of any kind,
    KeyboardInterrupt too; without it only those of a full GPU and of device-side assertions. Outside IPython nothing is
    done.
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
            del args, kwargs  # this frame is alive, and so are its variables
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

    The variables of the function that has the `with` itself stay: its frame is alive."""

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
        return False  # the error goes on
