"""What the hooks in a program share: loading a module of their folder, and waiting for the program's import of others."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def beside(name: str) -> Any:
    """Loads a module of this folder, which is not in sys.path. Its functions are called by the program, so they get the file name
    of a library, and no line of ours owns memory."""
    from types import ModuleType

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), "<__vramscope__>", "exec")
    module = ModuleType("_" + name)
    module.__file__ = "<__vramscope__>"
    exec(code, module.__dict__)
    return module


class Finder:
    """The first module finder. It only waits for some modules, which the other finders find."""

    def __init__(self, early: dict[str, Callable[[], None]], note: Callable[[BaseException], None]) -> None:
        self.note = note  # is called where an exception keeps a function from being called
        self.early = early  # name -> the function that is called before the module is executed
        self.asking: set[str] = set()  # names for which the other finders are asked
        self.wanted: dict[str, Callable[[ModuleType], None]] = {}  # name -> the function that is called after that

    def wait_for(self, wanted: dict[str, Callable[[ModuleType], None]]) -> None:
        """Those that were executed already are passed on at once."""
        self.wanted.update(wanted)
        for name in [name for name in wanted if name in sys.modules]:
            self._found(name, sys.modules[name])

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        early = self.early.pop(name, None)
        if early is not None:
            early()
        if name not in self.wanted or name in self.asking:
            return None
        self.asking.add(name)  # another Finder asks this one
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = find(name, path, target) if find is not None and finder is not self else None
                if spec is not None:
                    self._watch(spec)
                    return spec
            return None
        finally:
            self.asking.discard(name)

    def _watch(self, spec: ModuleSpec) -> None:
        """Calls `_found` after the module was executed. The loader object is kept, because programs examine it."""
        loader: Any = spec.loader
        try:
            original = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                loader.__dict__.pop("exec_module", None)
                original(module)
                self._found(spec.name, module)

            loader.exec_module = exec_module
        except Exception as error:
            self.note(error)

    def _found(self, name: str, module: ModuleType) -> None:
        try:
            follow = self.wanted.pop(name, None)
            if follow is not None:
                follow(module)
            if not self.wanted and not self.early and self in sys.meta_path:
                sys.meta_path.remove(self)
        except Exception as error:
            self.note(error)
