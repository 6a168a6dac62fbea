"""PyTorch's search for placements of distributed tensors, without a part whose time grows with the square of their number.

An optimizer that updates a list of tensors at once (`torch._foreach_add_` ...) asks DTensor for the placement of each. For each
tensor PyTorch 2.15 then walks over all tensors of the operation, to find out whether one has a placement of the kind
_StridedShard: a third of the time of a run with 723 parameters. Here it walks over them once for an operation. Where it finds
one, PyTorch's own function does what it does; where not, that function has no effect, so it is not called again.
"""

from __future__ import annotations

import functools
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_NAME = "_propagate_use_strided_shard_flag"


def follow(sharding: ModuleType) -> None:
    """`sharding`: torch.distributed.tensor._sharding_prop, which other versions of PyTorch have without that function."""
    original: Any = getattr(sharding, _NAME, None)
    strided: Any = getattr(sharding, "_StridedShard", None)
    if original is None or strided is None:
        return
    plain: Any = None  # a reference to the operation that was found to have no such placement

    @functools.wraps(original)
    def once(strategy: Any, operation: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal plain
        if plain is not None and plain() is operation:
            return None
        result = original(strategy, operation, *args, **kwargs)
        if not any(isinstance(place, strided) for spec in operation.args_spec for place in spec.placements):
            plain = weakref.ref(operation)  # not the operation itself: its arguments may hold memory
        return result

    setattr(sharding, _NAME, once)
