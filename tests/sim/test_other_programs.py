"""Programs that have nothing to do with PyTorch and use the driver or NVML directly: ffmpeg, hashcat, NVIDIA's Python
binding of NVML. They come from Debian and PyPI (tools/setup test); one that is missing is skipped by name."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from conftest import BINARY, LIBRARIES, PYTHON, ROOT, TIMEOUT, environment, finish  # noqa: E402


def program(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed (apt-get install {name}): the simulated driver was not tried with it")
    return path


def test_ffmpeg_moves_frames_through_the_card(tmp_path):
    """Frames go to the card and come back: with kept values they are the same bytes."""
    ffmpeg, frames, back = program("ffmpeg"), tmp_path / "in.yuv", tmp_path / "out.yuv"
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "320x240"]
    subprocess.run([ffmpeg, "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=5:duration=2",
                    "-pix_fmt", "yuv420p", "-f", "rawvideo", frames], check=True)
    assert frames.stat().st_size == 10 * 320 * 240 * 3 // 2
    done = finish([ffmpeg, "-loglevel", "warning", "-init_hw_device", "cuda=card:0", "-filter_hw_device", "card", *raw,
                   "-i", str(frames), "-vf", "hwupload_cuda,hwdownload,format=yuv420p", "-f", "rawvideo", str(back)],
                  environment(values="keep"), tmp_path)
    assert done.code == 0, done.err
    assert "not simulated" not in done.err
    assert back.read_bytes() == frames.read_bytes()


def test_hashcat_lists_the_card(tmp_path):
    hashcat = program("hashcat")
    assert Path("/sys/devices").exists(), "hashcat aborts where /sys is not mounted"
    # It uses CUDA only where it finds NVRTC, by the name that a toolkit's development files have. The wheel has the library itself.
    (tmp_path / "libnvrtc.so").symlink_to(Path(LIBRARIES) / "libnvrtc.so.13")
    (wheel,) = Path(PYTHON).parents[1].glob("lib/python3*/site-packages/nvidia/cu13/lib")
    folders = f"{tmp_path}:{wheel}"
    done = finish([hashcat, "-I"], environment(gpu="RTX4090", HOME=tmp_path, LD_LIBRARY_PATH=folders), tmp_path)
    assert done.code == 0, done.err
    card = re.search(r"Name[.]+: NVIDIA GeForce RTX 4090 \(simulated\)\n(.*?)\n\n", done.out, re.S)
    assert card, done.out
    found = dict(re.findall(r"(\S+?)[.]+: (.*)", card[1]))
    assert found["Processor(s)"] == "128" and found["Memory.Total"] == "24210 MB", found


BY_PATH = """
    import ctypes, json, os, sys
    nvrtc, builtins, cudart, missing = sys.argv[1:]

    def is_loaded(path):
        with open("/proc/self/maps") as maps:
            return os.path.realpath(path) in maps.read()

    def handle(name):
        return ctypes.CDLL(name)._handle

    by_path, before = ctypes.CDLL(nvrtc, mode=ctypes.RTLD_GLOBAL), is_loaded(nvrtc)
    version = ctypes.c_int(), ctypes.c_int()
    assert by_path.nvrtcVersion(*map(ctypes.byref, version)) == 0
    try:
        handle(missing)
        is_missing = False
    except OSError:
        is_missing = True
    print(json.dumps({"name": by_path._name, "before": before, "after": is_loaded(nvrtc), "major": version[0].value,
                      "is_simulated": [handle(nvrtc) == handle("libnvrtc.so.13"), handle(cudart) == handle("libcudart.so.13")],
                      "builtins": handle(builtins) != 0 and is_loaded(builtins), "is_missing": is_missing}))
