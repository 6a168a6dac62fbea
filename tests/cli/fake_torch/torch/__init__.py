"""As much of torch as vramscope_dryrun.py touches: an allocator that only counts, on "cuda" devices that are not there. Its
history is that of the snapshot file named by FAKE_SNAPSHOT."""

import os
import sys
import types

__version__ = "9.9.0"
__fake__ = True


class OutOfMemoryError(RuntimeError):
    pass


class _Device:
    def __init__(self):
        self.current = self.peak = self.reserved = self.reserved_peak = self.ooms = 0


class _State:
    """The functions that the real one has in C."""

    devices = [_Device() for _ in range(int(os.environ.get("FAKE_DEVICES", "1")))]
    total = int(os.environ.get("FAKE_TOTAL", 80 << 30))
    recording = None
    observers = []
    resets = 0

    @staticmethod
    def stats(device):
        if os.environ.get("FAKE_NO_STATS"):
            raise RuntimeError("this allocator keeps no statistics\nas its author explains on a second line")
        d = _State.devices[device]
        row = lambda current, peak: {"all": {"current": current, "peak": peak, "allocated": peak}}  # noqa: E731
        return {
            "allocated_bytes": row(d.current, d.peak),
            "active_bytes": row(d.current, d.peak),
            "requested_bytes": row(d.current - 1, d.peak - 1 if d.peak else 0),
            "reserved_bytes": row(d.reserved, d.reserved_peak),
            "reserved_bytes_by_private_pools": {(0, 1): row(0, 0)},  # as since PyTorch 2.15
            "num_ooms": d.ooms,
            "num_alloc_retries": 0,
        }

    @staticmethod
    def reset_peak(device):
        d = _State.devices[device]
        d.peak, d.reserved_peak = d.current, d.reserved

    @staticmethod
    def record(enabled, context, stacks, max_entries, clear_history, compile_context):
        _State.recording = {"enabled": enabled, "context": context, "stacks": stacks, "max_entries": max_entries}
        if enabled is None or clear_history:
            _State.resets += 1


_C = types.SimpleNamespace(
    devices=_State.devices,
    _cuda_memoryStats=_State.stats,
    _cuda_resetPeakMemoryStats=_State.reset_peak,
    _cuda_record_memory_history=_State.record,
    _cuda_memorySnapshot=lambda pool: {"segments": [], "device_traces": []},
    _cuda_attach_out_of_memory_observer=_State.observers.append,
    state=_State,
)


class Tensor:
    is_cuda = True

    def __init__(self, count, requires_grad=False):
        self.count, self.requires_grad, self.grad = count, requires_grad, None
        alloc(4 * count)

    def numel(self):
        return self.count

    def element_size(self):
        return 4


def alloc(size, device=0):
    """size bytes of a device; every request is a segment of its own, rounded up to 2 MiB."""
    cuda._lazy_init()
    d = _C.devices[device]
    rounded = -(-size // (2 << 20)) * (2 << 20)
    if d.reserved + rounded > _C.state.total:
        d.ooms += 1
        for observer in _C.state.observers:
            observer(device, size, _C.state.total, _C.state.total - d.reserved)
        raise OutOfMemoryError("CUDA out of memory (fake)")
    d.current += size
    d.reserved += rounded
    d.peak, d.reserved_peak = max(d.peak, d.current), max(d.reserved_peak, d.reserved)


def free(size, device=0):
    _C.devices[device].current -= size


from . import cuda, nn  # noqa: E402
from . import optim  # noqa: E402

sys.modules.setdefault("torch.cuda", cuda)
version = types.SimpleNamespace(cuda="13.0")
