"""Finds names for tensors from live objects and variables, so nothing has to be registered and no hook is needed.

    parameters, buffers   model.0.weight: the path from a module that is not part of another one. That module has the name of
                          the variable that holds it, else of its class
    gradients             model.0.weight.grad
    optimizer state       model.0.weight.exp_avg
    base of a view        x._base, if the base has no name of its own
    other tensors         the variable, or the item of a list, tuple or dict in a variable: x, batch['ids'], losses[3];
                          an attribute of a module: model.cache.keys
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from vramscope._native import instances
from vramscope._tensors import Reader

_FAST_LOCALS = 0x1  # CO_OPTIMIZED: f_locals is a copy, not the frame's own namespace
_LONGEST = 10_000  # containers with more items are not searched


def names_of(reader: Reader, frame: FrameType | None) -> dict[int, str]:
    """{id(tensor): name} for the tensors that have a name, as seen from `frame` (None: only from the main module)."""
    torch = reader.torch
    names: dict[int, str] = {}
    with torch._C.DisableTorchFunctionSubclass():
        objects = instances(gc.get_objects(), (torch.nn.Module, torch.optim.Optimizer))
        modules = instances(objects, torch.nn.Module)
        variables = _Variables(frame)
        try:
            called = _named_modules(torch, variables)
            met: set[int] = set()
            for root, name in _roots(modules, called):
                _name_module(torch, root, name, names, met)
            for name, value in variables:
                _name_variable(torch, name, value, names)
        finally:
            variables.forget()
        _name_gradients(reader, names)
        for optimizer in instances(objects, torch.optim.Optimizer):
            _name_states(torch, optimizer, names)
    return names


class _Variables:
    """(name, value) of the variables of a frame, then of its module, of its callers and their modules, and of the main
    module."""

    def __init__(self, frame: FrameType | None) -> None:
        self.spaces: list[dict[str, Any]] = []
        self.copies: list[dict[str, Any]] = []
        while frame is not None:
            self._add_locals(frame)
            self._add(frame.f_globals)
            frame = frame.f_back
        main = sys.modules.get("__main__")
        if main is not None:
            self._add(vars(main))

    def _add(self, space: dict[str, Any]) -> None:
        if not any(space is known for known in self.spaces):
            self.spaces.append(space)

    def _add_locals(self, frame: FrameType) -> None:
        """Before Python 3.13, reading f_locals of a function's frame makes a dict that the frame keeps, and which keeps the
        values alive after `del`. `forget` clears that dict if nothing else refers to it; the result of a program's own
        locals() stays as it is."""
        space = frame.f_locals
        if space is frame.f_globals:
            return
        values = dict(space)
        if frame.f_code.co_flags & _FAST_LOCALS and type(space) is dict and sys.getrefcount(space) <= 3:
            self.copies.append(space)
        self.spaces.append(values)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for space in self.spaces:
            for name, value in list(space.items()):
                if isinstance(name, str) and not name.startswith("__"):
                    yield name, value

    def forget(self) -> None:
        for copy in self.copies:
            copy.clear()
        self.copies.clear()
        self.spaces.clear()


def _named_modules(torch: Any, variables: _Variables) -> dict[int, str]:
    """{id(module): name} of modules in variables, or in a list, tuple or dict in a variable."""
    called: dict[int, str] = {}
    for name, value in variables:
        for path, each in _within(name, value):
            if issubclass(type(each), torch.nn.Module):
                called.setdefault(id(each), path)
    return called


def _roots(modules: list[Any], called: dict[int, str]) -> Iterator[tuple[Any, str]]:
    """All modules, each with a unique name: first those that are not part of another module, and among these first those that a
    variable holds. The caller skips modules that it has already visited as parts."""
    parts = {id(part) for module in modules for part in _dict(module, "_modules").values()}
    taken: dict[str, int] = {}
    for module in sorted(modules, key=lambda module: (id(module) in parts, id(module) not in called)):
        name = called.get(id(module), type(module).__name__)
        taken[name] = taken.get(name, 0) + 1
        yield module, name if taken[name] == 1 else f"{name}#{taken[name]}"


def _name_module(torch: Any, module: Any, path: str, names: dict[int, str], met: set[int]) -> None:
    if id(module) in met:
        return
    met.add(id(module))
    for part in ("_parameters", "_buffers"):
        for name, tensor in _dict(module, part).items():
            if tensor is not None:
                names.setdefault(id(tensor), f"{path}.{name}")
    for name, part in _dict(module, "_modules").items():
        if part is not None:
            _name_module(torch, part, f"{path}.{name}", names, met)
    for name, value in list(vars(module).items()):
        if name not in ("_parameters", "_buffers", "_modules"):
            _name_variable(torch, f"{path}.{name}", value, names)


def _dict(module: Any, name: str) -> dict[str, Any]:
    """A table of a module, read without its __getattr__, which a subclass may define."""
    table = vars(module).get(name)
    return dict(table) if isinstance(table, dict) else {}


def _name_variable(torch: Any, name: str, value: Any, names: dict[int, str]) -> None:
    """Names `value` if it is a tensor, or the tensors in it if it is a list, tuple or dict."""
    for path, each in _within(name, value):
        if issubclass(type(each), torch.Tensor):
            names.setdefault(id(each), path)


def _within(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The items of a list, tuple or dict with their names (x[0], x['key']); any other value itself."""
    kind = type(value)
    if kind in (list, tuple) and len(value) <= _LONGEST:
        for index, each in enumerate(value):
            yield f"{name}[{index}]", each
    elif issubclass(kind, dict) and dict.__len__(value) <= _LONGEST:
        for key, each in list(dict.items(value)):
            yield f"{name}[{key!r}]" if type(key) in (str, int) else f"{name}[<{type(key).__name__}>]", each
    else:
        yield name, value


def _name_gradients(reader: Reader, names: dict[int, str]) -> None:
    """Names the gradients of named tensors, and the bases of named views: a base lives as long as its view, even if no variable
    refers to it."""
    for tensor in instances(gc.get_objects(), reader.torch.Tensor):
        name = names.get(id(tensor))
        if name is None:
            continue
        gradient, base = reader.gradient(tensor), reader.base(tensor)
        if gradient is not None:
            names[id(gradient)] = f"{name}.grad"
        if base is not None:
            names.setdefault(id(base), f"{name}._base")


def _name_states(torch: Any, optimizer: Any, names: dict[int, str]) -> None:
    states = vars(optimizer).get("state")
    if not isinstance(states, dict):
        return
    for parameter, state in list(states.items()):
        if isinstance(state, dict):
            owner = names.get(id(parameter), type(optimizer).__name__)
            for key, value in list(state.items()):
                if issubclass(type(value), torch.Tensor):
                    names.setdefault(id(value), f"{owner}.{key}")
