"""CuPy with the CUDA 12 faces. Its newer wheels carry a runtime of their own and cannot run."""

from conftest import PROGRAMS, PYTHON, ROOT, environment, finish

VENV = ROOT / "build" / "cupyvenv"


def test_arrays(tmp_path):
    (nvrtc,) = VENV.glob("lib/python3*/site-packages/nvidia/cuda_nvrtc/lib")
    env = environment(gpu="A100-40", LD_LIBRARY_PATH=nvrtc, CUPY_CACHE_DIR=tmp_path)
    found = finish([str(VENV / "bin/python"), str(PROGRAMS / "cupy_arrays.py")], env, tmp_path).result
    assert found["name"] == "NVIDIA A100-SXM4-40GB (simulated)"
    assert found["used"] == 4_000_256 and found["with the product"] >= 4_000_256  # CuPy rounds to 512 bytes
    assert found["shapes"] == [[1000, 1000], [1024], [10], [1000, 1000]]
    assert found["zeros"] == 0.0 and found["at the end"] < 4_000_256


COMPILES = """
import ctypes, json
nvrtc, program = ctypes.CDLL("libnvrtc.so.12"), ctypes.c_void_p()
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), b"__global__ void f(float *x) { *x = 1; }", b"f.cu", 0, None, None) == 0
print(json.dumps(nvrtc.nvrtcCompileProgram(program, 0, None)))
"""


def test_the_other_major_of_nvrtc(tmp_path):
    """A program prefers the library that is loaded, as the simulated one of each major is; installed may be only the other."""
    (real,) = VENV.glob("lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    (tmp_path / "libnvrtc.so.13").symlink_to(real)
    done = finish([str(PYTHON), "-c", COMPILES], environment(LD_LIBRARY_PATH=tmp_path), tmp_path)
    assert done.result == 0 and "is not simulated" not in done.err
