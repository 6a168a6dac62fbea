"""JAX on a simulated GPU: lets it find the GPU, and writes the peaks of its allocator.

JAX looks for the files of NVIDIA's driver in /dev before it uses a GPU. There are none, so its function that looks is replaced
by one that finds a GPU; everything else it asks the simulated CUDA.

At the end of the process, before JAX's own exit handler takes its devices down, DIR/jax.PID.json gets what `memory_stats()` of
each local device says (DIR is VRAMSCOPE_SIM_RUN). JAX preallocates three quarters of the card, so the driver's figures do not
tell what the program needs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    AtEnd = Callable[[str, Callable[[], None]], None]
    CardOf = Callable[[int, str | None], int | None]

FIGURES = "JAX's figures"
_PEAKS = ("peak_bytes_in_use", "peak_pool_bytes", "bytes_limit")


def find_gpu(hardware_utils: Any) -> None:
    """`hardware_utils`: the module jax._src.hardware_utils."""
    hardware_utils.has_visible_nvidia_gpu = lambda: True


def follow(card_of: CardOf, at_end: AtEnd) -> None:
    """After the import of jax, which has registered its own exit handler by then: `at_end` runs before it."""
    recorder = _Recorder(card_of)
    recorder.begin()
    at_end(FIGURES, recorder.end)


def _backends() -> dict[str, Any]:
    """The backends that were made so far. Asking JAX for its devices would make them."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return getattr(bridge, "_backends", {})


class _Recorder:
    def __init__(self, card_of: CardOf) -> None:
        self.card_of = card_of
        self.is_inherited = False  # a child has the devices of the process that it was forked from, and cannot use them
        self.oom: dict[str, int] | None = None

    def begin(self) -> None:
        self._put([], False)  # remains if the process is killed
        os.register_at_fork(after_in_child=self._forked)
        self._follow_errors()

    def _forked(self) -> None:
        self.is_inherited = bool(_backends())
        self.oom = None

    def _follow_errors(self) -> None:
        """JAX's allocator refuses requests within its own limit, and the driver does not see that."""
        original = sys.excepthook

        def excepthook(kind: Any, error: BaseException, traceback: Any) -> None:
            if kind.__name__ in ("JaxRuntimeError", "XlaRuntimeError") and "RESOURCE_EXHAUSTED" in str(error):
                self.oom = {"asked_bytes": _asked(str(error)), "free_bytes": 0}
            original(kind, error, traceback)

        sys.excepthook = excepthook

    def end(self) -> None:
        if self.is_inherited:
            return
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        devices: list[dict[str, Any]] = []
        for platform in ("cuda", "gpu"):
            backend = _backends().get(platform)
            for device in backend.local_devices() if backend is not None else ():
                entry = self._figures(device)
                number = getattr(device, "local_hardware_id", None)
                if entry is not None:
                    devices.append({"device": number, "card": self.card_of(number or 0, visible), **entry})
        if self.oom is not None and devices:
            fullest = max(devices, key=lambda entry: entry["peak_bytes_in_use"])
            self.oom["free_bytes"] = max(0, fullest["bytes_limit"] - fullest["bytes_in_use"])
        self._put(devices, True)

    def _put(self, devices: list[dict[str, Any]], is_complete: bool) -> None:
        import json

        text = json.dumps({"schema": 1, "complete": is_complete, "devices": devices, "oom": self.oom if devices else None})
        path = os.path.join(os.environ["VRAMSCOPE_SIM_RUN"], f"jax.{os.getpid()}.json")
        with open(path + ".part", "w") as file:
            file.write(text)
        os.replace(path + ".part", path)

    def _figures(self, device: Any) -> dict[str, int] | None:
        """None where the allocator keeps no statistics (XLA_PYTHON_CLIENT_ALLOCATOR=platform): then the driver's figures are what
        is needed. Older versions have no peak of the pool; there the pool is the limit, or what was in use."""
        stats = device.memory_stats()
        if not stats or "peak_bytes_in_use" not in stats:
            return None
        figures = {name: int(stats[name]) for name in _PEAKS if name in stats}
        figures["bytes_in_use"] = int(stats.get("bytes_in_use", 0))
        figures.setdefault("bytes_limit", 0)
        is_preallocated = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "true").lower() not in ("false", "0")
        figures.setdefault("peak_pool_bytes", figures["bytes_limit"] if is_preallocated else figures["peak_bytes_in_use"])
        return figures


def _asked(message: str) -> int:
    """The bytes of "Out of memory while trying to allocate 1234 bytes", or of "... 1.50GiB"; 0 if it does not say."""
    import re

    found = re.search(r"allocat\w+ (?:a buffer of )?(?:size )?([0-9.]+) ?([KMGT]i?B|bytes)", message)
    if found is None:
        return 0
    shift = {"b": 0, "K": 10, "M": 20, "G": 30, "T": 40}[found[2][0]]
    return int(float(found[1]) * (1 << shift))
