"""What a program knows of its own memory, for the comparison of tools/programs: each function prints a line TRUTH with a JSON object.
The figures are those of the library that allocates; nothing here is of vramscope."""

import json
import os


def tell(kind, device, **figures):
    print("\nTRUTH " + json.dumps({"kind": kind, "device": device, **figures}), flush=True)


def versions(*packages):
    from importlib.metadata import version

    print("\nVERSIONS " + ", ".join(f"{name} {version(name)}" for name in packages), flush=True)


resets = {}  # device -> what PyTorch's peaks were when the program reset them


def keep_peaks():
    """For a program that resets PyTorch's peaks: they are those since the last reset, so what they were before is kept."""
    import torch

    original = torch.cuda.reset_peak_memory_stats

    def reset_peak_memory_stats(device=None):
        number = torch.cuda._utils._get_device_index(device, optional=True)
        resets[number] = peaks_of(number)
        original(device)

    torch.cuda.reset_peak_memory_stats = torch.cuda.memory.reset_peak_memory_stats = reset_peak_memory_stats


def peaks_of(device):
    import torch

    now = torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)
    return tuple(map(max, now, resets.get(device, (0, 0))))


def torch_peaks(*packages):
    """Of each GPU that this process used. A process that sees one GPU of several is told by CUDA_VISIBLE_DEVICES which one it is."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    numbers = [int(word) for word in visible.split(",") if word.isdigit()]
    for device in range(torch.cuda.device_count()):
        allocated, reserved = peaks_of(device)
        if reserved:
            tell("torch", numbers[device] if device < len(numbers) else device, allocated=allocated, reserved=reserved)
    versions("torch", *packages)


def steps(count):
    """Of the optimizer, on each rank."""
    tell("run", 0, steps=count)


def jax_peaks(*packages):
    import jax

    for device in jax.local_devices():
        stats = device.memory_stats()
        tell("jax", device.local_hardware_id, allocated=stats["peak_bytes_in_use"], reserved=stats["peak_pool_bytes"])
    versions("jax", *packages)


def near(found, right, tolerance, what):
    """Arithmetic: `found` may be above `right` by the share `tolerance`, for the rounding of blocks, never below."""
    assert right <= found <= right * (1 + tolerance), f"{what}: {found:,} bytes, and {right:,} by arithmetic"
