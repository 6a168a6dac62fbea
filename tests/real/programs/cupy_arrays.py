"""CuPy: matrix products, FFT, sorting, random numbers; with its own memory pool."""

import cupy
import truth

a = cupy.random.standard_normal((4096, 4096), dtype=cupy.float32)
b = a @ a.T
spectrum = cupy.fft.fft2(b)
order = cupy.sort(b.ravel())
total = cupy.linalg.norm(b)
kernel = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x + 1", "squared")
c = kernel(b)
pool = cupy.get_default_memory_pool()
arrays = [a, b, spectrum, order, c]
truth.near(pool.used_bytes(), sum(array.nbytes for array in arrays), 0.001, "live arrays")
free, whole = cupy.cuda.runtime.memGetInfo()
truth.tell("driver", 0, used=whole - free)
truth.versions("cupy-cuda12x")
