"""numba-cuda: kernels on device arrays, and streams."""

import numpy
import truth
from numba import cuda


@cuda.jit
def add(x, y, out):
    at = cuda.grid(1)
    if at < out.size:
        out[at] = x[at] + y[at]


before, whole = cuda.current_context().get_memory_info()
x, y = (cuda.to_device(numpy.ones(64 << 20, dtype=numpy.float32)) for _ in range(2))
out, stream = cuda.device_array_like(x), cuda.stream()
add[(out.size + 255) // 256, 256, stream](x, y, out)
stream.synchronize()
free, _ = cuda.current_context().get_memory_info()
truth.near(before - free, 3 * 4 * (64 << 20), 0.05, "three arrays")
truth.tell("driver", 0, used=whole - free)
truth.versions("numba-cuda", "numba")
