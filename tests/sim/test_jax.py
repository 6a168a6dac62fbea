"""JAX with the CUDA 13 faces: it finds the simulated GPU, trains, and the report has its allocator's own peaks. The truth is what the
program prints of `memory_stats()` at its end. The environment has neither PyTorch nor NVIDIA's libraries, but the compilers of kernels."""

import json

import pytest
from conftest import BINARY, PROGRAMS, ROOT, environment_of, finish

PYTHON = ROOT / "build" / "jaxvenv" / "bin" / "python"
GiB = 1 << 30

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="JAX is not installed, so nothing of it was tested; `tools/setup test` installs it into build/jaxvenv"
)


@pytest.fixture
def jax(tmp_path):
    """jax(options, program's arguments) -> (the JSON, what the program found, Done). Choosing between compiled kernels by their time takes
    long and means nothing here."""

    def run(options, *arguments, json_too=True, **settings):
        argv = [BINARY, "dryrun", *(["--json"] if json_too else []), *options, "--", str(PYTHON), str(PROGRAMS / "jax_step.py"), *arguments]
        env = environment_of({"XLA_FLAGS": "--xla_gpu_autotune_level=0", "JAX_PLATFORMS": None, "COLUMNS": "80", **settings}, "JAX_", "XLA_")
        done = finish(argv, env, tmp_path)
        output = done.err if json_too else done.out
        found = [json.loads(line[7:]) for line in output.splitlines() if line.startswith("RESULT ")]
        return json.loads(done.out) if json_too else None, found[0] if found else None, done

    return run


def check(reply, found):
    """Each device: JAX's figures to the byte, and what is needed of the GPU is less than the driver's peak by what is not in use."""
    assert found["platform"] == "gpu" and "(simulated)" in found["kind"] and found["value"] is not None
    assert len(found["stats"]) == len(reply["devices"])
    for device, stats in zip(reply["devices"], found["stats"]):
        figures = device["jax"]
        assert {name: figures[name] for name in ("peak_bytes_in_use", "peak_pool_bytes", "bytes_limit")} == {
            name: stats[name] for name in ("peak_bytes_in_use", "peak_pool_bytes", "bytes_limit")
        }
        assert device["torch"] is None and figures["ooms"] == 0 and figures["peak_bytes_in_use"] > 0
        spare = figures["peak_pool_bytes"] - figures["peak_bytes_in_use"]
        assert device["driver_peak_bytes"] - device["needed_bytes"] == spare


def test_a_training_step(jax):
    reply, found, done = jax(["--gpu", "H100"], "one")
    check(reply, found)
    (device,) = reply["devices"]
    assert reply["verdict"] == "fits" and device["jax"]["preallocated"]
    assert device["driver_peak_bytes"] > 59 * GiB > 2 * GiB > device["needed_bytes"]
    assert reply["needs"][0]["bytes"] == device["needed_bytes"]  # of which three quarters are more than what is in use
    assert all(row["fits"] == "yes" for row in reply["fit"])
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] in ("refused", "not_recorded", "history_lost")]
    assert "Nvml call failed" not in done.err


def test_without_preallocation_and_in_words(jax):
    _, found, done = jax(["--gpu", "24GiB"], "one", json_too=False, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    (stats,), words = found["stats"], " ".join(done.out.split())
    assert stats["peak_pool_bytes"] < GiB and "Fits in a GPU with 24.00 GiB (simulated): " in words
    assert f"needed: {stats['peak_bytes_in_use'] / 2**20:.2f} MiB allocated in JAX's pool, " in words and "The pool grew to " in words


@pytest.mark.parametrize("how", ("pmap", "sharded"))
def test_several_gpus(jax, how):
    """Eight of them are the same program; two take a quarter of the time."""
    reply, found, done = jax(["--gpu", "2xH100"], how)
    check(reply, found)
    assert all(device["used"] for device in reply["devices"]) and done.code == 0


def test_out_of_memory(jax):
    """JAX refuses within its own limit, which the driver does not see."""
    reply, _, done = jax(["--gpu", "24GiB"], "oom")
    (device,), oom = reply["devices"], reply["oom"]
    assert done.code == 1 and reply["verdict"] == "does_not_fit" and device["jax"]["ooms"] == 1
    assert oom["in_jax_limit"] and oom["asked_bytes"] == 100 * GiB
    assert oom["free_bytes"] == device["jax"]["bytes_limit"] - 4 * GiB
    assert reply["needs"][0]["bytes"] is None and reply["needs"][0]["least_bytes"] >= 104 * GiB


def test_a_killed_process(jax):
    """Its figures are lost, and the report says what that means for the need."""
    reply, _, _ = jax(["--gpu", "24GiB"], "killed")
    (device,) = reply["devices"]
    assert device["jax"] is None and device["needed_bytes"] == device["driver_peak_bytes"]
    assert [doubt["what"] for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"] == ["JAX's figures"]
