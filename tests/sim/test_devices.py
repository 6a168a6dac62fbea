"""<vramscope/devices.h> on simulated machines: NVML and CUDA of the same cards, each by its own library."""

import os
from pathlib import Path

import pytest
from conftest import environment, finish

MiB = 1 << 20
PROGRAM = os.environ.get("LIST_DEVICES", "")


@pytest.fixture
def listed(tmp_path):
    def run(*words, **settings):
        return finish([PROGRAM, *words], environment(**settings), tmp_path).result

    return run


def test_cards(listed):
    found = listed(gpu="H100,RTX4090:20GiB")
    assert found["is_simulated"] and Path(found["library"]).name.startswith("libnvidia-ml.so.1")
    h100, rtx = found["devices"]
    assert h100["name"].endswith("(simulated)") and h100["is_simulated"] and rtx["is_simulated"]
    assert h100["uuid"].startswith("GPU-") and h100["uuid"] != rtx["uuid"]
    for card in found["devices"]:
        assert card["total"] == card["reserved"] + card["used"] + card["free"]
        assert card["processes"] == [] and card["attributed"] == 0
        assert card["cuda"] == "NOT_SAMPLED"  # CUDA's order may differ, and the driver was not queried


def test_cuda_numbers_are_the_drivers(listed):
    """In whatever order CUDA has them, numbers are joined by UUID."""
    assert [card["cuda"] for card in listed("ask", gpu="H100,RTX4090")["devices"]] == [0, 1]
    assert [card["cuda"] for card in listed("ask", gpu="H100,RTX4090", CUDA_VISIBLE_DEVICES="1,0")["devices"]] == [1, 0]
    hidden = listed("ask", gpu="H100,RTX4090", CUDA_VISIBLE_DEVICES="1")["devices"]
    assert [card["cuda"] for card in hidden] == ["NOT_VISIBLE", 0]
    assert listed("select=cuda:0", gpu="H100,RTX4090", CUDA_VISIBLE_DEVICES="1")["select"] == [1]
    assert listed("ask", gpu="H100", CUDA_VISIBLE_DEVICES="")["devices"][0]["cuda"] == "NOT_VISIBLE"


@pytest.mark.parametrize("visible", [None, "", "1", "2,0", "1,7,0", "0,0", "0,-1,1", "GPU", "1gpu, 2"])
def test_rule_and_driver_agree(listed, visible):
    """What CUDA_VISIBLE_DEVICES means: our rule, without the driver, and the simulated driver, which has a rule of its own."""
    settings = dict(gpu="3xA100", CUDA_VISIBLE_DEVICES=visible, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    by_rule = [card["cuda"] for card in listed(**settings)["devices"]]
    by_driver = [card["cuda"] for card in listed("ask", **settings)["devices"]]
    assert by_rule == by_driver


def test_uuids_in_the_variable(listed):
    first, second = (card["uuid"] for card in listed(gpu="2xA100")["devices"])
    for visible in (f"{second},{first}", second, f"{first},{first}"):
        settings = dict(gpu="2xA100", CUDA_VISIBLE_DEVICES=visible)
        assert [c["cuda"] for c in listed(**settings)["devices"]] == [c["cuda"] for c in listed("ask", **settings)["devices"]]


def test_preload_and_take(listed):
    """A context costs what NVML then shows, and memory that is taken is used from then on, by this very process."""
    found = listed("preload=0", "preload=0", f"take={256 * MiB}", gpu="H100")
    assert found["preload"] == {"bytes": 0, "us": found["preload"]["us"], "was_there": True}  # the second time
    assert found["taken"] == 256 * MiB
    (card,) = found["devices"]
    (process,) = card["processes"]
    assert process["is_self"] and process["is_visible"]
    assert process["bytes"] == card["used"] == card["attributed"] and card["unattributed"] == 0
    fresh = listed("preload=0", gpu="H100")
    assert fresh["preload"]["bytes"] == fresh["devices"][0]["used"] > 100 * MiB
    assert process["bytes"] == fresh["preload"]["bytes"] + 256 * MiB
    assert "no cuda:7" in listed("preload=7", gpu="H100")["error"]


def test_without_a_driver(tmp_path):
    """A machine that has none: a sentence, at once, and nothing is loaded."""
    env = environment(LD_PRELOAD=None)
    found = finish([PROGRAM], env, tmp_path).result
    if "failure" not in found:
        pytest.skip("this machine has an NVIDIA driver")
    assert found["code"] in (9, 12) and found["failure"]
