"""Changes of PyTorch's optimizers (vramscope_changes.py): each is applied when the program makes one, before its state exists."""

from __future__ import annotations

import functools
import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Report = Callable[[bool, str], None]


def _kinds(torch: Any) -> Iterator[Any]:
    """The optimizers of torch.optim."""
    base = torch.optim.Optimizer
    for kind in list(vars(torch.optim).values()):
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base:
            yield kind


# ---- an argument of the constructors


def give(torch: Any, key: str, value: bool, report: Report) -> None:
    """Each of PyTorch's optimizers that takes the argument gets it. One that was made already is not changed."""
    takes = tuple(kind for kind in _kinds(torch) if key in inspect.signature(kind.__init__).parameters)
    building: set[int] = set()  # ids of optimizers whose constructor runs: AdamW's calls Adam's
    for kind in takes:
        _give_to(kind, key, value, building, report)
    base = torch.optim.Optimizer
    original = base.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not isinstance(self, takes):
            report(False, f"{type(self).__name__} has no {key}")

    base.__init__ = __init__


def _give_to(kind: Any, key: str, value: bool, building: set[int], report: Report) -> None:
    original = kind.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if id(self) in building:
            original(self, *args, **kwargs)
            return
        building.add(id(self))
        try:
            _construct(original, signature, key, value, report, self, args, kwargs)
        finally:
            building.discard(id(self))

    kind.__init__ = __init__


def _construct(original: Any, signature: Any, key: str, value: bool, report: Report, self: Any, args: Any, kwargs: Any) -> None:
    try:
        bound = signature.bind(self, *args, **kwargs)
    except TypeError:  # the program's own mistake
        original(self, *args, **kwargs)
        return
    given, name = bound.arguments, type(self).__name__
    if hasattr(given["params"], "__next__"):
        given["params"] = list(given["params"])  # a second attempt needs them again
    why_not = _objection(given, key, value)
    if why_not is not None:
        original(*bound.args, **bound.kwargs)
        report(False, f"{name} {why_not}")
        return
    before = dict(given)
    given[key] = value
    if key == "fused":
        given["foreach"] = False
    try:
        original(*bound.args, **bound.kwargs)
        report(True, name)
    except Exception as error:
        given.clear()
        given.update(before)
        original(*bound.args, **bound.kwargs)  # as the program wanted it, with its own error if it has one
        report(False, f"{name}: " + str(error).split("\n")[0][:200])


def _objection(given: dict[str, Any], key: str, value: bool) -> str | None:
    """Why the constructor cannot get that value; None: it can."""
    if given.get(key) is value:
        return f"has {key}={value} already"
    if key == "foreach" and given.get("fused"):
        return "has fused=True"
    if key == "fused" and given.get("differentiable"):
        return "has differentiable=True"
    return None


# ---- zero_grad


def set_to_none(torch: Any, report: Report) -> None:
    for kind in (torch.optim.Optimizer, torch.nn.Module):
        _free_gradients(kind, report)


def _free_gradients(kind: Any, report: Report) -> None:
    original = kind.zero_grad

    @functools.wraps(original)
    def zero_grad(self: Any, set_to_none: bool = True) -> None:
        if not set_to_none:
            report(True, f"{type(self).__name__}.zero_grad(set_to_none=False)")
        original(self, set_to_none=True)

    kind.zero_grad = zero_grad


# ---- with other numerics


def use_8bit(torch: Any, report: Report) -> None:
    _use_bitsandbytes(torch, "{}8bit", report)


def use_paged(torch: Any, report: Report) -> Callable[[], int]:
    """Returns a function that says how many bytes were copied at most: before each step the driver is asked to bring the
    moments to the GPU, and what it brings it has to take back."""
    copied = 0

    def count(optimizer: Any) -> None:
        fetch = optimizer.prefetch_state

        def prefetch_state(parameter: Any) -> None:
            nonlocal copied
            fetch(parameter)
            for state in optimizer.state[parameter].values():
                copied += 2 * state.nbytes if getattr(state, "is_paged", False) else 0

        optimizer.prefetch_state = prefetch_state

    _use_bitsandbytes(torch, "Paged{}", report, count)
    return lambda: copied


def _use_bitsandbytes(torch: Any, form: str, report: Report, then: Callable[[Any], None] | None = None) -> None:
    """An optimizer that is exactly torch.optim.Adam or AdamW, not one of a class derived of these, becomes bitsandbytes'."""
    for name in ("Adam", "AdamW"):
        _make_another(getattr(torch.optim, name), name, form.format(name), report, then)


def _foreign_to_bitsandbytes(name: str, given: dict[str, Any]) -> str | None:
    """What bitsandbytes' optimizer of that name would do in another way; None: nothing."""
    for key in ("amsgrad", "maximize", "capturable", "differentiable"):
        if given.get(key):
            return f"{name} has {key}=True"
    if name == "Adam" and given.get("weight_decay"):
        return "Adam has weight_decay, which bitsandbytes applies as AdamW does"
    return None


def _make_another(kind: Any, name: str, other: str, report: Report, then: Callable[[Any], None] | None) -> None:
    signature = inspect.signature(kind.__init__)

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is not kind:
            return object.__new__(cls)
        try:
            given = signature.bind(None, *args, **kwargs).arguments
        except TypeError:  # the program's own mistake, of which its constructor tells
            return object.__new__(cls)
        foreign = _foreign_to_bitsandbytes(name, given)
        if foreign is not None:
            report(False, foreign)
            return object.__new__(cls)
        try:
            import importlib

            made = getattr(importlib.import_module("bitsandbytes").optim, other)
        except Exception as error:
            report(False, f"bitsandbytes: {type(error).__name__}: " + str(error).split("\n")[0][:200])
            return object.__new__(cls)
        options = {key: given[key] for key in ("lr", "betas", "eps", "weight_decay") if key in given}
        options.setdefault("weight_decay", signature.parameters["weight_decay"].default)
        optimizer = made(given["params"], **options)
        if then is not None:
            then(optimizer)
        report(True, name)
        return optimizer

    kind.__new__ = __new__


def use_bf16(torch: Any, report: Report) -> None:
    """The parameters that an optimizer gets, before it makes state of them."""
    base = torch.optim.Optimizer
    original = base.add_param_group

    @functools.wraps(original)
    def add_param_group(self: Any, param_group: Any) -> None:
        if isinstance(param_group, dict) and not isinstance(param_group.get("params"), (torch.Tensor, set, type(None))):
            param_group["params"] = list(param_group["params"])
        count = _to_bf16(torch, param_group)
        if count != 0:
            report(True, f"{count} parameters of {type(self).__name__}")
        original(self, param_group)

    base.add_param_group = add_param_group


def _to_bf16(torch: Any, group: Any) -> int:
    values = group.get("params") if isinstance(group, dict) else None
    count = 0
    for value in [values] if isinstance(values, torch.Tensor) else values if isinstance(values, list) else []:
        tensor = value[1] if isinstance(value, tuple) else value  # of named_parameters()
        if isinstance(tensor, torch.Tensor) and tensor.dtype is torch.float32:
            tensor.data = tensor.data.to(torch.bfloat16)
            count += 1
    return count
