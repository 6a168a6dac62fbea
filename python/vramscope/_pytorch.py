"""Imports PyTorch if this process can."""

from __future__ import annotations

import sys
from typing import Any

_failure: str | None = None  # why it does not load; a second try would take as long and fail again


def load() -> tuple[Any, str]:
    """(the module torch, ""), or (None, why it cannot be loaded, as part of a sentence). Imports it.

    If one of CUDA's libraries is missing, a CUDA build of PyTorch raises OSError or ValueError instead of ImportError.
    """
    global _failure
    if _failure is not None and "torch" not in sys.modules:
        return None, _failure
    try:
        import torch
    except ModuleNotFoundError as error:
        _failure = "PyTorch is not installed here" if error.name == "torch" else f"PyTorch does not load here ({error})"
    except Exception as error:
        _failure = f"PyTorch does not load here ({type(error).__name__}: {(str(error).splitlines() or [''])[0]})"
    else:
        return torch, ""
    return None, _failure
