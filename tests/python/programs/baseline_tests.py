"""A user's tests with memory baselines: test_pytest_baselines.py runs them. MORE: MiB that one line takes more."""

import os

import pytest
import torch

MORE = int(os.environ.get("MORE", "0"))
kept = []


def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")


def grow():
    return take(16 + MORE)


@pytest.fixture
def large():
    return take(200)


def test_before():
    kept.append(take(33))  # what is there before, allocated and cached, is no part of the others
    take(90)


@pytest.mark.memory_baseline
def test_step():
    weights = take(8)
    activations = grow()
    del activations
    take(4)


@pytest.mark.memory_baseline(tolerance="50%")
def test_tolerant(large):
    kept_here = [take(4) for _ in range(3)]
    grow()


@pytest.mark.memory_baseline
@pytest.mark.parametrize("where", [pytest.param(name, id=name) for name in ("cpu-16", "a/b", "ü", "x" * 200)])
def test_names(where):
    take(3)


@pytest.mark.memory_baseline
class TestModel:
    def test_forward(self):
        take(5)


@pytest.mark.memory_baseline
def test_nothing():
    pass


@pytest.mark.memory_baseline(no_oom=True)
def test_handles_an_error():
    with pytest.raises(torch.OutOfMemoryError):
        take(100 << 10)


@pytest.mark.memory_baseline(warmup=1)
def test_workspace():
    if not any(tensor.numel() == 7 << 20 for tensor in kept):
        kept.append(take(7))


@pytest.mark.memory_baseline(max_allocated="8MiB")
def test_over_its_limit():
    take(9)


@pytest.mark.memory_baseline
def test_fails_itself():
    take(2)
    assert "this" == "that"


@pytest.mark.memory_baseline
def test_skips_itself():
    take(2)
    pytest.skip("not today")


@pytest.mark.memory_baseline
def test_history_of_its_own():
    torch.cuda.memory._record_memory_history(stacks="python")
    take(6)
