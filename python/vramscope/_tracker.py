"""The GPU memory of each step of a training loop: `Tracker`."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

from vramscope import scopes
from vramscope._native import bytes_text

__all__ = ["GPUMemoryWarning", "Step", "Tracker"]

_NEAR = 0.95  # of what the process can get: more reserved than this is a near miss
_FIRST_STEPS = 3  # they allocate optimizer states, workspaces and caches
_WINDOW = 5  # steps; memory grows if each of _WINDOWS windows is wholly above the one before
_WINDOWS = 3
_NAMES = ("peak_allocated_bytes", "peak_reserved_bytes", "allocated_bytes", "reserved_bytes", "fragmented_bytes", "growth_bytes",
          "alloc_retries", "ooms")


class GPUMemoryWarning(UserWarning):
    """A `Tracker` saw memory that grows step by step, or a step that nearly ran out of memory."""


class Step(NamedTuple):
    """The GPU memory of one step, in bytes of PyTorch's allocator, on one device."""

    number: int  #: of the step, from 0
    peak_allocated: int  #: torch.cuda.max_memory_allocated() of the step alone
    peak_reserved: int  #: torch.cuda.max_memory_reserved() of the step alone
    allocated: int  #: at its end
    reserved: int  #: at its end
    fragmented: int  #: at its end: cached, but not releasable, since blocks share the segment (inactive_split_bytes)
    retries: int  #: how often PyTorch freed its cache because cudaMalloc failed (num_alloc_retries)
    ooms: int  #: out-of-memory errors, also those that were handled (num_ooms)
    growth: int  #: allocated at its end, minus that at the end of the step before (of the first: at its own beginning)
    is_exact: bool  #: False: the peaks are lower bounds, because other threads used memory while PyTorch's peak was reset


