"""The process groups of torch.distributed on a simulated GPU: which ranks each of them has.

    the simulated NCCL   is told the ranks of each group when PyTorch names it, before a communicator is split off for it: what a
                         rank passes to ncclCommSplit does not say how many others pass the same
                         (src/faces/simcuda/core/process_groups.h)
    the report           gets the groups that this rank was in: where ranks have equal memory follows from them
                         (src/dryrun/sampling.h)
"""

from __future__ import annotations

import functools
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def follow(c10d: Any, note: Callable[[str, BaseException], None]) -> Callable[[], list[dict[str, Any]]]:
    """`c10d`: the module torch.distributed.distributed_c10d, just executed. `note` is called with what failed. Returns a function
    that returns the groups so far: [{"name": ..., "ranks": ...}]."""
    _tell_ranks(c10d, note)
    return _Groups(c10d, note).all


def _tell_ranks(c10d: Any, note: Callable[[str, BaseException], None]) -> None:
    """PyTorch passes a group's name to NCCL as the communicator's, and its ranks here in the order of the group: as ranks of the
    group that it is split from, which is the whole world but for split_group."""
    import ctypes

    tell = getattr(ctypes.CDLL(None), "vs_simcuda_tell_group", None)
    original = getattr(c10d, "_process_group_name", None)
    if tell is None or original is None:
        return  # no simulated GPU, or a PyTorch that names its groups elsewhere

    @functools.wraps(original)
    def _process_group_name(ranks: Sequence[int], *args: Any, **kwargs: Any) -> Any:
        name = original(ranks, *args, **kwargs)
        try:
            tell(str(name).encode(), (ctypes.c_int * len(ranks))(*ranks), len(ranks))  # the default group has no list: no effect
        except Exception as error:
            note("the ranks of a process group", error)
        return name

    c10d._process_group_name = _process_group_name


class _Groups:
    """The process groups that this rank was in, by their ranks."""

    def __init__(self, c10d: Any, note: Callable[[str, BaseException], None]) -> None:
        self.c10d, self.note = c10d, note
        self.found: dict[tuple[int, ...], str] = {}  # ranks -> name
        original = c10d.destroy_process_group

        @functools.wraps(original)
        def destroy_process_group(*args: Any, **kwargs: Any) -> Any:
            self.all()
            return original(*args, **kwargs)

        c10d.destroy_process_group = destroy_process_group

    def all(self) -> list[dict[str, Any]]:
        try:
            own = int(os.environ.get("RANK", "0"))
            for group, members in list(self.c10d._world.pg_group_ranks.items()):
                ranks = tuple(sorted(members))
                if own in ranks and len(ranks) > 1:
                    self.found.setdefault(ranks, _name_of(getattr(group, "group_desc", None)))
        except Exception as error:
            self.note("process groups", error)
        return [{"name": name, "ranks": ranks} for ranks, name in self.found.items()]


def _name_of(description: Any) -> str:
    """Of a group: "pp" for the dimension of a mesh; empty if PyTorch or its parent named it."""
    text = description if isinstance(description, str) else ""
    return "" if text in ("undefined", "default_pg") or ":split:" in text else text.removeprefix("mesh_")
