"""Finds a GPU by PyTorch's number, and reads its total and free memory. Sizes are bytes.

PyTorch numbers the GPUs that CUDA offers to this process; NVML numbers all GPUs of the machine, in an order of its own. They
are matched by UUID. Before CUDA is initialized, vramscope.devices derives CUDA's numbers from its environment variables.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from vramscope import _pytorch, errors


class Room(NamedTuple):
    """Memory of a GPU. used = total - free, so memory that the driver reserves counts as used, as in the first version of
    NVML's call and in CUDA's."""

    total: int
    free: int
    used: int


_torch: Any = None  # set once PyTorch has found a GPU, because asking it again takes 20 us and more


def torch_with_cuda() -> Any:
    """The module torch if it can use CUDA, else None. Imports it."""
    global _torch
    if _torch is None:
        torch, _ = _pytorch.load()
        _torch = torch if torch is not None and torch.cuda.is_available() else None
    return _torch


def count() -> int:
    """The number of GPUs that this process can use."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_available():
        return int(torch.cuda.device_count())
    return len(_by_number())


def current() -> int:
    """The number of PyTorch's current GPU; 0 before CUDA is initialized, because CUDA starts with GPU 0."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0


def device(number: int) -> Any:
    """The vramscope.devices.Device of "cuda:number"; None without NVML, or if NVML does not list it."""
    found = _by_number()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and 0 <= number < torch.cuda.device_count():
        uuid = _plain(getattr(torch.cuda.get_device_properties(number), "uuid", ""))
        for candidate in found.values():
            if uuid and _plain(candidate.uuid) == uuid:
                return candidate
    return found.get(number)


def room(number: int) -> Room | None:
    """Total and free memory of "cuda:number": from NVML, which takes no memory of the GPU, else from CUDA, if PyTorch uses it.
    None: unknown."""
    card = device(number)
    if card is not None:
        try:
            memory = card.memory()
        except errors.Error:
            memory = None
        if memory is not None and memory.total is not None and memory.free is not None:
            return Room(memory.total, memory.free, memory.total - memory.free)
    return _room_by_cuda(number)


def _room_by_cuda(number: int) -> Room | None:
    torch = torch_with_cuda()
    if torch is None or not 0 <= number < torch.cuda.device_count():
        return None
    try:
        free, total = torch.cuda.mem_get_info(number)
    except RuntimeError:
        return None
    return Room(total, free, total - free)


def _plain(uuid: object) -> str:
    return str(uuid).lower().removeprefix("gpu-")


def _by_number() -> dict[int, Any]:
    try:
        from vramscope import devices

        found = devices.all()
    except (ImportError, errors.Error):
        return {}
    numbered = {card.cuda_index: card for card in found if card.cuda_index is not None}
    if numbered or "CUDA_VISIBLE_DEVICES" in os.environ:
        return numbered
    return {card.index: card for card in found if not card.is_mig and not card.is_divided}
