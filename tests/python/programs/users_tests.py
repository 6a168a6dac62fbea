"""A user's tests, of which some fail: test_pytest_plugin.py runs them and compares."""

import time

import pytest
import torch


def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")

kept = []


@pytest.mark.limit_gpu_memory("64 MiB")
def test_under():
    take(64)


@pytest.mark.limit_gpu_memory("64 MiB")
def test_over():
    before = take(60)
    after = take(5)


@pytest.mark.limit_gpu_memory("64 MiB", kind="reserved")
def test_reserved_over():
    torch.cuda.empty_cache()
    take(400)


@pytest.mark.limit_gpu_memory("1 MiB")
def test_what_was_there_before_does_not_count():
    kept.append(take(100))
    del kept[:]


@pytest.mark.limit_gpu_memory("64 MiB", kind="device")
def test_device_over():
    held = take(300)
    time.sleep(0.1)  # it is sampled


@pytest.fixture
def large():
    return take(200)


@pytest.mark.limit_gpu_memory("1 MiB")
def test_nor_do_fixtures(large):
    large.add_(1)


@pytest.mark.limit_gpu_memory("1 MiB")
def test_own_failure_comes_first():
    take(10)
    assert "this" == "that"


@pytest.mark.limit_gpu_memory("10 MiB")
def test_users_own_peak_is_unharmed():
    torch.cuda.reset_peak_memory_stats()
    take(8)
    assert torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated() == 8 << 20

kept, workspace = [], []


def forget_to_free():
    kept.append(torch.empty(3 << 20, dtype=torch.uint8, device="cuda"))


@pytest.mark.limit_gpu_leaks("0 B")
def test_leaks():
    forget_to_free()


@pytest.mark.limit_gpu_leaks("3 MiB")
def test_allowed():
    forget_to_free()


@pytest.mark.limit_gpu_leaks("0 B", warmup=1)
def test_workspace_of_the_first_call():
    if not workspace:
        workspace.append(torch.empty(1 << 20, device="cuda"))


@pytest.mark.limit_gpu_leaks("0 B", filter_fn=lambda group: "forget_to_free" not in group["label"])
def test_filtered():
    forget_to_free()


@pytest.mark.limit_gpu_leaks("0 B")
def test_cycles_are_collected():
    cycle = [torch.empty(1 << 20, device="cuda")]
    cycle.append(cycle)


def take_before():
    return take(90)


def test_keeps_history_of_its_own():
    torch.cuda.memory._record_memory_history(stacks="python")
    before = [take_before() for _ in range(3)]


@pytest.mark.limit_gpu_memory("16 MiB")
def test_over_with_the_users_history():
    for mib in (3, 17, 5):
        take(mib)
    assert torch._C._cuda_isHistoryEnabled()  # it is left alone


@pytest.mark.limit_gpu_leaks("0 B")
def test_leaks_with_the_users_history():
    kept.append(take(7))


def test_ends_history_of_its_own():
    assert torch._C._cuda_isHistoryEnabled()
    torch.cuda.memory._record_memory_history(None)


def test_figures(gpu_memory):
    a = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
    b = torch.empty(4 << 20, dtype=torch.uint8, device="cuda")
    del b
    assert (gpu_memory.used, gpu_memory.peak, gpu_memory.requested_peak) == (8 << 20, 12 << 20, 12 << 20)
    assert gpu_memory.reserved_peak >= 0
    gpu_memory.reset()
    assert (gpu_memory.used, gpu_memory.peak) == (0, 0) and gpu_memory.start >= 8 << 20


def test_is_simulated():
    assert torch.cuda.get_device_name().endswith("(simulated)")
