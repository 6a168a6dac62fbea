"""TensorFlow's figures in the report, with a package that stands for it (programs/fake_tensorflow) and takes its pool from the simulated
driver. TensorFlow itself, and what it says of itself, is in the ring `programs`."""

import json
import re

import pytest
from conftest import PROGRAMS

GiB = 1 << 30
BEGUN = "import tensorflow as tf\ntf.begin()\ntf.use(3 << 30)\ntf.free(1 << 30)\n"


@pytest.fixture
def tensorflow(dryrun):
    """tensorflow(program) -> (the JSON, its device, Done)"""

    def run(program, *options, **settings):
        done = dryrun(["--json", "--gpu", "24GiB", *options], program, PYTHONPATH=PROGRAMS / "fake_tensorflow", **settings)
        reply = json.loads(done.out)
        return reply, reply["devices"][0], done

    return run


def figures(**more):
    return {"peak_bytes_in_use": 3 * GiB, "peak_pool_bytes": 10 * GiB, "bytes_limit": 10 * GiB, "preallocated": True, "ooms": 0, **more}


@pytest.mark.parametrize("end", ("", "import os; os._exit(0)\n"))
def test_a_preallocated_pool(tensorflow, end):
    reply, device, done = tensorflow(BEGUN + end)
    assert done.code == 0 and reply["verdict"] == "fits", done.err
    assert device["tensorflow"] == figures() == reply["processes"][0]["devices"][0]["tensorflow"]
    assert device["jax"] is None and device["torch"] is None
    assert device["driver_peak_bytes"] - device["needed_bytes"] == 7 * GiB
    # A card is enough if the share of it that is the limit holds the peak, and is tight if only a larger share does.
    share = 10 * GiB / device["total_bytes"]
    fits = {row["gpu"]: (row["total_bytes"], row["fits"]) for row in reply["fit"]}
    assert all(fit == "yes" for total, fit in fits.values() if share * total > 3.5 * GiB)
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"]


def test_with_growth(tensorflow):
    """It does not say how far its pool grew, so the driver's figure is what is needed."""
    _, device, _ = tensorflow(BEGUN, FAKE_GROWTH="1")
    assert device["tensorflow"] == figures(peak_pool_bytes=3 * GiB, preallocated=False)
    assert device["needed_bytes"] == device["driver_peak_bytes"] > 4 * GiB


def test_in_words(dryrun):
    path = PROGRAMS / "fake_tensorflow"
    words = " ".join(dryrun(["--gpu", "24GiB"], BEGUN, PYTHONPATH=path, COLUMNS="80").out.split())
    assert "needed: 3.00 GiB allocated in TensorFlow's pool, " in words and "TensorFlow preallocated a pool of 10.00 GiB" in words
    words = " ".join(dryrun(["--gpu", "24GiB"], BEGUN, PYTHONPATH=path, COLUMNS="80", FAKE_GROWTH="1").out.split())
    assert "context and other. The driver's peak is " in words and "preallocated" not in words and "grew" not in words
    words = " ".join(dryrun(["--gpu", "24GiB"], BEGUN + "tf.exhaust()\n", PYTHONPATH=path, COLUMNS="80").out.split())
    assert "8.00 GiB free in TensorFlow's pool, whose limit is 10.00 GiB" in words


def test_out_of_memory(tensorflow):
    reply, device, done = tensorflow(BEGUN + "tf.exhaust()\n")
    assert done.code == 1 and reply["verdict"] == "does_not_fit" and device["tensorflow"]["ooms"] == 1
    oom = reply["oom"]
    assert oom["in_tensorflow_limit"] and not oom["in_jax_limit"] and oom["asked_bytes"] == 24 * GiB and oom["free_bytes"] == 8 * GiB
    assert reply["needs"][0]["bytes"] is None and reply["needs"][0]["least_bytes"] >= 27 * GiB


def test_another_error(tensorflow):
    reply, device, done = tensorflow(BEGUN + "raise ValueError('OOM')\n")
    assert done.code == 1 and reply["verdict"] == "stopped" and device["tensorflow"] == figures()


def test_not_begun_and_killed(tensorflow):
    reply, device, _ = tensorflow("import tensorflow\n")
    assert reply["verdict"] == "no_cuda" and device["tensorflow"] is None and not reply["doubts"]
    reply, device, _ = tensorflow(BEGUN + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n")
    assert device["tensorflow"] is None and device["needed_bytes"] == device["driver_peak_bytes"]
    assert [doubt["what"] for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"] == ["TensorFlow's figures"]


CHILD = """
import os
if os.fork() == 0:
    os._exit(0)
os.wait()
"""


def test_a_forked_child_has_no_figures(tensorflow):
    reply, device, _ = tensorflow(BEGUN + CHILD)
    assert device["tensorflow"] == figures() and len(reply["processes"]) == 1


def test_beside_pytorch(tensorflow):
    """Both write their figures at the end, and the need of both is the driver's less what TensorFlow did not use."""
    program = BEGUN + "import torch\nx = torch.zeros(1 << 28, device='cuda')\nprint(torch.cuda.max_memory_allocated())\n"
    reply, device, done = tensorflow(program)
    (allocated,) = re.findall(r"^(\d+)$", done.err, re.M)
    assert device["tensorflow"] == figures() and device["torch"]["peak_allocated_bytes"] == int(allocated) == GiB
    assert device["driver_peak_bytes"] - device["needed_bytes"] == 7 * GiB
