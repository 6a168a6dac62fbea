"""As much of TensorFlow as vramscope_tensorflow.py touches: an allocator that only counts, with a pool that it takes from the (simulated)
driver when it begins. The real one is in the ring `programs`."""

import ctypes
import os
import types

from .python.client import pywrap_tf_session
from .python.eager import context as _eager

GiB = 1 << 30
LIMIT = 10 * GiB
_growth = os.environ.get("FAKE_GROWTH") == "1"
_info = {"current": 0, "peak": 0}


class ResourceExhaustedError(RuntimeError):
    pass


def begin():
    driver, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * GiB if _growth else LIMIT)) == 0
    _eager._context = _eager.Context()


def use(size):
    _info["current"] += size
    _info["peak"] = max(_info["peak"], _info["current"])


def free(size):
    _info["current"] -= size


def exhaust():
    raise ResourceExhaustedError("OOM when allocating tensor with shape[2,3,1073741824] and type float on GPU:0 by allocator GPU_0_bfc")


_gpu = types.SimpleNamespace(name="/device:GPU:0")
config = types.SimpleNamespace(
    list_logical_devices=lambda kind: [_gpu],
    list_physical_devices=lambda kind: [_gpu],
    experimental=types.SimpleNamespace(get_memory_info={"GPU:0": _info}.__getitem__, get_memory_growth=lambda gpu: _growth or None),
)
pywrap_tf_session.DEVICES[:] = [("/job:localhost/replica:0/task:0/device:CPU:0", 1 << 28), ("/job:localhost/replica:0/task:0/device:GPU:0", LIMIT)]
