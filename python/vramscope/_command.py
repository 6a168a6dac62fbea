"""The command `vramscope` that came with this package: where it lies, and how to become it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def binary() -> Path:
    """The program. It finds the simulated CUDA and the rest beside itself (../lib).

    Raises FileNotFoundError where the package has none (a source tree that was not built)."""
    path = Path(__file__).parent / "bin" / "vramscope"
    if not path.exists():
        raise FileNotFoundError(f"{path}: this copy of the package was not built (pip install .)")
    return path


def main() -> NoReturn:
    """Becomes the program, with this process's arguments: its exit code and its signals are the command's own."""
    path = binary()
    sys.stdout.flush()
    os.execv(path, [str(path), *sys.argv[1:]])


if __name__ == "__main__":
    main()
