"""`vramscope.apply`: applies the changes of a fit.json to this process."""

from __future__ import annotations

import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from vramscope._native import read_changes
from vramscope.errors import FileError

__all__ = ["AppliedChanges", "Outcome", "apply"]

_HOOK = Path(__file__).parent / "lib" / "vramscope" / "dryrun"  # where the functions that apply changes are
_kept: list[AppliedChanges] = []  # as long as the process, as the changes are


class Outcome(NamedTuple):
    """What became of a change."""

    name: str  #: of the change, as in the file
    applied: bool
    text: str  #: what it was applied to, or why it was not


class AppliedChanges:
    """The changes that `apply` applies: most of them when the program makes what they are about. Prints as text."""

    def __init__(self, changes: Any) -> None:
        self._changes = changes

    @property
    def outcomes(self) -> list[Outcome]:
        """What became of them until now. A change that is not in this list has not met what it is about."""
        return [Outcome(self._changes.entries[number]["name"], applied, text) for number, applied, text in self._changes.outcomes]

    def __str__(self) -> str:
        return "\n".join(f"{one.name}: {'' if one.applied else 'not applied: '}{one.text}" for one in self.outcomes)


def apply(path: str | os.PathLike[str]) -> AppliedChanges:
    """Applies the changes of a fit.json (docs/formats/fit.md) to this process, as `vramscope run --with` does: best before
    PyTorch is imported, at least before models and optimizers are made. They last until the process ends. Nothing is
    printed.

    Raises OSError if the file cannot be read, FormatError or ArgumentError with a sentence if it is no valid list of
    changes, FileError if the package is incomplete."""
    text = read_changes(Path(path).read_bytes())
    spec = spec_from_file_location("_vramscope_loading", _HOOK / "vramscope_loading.py")
    if spec is None or spec.loader is None or not Path(spec.origin or "").exists():
        raise FileError(f"{_HOOK}: the functions that apply changes are missing")
    loading = module_from_spec(spec)
    spec.loader.exec_module(loading)
    changes = loading.beside("vramscope_changes").Changes(text, loading, None)
    changes.apply()
    _kept.append(AppliedChanges(changes))
    return _kept[-1]
