"""The program's own history of PyTorch's allocator, next to the one that `vramscope dryrun` records from beginning to end.

PyTorch has one history in a process, and ours contains each that the program records. So the program's calls of
_record_memory_history only mark a place in it, and a snapshot that the program takes is reduced to what PyTorch would have
returned: the events since its own call, as many as its max_entries keeps, with the stacks that its `context` keeps. A program
that records nothing gets no event and no stack.

The mark: PyTorch adds an event "snapshot" to the history after each snapshot, also after one of a pool that does not exist, which
costs nothing. All snapshots are counted here, so each such event is known to be a mark, one of the program's, or one of ours.

Not reproduced: C++ frames, which our history does not have, because PyTorch needs minutes to name them. The report says so.
"""

from __future__ import annotations

import contextlib
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Event = dict[str, Any]
    Frames = list[Any] | None  # None: PyTorch kept no stack

SPLIT = 'with context="alloc" the program\'s own memory snapshots name no stack where a segment is freed that was split'
NO_CPP = "the program's own memory snapshots have no C++ frames, which the dry run does not record"
LOST = "stacks in the program's own memory snapshots may be those of another time: the dry run's history was full (--history)"

_NEVER, _STATE, _ALLOC, _ALL = range(4)  # PyTorch's RecordContext
_LEVELS = {None: _NEVER, "state": _STATE, "alloc": _ALLOC, "all": _ALL}
_NO_POOL = 7  # an id of a pool has a 0. Not a large number: PyTorch 2.11 frees it
_MARKS = 1000  # events of ours among the program's
_PROGRAMS, _OURS = "the program's", "ours"


class _Setting:
    """What a call of _record_memory_history sets, as the allocator's recordHistory takes it."""

    def __init__(
        self, enabled: Any = None, context: Any = None, max_entries: int = 1, clears: bool = True, skipped: Iterable[str] = ()
    ) -> None:
        self.is_on = enabled is not None
        self.level = _LEVELS[context] if self.is_on else _NEVER
        self.most = max(1, max_entries) if enabled == "all" else 1
        self.clears = clears or not self.is_on
        self.skipped = frozenset(skipped)


