"""What the hooks of engines for inference share (vramscope_vllm.py, vramscope_sglang.py).

Memory is told apart by PyTorch's own memory metadata, which each event of the allocator carries: inside of a function of an
engine the metadata is the name of a part ("weights", "KV cache", ...). The innermost such function decides.
"""

from __future__ import annotations

import ctypes
import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
