"""CuPy with the CUDA 12 faces. Its newer wheels carry a runtime of their own and cannot run."""

from conftest import PROGRAMS, ROOT, environment, finish

VENV = ROOT / "build" / "cupyvenv"


def test_arrays(tmp_path):
    (nvrtc,) = VENV.glob("lib/python3*/site-packages/nvidia/cuda_nvrtc/lib")
    env = environment(gpu="A100-40", LD_LIBRARY_PATH=nvrtc, CUPY_CACHE_DIR=tmp_path)
    found = finish([str(VENV / "bin/python"), str(PROGRAMS / "cupy_arrays.py")], env, tmp_path).result
    assert found["name"] == "NVIDIA A100-SXM4-40GB (simulated)"
    assert found["used"] == 4_000_256 and found["with the product"] >= 4_000_256  # CuPy rounds to 512 bytes
    assert found["shapes"] == [[1000, 1000], [1024], [10], [1000, 1000]]
    assert found["zeros"] == 0.0 and found["at the end"] < 4_000_256
