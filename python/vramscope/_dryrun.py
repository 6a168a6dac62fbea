"""`vramscope dryrun` from Python: will it fit? A program, or a function, runs with a simulated GPU in a process of its own.

The command does it, as a process of its own: a dry run takes over the signals of the process that makes it, which a library
must not do to Python. Its reply is all that is read: docs/formats/dryrun.md says what it means, `DryRun.data` is it, untouched.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vramscope._command import binary
from vramscope._sizes import bytes_text

__all__ = ["DryRun", "dryrun"]


class DryRun:
    """What a dry run found out. Sizes are bytes, and all of them are of a simulated GPU.

    `data` is the whole answer as `vramscope dryrun --json` gives it, `output` what the program wrote (both of its streams).
    """

    def __init__(self, data: dict[str, Any], output: str, snapshot: str | None):
        self.data = data
        self.output = output
        self.snapshot = snapshot  #: the path of the snapshot; None if none was requested or written

    @property
    def verdict(self) -> str:
        """"fits", "handled", "does_not_fit", "stopped" or "no_cuda"."""
        verdict: str = self.data["verdict"]
        return verdict

    @property
    def fits(self) -> bool:
        """It ran through on this card, whether or not it met out-of-memory errors on the way."""
        return self.verdict in ("fits", "handled")

    @property
    def exit_code(self) -> int:
        code: int = self.data["exit_code"]
        return code

    @property
    def peak_bytes(self) -> int:
        """The peak of used memory on one GPU, contexts included, as nvidia-smi would show it."""
        return max((device["driver_peak_bytes"] for device in self.data["devices"]), default=0)

    @property
    def torch_peaks(self) -> dict[str, int] | None:
        """PyTorch's own peaks on the card where it reserved most: peak_reserved_bytes, peak_allocated_bytes,
        peak_requested_bytes, ooms, retries. None where PyTorch was not used."""
        all_figures = [device["torch"] for device in self.data["devices"] if device["torch"]]
        return max(all_figures, key=lambda figures: figures["peak_reserved_bytes"], default=None)

    @property
    def smallest_bytes(self) -> int | None:
        """With find_smallest=True the smallest card it runs in, known to 1%. `data["search"]["gpu"]` names it, rounded up, as
        `gpu` takes it."""
        smallest: int | None = self.data["smallest_bytes"]
        return smallest

    @property
    def cards(self) -> list[dict[str, Any]]:
        """Would it fit there? One row for each card that is known, by rising size: gpu, name, total_bytes, fits ("yes",
        "tight", "no", "unknown"), headroom_bytes."""
        cards: list[dict[str, Any]] = self.data["fit"]
        return cards

    def __repr__(self) -> str:
        card: dict[str, Any] = self.data["devices"][0] if self.data["devices"] else {"name": "no card", "total_bytes": 0}
        said = {
            "fits": "fits",
            "handled": "fits, after out-of-memory errors that it handled,",
            "does_not_fit": "does not fit",
            "stopped": f"stopped with exit code {self.exit_code}",
            "no_cuda": "did not use the GPU",
        }[self.verdict]
        return (f"<vramscope.DryRun: {said} in {card['name']}: {bytes_text(self.peak_bytes)} of "
                f"{bytes_text(card['total_bytes'])}>")


def dryrun(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any],
    *,
    gpu: str | None = None,
    conf: str | None = None,
    ranks: int | None = None,
    world: int | None = None,
    rank: int | None = None,
    values: str | None = None,
    events: str | None = None,
    context: str | None = None,
    history: int | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    find_smallest: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> DryRun:
    """Runs `program` with a simulated GPU and says how much memory it took, and which cards it would fit in.

    program   a command as a list or as one text ("python train.py"), or a function that a new Python process imports by its
              name and calls: "train:step", without importing it here, or the function itself (functools.partial gives it
              arguments). What it returns is lost
    gpu       "H100" (the default), "24GiB", "RTX4090:20GiB", "2xA100": as `vramscope dryrun --gpu`
    conf      PyTorch's allocator settings, such as "expandable_segments:True"
    ranks, world, rank, values, events, context, history, find_smallest
              as the options of `vramscope dryrun` of the same names; history=0: no history is kept
    snapshot  keep PyTorch's memory snapshot of the run in this file, which must not exist
    cwd, env, timeout
              as subprocess.run takes them; `env` is the whole environment

    Raises ValueError where the options make no sense (with the command line's sentence), FileNotFoundError where there is
    no such program, TypeError for a function that a new process cannot import, subprocess.TimeoutExpired. A program that fails
    raises nothing: that is an answer (`fits`, `exit_code`, `output`).
    """
    options: dict[str, object] = {"gpu": gpu, "conf": conf, "ranks": ranks, "world": world, "rank": rank, "values": values,
               "events": events, "context": context, "history": history or None,
               "snapshot": None if snapshot is None else os.fspath(snapshot)}
    arguments = [part for name, value in options.items() if value is not None
                 for part in ("--" + name, str(value))]
    arguments += ["--no-history"] if history == 0 else []
    arguments += ["--find-smallest"] if find_smallest else []
    with tempfile.TemporaryDirectory(prefix="vramscope-") as folder:
        answer = Path(folder) / "answer.json"
        if callable(program):
            program, env = _called(program, Path(folder), env)
        elif isinstance(program, str) and re.fullmatch(r"[\w.]+:[\w.]+", program):
            program, env = [sys.executable, "-m", "vramscope._call", program], _with_path(env)
        elif isinstance(program, str):
            program = shlex.split(program)
        command = [str(binary()), "dryrun", "--quiet", "--json", "--output", str(answer), *arguments, "--",
                   *(os.fspath(word) for word in program)]
        done = subprocess.run(command, cwd=cwd, env=env, timeout=timeout, check=False, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not answer.exists() or not answer.stat().st_size:
            sentence = done.stdout.strip() or f"vramscope dryrun ended with exit code {done.returncode}"
            raise FileNotFoundError(sentence) if done.returncode == 127 else ValueError(sentence)
        data = json.loads(answer.read_bytes())
    kept = os.fspath(snapshot) if snapshot is not None and os.path.exists(os.path.join(cwd or "", snapshot)) else None
    return DryRun(data, done.stdout, kept)


def _called(function: Callable[[], Any], folder: Path, env: Mapping[str, str] | None) -> tuple[list[str], dict[str, str]]:
    """The command that calls `function` in a new process, and the environment in which its module is found."""
    try:
        data = pickle.dumps(function)
    except Exception as error:
        raise TypeError(f"a new process cannot import {function!r}: {error}") from error
    target = getattr(function, "func", function)  # of a partial
    if getattr(target, "__module__", None) == "__main__":
        raise TypeError(f"{target.__qualname__} was defined in the main program or a notebook, which a new process cannot "
                        "import: put it into a module of its own")
    (folder / "function.pickle").write_bytes(data)
    return [sys.executable, "-m", "vramscope._call", str(folder / "function.pickle")], _with_path(env)


def _with_path(env: Mapping[str, str] | None) -> dict[str, str]:
    """In which modules are found as they are here."""
    env = dict(os.environ if env is None else env)
    env["PYTHONPATH"] = os.pathsep.join([entry or os.getcwd() for entry in sys.path])
    return env