"""


def test_libraries_that_are_opened_by_path(report, tmp_path):
    """The packages of NVIDIA's libraries, which PyTorch, JAX and CuPy open so: the simulated ones answer, and the others are not loaded.
    The simulated NVRTC loads the real one, once it is called."""
    (wheel,) = Path(PYTHON).parents[1].glob("lib/python3*/site-packages/nvidia/cu13/lib")
    (builtins,) = wheel.glob("libnvrtc-builtins.so.*")
    toolkit = tmp_path / "libcudart.so.13.0.96"
    shutil.copy(LIBRARIES / "libcudart.so.13", toolkit)  # any library of that name
    (tmp_path / "libcudart.so").symlink_to(toolkit)
    nvrtc = wheel / "libnvrtc.so.13"
    _, printed = report(["--gpu", "H100"], BY_PATH, nvrtc, builtins, tmp_path / "libcudart.so", wheel / "libcublas.so.13")
    assert json.loads(printed.strip().splitlines()[-1]) == {
        "name": str(nvrtc), "before": False, "after": True, "major": 13, "is_simulated": [True, True], "builtins": True, "is_missing": True}


# The layouts of NVIDIA's own binding, and the values that it reads.
NVML = """
    import ctypes, json, os
    try:
        import pynvml as n
    except ImportError:
        print(json.dumps("missing"))
        raise SystemExit
    n.nvmlInit()
    sizes = {name: ctypes.sizeof(getattr(n, name)) for name in
             ("c_nvmlMemory_t", "c_nvmlMemory_v2_t", "nvmlPciInfo_t", "c_nvmlProcessInfo_t", "c_nvmlProcessDetail_v1_t",
              "c_nvmlGpuFabricInfo_t", "c_nvmlGpuFabricInfo_v2_t", "c_nvmlGpuFabricInfo_v3_t", "c_nvmlFieldValue_t",
              "c_nvmlUUID_t", "c_nvmlBAR1Memory_t", "c_nvmlConfComputeMemSizeInfo_t", "c_nvmlConfComputeSystemState_t",
              "c_nvmlConfComputeSystemCaps_t", "c_nvmlSystemConfComputeSettings_v1_t", "c_nvmlTemperature_v1_t",
              "c_nvmlMarginTemperature_v1_t", "c_nvmlDeviceAddressingMode_t", "c_nvmlDramEncryptionInfo_t",
              "c_nvmlC2cModeInfo_v1_t", "c_nvmlHostname_v1_t", "c_nvmlDeviceAttributes", "c_nvmlEccSramErrorStatus_v1_t",
              "c_nvmlRowRemapperHistogramValues", "c_nvmlAccountingStats_t", "c_nvmlEventData_t")}
    h = n.nvmlDeviceGetHandleByIndex(1)
    old, new = n.nvmlDeviceGetMemoryInfo(h), n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 1) == 0
    mine = n.nvmlDeviceGetComputeRunningProcesses(h)
    used = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2).used
    def refused(call):
        try:
            call()
        except n.NVMLError as error:
            return error.value
    print(json.dumps(dict(
        sizes=sizes, count=n.nvmlDeviceGetCount(), name=n.nvmlDeviceGetName(h), bus=n.nvmlDeviceGetPciInfo(h).busId,
        by_uuid=n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))),
        old=[old.total, old.used, old.free], new=[new.total, new.reserved, new.used, new.free],
        mine=[[p.pid == os.getpid(), p.usedGpuMemory] for p in mine], used=used,
        capability=n.nvmlDeviceGetCudaComputeCapability(h),
        pcie=[[n.nvmlDeviceGetMaxPcieLinkGeneration(d), n.nvmlDeviceGetCurrPcieLinkGeneration(d), n.nvmlDeviceGetCurrPcieLinkWidth(d)]
              for d in map(n.nvmlDeviceGetHandleByIndex, (0, 1))],
        confidential=[n.nvmlSystemGetConfComputeState().ccFeature, n.nvmlSystemGetConfComputeCapabilities().gpusCaps,
                      n.nvmlSystemGetConfComputeGpusReadyState()],
        temperature=refused(lambda: n.nvmlDeviceGetTemperature(h, 0)),
        change=refused(lambda: n.nvmlDeviceSetPersistenceMode(h, 1)))))
