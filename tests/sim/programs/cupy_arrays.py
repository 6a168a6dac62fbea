"""CuPy: its own memory pool over cudaMalloc, cuBLAS, cuFFT, cuRAND, streams, and kernels that NVRTC compiles."""

import json

import cupy

pool = cupy.get_default_memory_pool()
x = cupy.zeros((1000, 1000), dtype=cupy.float32)
found = {"name": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), "used": pool.used_bytes()}
y = x @ x
found["with the product"] = pool.used_bytes() - found["used"]
found["shapes"] = [y.shape, cupy.fft.fft(cupy.zeros(1024, dtype=cupy.complex64)).shape, cupy.random.rand(10).shape, (x + 1).shape]
with cupy.cuda.Stream() as stream:
    found["zeros"] = float(cupy.asnumpy(y).sum())
    stream.synchronize()
del x, y
pool.free_all_blocks()
found["at the end"] = pool.used_bytes()
print(json.dumps(found))
