"""JAX on a simulated GPU: lets it find the GPU, and tells the peaks of its allocator (vramscope_pool.py).

JAX looks for the files of NVIDIA's driver in /dev before it uses a GPU. There are none, so its function that looks is replaced
by one that finds a GPU; everything else it asks the simulated CUDA.

The figures are those of each local device's `memory_stats()` at the end of the process, before JAX's own exit handler takes its
devices down.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PEAKS = ("peak_bytes_in_use", "peak_pool_bytes", "bytes_limit")


def find_gpu(hardware_utils: Any) -> None:
    """`hardware_utils`: the module jax._src.hardware_utils."""
    hardware_utils.has_visible_nvidia_gpu = lambda: True


def recorder(base: Any, card_of: Any) -> Any:
    """`base`: the class Recorder of vramscope_pool.py."""

    class _Recorder(base):  # type: ignore[misc]
        library = "jax"

        def has_begun(self) -> bool:
            return bool(_backends())

        def figures(self) -> list[dict[str, Any]]:
            devices = []
            for backend in filter(None, (_backends().get(platform) for platform in ("cuda", "gpu"))):
                for device in backend.local_devices():
                    figures = _figures(device)
                    if figures is not None:
                        devices.append({"device": getattr(device, "local_hardware_id", None), **figures})
            return devices

        def asked_by(self, error: BaseException) -> int | None:
            is_jax = type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError")
            return _asked(str(error)) if is_jax and "RESOURCE_EXHAUSTED" in str(error) else None

    return _Recorder(card_of)


def _backends() -> dict[str, Any]:
    """The backends that were made so far. Asking JAX for its devices would make them."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return getattr(bridge, "_backends", {})


def _figures(device: Any) -> dict[str, int] | None:
    """None where the allocator keeps no statistics (XLA_PYTHON_CLIENT_ALLOCATOR=platform): then the driver's figures are what is
    needed. Older versions have no peak of the pool; there the pool is the limit, or what was in use."""
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
