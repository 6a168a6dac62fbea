"""The marks of the pytest plugin, and what is wrong with one."""

from __future__ import annotations

import difflib
import functools
import inspect
import unittest
from collections.abc import Callable
from typing import Any, Self

import pytest

from vramscope import _baselines
from vramscope._sizes import parse_size

__all__ = ["MARKS", "Baseline", "Leaks", "Limit", "why_wrong"]

KINDS = ("allocated", "reserved", "requested", "device")


class Mark:
    """The arguments of a mark; subclasses say which there are."""

    name: str

    @classmethod
    def of(cls, mark: pytest.Mark) -> Self:
        """Raises ValueError with a sentence."""
        try:
            inspect.signature(cls).bind(*mark.args, **mark.kwargs)
            return cls(*mark.args, **mark.kwargs)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{cls.name}: {error}") from None


def _number(name: str, value: int, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} is no number" + (f" of at least {least}" if least else ""))
    return value


def _device(value: int | None) -> int | None:
    return None if value is None else _number("device", value)


class Limit(Mark):
    """@pytest.mark.limit_gpu_memory(limit, device=None, kind="allocated")"""

    name = "limit_gpu_memory"

    def __init__(self, limit: str | int, device: int | None = None, kind: str = "allocated"):
        if kind not in KINDS:
            raise ValueError(f'kind={kind!r} is none of {", ".join(KINDS)}')
        self.bytes, self.device, self.kind = parse_size(limit), _device(device), kind


class Leaks(Mark):
    """@pytest.mark.limit_gpu_leaks(limit="0 B", warmup=2, filter_fn=None, device=None)"""

    name = "limit_gpu_leaks"

    def __init__(self, limit: str | int = 0, warmup: int = 2, filter_fn: Callable[[dict[str, Any]], bool] | None = None,
                 device: int | None = None):
        if filter_fn is not None and not callable(filter_fn):
            raise ValueError(f"filter_fn={filter_fn!r} is no function")
        self.bytes, self.warmup, self.filter_fn = parse_size(limit), max(_number("warmup", warmup), 1), filter_fn
        self.device = _device(device)


class Baseline(Mark):
    """@pytest.mark.memory_baseline(tolerance=0, max_allocated=None, no_oom=False, warmup=0, device=None)"""

    name = "memory_baseline"

    def __init__(self, tolerance: str | int = 0, max_allocated: str | int | None = None, no_oom: bool = False, warmup: int = 0,
                 device: int | None = None):
        self.warmup, self.device = _number("warmup", warmup), _device(device)
        limits = {"max-allocated": max_allocated, "no-oom": no_oom or None}
        #: keys of a vramscope.toml, for the command: without `tolerance` those that need no baseline
        self.limits = {key: value for key, value in limits.items() if value is not None}
        self.settings = {**self.limits, "tolerance": tolerance}
        if (why := _baselines.why_wrong(self.settings)) is not None:
            raise ValueError(functools.reduce(lambda text, key: text.replace(key, key.replace("-", "_")), self.settings, why))


MARKS: dict[str, type[Mark]] = {mark.name: mark for mark in (Limit, Leaks, Baseline)}


def why_wrong(item: pytest.Item, mark: pytest.Mark, registered: set[str]) -> str | None:
    """A sentence why the mark of this test is wrong, or is probably one of ours misspelt; None if it is right, or of others.
    `registered` are the names of all marks that pytest knows."""
    if mark.name not in MARKS:
        close = [] if mark.name in registered else difflib.get_close_matches(mark.name, MARKS, n=1, cutoff=0.9)
        return f"unknown mark {mark.name}; did you mean {close[0]}?" if close else None
    if not isinstance(item, pytest.Function) or issubclass(getattr(item, "cls", None) or object, unittest.TestCase):
        return f"{mark.name}: only for functions and classes of pytest, whose tests it calls itself"
    try:
        MARKS[mark.name].of(mark)
    except ValueError as error:
        return str(error)
    return None
