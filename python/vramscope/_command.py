"""The command `vramscope` of this package: its path, and the function that replaces this process with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def binary() -> Path:
    """The path of the program, which finds the simulated CUDA libraries relative to itself (../lib).

    Raises FileNotFoundError if the package has no program (a source tree that was not built)."""
    path = Path(__file__).parent / "bin" / "vramscope"
    if not path.exists():
        raise FileNotFoundError(f"{path}: this copy of the package was not built (pip install .)")
    return path


def environment() -> dict[str, str]:
    """That of a command which reads files: without the simulated GPU that this process may have, because it needs none."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("VRAMSCOPE_SIM")}


def main() -> NoReturn:
    """Replaces this process with the program, with the same arguments, so exit code and signals are the command's own."""
    path = binary()
    sys.stdout.flush()
    os.execv(path, [str(path), *sys.argv[1:]])


if __name__ == "__main__":
    main()
