"""`vramscope dryrun` from Python: will it fit? A program, or a function, runs on a simulated GPU in its own process.

This module starts the command `vramscope dryrun` as a child process, because a dry run takes over the signals of its process,
which a library must not do to Python. It reads only the command's JSON reply (docs/formats/dryrun.md), which `DryRun.data`
contains unchanged.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from vramscope._command import binary
from vramscope._sizes import bytes_text

__all__ = ["DryRun", "DryRunLargest", "DryRunTable", "dryrun", "dryrun_largest", "dryrun_table"]


class DryRun:
    """The result of a dry run. Sizes are bytes, measured on a simulated GPU.

    `data` is the reply of `vramscope dryrun --json`, `output` what the program wrote to standard output and standard error.
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
        """Whether the program ran to its end on this GPU; it may have handled out-of-memory errors on the way."""
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
        """PyTorch's own peaks on the GPU where it reserved most: peak_reserved_bytes, peak_allocated_bytes,
        peak_requested_bytes, ooms, retries. None if the program did not use PyTorch."""
        all_figures = [device["torch"] for device in self.data["devices"] if device["torch"]]
        return max(all_figures, key=lambda figures: figures["peak_reserved_bytes"], default=None)

    @property
    def smallest_bytes(self) -> int | None:
        """With find_smallest=True: the smallest GPU memory it runs in, to 1%. `data["search"]["gpu"]` is that size, rounded up,
        as a value for `gpu`."""
        smallest: int | None = self.data["smallest_bytes"]
        return smallest

    @property
    def ranks(self) -> list[dict[str, Any]] | None:
        """With ranks_that_differ: one row for each different result, those of the fewest ranks first: rank, count, ranks (pairs
        of the first and the last one), ran (those that were run; the others are assumed), verdict, exit_code,
        peak_allocated_bytes, peak_reserved_bytes, driver_peak_bytes ... `data["ranks"]` also has what is unknown."""
        found = self.data.get("ranks")
        rows: list[dict[str, Any]] | None = found["rows"] if found else None
        return rows

    @property
    def cards(self) -> list[dict[str, Any]]:
        """Which GPUs it fits in: one row for each GPU that vramscope knows, by rising size: gpu, name, total_bytes, fits ("yes",
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


class DryRunTable:
    """The runs of `dryrun_table`, as far as they ended. `data` is the reply of `vramscope dryrun --vary ... --json`."""

    def __init__(self, data: dict[str, Any]):
        self.data = data

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One for each run: `settings` (the value of each name, None where it is left away), verdict, exit_code, needed_bytes,
        peak_reserved_bytes, peak_allocated_bytes, headroom_bytes, kv_cache, output (the end of what a failed run printed),
        alone (the command line that makes the run alone) ..."""
        return [{key: value for key, value in run.items() if key != "reply"} for run in self.data["runs"]]

    @property
    def runs(self) -> list[DryRun]:
        """The same runs as results of `dryrun`, without owners. `output` is what `rows` has."""
        return [DryRun(run["reply"], run["output"] or "", None) for run in self.data["runs"]]

    def __repr__(self) -> str:
        fits = sum(run.fits for run in self.runs)
        return f"<vramscope.DryRunTable: {fits} of {len(self.runs)} runs fit>"


class DryRunLargest(DryRunTable):
    """The runs of `dryrun_largest`, in their order. `data` is the reply of `vramscope dryrun --find-largest ... --json`."""

    @property
    def largest(self) -> int | None:
        """The largest value with which the program fits; None if there is none, or if it is unknown: why says
        `data["answer"]["end"]` ("found", "all_fit", "none_fits", "failed", "no_cuda", "interrupted", "not_started")."""
        found: int | None = self.data["answer"]["largest"]
        return found

    def __repr__(self) -> str:
        (axis,) = self.data["axes"]
        said = self.data["answer"]["end"].replace("_", " ") if self.largest is None else self.largest
        return f"<vramscope.DryRunLargest: {axis['names'][0]['name']}: {said}, {len(self.data['runs'])} runs>"


