"""The end of a process: one list of the things to do there, for the hooks of PyTorch, JAX, TensorFlow and ranks.

A process ends by Python's exit, or by os._exit, as children of multiprocessing do that were forked. Each function is called at
most once in a process, whatever ends it; a child that is forked has the list of its parent, and does it again for itself.
"""

from __future__ import annotations

import atexit
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Note = Callable[[str, BaseException], None]


class Ending:
    """`note(what, error)` writes what is missing from the report, because the function that was to write it failed."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.functions: list[tuple[str, Callable[[], None]]] = []
        self.ended: int | None = None  # the process that did it

    def add(self, what: str, function: Callable[[], None]) -> None:
        """`what`: for the report, if the function raises. Exit handlers that are registered later run earlier: the list runs
        before those of the libraries that were imported until now, which take their devices down."""
        if not self.functions:
            self._follow_exit()
        self.functions.append((what, function))
        atexit.unregister(self.run)
        atexit.register(self.run)

    def run(self) -> None:
        if self.ended == os.getpid():
            return
        self.ended = os.getpid()
        for what, function in self.functions:
            try:
                function()
            except Exception as error:
                self.note(what, error)

    def _follow_exit(self) -> None:
        original = os._exit

        def _exit(status: int) -> NoReturn:
            self.run()
            self._note_exit()
            original(status)

        _exit.__doc__ = original.__doc__
        os._exit = _exit

    def _note_exit(self) -> None:
        """For the simulated GPU, if there is one: without that note the process counts as killed."""
        try:
            import ctypes

            note_exit = getattr(ctypes.CDLL(None), "vs_simcuda_note_exit", None)
            if note_exit is not None:
                note_exit()
        except Exception as error:
            self.note("the end of a process", error)
