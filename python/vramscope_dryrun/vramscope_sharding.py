"""PyTorch's search for placements of distributed tensors, without two parts whose time grows with the square of their number.

An optimizer that updates a list of tensors at once (`torch._foreach_add_` ...) asks DTensor for the placement of each.
PyTorch 2.15

- walks, for each tensor, over all tensors of the operation, to find out whether one has a placement of the kind _StridedShard.
  Here it walks over them once for an operation. Where it finds one, PyTorch's own function does what it does; where not, that
  function has no effect, so it is not called again;
- works out, for each tensor, which placements the operation allows, and walks for each over the operation's list of numbers. Of
  the 723 parameters of a Llama with 70 billion only a few differ in shape, type or placement. Here PyTorch is asked about a
  shorter list, with one tensor of each kind, and its answer about that one is the answer about all of its kind.

Neither changes an event of the memory. Python's collector of garbage starts about as often as without this, see _instead.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType
    from typing import Any

_FLAG = "_propagate_use_strided_shard_flag"
_EXPAND = "_expand_single_dim_strategy_to_mesh"
_FOREACH = "expanded_foreach_strategy"
_NAMES = {  # of PyTorch 2.15: what the functions inside _EXPAND use
    _FOREACH: "enumerate args_schema isinstance TupleStrategy len children AssertionError range append args_meta kwargs_meta"
    " _create_expanded_strategy _translate_list_op_schema op_schema output_tensor_meta",
    "_translate_list_op_schema": "tree_map_only TupleStrategy args_schema kwargs_schema _resolve_foreach_elementwise_overload op"
    " OpSchema tuple",
}
_FEW = 32  # tensors: with fewer nothing is gained, and the collector may not start even once (see _instead)


def follow(sharding: ModuleType) -> None:
    """`sharding`: torch.distributed.tensor._sharding_prop. Other versions of PyTorch lack these functions, or have others."""
    _walk_once(sharding)
    _ask_once_for_each_kind(sharding)


def _walk_once(sharding: ModuleType) -> None:
    original: Any = getattr(sharding, _FLAG, None)
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

    setattr(sharding, _FLAG, once)


def _ask_once_for_each_kind(sharding: ModuleType) -> None:
    original: Any = getattr(sharding, _EXPAND, None)
    several: Any = getattr(sharding, "TupleStrategy", None)
    if several is None or not _asks_for_each_alone(getattr(original, "__code__", None)):
        return

    @functools.wraps(original)
    def expand(mesh: Any, operation: Any, info: Any, outputs: Any) -> Any:
        answer_each = original(mesh, operation, info, outputs)
        kinds = _kinds(operation, outputs, several) if answer_each.__name__ == _FOREACH else None
        if kinds is None:
            return answer_each
        first = [kinds.index(kind) for kind in range(max(kinds) + 1)]  # the first place of each kind

        def answers(places: list[int], arguments: tuple[Any, ...]) -> Any:
            args = [several([a.children[i] for i in places]) if isinstance(a, several) else a for a in operation.args_schema]
            shorter = type(operation)(operation.op, tuple(args), operation.kwargs_schema, operation.schema_info)
            few_outputs = None if outputs is None else [outputs[i] for i in places]
            return original(mesh, shorter, info, few_outputs)(*arguments).children

        def answer(*arguments: Any) -> Any:
            with _counting() as since:
                answers(first[:1], arguments)
                one = since()
                of_kinds = answers([*first, first[0]], arguments)
                more = since()
            of_all = several([of_kinds[kind] for kind in kinds])
            kept, garbage = ((b - a) / len(first) for a, b in zip(one, more, strict=True))  # by one place
            of_all.instead = _instead(len(kinds) - len(first), round(kept), round(garbage))
            return of_all

        return answer

    setattr(sharding, _EXPAND, expand)


def _asks_for_each_alone(code: CodeType | None) -> bool:
    """Is this the function of PyTorch 2.15, as far as the names in it tell? Its part for lists of tensors makes an operation on
    one tensor of each place in the lists, and asks about that operation alone, so the answers depend on nothing else."""
    if code is None or code.co_varnames[: code.co_argcount] != ("mesh", "op_schema", "strategy_info", "output_tensor_meta"):
        return False
    inner = {part.co_name: part for part in code.co_consts if hasattr(part, "co_name")}
    used = {name: {*part.co_names, *part.co_freevars} for name, part in inner.items()}
    return all(used.get(name) == set(names.split()) for name, names in _NAMES.items())


def _kinds(operation: Any, outputs: Any, several: Any) -> list[int] | None:
    """For each place in the operation's lists of tensors, the number of its kind: two places are of one kind if all their tensors
    are equal to DTensor, which keeps its answers for later by the same equality. None if PyTorch has to be asked about all."""
    lists = [arg.children for arg in operation.args_schema if isinstance(arg, several)]
    columns = lists if outputs is None else [*lists, outputs]
    if len(lists[0]) < _FEW or any(len(column) != len(lists[0]) for column in columns):
        return None
    if any(isinstance(value, several) for value in operation.kwargs_schema.values()):
        return None
    numbers: dict[Any, int] = {}
    try:
        places = zip(*map(_described, lists), *columns[len(lists) :], strict=True)
        return [numbers.setdefault(place, len(numbers)) for place in places]
    except (TypeError, AttributeError):  # a size that is not known yet, while a program is compiled
        return None


def _described(tensors: Any) -> list[Any]:
    """The flag is no part of the equality of DTensor's descriptions."""
    return [(tensor, tensor.strategies[0].output_spec.use_strided_shard_as_shard_order) for tensor in tensors]


def _instead(places: int, kept: int, garbage: int) -> list[Any]:
    """Objects as many as the work that is left out would have made. Python's collector starts when so many more objects were made
    than freed, and frees memory of the GPU that garbage holds. With these objects, which live as long as those of the work would,
    it starts about as often as without us, between the same events of the memory."""
    objects: list[Any] = []
    for _ in range(places):
        objects.extend([] for _ in range(kept))
        for _ in range(garbage):
            cycle: list[Any] = []
            cycle.append(cycle)
    return objects


@contextlib.contextmanager
def _counting() -> Iterator[Callable[[], tuple[int, int]]]:
    """Gives a function that says which objects, of those that Python's collector counts, were made since it was last called:
    how many are kept, and how many are garbage in cycles. The collector rests meanwhile, as a collection sets its counter to 0.
    If the program has switched it off, nothing is counted."""
    is_on = gc.isenabled()

    def since() -> tuple[int, int]:
        made, garbage = (gc.get_count()[0], gc.collect(0)) if is_on else (0, 0)
        return made - garbage, garbage

    gc.disable()
    try:
        since()
        yield since
    finally:
        if is_on:
            gc.enable()