def dryrun(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any],
    *,
    gpu: str | None = None,
    conf: str | None = None,
    ranks: int | None = None,
    world: int | None = None,
    rank: int | None = None,
    ranks_that_differ: bool | int = False,
    values: str | Sequence[str] | None = None,
    events: str | None = None,
    context: str | None = None,
    history: int | Literal["torch", "recorder"] | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    find_smallest: bool = False,
    random: bool = False,
    until: str | float | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> DryRun:
    """Runs `program` on a simulated GPU and returns how much memory it needs, and which GPUs it fits in.

    program   a command as a list or a string ("python train.py"), or a function that a new Python process imports by name
              and calls: "train:step", which is not imported here, or the function itself (use functools.partial for
              arguments). The function's return value is lost
    gpu       "H100" (the default), "24GiB", "RTX4090:20GiB", "2xA100": as `vramscope dryrun --gpu`
    conf      PyTorch's allocator settings, such as "expandable_segments:True"
    ranks, world, rank, values, events, context, history, find_smallest, random, until
              as the options of `vramscope dryrun` with the same names; history=0: no history is recorded, history="recorder":
              by the recorder. `values` may be a list: ["keep", "train.py:88=true"]
    ranks_that_differ
              with `world`: run the ranks whose memory may differ, at most 32 or that many; `DryRun.ranks` has all of them
    snapshot  write PyTorch's memory snapshot of the run to this file, which must not exist
    cwd, env, timeout
              as for subprocess.run; `env` is the whole environment

    Raises ValueError for invalid options (with the sentence of the command line), FileNotFoundError if the program does not
    exist, TypeError for a function that a new process cannot import, and subprocess.TimeoutExpired. A program that fails
    raises no exception: `fits`, `exit_code` and `output` report it.
    """
    options = {"gpu": gpu, "conf": conf, "ranks": ranks, "world": world, "rank": rank, "events": events, "context": context,
               "history": history or None, "until": until, "snapshot": None if snapshot is None else os.fspath(snapshot)}
    arguments = options_of(options, values)
    arguments += ["--no-history"] if history == 0 else []
    arguments += ["--find-smallest"] if find_smallest else []
    if ranks_that_differ is not False:
        arguments += ["--ranks-that-differ"] if ranks_that_differ is True else [f"--ranks-that-differ={ranks_that_differ}"]
    arguments += ["--random"] if random else []
    data, output = _run(program, arguments, cwd, env, timeout)
    kept = os.fspath(snapshot) if snapshot is not None and os.path.exists(os.path.join(cwd or "", snapshot)) else None
    return DryRun(data, output, kept)


def dryrun_table(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any],
    vary: Mapping[str, Iterable[object]],
    *,
    gpu: str | None = None,
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
) -> DryRunTable:
    """Runs `program` once for each combination of values, silently, and returns the figures of each run.

    vary      names and their values, as the options `--vary` of `vramscope dryrun`: {"gpu": ["H100", "L4"], "batch": [8, 16]}.
              None is a run without the option. Names that vary together have tuples: {"gpu+tp": [("H100", 1), ("2xH100", 2)]}

    The others are those of `dryrun`; `timeout` is for all runs together. A function as `program` has no options, so only those
    of dryrun and "env:NAME" can vary.

    Raises as `dryrun`, and ValueError where a name or a value is refused, before anything runs.
    """
    options = {"gpu": gpu, "conf": conf, "ranks": ranks, "world": world, "rank": rank, "events": events, "context": context,
               "until": until}
    arguments = options_of(options, values)
    arguments += ["--random"] if random else []
    for name, choices in vary.items():
        arguments += ["--vary", f"{name}={','.join(_choice(name, choice) for choice in choices)}"]
    return DryRunTable(_run(program, arguments, cwd, env, timeout)[0])


