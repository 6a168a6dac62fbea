"""`MemTracker`: logs which tensors were allocated and freed on a GPU since the last `track()`, with the line of the call.

    from vramscope.gpu_mem_track import MemTracker

    tracker = MemTracker()
    tracker.track()
    model = Model().cuda()
    tracker.track()           # + | 8 * Size:(512,)   | Memory: 0.0156 M | <class '...Parameter'> | torch.float32

The class, its methods, the name of the log file and its lines are those of Pytorch-Memory-Utils' gpu_mem_track.py, so
that scripts that call it or read its logs continue to work. `MemTracker` explains the figures; `tensors`, `growth` and
`summary` are new.
"""

from __future__ import annotations

import atexit
import datetime
import gc
import sys
import weakref
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self, TextIO

from vramscope._tensors import EMPTY, Census, Counters, Kind, Reader, Size, counters, devices_of, every_device

__all__ = ["Growth", "MemTracker", "TrackedTensor"]

_MIB = 1024**2


class TrackedTensor(NamedTuple):
    """One tensor on a GPU, as returned by `MemTracker.tensors`. It has no reference to the tensor."""

    name: str  # "model.0.weight", "model.0.weight.grad", "batch" ...; "" if none was found
    size: Size  # None: a ragged dimension of a nested tensor
    dtype: Any  # torch.dtype
    type: type  # torch.Tensor, torch.nn.Parameter, DTensor ...
    device: int
    bytes: int  # counted for this tensor; 0 if another one shows more of the same storage


class Growth(NamedTuple):
    """The growth between two successive `track()` calls, summed over all passes from the first line to the second. All figures
    are bytes: of "Total Tensor Used Memory", and those named `allocated` of "Total Allocated Memory"."""

    begin: str  # "main.py line 12: <module>", or "" before the first call
    end: str
    passes: int
    first: int  # growth of the first pass, which allocates caches, optimizer states and workspaces
    later: int  # growth of all later passes together
    allocated_first: int
    allocated_later: int
    returned: int  # bytes at the last arrival at `end` minus those at the second (the first round is left out)
    kinds: tuple[tuple[Kind, int, int], ...]  # `returned` by kind, largest first: ((class, size, dtype), count, bytes)


