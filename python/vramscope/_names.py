"""What tensors are called, found from the outside: nothing has to be registered and no hook is set.

    parameters and buffers   model.0.weight: the path from a module that is no part of another one, which goes by the
    name of
                             the variable that holds it, or else by its class
    gradients                model.0.weight.grad
    state of optimizers      model.0.weight.exp_avg
    what a view is a view of x._base, where that has no name itself
    other tensors            the variable, or its place in a list, tuple or dict that is one: x, batch['ids'],
    losses[3];
                             in a module's attribute: model.cache.keys
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
_LONGEST = 10_000  # of a container that is looked into


def names_of(reader: Reader, frame: FrameType | None) -> dict[int, str]:
    """{id(tensor): name} for the tensors that have one, as seen from `frame` (None: from the main module alone)."""
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
    """(name, value) of the frame's variables, then of its module's, its callers' modules' and the main module's."""

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
        """Until Python 3.13, asking a function's frame for its variables leaves it a dict that keeps them alive after
        `del`. What nobody else has is emptied again (`forget`); a program's own locals() stays as it is."""
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
    """{id(module): name} of modules that a variable holds, or a list, tuple or dict that is one."""
    called: dict[int, str] = {}
    for name, value in variables:
        for path, each in _within(name, value):
            if issubclass(type(each), torch.nn.Module):
                called.setdefault(id(each), path)
    return called


def _roots(modules: list[Any], called: dict[int, str]) -> Iterator[tuple[Any, str]]:
    """Modules, each with a name that no other has: those first that are no part of another one, and among them those
    that a variable holds. Who goes through them leaves out what it has met as a part."""
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
    """A module's own table, without asking the module (it may define __getattr__)."""
    table = vars(module).get(name)
    return dict(table) if isinstance(table, dict) else {}


def _name_variable(torch: Any, name: str, value: Any, names: dict[int, str]) -> None:
    """A tensor, or the tensors in a list, tuple or dict."""
    for path, each in _within(name, value):
        if issubclass(type(each), torch.Tensor):
            names.setdefault(id(each), path)


def _within(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The value itself, or what is in it where it is a list, tuple or dict: x, x[0], x['key']."""
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
    """And the base of a view, which lives as long as the view does, whether it has a name of its own or not."""
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
