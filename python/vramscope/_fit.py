"""`vramscope fit` from Python: the cheapest changes with which a program fits. As in _dryrun.py, the command runs as a child
process."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vramscope._command import binary
from vramscope._dryrun import DryRun, command_of, failure_of, integers_of, options_of
from vramscope._sizes import bytes_text

__all__ = ["Fit", "fit"]


class Fit:
    """What `fit` found. `data` is the reply of `vramscope fit --json` (docs/formats/fit.md). Sizes are bytes."""

    def __init__(self, data: dict[str, Any]):
        self.data = data

    @property
    def end(self) -> str:
        """"fits" (as it is), "found", "none", "too_large", "failed", "no_cuda", "interrupted" or "not_started"."""
        end: str = self.data["answer"]["end"]
        return end

    @property
    def fits(self) -> bool:
        """Whether the program fits, as it is or with `changes`. Either was run on the simulated GPU."""
        return self.end in ("fits", "found")

    @property
    def changes(self) -> dict[str, Any] | None:
        """The fit.json of the changes found; None if there are none. `save` writes it to a file."""
        changes: dict[str, Any] | None = self.data["answer"]["changes"]
        return changes

    @property
    def needed_bytes(self) -> int | None:
        """What the program needs of a GPU, as it is; None if it is unknown."""
        return self._needed(0)

    @property
    def changed_bytes(self) -> int | None:
        """What it needs with `changes`; None if none were found."""
        return self._needed(self.data["answer"]["proof"]) if self.end == "found" else None

    def _needed(self, number: int) -> int | None:
        runs = self.data["runs"]
        needed: int | None = runs[number]["needed_bytes"] if number < len(runs) else None
        return needed

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One for each run: title (its changes), parameter and value, roomy (on a GPU with more memory), verdict,
        needed_bytes, kernels, steps, copied_bytes, output (the end of what a failed run printed), alone (the command line that
        makes the run alone) ..."""
        return [{key: value for key, value in run.items() if key != "reply"} for run in self.data["runs"]]

    @property
    def runs(self) -> list[DryRun]:
        """The same runs as results of `dryrun`."""
        return [DryRun(run["reply"], run["output"] or "", None) for run in self.data["runs"]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `changes` to a file, for `apply` and `vramscope run --with`. Raises ValueError if there are none."""
        if self.changes is None:
            raise ValueError(f"there are no changes to save: {self.end}")
        Path(path).write_text(json.dumps(self.changes, indent=2) + "\n")

    def __repr__(self) -> str:
        changes = self.changes["changes"] if self.changes else []
        names = ", ".join(change["name"] for change in changes) or self.end.replace("_", " ")
        sizes = [bytes_text(size) for size in (self.needed_bytes, self.changed_bytes) if size is not None]
        return f"<vramscope.Fit: {names}, {' -> '.join(sizes) or 'unknown'}, {len(self.data['runs'])} runs>"


def fit(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any],
    *,
    gpu: str | None = None,
    most_runs: int | None = None,
    allow_numerics: bool = False,
    parameters: Mapping[str, Iterable[int]] | None = None,
    conf: str | None = None,
    ranks: int | None = None,
    world: int | None = None,
    rank: int | None = None,
    values: str | Sequence[str] | None = None,
    events: str | None = None,
    context: str | None = None,
    random: bool = False,
    until: str | float | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Fit:
    """Runs `program`, silently and several times, with changes that are applied from outside, until the cheapest set of them
    with which it fits in the GPU is found and proven by a run.

    most_runs       at most so many runs (24)
    allow_numerics  also try changes with other numerics
    parameters      {"batch": range(1, 65)}: for each name, as in `dryrun_largest`, the largest value with which it
                    fits is found, too

    The others are those of `dryrun`; `timeout` is for all runs together. Raises as `dryrun`.
    """
    options = {"gpu": gpu, "runs": most_runs, "conf": conf, "ranks": ranks, "world": world, "rank": rank, "events": events,
               "context": context, "until": until}
    arguments = options_of(options, values)
    for name, choices in (parameters or {}).items():
        arguments += ["--batch", integers_of(name, choices)]
    arguments += ["--allow-numerics"] if allow_numerics else []
    arguments += ["--random"] if random else []
    with tempfile.TemporaryDirectory(prefix="vramscope-") as folder:
        words, env = command_of(program, Path(folder), env)
        command = [str(binary()), "fit", "--quiet", "--json", *arguments, "--", *words]
        done = subprocess.run(command, cwd=cwd, env=env, timeout=timeout, check=False, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, capture_output=True)
    if not done.stdout:
        raise failure_of("fit", done.stderr, done.returncode)
    return Fit(json.loads(done.stdout))
