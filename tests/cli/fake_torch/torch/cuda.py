"""torch.cuda of the fake."""

import os
import pickle
import sys
import types

import torch

_queued, _initialized = [], False


def is_initialized():
    return _initialized


def _lazy_call(function):
    function() if _initialized else _queued.append(function)


def _lazy_init():
    global _initialized
    if not _initialized:
        _initialized = True
        for function in _queued:
            function()


def device_count():
    return len(torch._C.devices)


def get_device_properties(device):
    return types.SimpleNamespace(name="Fake GPU", total_memory=torch._C.state.total)


def get_allocator_backend():
    return "native"


def memory_stats(device=0):
    return torch._C._cuda_memoryStats(device)


def reset_peak_memory_stats(device=0):
    torch._C._cuda_resetPeakMemoryStats(device)


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, clear_history=False):
    torch._C._cuda_record_memory_history(enabled, context, stacks, max_entries, clear_history, False)


def _snapshot():
    path = os.environ.get("FAKE_SNAPSHOT")
    if path is None:
        return {"segments": [], "device_traces": []}
    with open(path, "rb") as file:
        return pickle.load(file)


memory = types.SimpleNamespace(_record_memory_history=_record_memory_history, _snapshot=_snapshot)
