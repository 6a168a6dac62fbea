"""Python's garbage collector while libraries are imported: it looks for garbage less often than Python does by itself.

An import of torch and transformers makes some hundred thousand objects and next to no garbage, and the collector, which walks
over them again and again, takes a fifth of the time. Garbage that is not collected can hold memory of the GPU, so what is
changed here ends before the GPU has any: when CUDA begins, and with the first collection that no import has caused.

    import of a library     the threshold of the youngest generation is RARELY
    CUDA begins             the threshold is as it was, and all objects are walked over once, so that the collector's counts are
                            those after a full collection, as they may be in a run without this. From then on nothing is changed
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Threshold = tuple[int, int, int]

RARELY = 10_000  # objects. Python's own is 700; fewer walks than with this save nothing more
_LIBRARIES = ("torch", "transformers", "torchvision")  # their imports take a second, and use no GPU


class Collector:
    def __init__(self) -> None:
        self.programs: Threshold | None = None  # what the program has set, while it is not in use
        self.is_over: bool = False
        self.get: Callable[[], Threshold] = gc.get_threshold

    def library(self, name: str) -> None:
        """A module of that name is about to be imported."""
        if self.is_over or self.programs is not None or name.partition(".")[0] not in _LIBRARIES:
            return
        before = self.get()
        if not 0 < before[0] < RARELY or not gc.isenabled():
            return  # the program has settings of its own
        gc.set_threshold(RARELY, *before[1:])
        self.programs = before
        gc.get_threshold = self.programs_threshold  # who keeps what it was, and sets it again, must not find ours
        if self.collection not in gc.callbacks:
            gc.callbacks.append(self.collection)

    def programs_threshold(self) -> Threshold:
        return self.programs if self.programs is not None and self._is_ours() else self.get()

    def collection(self, phase: str, info: dict[str, Any]) -> None:
        """Called by Python before and after each collection."""
        if phase == "start" and self.programs is not None and not _is_importing():
            self._as_before()

    def cuda_begins(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        if self.collection in gc.callbacks:
            gc.callbacks.remove(self.collection)
            self._as_before()
            if gc.isenabled():
                gc.collect()

    def _is_ours(self) -> bool:
        return self.programs is not None and self.get() == (RARELY, *self.programs[1:])

    def _as_before(self) -> None:
        """Where the program has set another threshold meanwhile, that stays."""
        if self.programs is not None and self._is_ours():
            gc.set_threshold(*self.programs)
        self.programs = None
        gc.get_threshold = self.get


def _is_importing() -> bool:
    """Is this thread importing a module?"""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