"""


def test_nvml_binding(python):
    done = python(NVML, gpu="H100,RTX4090", context="300MiB", CUDA_VISIBLE_DEVICES="0,1")
    found = done.result
    if found == "missing":
        pytest.skip("nvidia-ml-py is not in build/simvenv: NVML's layouts were not compared with NVIDIA's own binding")
    assert found["sizes"] == {
        "c_nvmlMemory_t": 24, "c_nvmlMemory_v2_t": 40, "nvmlPciInfo_t": 68, "c_nvmlProcessInfo_t": 24,
        "c_nvmlProcessDetail_v1_t": 32, "c_nvmlGpuFabricInfo_t": 28, "c_nvmlGpuFabricInfo_v2_t": 36,
        "c_nvmlGpuFabricInfo_v3_t": 40, "c_nvmlFieldValue_t": 40, "c_nvmlUUID_t": 52,
        "c_nvmlBAR1Memory_t": 24, "c_nvmlConfComputeMemSizeInfo_t": 16,
        "c_nvmlConfComputeSystemState_t": 12, "c_nvmlConfComputeSystemCaps_t": 8, "c_nvmlSystemConfComputeSettings_v1_t": 20, "c_nvmlTemperature_v1_t": 12,
        "c_nvmlMarginTemperature_v1_t": 8, "c_nvmlDeviceAddressingMode_t": 8, "c_nvmlDramEncryptionInfo_t": 8,
        "c_nvmlC2cModeInfo_v1_t": 4, "c_nvmlHostname_v1_t": 64, "c_nvmlDeviceAttributes": 40,
        "c_nvmlEccSramErrorStatus_v1_t": 104, "c_nvmlRowRemapperHistogramValues": 20, "c_nvmlAccountingStats_t": 56, "c_nvmlEventData_t": 32}
    assert found["count"] == 2 and found["name"] == "NVIDIA GeForce RTX 4090 (simulated)"
    assert found["bus"] == "00000000:02:00.0" and found["by_uuid"] == 1 and found["capability"] == [8, 9]
    assert found["pcie"] == [[5, 5, 16], [4, 4, 16]] and found["confidential"] == [0, 0, 1]
    total, reserved, used, free = found["new"]
    assert total == 24564 << 20 and total - reserved == 25386352640 and used == 0 and free == total - reserved
    assert found["old"] == [total, reserved, total - reserved]
    assert found["mine"] == [[True, 300 << 20]] and found["used"] == 300 << 20
    assert found["temperature"] == 3 and found["change"] == 3
    assert done.err.count("nvmlDeviceSetPersistenceMode (NVML) is not simulated") == 1


CALLS = """
#include <dlfcn.h>
int call(void) {
  const void *table;
  int (*get)(const void **, const void *) = (int (*)(const void **, const void *))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetExportTable");
  return get(&table, "sixteen bytes ..");
}
"""


@pytest.mark.parametrize("name, says", (("libnvJitLink.so.13", None), ("libmine.so", "Relink with"), ("cupy/runtime.so", "CuPy up to release 12")))
def test_libraries_that_look_for_private_tables(dryrun, tmp_path, name, says):
    """NVIDIA's linker does without them, so nothing is said; a runtime cannot, and the report says what to use instead."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    (tmp_path / "calls.c").write_text(CALLS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, tmp_path / "calls.c"], check=True)
    done = dryrun(["--json"], f"import ctypes\nassert ctypes.CDLL({str(path)!r}).call() == 801\n")
    said = [doubt["sentence"] for doubt in json.loads(done.out)["doubts"] if doubt["kind"] == "cannot_run"]
    if says is None:
        assert not said and "will fail" not in done.err
    else:
        assert len(said) == 1 and says in said[0] and said[0] in done.err


@pytest.mark.parametrize("name", ("numba", "cupy"))
def test_programs_of_the_ring_programs(name):
    """The small ones of tests/real/programs.toml: what the library says of itself is what the report says."""
    done = subprocess.run([sys.executable, ROOT / "tools/programs", "--build", Path(BINARY).parent, name], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert name in done.stdout
