"""`modelsize`: the memory of a model's parameters and layer outputs and, with `exact`, of a training step.

    from vramscope.modelsize_estimate import modelsize

    modelsize(model, torch.zeros(1, 3, 224, 224))             # the three lines of Pytorch-Memory-Utils
    modelsize(model, input, exact=True, optimizer=torch.optim.AdamW)   # a ModelSize, and its lines

Nothing is computed and no memory is allocated: the model is copied with fake tensors, which have shapes but no values
(torch._subclasses.fake_tensor), and the copy is run. The model, its buffers and the random state do not change.

The name, the arguments and the three lines are those of Pytorch-Memory-Utils' modelsize_estimate.py.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ModelSize", "modelsize"]


class ModelSize(NamedTuple):
    """Bytes of a training step. A storage that several views share counts once. Sizes are requested sizes, before an allocator
    rounds them (`requested_bytes` of `torch.cuda.memory_stats`). Optimizer state on the CPU (step counts) and workspaces of
    libraries (cuBLAS, cuDNN) are not included."""

    parameters: int
    buffers: int
    inputs: int
    gradients: int  # of all parameters that got one from a backward pass
    optimizer_state: int  # 0 without an optimizer
    activations: int  # saved for the backward pass, without parameters, buffers and inputs
    output: int
    forward_peak: int  # the peak of each part, of all live memory, which includes the sums above
    backward_peak: int
    step_peak: int

    @property
    def peak(self) -> int:
        """The peak over two steps; the second one starts with the optimizer's state."""
        return max(self.forward_peak, self.backward_peak, self.step_peak)

    @property
    def peak_in(self) -> str:
        """The part that has the peak: "forward", "backward" or "step" (of the optimizer)."""
        return max(("forward", "backward", "step"), key=lambda part: getattr(self, f"{part}_peak"))

    def __str__(self) -> str:
        rows = [(name.replace("_", " "), getattr(self, name)) for name in self._fields if not name.endswith("_peak")]
        rows.append((f"largest moment, in {self.peak_in}", self.peak))
        return "\n".join(f"{name:<28} {size / 1024**2:>14.6f} MiB {size:>18,} bytes" for name, size in rows)


def modelsize(model: Any, input: Any, type_size: int = 4, *, exact: bool = False, optimizer: Any = None,
              loss: Callable[[Any], Any] | None = None, device: Any = None, quiet: bool = False) -> ModelSize | None:
    """Prints the memory of a model.

    model: a torch.nn.Module.
    input: the argument of the model: a tensor, a tuple of arguments, or a dict of named ones.

    Without `exact`: prints the three lines "params", "intermedite variables (without backward)" and "(with backward)", in
    millions of bytes at `type_size` bytes per element. Intermediate variables are the outputs of the modules, each called
    with the output of the one before, in the order of `model.modules()`, as in Pytorch-Memory-Utils; if a model cannot be run
    like that, the outputs of its innermost modules when the model itself is run. In-place ReLUs have no new output. Returns
    None.

    With `exact`: simulates two training steps and returns a `ModelSize`, with bytes from sizes and dtypes; prints it unless
    `quiet`. `type_size` is ignored.

    optimizer: a class (torch.optim.AdamW), a function of the list of parameters, or an optimizer, which is copied.
    loss: a function of the model's output that returns the tensor for backward(); default: the output's `loss` if it has one,
        else the sum of its elements.
    device: simulate the model and the input on this device ("cuda"), where kernels save other tensors. Default: their own.

    Raises the errors of the model; RuntimeError if an operation needs values, which fake tensors do not have.
    """
    if not exact:
        _print_lines(model, input, type_size)
        return None
    from vramscope._step import walk

    size = ModelSize(**walk(model, input, optimizer=optimizer, loss=loss, device=device))
    if not quiet:
        print(f"Model {model._get_name()} : a training step\n{size}")
    return size


def _print_lines(model: Any, given: Any, type_size: int) -> None:
    """Prints the lines of Pytorch-Memory-Utils, with its arithmetic and its spelling."""
    name = model._get_name()
    elements = sum(math.prod(parameter.size()) for parameter in model.parameters())
    print(f"Model {name} : params: {elements * type_size / 1000 / 1000:4f}M")
    outputs = _elements_of_outputs(model, given)
    print(f"Model {name} : intermedite variables: {outputs * type_size / 1000 / 1000:3f} M (without backward)")
    print(f"Model {name} : intermedite variables: {outputs * type_size * 2 / 1000 / 1000:3f} M (with backward)")


def _elements_of_outputs(model: Any, given: Any) -> int:
    """Counts the elements in the first way in which this model can be run: one module after another on fake tensors, as a whole
    on fake tensors, or one module after another on real tensors, because an operation may need values."""
    import torch

    from vramscope._step import Twin

    for count in (_one_after_another, _as_it_runs):
        twin = Twin(model, given, None)
        with twin.mode, torch.no_grad(), _Silence("torch._subclasses.fake_tensor"):
            try:
                return count(twin)
            except Exception:  # only the error of the last way is raised
                continue
    with torch.no_grad():
        return _one_after_another(_Itself(model, given))


class _Silence(logging.Filter):
    """Silences a logger inside `with`: the failure of one way is not reported while others are left."""

    def __enter__(self) -> None:
        logging.getLogger(self.name).addFilter(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger(self.name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        return False


class _Itself:
    """The model itself, with the attributes of a Twin."""

    def __init__(self, model: Any, given: Any) -> None:
        self.model = model
        self.arguments = (given.clone(),)


def _one_after_another(twin: Any) -> int:
    import torch

    value, total = twin.arguments[0], 0
    for module in list(twin.model.modules())[1:]:
        if isinstance(module, torch.nn.ReLU) and module.inplace:
            continue
        value = module(value)
        total += math.prod(value.size())
    return total


def _as_it_runs(twin: Any) -> int:
    import torch
    from torch.utils._pytree import tree_leaves

    total = 0

    def add(module: Any, given: Any, output: Any) -> None:
        nonlocal total
        if not (isinstance(module, torch.nn.ReLU) and module.inplace):
            total += sum(math.prod(leaf.size()) for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor))

    for module in twin.model.modules():
        if next(module.children(), None) is None:
            module.register_forward_hook(add)
    twin.model(*twin.arguments, **twin.named)
    return total
