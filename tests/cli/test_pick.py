"""`vramscope pick` on the machines of tests/fake: what it prints is what CUDA_VISIBLE_DEVICES takes; which GPUs it chooses is tested in
tests/unit/devices/test_pick.c."""

import json
import os
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parents[1] / "fake" / "scenarios"
FIRST, SECOND = (f"GPU-a1b2c3d4-0000-4000-8000-00000000000{number}" for number in (1, 2))


@pytest.fixture
def pick(vramscope):
    def run(machine, *arguments, **env):
        fake = {"VRAMSCOPE_NVML": f"{os.environ['VRAMSCOPE_FAKE']}/libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": str(SCENARIOS / f"{machine}.txt")}
        return vramscope("pick", *arguments, env={**fake, **env})

    return run


@pytest.mark.parametrize(("machine", "arguments", "env", "out"), [
    ("two", [], {}, FIRST),
    ("two", ["--count", "2"], {}, f"{FIRST},{SECOND}"),
    ("two", ["-c", "2", "--index"], {}, "0,1"),
    ("two", ["--free", "20GiB", "-i", "1"], {}, SECOND),
    ("two", [], {"CUDA_VISIBLE_DEVICES": SECOND}, SECOND),
    ("mig", ["--index"], {}, "MIG-11111111-0000-4000-8000-000000000001"),
])
def test_it_prints_what_cuda_takes(pick, machine, arguments, env, out):
    done = pick(machine, *arguments, **env)
    assert (done.code, done.out, done.err) == (0, out + "\n", "")


@pytest.mark.parametrize(("machine", "arguments", "code", "sentence"), [
    ("two", ["--free", "200GiB"], 1, "no GPU has 200.0 GiB free; GPU 0 has the most, 139.8 GiB"),
    ("two", ["--count", "3"], 1, "3 GPUs were requested, and there are 2"),
    ("two", ["--count", "0"], 2, "--count takes a number from 1 to 512"),
    ("two", ["--free", "much"], 2, "--free takes a size, such as 20GiB"),
    ("two", ["-i", "7"], 2, 'no GPU is called "7": 2 here, numbers 0 to 1'),
    ("none", [], 3, "there is no GPU to choose from"),
    ("no_driver", [], 3, "the driver is not loaded"),
])
def test_it_prints_nothing_where_none_suits(pick, machine, arguments, code, sentence):
    done = pick(machine, *arguments)
    assert (done.code, done.out) == (code, "") and done.err.startswith(f"vramscope: {sentence}")


def test_json(pick):
    answer = json.loads(pick("two", "--json", "--count", "2").out)
    assert answer["schema"] == 1 and [device["uuid"] for device in answer["devices"]] == [FIRST, SECOND]
    assert answer["devices"][0] == {"uuid": FIRST, "index": 0, "mig_index": None, "name": "NVIDIA H200", "free_bytes": 150111518720,
                                    "total_bytes": 150754820096}


def test_a_gpu_without_a_name_is_not_printed_as_nothing(vramscope, tmp_path):
    """CUDA_VISIBLE_DEVICES="" hides all GPUs."""
    scenario = tmp_path / "machine.txt"
    scenario.write_text(f"include = {os.path.relpath(SCENARIOS, tmp_path)}/h200.txt\n\n[card 0]\nuuid = !4\n")
    env = {"VRAMSCOPE_NVML": f"{os.environ['VRAMSCOPE_FAKE']}/libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": str(scenario), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    done = vramscope("pick", env=env)
    assert (done.code, done.out) == (3, "") and "does not tell the UUID of GPU 0" in done.err, done
    assert vramscope("pick", "--index", env=env).out == "0\n"
