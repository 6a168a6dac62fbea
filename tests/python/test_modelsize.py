"""modelsize: the three lines of Pytorch-Memory-Utils, and the exact figures beside a real step on the simulated GPU."""

import pytest


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    import conftest

    folder = tmp_path_factory.mktemp("modelsize")
    # what libraries put aside for themselves is no part of the figures
    env = conftest.simulated_environment(gpu="80GiB", CUBLAS_WORKSPACE_CONFIG=":0:0", CUBLASLT_WORKSPACE_SIZE="0")
    return conftest.finish(conftest.command("modelsize_step.py", []), env, folder).result


def test_the_documented_lines(found):
    assert found["documented"] == [
        "Model Sequential : params: 0.450304M",
        "Model Sequential : intermedite variables: 336.089600 M (without backward)",
        "Model Sequential : intermedite variables: 672.179200 M (with backward)",
    ]


def test_the_lines_are_those_of_modules_run_one_after_another(found):
    for ours, defined in found["lines"]:
        assert ours == defined
    assert found["untouched"]


def test_a_model_that_branches_is_run_as_a_whole(found):
    assert found["branches"][1] == "Model Branches : intermedite variables: 0.000064 M (without backward)"  # 2 x (3 + 5) x 4


NAMES = ["mlp", "half", "convolutions", "attention", "tied", "checkpointed"]


@pytest.mark.parametrize("name", NAMES)
def test_exact_sizes_are_those_of_the_real_step(found, name):
    ours, real = found["exact"][name]
    sizes = ["parameters", "buffers", "inputs", "gradients", "optimizer_state", "activations"]
    assert {size: ours[size] for size in sizes} == {size: real[size] for size in sizes}
    assert ours["activations"] > 0 and ours["gradients"] > 0 and ours["optimizer_state"] > 0
    assert ours["allocations"] == 0  # no memory was needed


@pytest.mark.parametrize("name", NAMES)
def test_the_largest_moments_are_those_of_the_allocator(found, name):
    """But for what operations take and give back within themselves, here less than one in a hundred."""
    ours, real = found["exact"][name]
    for part in ("forward_peak", "backward_peak", "step_peak"):
        assert ours[part] == pytest.approx(real[part], rel=0.01), part
    assert ours["step_peak"] == real["step_peak"]


def test_an_existing_optimizer_and_model_stay_as_they_are(found):
    of_class = found["exact"]["mlp"][0]
    assert found["existing"] == {name: size for name, size in of_class.items() if name != "allocations"}
    assert found["gradient_kept"]


def test_a_model_of_four_terabytes(found):
    huge, elements = found["huge"], 10**12
    assert huge["parameters"] == huge["gradients"] == 4 * elements
    assert huge["optimizer_state"] == 8 * elements
    assert huge["step_peak"] >= 20 * elements and found["peak_in"] == "step"  # foreach: one more for the square roots


def test_without_parts_of_a_step(found):
    assert found["no_optimizer"]["optimizer_state"] == 0 and found["no_optimizer"]["gradients"] > 0
    frozen = found["frozen"]
    assert frozen["gradients"] == frozen["activations"] == 0 and frozen["parameters"] == found["no_optimizer"]["parameters"]
    assert found["loss"]["activations"] == found["no_optimizer"]["activations"] + 4 * 10 * 4  # the output is saved
    assert found["reads"] == "DataDependentOutputException"


def test_the_text(found):
    assert found["printed"][0] == "Model Sequential : a training step"
    assert found["printed"][1].split() == ["parameters", "2.050819", "MiB", "2,150,440", "bytes"]
    assert found["printed"][-1].startswith("largest moment, in backward ")