class Tracker:
    """Measures each step of any loop.

        tracker = vramscope.Tracker()
        for batch in loader:
            with tracker.step():
                train(batch)
            wandb.log(tracker.log())              # or writer.add_scalar, mlflow.log_metrics

    device  a number, "cuda:1" or a torch.device; None is the device that is current when a step begins
    warn    warns once of memory that grows step by step (with the line that owns it, if PyTorch's history or a recording is on),
            and once of a near miss: more than 95% reserved of what the process can get, or a request that succeeded only after
            PyTorch had freed its cache. A function is called with the sentence in place of warnings.warn; False: never
    prefix  of the names of `log`

    The figures are exact, and equal to PyTorch's own with a reset of its peaks at the beginning of each step. The tracker does
    reset them there, but merges what they were back into what PyTorch returns (`vramscope.scopes` explains how). So the program's
    own `max_memory_allocated` and `reset_peak_memory_stats` mean what they mean without it, and resets of the program within a
    step do not change the figures. They are figures of the device: all threads of this process count. What happens between two
    steps is in none of them but `growth`.

    A step costs about 10 microseconds: the statistics are read where PyTorch's allocator keeps them, in place of making the dict
    of `torch.cuda.memory_stats()`. It does not wait for the GPU. Before CUDA is used, and without a GPU, there are no figures:
    `last` is None and `log()` is empty.
    """

    def __init__(self, device: Any = None, *, warn: bool | Callable[[str], object] = True, prefix: str = "vramscope") -> None:
        self.last: Step | None = None  #: the step that ended last
        self._names = tuple(f"{prefix}/{name}" for name in _NAMES)
        self._warn = warn
        self._scope = scopes.Scope(device)
        self._context = _Context(self)
        self._number = 0
        self._since_log: list[Step] = []
        self._most_reserved = 0
        self._watch = _GrowthWatch()
        self._was_near = False
        self._recording: Any = None
        self._steps_to_record = 0

    # ---- steps

    def step(self) -> _Context:
        """A step: `with tracker.step(): ...`. Steps of one tracker do not nest."""
        return self._context

    def begin_step(self) -> None:
        """Begins a step, where a `with` block is no possibility: in callbacks."""
        self._scope.begin()

    def end_step(self) -> Step | None:
        """Ends it, and returns its figures."""
        return self._end(None)

    def _end(self, error: BaseException | None) -> Step | None:
        scope = self._scope
        native = scope._native
        if native is None or not native.is_open:
            return None  # no PyTorch, or not begun
        scope.end()
        number, self._number = self._number, self._number + 1
        if not scopes._has_begun():
            return None
        step = self.last = self._step_of(native, number)
        self._since_log.append(step)
        if self._recording is not None:
            self._count_recorded()
        if self._warn is not False:
            self._look(step, error)
        return step

    def _step_of(self, native: Any, number: int) -> Step:
        figures = native.figures
        start, allocated, peak_allocated, most_allocated = figures["allocated"]
        _, reserved, peak_reserved, most_reserved = figures["reserved"]
        retries, ooms, fragmented = native.counts
        before = start if self.last is None else self.last.allocated
        is_exact = peak_allocated >= most_allocated and peak_reserved >= most_reserved and not native.notes & 24
        growth = allocated - before
        return Step(number, peak_allocated, peak_reserved, allocated, reserved, fragmented, retries, ooms, growth, is_exact)

    # ---- figures for a logger

    def log(self) -> dict[str, int]:
        """The steps since the last call as scalars, by names that wandb, TensorBoard and MLflow take: after each step those of
        that step, after ten steps the highest peaks of the ten. {} if no step has ended since.

            vramscope/peak_allocated_bytes, vramscope/peak_reserved_bytes    the highest of these steps
            vramscope/allocated_bytes, vramscope/reserved_bytes              at the end of the last one
            vramscope/fragmented_bytes                                       at the end of the last one
            vramscope/growth_bytes                                           of each step, on average
            vramscope/alloc_retries, vramscope/ooms                          in these steps
        """
        steps, self._since_log = self._since_log, []
        if not steps:
            return {}
        last = steps[-1]
        peak_allocated, peak_reserved, growth, retries, ooms = last.peak_allocated, last.peak_reserved, 0, 0, 0
        for step in steps:
            peak_allocated = max(peak_allocated, step.peak_allocated)
            peak_reserved = max(peak_reserved, step.peak_reserved)
            growth += step.growth
            retries += step.retries
            ooms += step.ooms
        growth = round(growth / len(steps))
        values = (peak_allocated, peak_reserved, last.allocated, last.reserved, last.fragmented, growth, retries, ooms)
        return dict(zip(self._names, values, strict=True))

    # ---- a recording

    def record(self, path: str | os.PathLike[str], *, steps: int = 1, overwrite: bool = False) -> Any:
        """Records the next steps to a file, with the stack of every allocation, and returns the `Recording` (`vramscope.record`,
        which says what it raises): `tracker.record("step.vram", steps=2)`, at any time."""
        from vramscope._recording import record

        self._recording = record(path, overwrite=overwrite)
        self._steps_to_record = steps
        return self._recording

    def _count_recorded(self) -> None:
        self._steps_to_record -= 1
        if self._steps_to_record <= 0:
            recording, self._recording = self._recording, None
            recording.stop()

    # ---- warnings

    def _look(self, step: Step, error: BaseException | None) -> None:
        if (step.retries or step.peak_reserved > self._most_reserved) and not self._was_near:
            self._most_reserved = max(self._most_reserved, step.peak_reserved)
            free, _ = sys.modules["torch"].cuda.mem_get_info(self._scope.device)  # of the driver: only where a peak is a new one
            available = free + step.reserved
            if error is None and (step.retries or step.peak_reserved > _NEAR * available):
                self._was_near = True
                self._say(_near_text(self._scope.device or 0, step, available))
        if self._watch.grows(step):
            self._say(_growth_text(self._scope.device or 0, self._watch))

    def _say(self, sentence: str) -> None:
        if callable(self._warn):
            self._warn(sentence)
        else:
            warnings.warn(sentence, GPUMemoryWarning, stacklevel=_frames_of_ours() + 1)

    def __repr__(self) -> str:
        steps = f"{self._number} step{'' if self._number == 1 else 's'}"
        peak = f", the last with a peak of {bytes_text(self.last.peak_allocated)}" if self.last is not None else ""
        return f"<vramscope.Tracker: {steps}{peak}>"


