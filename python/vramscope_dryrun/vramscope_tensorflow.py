"""TensorFlow on a simulated GPU: tells the peaks of its allocator (vramscope_pool.py).

The figures are those of `tf.config.experimental.get_memory_info()` for each logical GPU at the end of the process. The limit is
the one that TensorFlow gave the device; without memory growth it allocates all of it at once. With memory growth TensorFlow does
not say how far the pool grew, so the driver's figures are what is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIZES = {"half": 2, "bfloat16": 2, "float": 4, "double": 8, "int32": 4, "int64": 8, "uint8": 1, "int8": 1, "bool": 1}


def recorder(base: Any, card_of: Any) -> Any:
    """`base`: the class Recorder of vramscope_pool.py."""

    class _Recorder(base):  # type: ignore[misc]
        library = "tensorflow"

        def has_begun(self) -> bool:
            module = sys.modules.get("tensorflow.python.eager.context")
            return getattr(getattr(module, "_context", None), "_context_handle", None) is not None

        def figures(self) -> list[dict[str, Any]]:
            return _figures(sys.modules["tensorflow"], sys.modules["tensorflow.python.eager.context"])

        def asked_by(self, error: BaseException) -> int | None:
            return _asked(str(error)) if type(error).__name__ == "ResourceExhaustedError" else None

    return _Recorder(card_of)


def _figures(tensorflow: Any, context: Any) -> list[dict[str, Any]]:
    limits, devices = _limits(context), []
    for number, device in enumerate(tensorflow.config.list_logical_devices("GPU")):
        info = tensorflow.config.experimental.get_memory_info(device.name.removeprefix("/device:"))
        limit = limits.get(device.name, 0)
        pool = limit if _is_preallocated(tensorflow) else int(info["peak"])
        devices.append({"device": number, "peak_bytes_in_use": int(info["peak"]), "bytes_in_use": int(info["current"]),
                        "peak_pool_bytes": pool, "bytes_limit": limit})
    return devices


def _limits(context: Any) -> dict[str, int]:
    """"/device:GPU:0" -> the bytes that the device was given."""
    import importlib

    session = importlib.import_module("tensorflow.python.client.pywrap_tf_session")
    devices = context.pywrap_tfe.TFE_ContextListDevices(context.context()._handle)
    limits = {}
    for i in range(session.TF_DeviceListCount(devices)):
        name = session.TF_DeviceListName(devices, i)
        limits[name[name.index("/device:"):]] = int(session.TF_DeviceListMemoryBytes(devices, i))
    return limits


def _is_preallocated(tensorflow: Any) -> bool:
    if os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower() == "true" or "TF_GPU_ALLOCATOR" in os.environ:
        return False
    config = tensorflow.config
    return not any(config.experimental.get_memory_growth(gpu) for gpu in config.list_physical_devices("GPU"))


def _asked(message: str) -> int:
    """The bytes of "OOM when allocating tensor with shape[10,20] and type float on ..."; 0 if it does not say."""
    import math
    import re

    found = re.search(r"tensor with shape\[([0-9,]*)\] and type (\w+)", message)
    return math.prod(map(int, filter(None, found[1].split(",")))) * _SIZES.get(found[2], 0) if found else 0
