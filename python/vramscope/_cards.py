"""A card by the number that PyTorch gives it, and how full the driver says it is. Sizes are bytes.

PyTorch numbers the cards that CUDA offers to this process, NVML numbers all of the machine, in an order of its own. A
card is the same where its UUID is the same; before CUDA has begun, vramscope.devices tells by CUDA's variables.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from vramscope import _pytorch, errors


class Room(NamedTuple):
    """A card's memory. used = total - free: what the driver keeps for itself counts as used, as in NVML's first call
    and CUDA's."""

    total: int
    free: int
    used: int


_torch: Any = None  # once it was seen with a GPU: to ask PyTorch takes 20 us and more


def torch_with_cuda() -> Any:
    """The module torch, where CUDA can be used through it; else None. Imports it."""
    global _torch
    if _torch is None:
        torch, _ = _pytorch.load()
        _torch = torch if torch is not None and torch.cuda.is_available() else None
    return _torch


def count() -> int:
    """How many cards this process can use."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_available():
        return int(torch.cuda.device_count())
    return len(_by_number())


def current() -> int:
    """The number of PyTorch's current card; 0 before CUDA has begun, whose first card it will be."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0


def device(number: int) -> Any:
    """The vramscope.devices.Device of "cuda:number", or None: NVML is not there or does not know it."""
    found = _by_number()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and 0 <= number < torch.cuda.device_count():
        uuid = _plain(getattr(torch.cuda.get_device_properties(number), "uuid", ""))
        for candidate in found.values():
            if uuid and _plain(candidate.uuid) == uuid:
                return candidate
    return found.get(number)


def room(number: int) -> Room | None:
    """How full "cuda:number" is: by NVML, which takes nothing of it; else by CUDA, if it is in use. None: nobody
    knows."""
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
