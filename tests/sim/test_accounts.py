"""Files of other programs, made by these programs, against what PyTorch knows of itself in the same process."""

import json
import pickle

import pytest
from answers import ask
from conftest import BINARY, PROGRAMS, PYTHON, ROOT, environment_of, finish

GPU = "24GiB"


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    trace, snapshot = folder / "trace.json", folder / "history.pickle"
    done = finish([BINARY, "dryrun", "--gpu", GPU, "--", PYTHON, PROGRAMS / "profiled.py", trace, snapshot],
                  environment_of({}), folder, 600)
    before, peak = (int(word) for word in next(line for line in done.out.splitlines() if line.startswith("before ")).split()[1::2])
    with open(snapshot, "rb") as file:
        return trace, pickle.load(file), before, peak


def test_events_are_those_of_pytorchs_history(profiled):
    """The same allocations and frees in the same order, at the same addresses; sizes are those of the blocks."""
    trace, history, *_ = profiled
    wanted = [(e["action"], e["addr"], e["size"]) for e in history["device_traces"][0] if e["action"] in ("alloc", "free_requested")]
    got = [(e["action"], e["address"], e["size_bytes"]) for e in ask(trace, "events", top=0)["events"]]
    assert len(got) > 100
    assert [entry[:2] for entry in got] == [entry[:2] for entry in wanted]
    assert all(size >= requested and size - requested < 2**20 for (*_, size), (*_, requested) in zip(got, wanted, strict=True))


def test_the_peak_is_pytorchs(profiled):
    trace, _, before, peak = profiled
    (device,) = ask(trace, "report")["devices"]
    assert device["peak"]["allocated_bytes"] == peak and device["peak"]["allocated_is_exact"]
    assert device["trace"]["baseline_requested_bytes"] == before
    assert device["end"]["reserved_bytes"] is None and device["peak_reserved"] is None
    assert {"began_late", "no_segments", "no_rounding", "left_out"} <= {finding["kind"] for finding in device["trust"]["findings"]}


def test_owners_are_those_of_the_program(profiled):
    trace, *_ = profiled
    labels = {group["label"] for group in ask(trace, "live", at="peak", by="line", top=0)["groups"]}
    assert "backward pass, AddmmBackward0" in labels and "allocated before recording" in labels
    events = ask(trace, "events", top=0)["events"]
    assert any("profiled.py" in (e["label"] or "") and "step" in e["label"] for e in events)
    assert ask(trace, "report")["devices"][0]["steps"]["source"] == "annotations"


JAX = ROOT / "build" / "jaxvenv" / "bin" / "python"


@pytest.mark.skipif(not JAX.exists(), reason="JAX is not installed, so its profile was not tested; `tools/setup test` installs it into build/jaxvenv")
def test_jaxs_profile_has_its_live_arrays(tmp_path):
    profile = tmp_path / "memory.prof"
    env = environment_of({"XLA_FLAGS": "--xla_gpu_autotune_level=0", "JAX_PLATFORMS": None}, "JAX_", "XLA_")
    done = finish([BINARY, "dryrun", "--gpu", GPU, "--", str(JAX), str(PROGRAMS / "jax_profile.py"), profile], env, tmp_path, 600)
    arrays = next(json.loads(line[7:]) for line in (done.out + done.err).splitlines() if line.startswith("RESULT "))
    blocks = ask(profile, "blocks", top=0)["blocks"]
    assert len(arrays) == 5 and sorted(block["requested_bytes"] for block in blocks) == arrays
    assert all(block["address"] is None for block in blocks)
    labels = {group["label"] for group in ask(profile, "live", at="end", by="line", top=0)["groups"]}
    assert {label.split()[0].rsplit("/", 1)[-1] for label in labels} == {"jax_profile.py:10", "jax_profile.py:14", "jax_profile.py:15"}
