"""Baselines of the GPU memory of tests: where they are, and how a test is compared with its own.

A baseline (docs/formats/baseline.md) is kept beside the test file: memory_baselines/test_model/test_step-16-cpu.json for
test_model.py::test_step[16-cpu]. `vramscope check` judges and writes it (`Check`), so the rules and the text are the command's.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vramscope._command import binary, environment

__all__ = ["Check", "of_test", "path_of", "unused", "why_wrong"]

FOLDER = "memory_baselines"
_LONGEST = 150  # letters of a file name
_NOTHING = {"schema": 1, "method": "inventory", "device": 0, "peak_allocated_bytes": 0, "peak_reserved_bytes": None, "ooms": 0,
            "complete": True, "frames": [], "stacks": []}


# ---- files


def path_of(file: Path, nodeid: str) -> Path:
    """The baseline of a test: `file` is its test file, `nodeid` pytest's name of it."""
    return file.parent / FOLDER / file.stem / (_file_name(nodeid.partition("::")[2]) + ".json")


def _file_name(test: str) -> str:
    """TestModel.test_step-16-cpu for TestModel::test_step[16-cpu]. Where letters had to be replaced, or the name is too long, a
    hash follows "~", which is in no other name, so different tests have different files."""
    function, bracket, parameters = test.partition("[")
    name = function.replace("::", ".") + ("-" + parameters.removesuffix("]") if bracket else "")
    safe = re.sub(r"[^A-Za-z0-9_.,=+@-]", "_", name)
    if safe == name and len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_LONGEST]}~{hashlib.sha256(test.encode()).hexdigest()[:8]}"


def unused(files: set[Path], used: set[Path]) -> list[Path]:
    """The baselines beside `files`, all of whose tests were collected, that no test uses, and those of files that are gone."""
    return sorted(path for folder in {file.parent / FOLDER for file in files} for path in _unused_in(folder, files, used))


def _unused_in(folder: Path, files: set[Path], used: set[Path]) -> Iterator[Path]:
    for tests in folder.iterdir() if folder.is_dir() else ():
        file = folder.parent / f"{tests.name}.py"
        if tests.is_dir() and (file in files or not file.exists()):
            yield from (path for path in tests.glob("*.json") if path not in used)


# ---- the run


def of_test(run: dict[str, Any], caller: str) -> dict[str, Any]:
    """Leaves away the callers of the test, from the first frame in the file `caller` on, which depend on how pytest was
    started."""
    own = {number for number, frame in enumerate(run["frames"]) if frame["file"] == caller}
    stacks = [{**stack, "frames": list(itertools.takewhile(lambda number: number not in own, stack["frames"]))}
              for stack in run["stacks"]]
    used = {number for stack in stacks for number in stack["frames"]}
    frames = [frame if number in used else {**frame, "kind": "library"} for number, frame in enumerate(run["frames"])]
    return {**run, "frames": frames, "stacks": stacks}


# ---- the command


class Check:
    """The answer of `vramscope check` about an inventory.

    settings: keys of a vramscope.toml; baseline: the file to compare with, or with update=True to write.
    """

    def __init__(self, inventory: Mapping[str, Any], settings: Mapping[str, Any], baseline: Path | None = None,
                 update: bool = False):
        with tempfile.TemporaryDirectory(prefix="vramscope-") as folder:
            run, config = Path(folder, "run.json"), Path(folder, "settings.json")
            run.write_text(json.dumps(inventory), encoding="utf-8")
            config.write_text(json.dumps(settings), encoding="utf-8")
            words: list[str | Path] = ["check", "--quiet", "--config", config]
            if baseline is not None:
                words += ["--baseline", baseline]
            done = _command(*words, *(["--update-baseline"] if update else []), "--json", run)
            self.code: int = done.returncode  #: 0 it holds, 1 it is broken, 2 it cannot be judged, 3 a file cannot be read
            self.reply: dict[str, Any] | None = json.loads(done.stdout) if done.stdout else None  #: None: see `text`
            if self.reply is None:
                self.text: str = done.stderr.strip().removeprefix("vramscope: ").removeprefix(f"{config}: ")
            else:
                self.text = _command(*words, run).stdout.rstrip() if self.code != 0 else ""  #: for people; "" if it holds

    @property
    def tighter(self) -> str | None:
        """The sentence that says how much less than the baseline it is; None if it is about as much."""
        checks = self.reply["checks"] if self.reply is not None else []
        return next((check["sentence"] for check in checks if check["tighter"]), None)


def _command(*words: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary(), *words], env=environment(), capture_output=True, encoding="utf-8", errors="replace",
                          check=False)


def why_wrong(settings: Mapping[str, Any]) -> str | None:
    """What the command says of wrong settings, such as a tolerance that is no size; None if they are right."""
    return _why_wrong(json.dumps(settings))


@functools.cache
def _why_wrong(settings: str) -> str | None:
    check = Check(_NOTHING, {"no-oom": True, **json.loads(settings)})
    return None if check.reply is not None else check.text

