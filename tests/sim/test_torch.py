"""PyTorch from its wheel, unmodified: everything that its memory management does, on the simulated GPU.

The programs check PyTorch's statistics against its events themselves (programs/books.py); here stand the figures that follow
from PyTorch's documented rules or from the card, and what must hold between runs.
"""

import os
import subprocess
import sys

import pytest

MiB, GiB = 1 << 20, 1 << 30


def skip_if_absent(found):
    """Older versions of PyTorch (tools/test-torch-versions) do not have all that the newest one has."""
    if "absent" in found:
        assert "2.15" not in str(found["torch"]) and found["torch"] != [2, 15], found
        pytest.skip(f"PyTorch {found['torch']}: {found['absent']}")


# ---- the allocator


def test_allocator(python):
    found = python("allocator.py", gpu="A100-80").result
    assert found["name"].startswith("NVIDIA A100") and found["name"].endswith("(simulated)")
    assert found["capability"] == [8, 0] and found["sms"] == 108 and found["count"] == 1
    assert found["total"] == 85_100_068_864
    # One segment for each half GiB until the card is full, context and small segments aside.
    assert (found["total"] - 2 * GiB) // (512 * MiB) <= found["filled"] <= found["total"] // (512 * MiB)
    assert f"total capacity of {found['total'] / GiB:.2f} GiB" in found["text"]
    assert found["passed"]


@pytest.mark.parametrize(
    "conf",
    (
        "",
        "expandable_segments:True",
        "max_split_size_mb:32",
        "roundup_power2_divisions:[2:1,16:8,>:4]",
        "garbage_collection_threshold:0.5",
        "large_segment_size_mb:32,max_non_split_rounding_mb:64",
        "backend:cudaMallocAsync",
        "expandable_segments:True,roundup_power2_divisions:8,graph_capture_record_stream_reuse:True",
    ),
)
def test_settings(python, conf):
    found = python("settings.py", gpu="16GiB", PYTORCH_CUDA_ALLOC_CONF=conf).result
    skip_if_absent(found)
    assert found["oom"] is not None
    if "cudaMallocAsync" in conf:
        assert ("would exceed allowed memory" if found["torch"] > [2, 8] else "Allocation on device") in found["oom"]
        books = found["books"]
        assert books["reserved_bytes.all.peak"] >= books["allocated_bytes.all.peak"] >= books["kept"]
        return
    assert found["torch"] <= [2, 4] or "14.40 GiB allowed" in found["oom"]  # 0.9 of it
    actions = found["books"]["actions"]
    assert ("segment_map" in actions) == ("expandable_segments:True" in conf)
    assert ("segment_alloc" in actions) == ("expandable_segments:True" not in conf)
    if "max_split" in conf or "expandable" in conf:
        assert found["books"]["reserved_peak"] > 0
    assert actions["alloc"] == 40 * 9 and actions["free_requested"] == 40 * 9 - 5 == actions["free_completed"]


def test_same_program_same_events(python):
    """Twice the same card: every event with its address. Another size: the same events, as long as both have memory."""
    first, second = (python("settings.py", gpu="24GiB").result["trace"] for _ in range(2))
    assert first == second and len(first) > 1000
    larger = python("settings.py", gpu="40GiB").result["trace"]
    assert larger[:-2] == first[:-2]  # the last two: an allocation as large as the card, and what it found free


def test_graphs_and_pools(python):
    found = python("graphs.py").result
    assert [0, 0] in found["done"]["pools"] and len(found["done"]["pools"]) == 2
    assert "capture" in found["done"]["refused"]
    assert found["done"].get("own") == ([30 * MiB] if found["torch"] > [2, 4] else None)


def test_pluggable_allocator(python, tmp_path):
    plugin = tmp_path / "plugin.so"
    source = os.path.join(os.path.dirname(__file__), "programs", "plugin.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", plugin, source], check=True)
    found = python("pluggable.py", plugin).result
    skip_if_absent(found)
    assert found["in_pool"] == 1 and found["segments"] == [20 * MiB]  # PyTorch requests segments from the plugin
    assert found["given"] >= 5 and found["then"] - found["taken"] == 5


