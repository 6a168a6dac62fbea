"""doctor on machines with a GPU, of tests/fake, and on this one."""

import json
import os
from pathlib import Path

import pytest

FAKE = Path(os.environ.get("VRAMSCOPE_FAKE", "")).resolve() / "libnvidia-ml.so.1"
OLD = FAKE.parent / "old" / FAKE.name
SCENARIOS = Path(__file__).resolve().parents[1] / "fake" / "scenarios"


@pytest.fixture
def doctor(vramscope):
    """doctor("two") -> (words, JSON) of that machine."""

    def run(scenario, library=FAKE, **more):
        env = {"VRAMSCOPE_NVML": str(library), "VRAMSCOPE_FAKE_NVML": str(SCENARIOS / f"{scenario}.txt"), **more}
        env["PATH"] = "/nowhere"  # no Python to try PyTorch with, which takes longest
        text, data = vramscope("doctor", env=env), vramscope("doctor", "--json", env=env)
        assert (text.code, text.err, data.code, data.err) == (0, "", 0, "")
        return " ".join(text.out.split()), json.loads(data.out)["driver"]

    if not FAKE.exists():
        pytest.skip("VRAMSCOPE_FAKE does not name the fake libraries")
    return run


def test_two_cards(doctor):
    words, driver = doctor("two")
    assert "yes NVIDIA driver 590.48.01, for CUDA up to 13.1" in words
    assert f"yes NVML 13.590.48.01 in {FAKE}" in words
    assert "yes GPU 0 NVIDIA H200, cuda:0 here yes GPU 1 NVIDIA H200, cuda:1 here" in words
    assert (driver["version"], driver["nvml_version"], driver["cuda_version"]) == ("590.48.01", "13.590.48.01", 13010)
    assert [gpu["cuda"] for gpu in driver["gpus"]] == [0, 1]
    assert driver["problem"] is None and driver["code"] == 0 and not driver["is_simulated"]
    assert driver["functions_missing"] == 0 < driver["functions"]


def test_variables_give_cudas_numbers(doctor):
    _, driver = doctor("two", CUDA_VISIBLE_DEVICES="1")
    assert [gpu["cuda"] for gpu in driver["gpus"]] == [None, 0]


def test_divided(doctor):
    words, driver = doctor("mixed")
    assert "GPU 1 NVIDIA H200, divided into 2 MIG devices" in words
    assert [gpu["mig_devices"] for gpu in driver["gpus"]] == [0, 2, 0]
    words, driver = doctor("mig_not_permitted")
    assert "no GPU 0 " in words and "NVIDIA_MIG_MONITOR_DEVICES=all" in words
    assert driver["gpus"][0]["memory"] == "NO_PERMISSION"


def test_unified(doctor):
    words, driver = doctor("gb10")
    assert "uses the machine's memory" in words and driver["gpus"][0]["is_unified"]


def test_old_driver(doctor):
    words, driver = doctor("h200", OLD)
    missing, functions = driver["functions_missing"], driver["functions"]
    assert 0 < missing < functions and f"it lacks {missing} of {functions} functions" in words


@pytest.mark.parametrize(
    "scenario, code, sentence",
    (
        ("no_driver", 9, "the driver is not loaded"),
        ("mismatch", 18, "the NVML library is of 550.144"),
        ("no_permission_init", 4, "may this user open /dev/nvidiactl?"),
    ),
)
def test_no_driver(doctor, scenario, code, sentence):
    words, driver = doctor(scenario)
    assert "no NVIDIA driver " in words and sentence in words and "simulated CUDA" in words
    assert driver["code"] == code and sentence in driver["problem"] and driver["gpus"] == []
    assert driver["versions_differ"] == (code == 18)


def test_no_card(doctor):
    assert "no GPUs the driver runs, but finds none" in doctor("none")[0]


def test_no_library(doctor):
    words, driver = doctor("none", "/not/there.so")
    assert "no NVIDIA driver " in words and driver["code"] == 12 and driver["nvml_version"] is None


def test_files_of_the_current_folder_are_not_imported(vramscope, tmp_path):
    """Python is asked for its version and PyTorch's; a folder with an unpacked download may have any file."""
    for name in ("csv", "email", "zipfile", "site", "sitecustomize", "torch"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})\n")
    found = json.loads(vramscope("doctor", "--json").out)
    assert found["simulated_cuda"]["python"] and found["simulated_cuda"]["python_version"].startswith("3.")
    assert not (tmp_path / "imported").exists()