class MemTracker:
    """Logs the tensors on a GPU: each `track()` writes the kinds of tensors whose number has changed since the last call, and
    the totals.

    detail: write the lines of kinds, not only the totals.
    path: a prefix of the file's name: "logs/" is a folder, "logs/a-" a folder and the beginning of the name.
    verbose: print why a tensor could not be read.
    device: a number, "cuda:1", a torch.device, several of them, or None for all GPUs together.
    names: below the line of a kind, write the names of its tensors, in lines that begin with blanks.
    summary: write `summary()` into the log at the end of the program, or of a `with` block.

    The log is `<path><dd-Mon-yy-HH:MM:SS>-gpu_mem_track.txt`; each `track()` appends to it.

        + | 7 * Size:(512, 512, 3, 3)     | Memory: 63.0 M | <class 'torch.nn.parameter.Parameter'> | torch.float32

    A line gives the number of tensors of this class, size and dtype now (`+`) or before (`-`), and the MiB (2**20 bytes) of all
    of them together; a kind whose number changed from 2 to 3 has both lines. Each storage counts once, for the tensor that
    shows most of it, so the lines add up to "Total Tensor Used Memory". "Total Allocated Memory" is
    `torch.cuda.memory_allocated` of the device, which rounds each tensor up to 512 bytes and includes memory without a Python
    object (activations that only autograd holds, workspaces).

    `track()` empties no cache, does not synchronize, keeps no tensor alive and never starts CUDA. If the allocator's counters
    show that nothing was allocated or freed since the last call, it examines no object, so a new view of an old tensor is seen
    only with the next change. (If the program resets the counters in a loop that allocates and frees the same each time, they
    can look unchanged, too.)

    The format, the names and the defaults are those of Pytorch-Memory-Utils.
    """

    def __init__(self, detail: bool = True, path: str = "", verbose: bool = False, device: Any = 0, *,
                 names: bool = False, summary: bool = False) -> None:
        self.print_detail = detail
        self.gpu_profile_fn: str = path + f"{datetime.datetime.now():%d-%b-%y-%H:%M:%S}-gpu_mem_track.txt"
        self.verbose = verbose
        self.begin: bool = True
        self.device = device
        self._check_device()
        self.names = names
        self._logged: Census = EMPTY  # what the last track() wrote
        self._names: dict[Kind, list[str]] = {}  # the names that it wrote
        self._census: Census = EMPTY  # the last census
        self._counted: tuple[Counters, ...] | None = None  # the counters just before it
        self._lines: dict[tuple[str, str], _Passes] = {}
        self._arrivals: dict[str, _Arrivals] = {}
        self._last = _Moment("", 0, 0)
        self._reader: Reader | None = None
        self._summary = summary
        if summary:
            atexit.register(_write_at_exit, weakref.ref(self))

    # ---- the tensors

    def get_tensors(self) -> Iterator[Any]:
        """The tensors on the device that Python can reach, including gradients that were not accessed yet, but without the
        tensors inside a wrapper (such as the local part of a DTensor), which count for the wrapper."""
        yield from self._read().all(self._devices())

    def get_tensor_usage(self) -> float:
        """MiB of the tensors on the device now, each storage once."""
        return self._now()[0].bytes / _MIB

    def get_allocate_usage(self) -> float:
        """MiB that PyTorch's allocator has allocated on the device."""
        return sum(each.bytes for each in self._counters()) / _MIB

    def clear_cache(self) -> None:
        """Calls `gc.collect()` and `torch.cuda.empty_cache()`, which releases cached memory to the driver."""
        gc.collect()
        _torch().cuda.empty_cache()

    def print_all_gpu_tensor(self, file: TextIO | None = None) -> None:
        """Prints size, dtype and MiB of each tensor on the device, one per line, to `file` or standard output."""
        reader = self._read()
        for _, (_, size, dtype), count in reader.entries(reader.all(self._devices())):
            print(f"torch.Size({list(size)})", dtype, count / _MIB, file=file)

    def tensors(self) -> list[TrackedTensor]:
        """The tensors on the device with their names, largest first. Parameters and buffers are named by their path from the
        outermost module, gradients and optimizer state by their parameter, other tensors by variables of the caller."""
        return self._tensors(sys._getframe(1))

    def _tensors(self, frame: FrameType | None) -> list[TrackedTensor]:
        from vramscope._names import names_of

        reader = self._read()
        entries = reader.entries(reader.all(self._devices()))
        names = names_of(reader, frame)
        rows = [TrackedTensor(names.get(id(tensor), ""), size, dtype, kind, reader.device(tensor), count)
                for tensor, (kind, size, dtype), count in entries]
        return sorted(rows, key=lambda row: (-row.bytes, row.name, str(row.size)))

    # ---- the log

    def track(self) -> None:
        """Writes what has changed since the last call and the totals now, with the line of the call."""
        frame = sys._getframe(1)
        where = f"{frame.f_code.co_filename} line {frame.f_lineno}: {frame.f_code.co_name}"
        before, names_before = self._logged, self._names
        now, allocated = self._now()
        if self.names and self.print_detail and now is not before:
            self._names = self._names_by_kind(frame)
        del frame
        totals = (f" Total Tensor Used Memory:{now.bytes / _MIB:<7.1f}Mb"
                  f" Total Allocated Memory:{allocated / _MIB:<7.1f}Mb\n\n")
        with open(self.gpu_profile_fn, "a", encoding="utf-8") as log:
            if self.begin:
                log.write(f"GPU Memory Track | {datetime.datetime.now():%d-%b-%y-%H:%M:%S} |{totals}")
                self.begin = False
            if self.print_detail and now is not before:
                log.writelines(_changes("+", now, before, self._names))
                log.writelines(_changes("-", before, now, names_before))
            log.write(f"\nAt {where:<50}{totals}")
        self._logged = now
        self._note(where, now, allocated)

    @property
    def last_tensor_sizes(self) -> set[tuple[type, Size, int, float, Any]]:
        """The tensors at the last `track()`: {(class, size, count, MiB of each, dtype)}."""
        return {(kind, size, count, held / count / _MIB, dtype) for (kind, size, dtype), (count, held)
                in self._logged.kinds.items()}

    # ---- growth

    def growth(self) -> list[Growth]:
        """How memory grew between each pair of successive `track()` lines, those with the most growth after their first pass
        first. In a loop that keeps nothing, `later` adds up to 0 over one round, and `returned` is 0 at each line."""
        rows = [passes.growth(begin, end, self._arrivals[end]) for (begin, end), passes in self._lines.items()]
        return sorted(rows, key=lambda row: (-row.later, -row.first))

    def summary(self) -> str:
        """`growth()` as text: a table of the pairs of lines and, for each line where memory has grown since the second arrival,
        the kinds of tensors that grew; then the largest tensors, with names if they can be found."""
        return _summary(self, sys._getframe(1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._summary:
            self._summary = False
            self._write_summary(None)

    def _write_summary(self, frame: FrameType | None) -> None:
        with open(self.gpu_profile_fn, "a", encoding="utf-8") as log:
            log.write("\n" + _summary(self, frame))

    # ---- internal

    def _read(self) -> Reader:
        if self._reader is None:
            self._reader = Reader(_torch(), self._trivial)
        return self._reader

    def _devices(self) -> frozenset[int] | None:
        return devices_of(_torch(), self.device)

    def _check_device(self) -> None:
        """Without a GPU every device is accepted, and the figures are 0."""
        torch = _torch()
        count = torch.cuda.device_count()
        wrong = [device for device in self._devices() or () if not 0 <= device < count]
        if wrong and count:
            raise ValueError(f"there is no cuda:{wrong[0]}: PyTorch has {count} GPU{'' if count == 1 else 's'} here")

    def _trivial(self, error: Exception) -> None:
        if self.verbose:
            print(f"A trivial exception occured: {error}")

    def _counters(self) -> tuple[Counters, ...]:
        torch = _torch()
        return tuple(counters(torch, device) for device in every_device(torch, self._devices()))

    def _now(self) -> tuple[Census, int]:
        """The current census (the last one if the counters show no change), and the allocated bytes."""
        counted = self._counters()
        if not _torch().cuda.is_initialized():
            return EMPTY, 0
        if counted != self._counted or not all(each.is_counting for each in counted):
            self._census = self._read().census(self._devices())
            self._counted = counted
        return self._census, sum(each.bytes for each in counted)

    def _names_by_kind(self, frame: FrameType) -> dict[Kind, list[str]]:
        names: dict[Kind, list[str]] = {}
        for row in self._tensors(frame):
            names.setdefault((row.type, row.size, row.dtype), []).append(row.name)
        return names

    def _note(self, where: str, now: Census, allocated: int) -> None:
        """Adds the pass that ends here to the sums of its pair of lines; memory does not grow with the number of passes."""
        last, self._last = self._last, _Moment(where, now.bytes, allocated)
        passes = self._lines.get((last.where, where))
        if passes is None:
            passes = self._lines[last.where, where] = _Passes()
        passes.add(now.bytes - last.bytes, allocated - last.allocated)
        arrivals = self._arrivals.get(where)
        if arrivals is None:
            arrivals = self._arrivals[where] = _Arrivals()
        arrivals.add(now)


class _Moment(NamedTuple):
    where: str
    bytes: int
    allocated: int


class _Passes:
    """Sums over the passes from one line to another."""

    __slots__ = ("count", "first", "later")

    def __init__(self) -> None:
        self.count = 0
        self.first = self.later = (0, 0)

    def add(self, grown: int, allocated: int) -> None:
        if self.count == 0:
            self.first = (grown, allocated)
        else:
            self.later = (self.later[0] + grown, self.later[1] + allocated)
        self.count += 1

    def growth(self, begin: str, end: str, arrivals: _Arrivals) -> Growth:
        (first, allocated_first), (later, allocated_later) = self.first, self.later
        return Growth(begin, end, self.count, first, later, allocated_first, allocated_later, *arrivals.grown())


class _Arrivals:
    """The census at the second arrival at a line, and at the last one."""

    __slots__ = ("base", "count", "last")

    def __init__(self) -> None:
        self.count = 0
        self.base = self.last = EMPTY

    def add(self, now: Census) -> None:
        self.count += 1
        if self.count <= 2:
            self.base = now
        self.last = now

    def grown(self) -> tuple[int, tuple[tuple[Kind, int, int], ...]]:
        rows = []
        for kind in {**self.base.kinds, **self.last.kinds}:
            count, held = self.last.kinds.get(kind, (0, 0))
            count_then, held_then = self.base.kinds.get(kind, (0, 0))
            if (count, held) != (count_then, held_then):
                rows.append((kind, count - count_then, held - held_then))
        return self.last.bytes - self.base.bytes, tuple(sorted(rows, key=lambda row: (-row[2], -row[1], str(row[0]))))


def _torch() -> Any:
    import torch

    return torch


def _write_at_exit(tracker: weakref.ref[MemTracker]) -> None:
    alive = tracker()
    if alive is not None and alive._summary and not alive.begin:
        alive.__exit__(None, None, None)


# ---- text


def _changes(sign: str, there: Census, elsewhere: Census, names: dict[Kind, list[str]]) -> list[str]:
    """The lines of the kinds of `there` that differ in `elsewhere`, largest first."""
    rows = [(kind, *figures) for kind, figures in there.kinds.items() if elsewhere.kinds.get(kind) != figures]
    rows.sort(key=lambda row: (-row[2], str(row[0])))
    return [_line(sign, kind, count, held) + _line_of_names(names.get(kind)) for kind, count, held in rows]


def _line(sign: str, kind: Kind, count: int, held: int) -> str:
    cls, size, dtype = kind
    return f"{sign} | {count} * Size:{size!s:<20} | Memory: {_mib_text(held)} M | {cls!s:<20} | {dtype}\n"


def _line_of_names(names: list[str] | None) -> str:
    known = [name for name in names or () if name]
    return f"    {', '.join(known)}\n" if known else ""


def _mib_text(held: int) -> str:
    """MiB in six characters, truncated instead of rounded, as in logs of Pytorch-Memory-Utils: "180.0", "0.1406". It is longer
    if six characters would lose the number (a few bytes, which need an exponent, or a million MiB)."""
    mib = held / _MIB
    if 0 < mib < 0.0001:
        return f"{mib:.6f}"
    text = repr(float(mib))
    return text[:6] if mib < 100_000 else text.split(".")[0]


def _signed(count: int) -> str:
    return f"{count / _MIB:+.4f} M"


def _summary(tracker: MemTracker, frame: FrameType | None) -> str:
    rows = tracker.growth()
    lines = [f"GPU Memory Growth | {len(rows)} ways between lines | MiB of tensors (and allocated)", ""]
    lines.append(f"{'passes':>8} {'first pass':>16} {'later passes':>16} {'(allocated)':>16}  from -> to")
    for row in rows:
        figures = "".join(f" {_signed(figure):>16}" for figure in (row.first, row.later, row.allocated_later))
        lines.append(f"{row.passes:>8}{figures}  {row.begin or 'the beginning'} -> {row.end}")
    seen = set()
    for row in sorted(rows, key=lambda row: -row.returned):
        if row.returned <= 0 or row.end in seen:
            continue
        seen.add(row.end)
        lines += ["", f"More at {row.end} than at the second arrival there: {_signed(row.returned)}"]
        lines += [f"  {count:+d} * Size:{size!s:<20} | {_signed(held)} | {cls} | {dtype}"
                  for (cls, size, dtype), count, held in row.kinds[:10]]
    if seen:
        lines += _largest(tracker._tensors(frame))
    return "\n".join(lines) + "\n"


def _largest(rows: list[TrackedTensor]) -> list[str]:
    if not rows:
        return []
    largest = [f"  {_mib_text(row.bytes):>8} M | {row.size!s:<20} | {row.name or '(no name found)'}" for row in rows[:10]]
    return ["", "The largest tensors now", *largest]
