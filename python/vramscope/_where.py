"""`vramscope where` from Python: who has the memory of a GPU. The command does the work; this module returns its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from vramscope._command import binary
from vramscope.errors import Error

__all__ = ["where"]


def where(
    of: int | str | os.PathLike[str] | dict[str, Any] | None = None,
    *,
    at: str | int | None = None,
    device: int | None = None,
    timeout: float | None = None,
) -> dict[str, Any]:
    """The ledger of each GPU's memory, from the driver's figure down to tensors, as in docs/formats/where.md. Sizes are bytes,
    unknown ones None with the reason as "why".

    of       a PID; a file: a snapshot, a recording, or the JSON of a dry run; the reply of a dry run (`DryRun.data`);
             None: all GPUs of this machine
    at       of a snapshot or a recording: the moment, such as "peak" (the default), "end", "oom" or an event number
    device   only this GPU
    timeout  seconds, as for subprocess.run

    Raises vramscope.Error with the command's sentence, and subprocess.TimeoutExpired.
    """
    options = ["--json"]
    if at is not None:
        options += ["--at", str(at)]
    if device is not None:
        options += ["--device", str(device)]
    if of is None:
        return _run(options, timeout)
    if isinstance(of, dict):
        return _of_reply(options, of, timeout)
    if isinstance(of, int):
        return _run([*options, str(of)], timeout)
    path = os.fspath(of)
    return _run([*options, "--", os.path.join(".", path) if path.isdigit() else path], timeout)


def _of_reply(options: list[str], reply: dict[str, Any], timeout: float | None) -> dict[str, Any]:
    """The command looks into the file before it reads it, so a reply in memory becomes a file."""
    with tempfile.TemporaryDirectory(prefix="vramscope-") as folder:
        file = Path(folder) / "run.json"
        file.write_text(json.dumps(reply))
        return _run([*options, str(file)], timeout)


def _run(arguments: list[str], timeout: float | None) -> dict[str, Any]:
    done = subprocess.run([str(binary()), "where", *arguments], timeout=timeout, check=False, stdin=subprocess.DEVNULL,
                          capture_output=True)
    if done.returncode != 0:
        sentence = done.stderr.decode(errors="replace").strip().removeprefix("vramscope: ")
        raise Error(sentence or f"vramscope where ended with exit code {done.returncode}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document
