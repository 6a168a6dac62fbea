"""Samples the GPUs and processes in the background, and sums the samples up by tag: `vramscope.devices.Collector`."""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from vramscope import _native, errors
from vramscope._table import Table

__all__ = ["Collector"]

# What is sampled beside the memory: (name in the result, name in METRICS).
_FIGURES = (("gpu_utilization_percent", "UTILIZATION_GPU"), ("temperature_celsius", "TEMPERATURE"),
            ("power_milliwatts", "POWER_DRAW"))


class _Sums:
    """Mean, highest, lowest and last value of a figure."""

    __slots__ = ("count", "last", "least", "most", "sum")

    def __init__(self) -> None:
        self.count, self.sum, self.last = 0, 0, 0
        self.least = self.most = 0

    def add(self, value: int) -> None:
        self.least, self.most = (min(self.least, value), max(self.most, value)) if self.count else (value, value)
        self.count += 1
        self.sum += value
        self.last = value


class Collector:
    """Samples GPUs in a thread of its own:

        with devices.Collector(interval=1.0) as collector:
            for epoch in range(3):
                with collector.tag("train"):
                    train()
                wandb.log(collector.collect("train"))

    devices   the devices, as of `select` or `all`; None: all
    interval  seconds between two samples; None: no thread, `sample` takes one
    pids      also the memory of these processes on each GPU (NVML takes a lock for that, milliseconds); by default this process.
              (): none
    keep      how many samples to keep for `table`, the newest; None: none. Each takes 56 bytes for each device and 16 more,
              and with `keep` samples are also taken while no tag is open

    The figures of a tag are those of the samples while it was open: memory_used_bytes, memory_free_bytes,
    gpu_utilization_percent, temperature_celsius, power_milliwatts and processes_bytes, each with mean, max, min and last:
    {"train/gpu:0/memory_used_bytes/max": 1234, ...}. A figure that a GPU does not have, or that is unknown while the tag was
    open, is not there. Peaks between two samples are not seen: those of PyTorch's memory are exact with `vramscope.Tracker`.

    Any thread may call any method, also while samples are taken.
    """

    def __init__(self, devices: Iterable[Any] | None = None, *, interval: float | None = 1.0,
                 pids: Iterable[int] | None = None, keep: int | None = None) -> None:
        from vramscope import devices as cards

        if interval is not None and interval <= 0:
            raise errors.ArgumentError(f"interval is in seconds, or None; not {interval}")
        self.interval = interval
        self.samples: int = 0  #: that were taken
        self._devices = list(cards.all() if devices is None else devices)
        self._pids = frozenset((os.getpid(),) if pids is None else pids)
        self._kept = None if keep is None else _keep(self._devices, operator.index(keep))
        self._open: dict[str, int] = {}  # tags, and how often each is open
        self._sums: dict[str, dict[str, _Sums]] = {}  # by tag, by figure
        self._lock = threading.Lock()
        self._end: threading.Event | None = None
        self._thread: threading.Thread | None = None

    # ---- the thread

    def start(self) -> Self:
        """Starts to sample."""
        if self.interval is not None and self._thread is None:
            self._end = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._end, self.interval), name="vramscope samples",
                                            daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Ends that; `collect` still returns what was sampled."""
        thread, self._thread = self._thread, None
        if thread is not None and self._end is not None:
            self._end.set()
            thread.join()

    __enter__ = start

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _run(self, end: threading.Event, interval: float) -> None:
        while not end.is_set():
            self.sample()
            end.wait(interval)

    # ---- tags

    @contextmanager
    def tag(self, name: str) -> Iterator[Self]:
        """Samples count for this tag until the end of the block. Tags nest; one that is open twice counts a sample once."""
        with self._lock:
            self._open[name] = self._open.get(name, 0) + 1
            self._sums.setdefault(name, {})
        try:
            yield self
        finally:
            with self._lock:
                self._open[name] -= 1
                if self._open[name] == 0:
                    del self._open[name]

    def sample(self) -> None:
        """Takes a sample now."""
        with self._lock:
            if not self._open and self._kept is None:
                return
        time_us = time.time_ns() // 1000
        found = [dict(self._figures(device)) for device in self._devices]
        with self._lock:
            self.samples += 1
            for tag in self._open:
                self._add(self._sums[tag], found)
            if self._kept is not None:
                tags = ", ".join(self._open).encode("utf-8", "replace") if self._open else None
                self._kept.add(time_us, tags, tuple(tuple(map(figures.get, _native.SAMPLE_FIGURES)) for figures in found))

    def _add(self, sums: dict[str, _Sums], found: list[dict[str, int]]) -> None:
        for device, figures in zip(self._devices, found, strict=True):
            number = f"{device.index}:{device.mig_index}" if device.is_mig else device.index
            for name, value in figures.items():
                sums.setdefault(f"gpu:{number}/{name}", _Sums()).add(value)

    def _figures(self, device: Any) -> Iterator[tuple[str, int]]:
        try:
            memory = device.memory()  # in one call, so that the two figures belong together
            values = [("memory_used_bytes", memory.used), ("memory_free_bytes", memory.free),
                      *((name, device.metric(metric)) for name, metric in _FIGURES)]
            yield from ((name, value) for name, value in values if value is not None)
            size = self._processes_bytes(device) if self._pids else None
            if size is not None:
                yield "processes_bytes", size
        except errors.Error:
            return  # the GPU has disappeared; it may come back

    def _processes_bytes(self, device: Any) -> int | None:
        """None where the driver does not tell the bytes of one of them, or may not list all."""
        sizes = [row.bytes for row in device.processes() if row.pid in self._pids or row.inner_pid in self._pids]
        known: list[int] = [size for size in sizes if size is not None]
        if len(known) < len(sizes) or not (sizes or device.may_list_processes()):
            return None
        return sum(known)

    def collect(self, tag: str | None = None, *, reset: bool = True) -> dict[str, float]:
        """The figures of a tag, or of all, since its beginning or the last call; with reset=False the sums go on."""
        with self._lock:
            tags = [name for name in self._sums if tag is None or name == tag]
            if tag is not None and not tags:
                raise errors.NotFoundError(f"no tag {tag!r} was opened")
            figures: dict[str, float] = {}
            for name in tags:
                for figure, sums in self._sums[name].items():
                    figures[f"{name}/{figure}/mean"] = sums.sum / sums.count
                    figures[f"{name}/{figure}/max"] = sums.most
                    figures[f"{name}/{figure}/min"] = sums.least
                    figures[f"{name}/{figure}/last"] = sums.last
                if reset:
                    self._sums[name] = {}
            return figures

    # ---- the samples themselves

    @property
    def kept(self) -> int:
        """How many samples `table` has: `keep` at most."""
        return 0 if self._kept is None else self._kept.counts()[0]

    @property
    def dropped(self) -> int:
        """How many older samples were dropped, because `keep` newer ones were taken."""
        return 0 if self._kept is None else self._kept.counts()[1]

    def table(self, name: str = "samples") -> Table:
        """The samples that are kept, for pandas, polars, DuckDB and pyarrow: a row is a device in a sample, in the order in which
        they were taken, with the columns of docs/formats/samples.md. What is unknown is null, never 0; a GPU that has disappeared
        has a row of nulls. The table is that of this moment: later samples are in the next one.

        Sampling waits while it is made, microseconds for each row. Raises ArgumentError: without `keep` there are none."""
        if name != "samples":
            raise errors.ArgumentError(f"a Collector has the table 'samples', not {name!r}")
        if self._kept is None:
            raise errors.ArgumentError("no samples are kept: Collector(keep=100_000) keeps so many, the newest")
        return Table(name, self._kept.table())

    def __repr__(self) -> str:
        state = "sampling" if self._thread is not None else "not sampling"
        return f"<vramscope.devices.Collector: {len(self._devices)} devices, {self.samples} samples, {state}>"


def _keep(devices: list[Any], most: int) -> _native.Samples:
    if most < 1:
        raise errors.ArgumentError(f"keep is a number of samples, or None; not {most}")
    names = tuple((device.index, device.mig_index if device.is_mig else None, device.uuid) for device in devices)
    return _native.Samples(names, most)