class _Ring:
    """PyTorch's buffer of events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.next = 0  # the oldest one, which the next one replaces; 0 until the buffer is full

    def clear(self) -> None:
        self.events, self.next = [], 0

    def put(self, event: Event, most: int) -> None:
        if len(self.events) < most:
            self.events.append(event)
            return
        self.events[self.next] = event
        self.next += 1
        if self.next in (most, len(self.events)):
            self.next = 0

    def in_order(self) -> list[Event]:
        return self.events[self.next :] + self.events[: self.next]


class _Trace:
    """One device's events of our history, read as the program's settings would have kept them. `taken`: all snapshots so far, of
    which the history has seen `seen`."""

    def __init__(self, events: list[Event], taken: list[Any], seen: int) -> None:
        self.ring = _Ring()
        self.setting = _Setting()
        self.blocks: dict[int, Frames] = {}  # allocated blocks
        self.segments: dict[int, Frames] = {}
        self.unsplit: dict[int, int] = {}  # segments that are one block, which still knows the stack of the segment; their sizes
        self.requested: int | None = None  # the address of the event before, if that was free_requested
        self.has_split = False  # a segment was freed whose stack PyTorch may or may not know
        at = max(0, seen - sum(event["action"] == "snapshot" for event in events))  # our buffer was full: some marks are lost
        self.is_cut = at > 0
        for mark in taken[:at]:
            self._mark(mark)
        for event in events:
            if event["action"] == "snapshot":
                mark, at = taken[at], at + 1
                self._mark(mark)
                if mark is not _PROGRAMS:
                    continue
            self._follow(event)

    def frames_of(self, held: dict[int, Frames], address: int, recorded: list[Any]) -> list[Any]:
        """Of a block or a segment, of which our history has the frames `recorded`."""
        if address not in held and self.is_cut:
            return recorded if self.setting.level >= _STATE else []
        return recorded if held.get(address) is not None else []

    def _mark(self, mark: Any) -> None:
        if isinstance(mark, _Setting):
            self.setting = mark
            if mark.clears:
                self.ring.clear()

    def _follow(self, event: Event) -> None:
        action, address = event["action"], event.get("addr", 0)  # an out-of-memory error has none
        held = self.segments if action.startswith("segment") else self.blocks
        if action in ("alloc", "segment_alloc", "segment_map"):
            held[address] = event.get("frames") if self.setting.level >= _STATE else None
        if action == "segment_alloc":
            self.unsplit[address] = event["size"]
        elif action == "alloc" and _is_split(self.unsplit.get(address, 0), event["size"]):
            del self.unsplit[address]
        if self.setting.is_on and action not in self.setting.skipped:
            self.ring.put(self._as_kept(event, held), self.setting.most)
        if action in ("free_completed", "segment_free", "segment_unmap"):
            held.pop(address, None)
        if action == "segment_free":
            self.unsplit.pop(address, None)
        self.requested = address if action == "free_requested" else None

    def _as_kept(self, event: Event, held: dict[int, Frames]) -> Event:
        """With "alloc" PyTorch takes no stack where memory is freed, and names the one where it was allocated; for a pending free
        the one of the request that completed it. It has lost that of a segment if its first block was split and later merged."""
        if self.setting.level == _ALL or "frames" not in event:
            return event
        action, address = event["action"], event.get("addr", 0)
        frames = None
        if self.setting.level == _ALLOC:
            is_split = action == "segment_free" and address not in self.unsplit
            self.has_split |= is_split
            is_pending = action == "free_completed" and self.requested != address
            if action in ("free_requested", "free_completed", "segment_free") and not is_pending:
                frames = None if is_split else held.get(address)
            elif action != "segment_unmap":
                frames = event["frames"]
        kept = {name: value for name, value in event.items() if name != "frames"}
        return kept if frames is None else {**kept, "frames": frames}


def _is_split(segment: int, request: int) -> bool:
    """Whether PyTorch splits a free block that is a segment of that size; a segment of 2 MiB has small blocks."""
    rest = segment - -(-max(request, 1) // 512) * 512
    return rest >= 512 if segment == 2 << 20 else rest > 1 << 20


class History:
    """Replaces functions of torch._C. `begin` starts our history if it has not begun; false: there is none. `calls` gets the
    program's calls, for the report."""

    def __init__(
        self, c: Any, most: int, begin: Callable[[], bool], calls: list[Any], assume: Callable[..., None],
        note: Callable[[str, BaseException], None],
    ) -> None:
        self.most: int = most
        self.begin: Callable[[], bool] = begin
        self.calls: list[Any] = calls
        self.assume: Callable[..., None] = assume
        self.note: Callable[[str, BaseException], None] = note
        self.record: Any = c._cuda_record_memory_history
        self.snapshot: Any = c._cuda_memorySnapshot
        self.traceback: Any = getattr(c, "_cuda_allocationTraceback", None)
        self.lock: threading.RLock = threading.RLock()
        self.of_thread: threading.local = threading.local()
        self.is_begun: bool = False
        self.taken: list[Any] = []  # every snapshot since our history began: a _Setting that it marks, _PROGRAMS or _OURS
        self.is_on: bool = False  # the program's recording
        c._cuda_record_memory_history = self.programs_record
        c._cuda_memorySnapshot = self.programs_snapshot
        if hasattr(c, "_cuda_record_memory_history_legacy"):
            c._cuda_record_memory_history_legacy = self.programs_legacy
        if hasattr(c, "_cuda_isHistoryEnabled"):
            is_enabled = c._cuda_isHistoryEnabled
            c._cuda_isHistoryEnabled = lambda: self.is_on if self.is_begun else is_enabled()
        if self.traceback is not None:
            c._cuda_allocationTraceback = self.programs_traceback

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """What this thread records and takes now is not the program's."""
        self.of_thread.is_ours = True
        try:
            yield
        finally:
            self.of_thread.is_ours = False

    def _is_ours(self) -> bool:
        return getattr(self.of_thread, "is_ours", False)

    # ---- recording

    def programs_record(
        self, enabled: Any = None, context: Any = "all", stacks: Any = "all", max_entries: Any = 1, *rest: Any, **named: Any
    ) -> Any:
        """`rest`: clear_history, compile_context, global_record_annotations, skip_actions, record_pinned_host_memory,
        record_cuda, as far as this PyTorch has them."""
        with self.lock:
            is_valid = enabled in (None, "state", "all") and context in _LEVELS and stacks in ("python", "all")
            is_for_gpu = len(rest) < 6 or rest[5]
            if self._is_ours() or named or not is_valid or not is_for_gpu or not self.begin():
                return self.record(enabled, context, stacks, max_entries, *rest, **named)
            self.calls.append({"enabled": enabled, "context": context, "stacks": stacks})
            skipped = rest[3] if len(rest) > 3 else ()
            setting = _Setting(enabled, context, max_entries, bool(rest and rest[0]), skipped)
            if setting.is_on:  # ours keeps at least as many events, and is neither stopped nor cleared
                more = (False, *rest[1:3], *([],) * (len(rest) > 3), *(False, True)[: max(0, len(rest) - 4)])
                self.record("all", "all", "python", max(max_entries + _MARKS, self.most), *more[: len(rest)])
            if len(rest) > 5 and rest[4]:
                self.record(enabled, context, stacks, max_entries, *rest[:5], False)  # the host's memory has its own history
            self._mark(setting)
            self.is_on = setting.is_on
        if setting.level != _NEVER and stacks == "all":
            self.assume(NO_CPP)
        return None

    def programs_legacy(
        self, enabled: Any, record_context: Any = True, max_entries: Any = 1, trace_context: Any = False, cpp: Any = False,
        *rest: Any
    ) -> Any:
        context = "alloc" if trace_context else "state" if record_context else None
        return self.programs_record("all" if enabled else None, context, "all" if cpp else "python", max_entries, *rest)

    def _mark(self, setting: _Setting) -> None:
        for pool in (((_NO_POOL, _NO_POOL, False),), ((_NO_POOL, _NO_POOL),), (None,), ()):
            try:
                self.snapshot(*pool)
                break
            except TypeError:  # this PyTorch takes no such argument
                if pool == ():
                    raise
        self.taken.append(setting)

    # ---- reading

    def programs_snapshot(self, *args: Any) -> Any:
        with self.lock:
            seen, result = len(self.taken), self.snapshot(*args)
            if not self.is_begun:
                return result
            is_ours = self._is_ours()
            self.taken.append(_OURS if is_ours else _PROGRAMS)
            try:
                return result if is_ours else self._reduced(result, seen)
            except Exception as error:
                self.note("the program's own snapshot without the dry run's events", error)
                return result

    def programs_traceback(self, address: int) -> Any:
        found = self.traceback(address)
        if found is None or not self.is_begun:
            return found
        with self.lock:
            return found if any(trace.blocks.get(address) is not None for trace in self._traces(None, 0)) else None

    def _reduced(self, result: Any, seen: int) -> Any:
        traces = self._traces(result["device_traces"] or None, seen)
        if result["device_traces"]:
            result["device_traces"] = [trace.ring.in_order() for trace in traces]
        for segment in result["segments"]:
            trace = traces[segment["device"]] if segment["device"] < len(traces) else _Trace([], [], 0)
            if segment.get("frames"):
                segment["frames"] = trace.frames_of(trace.segments, segment["address"], segment["frames"])
            for block in segment["blocks"]:
                if block.get("frames"):
                    block["frames"] = trace.frames_of(trace.blocks, block["address"], block["frames"])
        for sentence, is_so in ((LOST, [trace.is_cut for trace in traces]), (SPLIT, [trace.has_split for trace in traces])):
            if any(is_so):
                self.assume(sentence)
        return result

    def _traces(self, found: list[list[Event]] | None, seen: int) -> list[_Trace]:
        """Of each device. `found`: our events, None: they have to be read, after all snapshots so far."""
        if not any(isinstance(mark, _Setting) for mark in self.taken):  # the program has recorded nothing
            return [_Trace([], [], 0) for _ in found or ()]
        if found is None:
            seen, found = len(self.taken), self.snapshot(None)["device_traces"]
            self.taken.append(_OURS)
        return [_Trace(events, self.taken, seen) for events in found]
