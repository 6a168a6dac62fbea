"""What the hooks of engines for inference share (vramscope_vllm.py, vramscope_sglang.py).

Memory is told apart by PyTorch's own memory metadata, which each event of the allocator carries: inside of a function of an
engine the metadata is the name of a part ("weights", "KV cache", ...). The innermost such function decides.

Engines kill their processes some seconds after they asked them to end, which is too soon for the history to be written. Here they
wait as long as these work (wait_to_end).
"""

from __future__ import annotations

import ctypes
import functools
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Part = tuple[str, str, str]  # a class (or "": the module itself), its function, the part that it allocates

WEIGHTS, KV_CACHE, GRAPHS = "weights", "KV cache", "CUDA graphs"
ACTIVATIONS, WORKSPACES = "activations", "workspaces"


class Steps:
    """What is to be done with which modules of an engine, once each was executed. A step that fails is a line in the report; the
    others are done all the same."""

    def __init__(self, engine: str, note: Callable[[str, BaseException], None]) -> None:
        self.engine = engine  # its name in sentences
        self.note = note
        self.steps: dict[str, list[tuple[str, Callable[[Any], None]]]] = {}

    def add(self, module: str, what: str, function: Callable[[Any], None]) -> None:
        """`what`: for the report, if the function raises."""
        self.steps.setdefault(module, []).append((what, function))

    def add_parts(self, parts: dict[str, tuple[Part, ...]]) -> None:
        for module, its in parts.items():
            self.add(module, f"the parts of {self.engine}'s memory", functools.partial(_mark, its))

    def modules(self) -> dict[str, Callable[[Any], None]]:
        return {module: functools.partial(self._follow, steps) for module, steps in self.steps.items()}

    def _follow(self, steps: list[tuple[str, Callable[[Any], None]]], module: Any) -> None:
        for what, function in steps:
            try:
                function(module)
            except Exception as error:
                self.note(what, error)


def replace(owner: Any, name: str, function: Callable[..., Any]) -> None:
    """From now on owner.name(...) is function(the original, ...)."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        return function(original, *args, **kwargs)

    is_static = isinstance(vars(owner).get(name), staticmethod)
    setattr(owner, name, staticmethod(replaced) if is_static else replaced)


def _mark(parts: tuple[Part, ...], module: Any) -> None:
    from torch import _C

    get, put = getattr(_C, "_cuda_getMemoryMetadata", None), getattr(_C, "_cuda_setMemoryMetadata", None)
    if get is None or put is None:
        raise LookupError("this PyTorch has no memory metadata")
    for owner, name, part in parts:
        replace(getattr(module, owner) if owner else module, name, functools.partial(_call_for, part, get, put))


def _call_for(
    part: str, get: Callable[[], str], put: Callable[[str], None], original: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    before = get()
    put(part)
    try:
        return original(*args, **kwargs)
    finally:
        put(before)


def trust_loops() -> None:
    """An engine's steps read the same zeros hundreds of times, which looks like a loop that waits. Those of this thread end,
    because the host knows how many tokens each request gets."""
    ctypes.CDLL(None).vs_simcuda_trust_loops()


# ---- how its processes end

HANGS_S = 60.0  # a process that works so little in this time that it will not end
WORKS_S = 1.0
MOST_S = 1800.0
_POLL_S = 0.2


class Patience:
    """How long a process is waited for. A loaded machine needs longer for the same work, so processor time decides: a process
    hangs if it and its descendants used less than `works_s` of it in `hangs_s`. `most_s`: the limit for one that never ends."""

    def __init__(self, began: float, hangs_s: float = HANGS_S, works_s: float = WORKS_S, most_s: float = MOST_S) -> None:
        self.ends: float = began + most_s
        self.hangs_s: float = hangs_s
        self.works_s: float = works_s
        self.worked: tuple[float, float] | None = None  # when, and what was used until then

    def is_over(self, now: float, used: float) -> bool:
        """`used`: seconds of a processor so far; less than before where a descendant left the tree, which is progress, too."""
        if self.worked is None or abs(used - self.worked[1]) >= self.works_s:
            self.worked = now, used
        return now >= self.ends or now - self.worked[0] >= self.hangs_s


def wait_to_end(pids: Iterable[int], **limits: float) -> list[int]:
    """Waits for processes that were asked to end. Returns those that are given up: they hang, or work for too long. `limits`: as
    Patience takes them."""
    running = {pid: (_Process.read(pid), Patience(time.monotonic(), **limits)) for pid in pids}
    given_up = []
    while running:
        tree = _processes()
        for pid, (first, patience) in list(running.items()):
            process = tree.get(pid)
            if first is None or process is None or process.began != first.began:
                del running[pid]
            elif patience.is_over(time.monotonic(), _used_below(pid, tree)):
                del running[pid]
                given_up.append(pid)
        if running:
            time.sleep(_POLL_S)
    return given_up


class _Process:
    """What /proc/PID/stat says of a process that has not ended."""

    def __init__(self, parent: int, began: str, used: float) -> None:
        self.parent = parent
        self.began = began  # tells it from a later process with the same number
        self.used = used  # seconds of a processor, with those of its children that ended

    @classmethod
    def read(cls, pid: int) -> _Process | None:
        """None: it has ended, whether or not its parent has noticed that."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return None
        if fields[0] in (b"Z", b"X"):
            return None
        return cls(int(fields[1]), fields[19].decode(), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))


def _processes() -> dict[int, _Process]:
    found = {int(name): _Process.read(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: process for pid, process in found.items() if process is not None}


def _used_below(pid: int, tree: dict[int, _Process]) -> float:
    """By a process and its descendants."""
    children: dict[int, list[int]] = {}
    for child, process in tree.items():
        children.setdefault(process.parent, []).append(child)
    used, open_pids = 0.0, [pid]
    while open_pids:
        one = open_pids.pop()
        used += tree[one].used
        open_pids += children.get(one, [])
    return used
