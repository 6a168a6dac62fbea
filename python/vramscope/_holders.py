"""Finds the variables, attributes and containers that keep a tensor alive, and describes them in words.

Python's garbage collector knows which objects refer to which, but not the variables of running functions; those are
read frame by frame. If only C++ refers to a tensor (autograd saved it for the backward pass), its storage has references
for which no Python object is found.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Mapping
from types import CellType, FrameType, ModuleType
from typing import Any, NamedTuple

_MOST_HOLDERS = 20
_MOST_DEPTH = 4  # of containers in containers
_OPTIMIZED = 0x1  # of code flags: the variables of a function, which f_locals copies


def tensors_of(obj: Any) -> list[Any]:
    """The GPU tensors in `obj`, which is a tensor, a module, an optimizer, or any nesting of dicts and sequences."""
    torch = sys.modules.get("torch")
    found: dict[int, Any] = {}
    if torch is not None:
        _collect(obj, torch, found, set())
    return list(found.values())


def _collect(obj: Any, torch: Any, found: dict[int, Any], seen: set[int]) -> None:
    if id(obj) in seen:
        return
    seen.add(id(obj))
    inner: Iterable[Any] = ()
    if isinstance(obj, torch.Tensor):
        if obj.is_cuda:
            found[id(obj)] = obj
        inner = [obj.grad] if obj.is_leaf and obj.grad is not None else ()
    elif isinstance(obj, torch.nn.Module):
        inner = [*obj.parameters(), *obj.buffers()]
    elif isinstance(obj, torch.optim.Optimizer):
        inner = list(obj.state.values())
    elif isinstance(obj, Mapping):
        inner = list(obj.values())
    elif isinstance(obj, (list, tuple, set, frozenset)):
        inner = list(obj)
    for one in inner:
        _collect(one, torch, found, seen)


class Storages:
    """The storages of some tensors, each once, as weak references."""

    def __init__(self, tensors: list[Any]) -> None:
        import torch

        self._count = torch._C._storage_Use_Count
        self._weak: dict[int, tuple[Any, int]] = {}  # the address -> (a weak reference, bytes)
        for tensor in tensors:
            storage = _local(tensor).untyped_storage()
            if storage._cdata not in self._weak:
                self._weak[storage._cdata] = storage._weak_ref(), storage.nbytes()
        self.bytes = sum(size for _, size in self._weak.values())

    def _alive(self) -> list[tuple[Any, int]]:
        import torch

        found = []
        for weak, size in self._weak.values():
            storage = torch.UntypedStorage._new_with_weak_ptr(weak)
            if storage is not None:
                found.append((storage, size))
        return found

    def held_bytes(self) -> int:
        """Bytes of the storages that are still referenced."""
        return sum(storage.nbytes() for storage, _ in self._alive())

    def empty(self) -> None:
        """Releases the memory of the storages, although they are still referenced."""
        for storage, _ in self._alive():
            storage.resize_(0)

    def __del__(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None:  # the interpreter is ending
            return
        for weak, _ in self._weak.values():
            torch.UntypedStorage._free_weak_ref(weak)


def _local(tensor: Any) -> Any:
    """The local part of a tensor that is distributed over ranks (DTensor); any other tensor itself."""
    return getattr(tensor, "_local_tensor", tensor)


def describe_holders(tensors: list[Any], owner: Any, ignore: list[Any]) -> list[str]:
    """Describes what refers to these tensors, to their views and gradients, and to `owner`, the object they came from."""
    storages = {_local(tensor).untyped_storage()._cdata for tensor in tensors}
    targets = _with_views(tensors, storages)
    if owner is not None and not _has(targets, owner):
        targets.append(owner)
    search = _Search({id(tensors), id(targets), id(ignore), *map(id, ignore)})
    found: dict[str, None] = {}
    for target in targets:
        found.update(dict.fromkeys(search.holders_of(target, 0)))
    return list(found)[:_MOST_HOLDERS]


def _with_views(tensors: list[Any], storages: set[int]) -> list[Any]:
    import torch

    targets = list(tensors)
    for other in gc.get_objects():
        if _is_tensor(other, torch) and not _has(targets, other) and _shares(other, storages):
            targets.append(other)
    return targets


def _has(objects: list[Any], wanted: Any) -> bool:
    for one in objects:  # noqa: SIM110 (a generator's closure would be among the holders)
        if one is wanted:
            return True
    return False


def _is_tensor(obj: Any, torch: Any) -> bool:
    return issubclass(type(obj), torch.Tensor)  # not isinstance: that asks objects for __class__, which may do anything


def _shares(tensor: Any, storages: set[int]) -> bool:
    try:
        return bool(tensor.is_cuda) and _local(tensor).untyped_storage()._cdata in storages
    except Exception:  # a tensor without storage
        return False


class _Search:
    """Searches referrers. `ignored` has the ids of the objects that belong to the search itself. No comprehension in this class
    uses the target, because its closure would be another referrer."""

    def __init__(self, ignored: set[int]) -> None:
        self._frames = _user_frames()
        self._ignored = ignored | {id(self._frames)}

    def holders_of(self, target: Any, depth: int) -> list[str]:
        found: list[str] = []
        for frame in self._frames:
            found += _in_frame(frame, target)
        referrers = gc.get_referrers(target)
        self._ignored.add(id(referrers))
        for referrer in referrers:
            if id(referrer) not in self._ignored and not isinstance(referrer, FrameType):
                found += self._describe(referrer, target, depth)
        self._ignored.discard(id(referrers))
        return found

    def _describe(self, holder: Any, target: Any, depth: int) -> list[str]:
        """Describes `holder`, which refers to `target`. For a container without a name, describes what refers to that."""
        if isinstance(holder, dict):
            return self._describe_dict(holder, target, depth)
        if isinstance(holder, (list, tuple, set, frozenset)):
            return self._above(holder, f"{type(holder).__name__} of {len(holder)}", depth)
        if isinstance(holder, CellType):
            return ["a function's closure"]
        kind = type(holder).__name__
        names = _names_of(_attributes(holder), target)
        return [f"attribute {name} of {kind}" for name in names] or [f"an object of type {kind}"]

    def _describe_dict(self, holder: dict[Any, Any], target: Any, depth: int) -> list[str]:
        names = _names_of(list(holder.items()), target)
        module = sys.modules.get(str(holder.get("__name__")))
        if isinstance(module, ModuleType) and vars(module) is holder:
            return [f"global {name} of {module.__name__}" for name in names]
        for owner in gc.get_referrers(holder):
            if getattr(owner, "__dict__", None) is holder:
                return [f"attribute {name} of {type(owner).__name__}" for name in names]
        keys = ", ".join(repr(name) for name in names[:3])
        return self._above(holder, f"dict under {keys}" if keys else "dict", depth)

    def _above(self, container: Any, text: str, depth: int) -> list[str]:
        if depth >= _MOST_DEPTH:
            return [f"a {text}"]
        return [f"a {text}, {owner}" for owner in self.holders_of(container, depth + 1)] or [f"a {text}"]


def _names_of(items: list[tuple[Any, Any]], target: Any) -> list[str]:
    found = []
    for name, value in items:
        if value is target:
            found.append(str(name))
    return found


def _attributes(holder: Any) -> list[tuple[str, Any]]:
    try:
        return list(vars(holder).items())
    except TypeError:
        return []


def _user_frames() -> list[FrameType]:
    """The frames of all threads, except those of vramscope."""
    found: list[FrameType] = []
    here: FrameType | None = None
    for here in sys._current_frames().values():
        while here is not None:
            if not str(here.f_globals.get("__name__", "")).startswith("vramscope."):
                found.append(here)
            here = here.f_back  # noqa: PLW2901 (another name would keep a frame, which would be among the holders)
    del here
    return found


def _in_frame(frame: FrameType, target: Any) -> list[str]:
    """The local variables of a function that are `target`."""
    code = frame.f_code
    if not code.co_flags & _OPTIMIZED:
        return []  # a module or a class: its dict is among the holders
    variables = frame.f_locals
    where = f"{code.co_name} ({code.co_filename}:{frame.f_lineno})"
    found = [f"variable {name} of {where}" for name in _names_of(list(variables.items()), target)]
    if sys.version_info < (3, 13):
        variables.clear()  # f_locals is a copy that the frame keeps, so it would keep the tensors alive
    return found


# ---- tensors that the frames of an error keep alive


class FrameHold(NamedTuple):
    """A frame of a failed call and the GPU memory that its variables keep.

    bytes   of the storages that no earlier frame of the list holds
    """

    function: str
    file: str
    line: int
    bytes: int
    variables: tuple[str, ...]


def held_by_frames(errors: list[BaseException]) -> list[FrameHold]:
    """The frames of these errors that hold GPU tensors, outermost call first. A storage counts for the first frame that holds
    it."""
    found, seen = [], set[int]()
    for error in errors:
        trace = error.__traceback__
        while trace is not None:
            held = _held_by_frame(trace.tb_frame, trace.tb_lineno, seen)
            if held is not None:
                found.append(held)
            trace = trace.tb_next
    return found


def _held_by_frame(frame: FrameType, line: int, seen: set[int]) -> FrameHold | None:
    code = frame.f_code
    if not code.co_flags & _OPTIMIZED:
        return None  # the program's globals: they are not leftovers of a call
    variables = frame.f_locals
    size, names = 0, []
    for name, value in list(variables.items()):
        more = sum(_new_bytes(tensor, seen) for tensor in tensors_of(value))
        size += more
        if more:
            names.append(name)
    if sys.version_info < (3, 13):
        variables.clear()  # as in _in_frame
    return FrameHold(code.co_name, code.co_filename, line, size, tuple(names)) if names else None


def _new_bytes(tensor: Any, seen: set[int]) -> int:
    storage = _local(tensor).untyped_storage()
    if storage._cdata in seen:
        return 0
    seen.add(storage._cdata)
    return int(storage.nbytes())