class _Context:
    """The `with` block of a step; one for all steps of a tracker."""

    __slots__ = ("_tracker",)

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def __enter__(self) -> Tracker:
        self._tracker._scope.begin()
        return self._tracker

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._tracker._end(error)


class _GrowthWatch:
    """Whether allocated bytes grow step by step: the ends of the steps of each window are all above those of the window before.
    A cache that fills up ends that; a batch that is larger now and then does not begin it."""

    def __init__(self) -> None:
        self.steps = 0
        self.first = 0  # bytes at the end of the first step of the growth
        self.first_us = 0  # the time then
        self.last = 0
        self.rises = 0  # windows in a row that are above the one before
        self.is_said = False
        self._window: list[int] = []  # ends of the steps of this window
        self._before: list[int] = []  # of the one before
        self._began_us = self._before_us = 0  # when the first steps of these ended

    @property
    def grown_steps(self) -> int:
        """The steps from `first` to `last`."""
        return (self.rises + 1) * _WINDOW - 1

    def grows(self, step: Step) -> bool:
        """Takes a step; True once, when the growth is certain."""
        self.steps += 1
        if self.is_said or self.steps <= _FIRST_STEPS:
            return False
        if not self._window:
            self._began_us = time.time_ns() // 1000
        self._window.append(step.allocated)
        if len(self._window) < _WINDOW:
            return False
        is_above = bool(self._before) and min(self._window) > max(self._before)
        if is_above and self.rises == 0:
            self.first, self.first_us = self._before[0], self._before_us
        self.rises = self.rises + 1 if is_above else 0
        self.last = step.allocated
        self._before, self._window, self._before_us = self._window, [], self._began_us
        self.is_said = self.rises == _WINDOWS - 1
        return self.is_said


def _near_text(device: int, step: Step, available: int) -> str:
    share = (f"peak reserved {bytes_text(step.peak_reserved)} of the {bytes_text(available)} that this process can get "
             f"({step.peak_reserved / available:.1%})")
    if step.retries:
        times = "once" if step.retries == 1 else f"{step.retries} times"
        return (f"GPU {device} was full in step {step.number}: PyTorch flushed its cache {times} (cudaMalloc retry), which is "
                f"slow; {share}, {bytes_text(step.fragmented)} fragmented")
    return f"GPU {device} was nearly full in step {step.number}: {share}, {bytes_text(step.fragmented)} fragmented"


def _growth_text(device: int, watch: _GrowthWatch) -> str:
    each = (watch.last - watch.first) // watch.grown_steps
    owner = _owner_of_growth(device, watch.first_us)
    if owner is None:
        owner = "tracker.record('steps.vram', steps=8) records the lines of some steps, for vramscope report steps.vram"
    return (f"GPU {device}: allocated memory grows every step, by {bytes_text(each)} on average over {watch.grown_steps} steps: "
            f"likely a leak or an unbounded cache; {owner}")


def _owner_of_growth(device: int, since_us: int) -> str | None:
    """The line that holds more than at that time, by the history or the recording of this process; None without either."""
    try:
        snapshot = _running_snapshot()
        if snapshot is None:
            return None
        with snapshot:
            grown = snapshot.query("live", device=device, at="end", since=f"@{since_us}", measure="grown", by="line", top=1)
    except Exception as error:  # a warning does not end the training
        return f"its line is unknown ({error})"
    if not grown["groups"]:
        return "its line is unknown: the history does not reach back that far"
    return f"{grown['groups'][0]['label']} holds {bytes_text(grown['groups'][0]['bytes'])} more"


def _running_snapshot() -> Any:
    """PyTorch's history, or the file of the recording that runs, as a Snapshot; None without either."""
    from vramscope import memory, query

    torch = sys.modules["torch"]
    if getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)():
        return query.open(memory.snapshot())
    recordings = sys.modules.get("vramscope._recording")
    recording = recordings.latest() if recordings is not None else None
    if recording is None or not recording.is_on:
        return None
    time.sleep(0.05)  # the file lacks the last hundredth of a second
    return query.open(recording.path)


def _frames_of_ours() -> int:
    """The frames of this package above the caller's, for warnings."""
    folder, depth = os.path.dirname(__file__) + os.sep, 0
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folder):
        frame, depth = frame.f_back, depth + 1
    return depth
