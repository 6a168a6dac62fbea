"""Reads and writes sizes such as "2 GiB". `bytes_text` is the library's function, so every face writes sizes alike."""

from __future__ import annotations

import re

from vramscope._native import bytes_text

__all__ = ["bytes_text", "parse_size"]

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "kb": 10**3, "m": 1 << 20, "mib": 1 << 20, "mb": 10**6,
          "g": 1 << 30, "gib": 1 << 30, "gb": 10**9, "t": 1 << 40, "tib": 1 << 40, "tb": 10**12}


def parse_size(text: str | int) -> int:
    """The bytes of "2 GiB", "24MB", "1.5g", "0 B" or a number. KiB, MiB, GiB and K, M, G are powers of 1024, KB, MB, GB of
    1000.

    Raises ValueError with a sentence."""
    if isinstance(text, int) and not isinstance(text, bool):
        size: float = text
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(text).lower())
        if match is None or match[2] not in _UNITS:
            raise ValueError(f'{text!r} is not a size: write "2 GiB", "512 MiB", "24 GB" or a number of bytes')
        size = float(match[1]) * _UNITS[match[2]]
    if size < 0:
        raise ValueError(f"{text!r} is not a size: it is negative")
    return round(size)