def dryrun_largest(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any],
    name: str,
    choices: Iterable[int],
    *,
    gpu: str | None = None,
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
) -> DryRunLargest:
    """Runs `program`, silently, with some of these values until the largest with which it fits is proven: it fits, and the
    next one does not. Memory must not fall while the value grows.

    name      what the value is of, as in `dryrun_table`: "batch" is the option --batch of the program, "env:BATCH" a variable of
              its environment, and "{batch}" in words of the command is replaced
    choices   ascending integers, such as range(1, 257); without a fixed step at most 64

    The others are those of `dryrun_table`. Raises as `dryrun_table`.
    """
    options = {"gpu": gpu, "conf": conf, "ranks": ranks, "world": world, "rank": rank, "events": events, "context": context,
               "until": until}
    arguments = options_of(options, values)
    arguments += ["--random"] if random else []
    axis = integers_of(name, choices)
    return DryRunLargest(_run(program, [*arguments, "--find-largest", axis], cwd, env, timeout)[0])


def integers_of(name: str, choices: Iterable[int]) -> str:
    """Values of a name for the command line: "batch=1..64:1"."""
    if isinstance(choices, range) and choices and choices.step > 0:
        return f"{name}={choices[0]}..{choices[-1]}:{choices.step}"
    return f"{name}={','.join(str(choice) for choice in choices)}"


def _choice(name: str, choice: object) -> str:
    """A value of `--vary`, with backslashes where it has characters that mean something there."""
    parts = choice if isinstance(choice, tuple) else (choice,)
    if len(parts) != name.count("+") + 1:
        raise ValueError(f"{name!r} has {name.count('+') + 1} names, and {choice!r} {len(parts)} values")
    return "+".join("" if part is None else re.sub(r"[\\,+]", r"\\\g<0>", str(part)) for part in parts)


def options_of(options: Mapping[str, object], values: str | Sequence[str] | None) -> list[str]:
    """As words of a command line."""
    arguments = [part for name, value in options.items() if value is not None for part in ("--" + name, str(value))]
    for value in [values] if isinstance(values, str) else values or []:
        arguments += ["--values", value]
    return arguments


def _run(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any],
    arguments: Sequence[str],
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    timeout: float | None,
) -> tuple[dict[str, Any], str]:
    """The reply of the command with these options, and what the program printed."""
    with tempfile.TemporaryDirectory(prefix="vramscope-") as folder:
        answer = Path(folder) / "answer.json"
        words, env = command_of(program, Path(folder), env)
        command = [str(binary()), "dryrun", "--quiet", "--json", "--output", str(answer), *arguments, "--", *words]
        done = subprocess.run(command, cwd=cwd, env=env, timeout=timeout, check=False, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if not answer.exists() or not answer.stat().st_size:
            raise failure_of("dryrun", done.stdout, done.returncode)
        data = json.loads(answer.read_bytes())
    return data, done.stdout


def failure_of(command: str, said: str, code: int) -> Exception:
    """Of a command without a reply: its sentence, as the exception that `dryrun` raises."""
    sentence = said.strip() or f"vramscope {command} ended with exit code {code}"
    return FileNotFoundError(sentence) if code == 127 else ValueError(sentence)


def command_of(
    program: str | Sequence[str | os.PathLike[str]] | Callable[[], Any], folder: Path, env: Mapping[str, str] | None
) -> tuple[list[str], Mapping[str, str] | None]:
    """The words that run the program of `dryrun`, and the environment for that. `folder` has what it needs for a function."""
    if callable(program):
        return _called(program, folder, env)
    if isinstance(program, str) and re.fullmatch(r"[\w.]+:[\w.]+", program):
        return [sys.executable, "-m", "vramscope._call", program], _with_path(env)
    return [os.fspath(word) for word in (shlex.split(program) if isinstance(program, str) else program)], env


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