def test_pluggable_allocator_of_the_library(python):
    """libvramscope.so named to PyTorch, by nothing but PyTorch's own interface: memory, statistics, out of memory."""
    found = python("own_pluggable.py", os.path.join(os.path.dirname(os.environ["VRAMSCOPE"]), "libvramscope.so"), gpu="8GiB").result
    assert found["allocated"] == [30 * MiB, 20 * MiB]
    assert found["error"] == "OutOfMemoryError" and "Tried to allocate 100.00 GiB" in found["text"]


def test_two_devices_and_processes(python):
    found = python("devices.py", gpu="H100,A100-40", timeout=400).result
    assert found["count"] == 2 and found["peer"]
    assert found["allocated"] == [8192, 3 * MiB + 8192]
    assert found["pointers"][0] < found["pointers"][1] and len(set(found["pointers"])) == 3
    assert "H100" in found["names"][0] and "A100" in found["names"][1]
    assert found["fork"] == found["spawn"] == [0.0, 8.0, 16.0, 24.0]  # what only passes through the device arrives
    assert found["child"][1] == 0  # it has its own allocator
    assert "forked subprocess" in found["forked"]


# ---- whole programs


def test_training(python):
    """Transformer with every AdamW, autocast, gradient scaler, four attention back ends, convolutions, LSTM and GRU."""
    first, second = (python("training.py", gpu="H100").result for _ in range(2))
    done = first["done"]
    for backend in ("MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", *(["CUDNN_ATTENTION"] if first["torch"] > [2, 4] else [])):
        assert done[backend] == [2, 8, 256, 64]
    assert done["LSTM"] == done["GRU"] == [4, 16, 128]
    assert done["conv True True"] == done["conv False False"] == [32, 3, 3, 3]
    assert first["books"] == second["books"] and first["digest"] == second["digest"]
    assert first["books"]["ooms"] == 0


def test_llama(python):
    found = python("llama.py").result
    skip_if_absent(found)
    assert found["shape"] == [2, 40] and found["cached"] == 39
    assert found["books"]["allocated_peak"] >= found["parameters"] * 2 * 4  # weights, gradients, two moments in bf16


def test_compile(python, tmp_path):
    found = python("compiled.py", TORCHINDUCTOR_CACHE_DIR=tmp_path, TRITON_CACHE_DIR=tmp_path / "triton").result
    assert set(map(tuple, found["shapes"].values())) == {(256, 256)}


# ---- the environment


# Imports PyTorch once, and looks in a child for each value of a variable: CUDA begins there, not in the parent.
FORKED = """
    import json, os, sys, torch

    def look():
        {look}

    name, values = sys.argv[1], sys.argv[2:]
    found = []
    for value in values:
        result, told = os.pipe()
        if os.fork() == 0:
            os.environ[name] = value
            os.write(told, json.dumps(look()).encode())
            os._exit(0)
        os.wait()
        os.close(told)
        found.append(json.loads(os.read(result, 1000)))
    print(json.dumps(dict(zip(values, found))))
"""


def test_visible_devices(python):
    wanted = {"0": 1, "1,0": 2, "-1": 0, "": 0, "2,9,0": 1}
    look = "return [torch.cuda.device_count(), torch.cuda.is_available()]"
    found = python(FORKED.format(look=look), "CUDA_VISIBLE_DEVICES", *wanted, gpu="H100,A100-40,L4").result
    assert found == {visible: [count, count > 0] for visible, count in wanted.items()}


def test_values(python):
    look = 'x = torch.arange(10.0).cuda(); return [bool((x + 1 > 100).all()), float((x + 1)[3])]'
    found = python(FORKED.format(look=look), "VRAMSCOPE_SIM_VALUES", "zeros", "true", "keep").result
    assert found == {"zeros": [False, 0.0], "true": [True, 0.0], "keep": [False, 0.0]}


def test_program_without_cuda_is_unchanged(python):
    """The preloaded libraries do not change a program that does not use CUDA."""
    code = "import os, sys; print(sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')))\n"
    done = python(code)
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.out == plain.stdout and done.err == ""
