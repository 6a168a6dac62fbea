"""`modelsize`: how much memory a model takes, its parameters and what its layers give; and, exactly, what training it
takes.

    from vramscope.modelsize_estimate import modelsize

    modelsize(model, torch.zeros(1, 3, 224, 224))             # the three lines of Pytorch-Memory-Utils
    modelsize(model, input, exact=True, optimizer=torch.optim.AdamW)   # a ModelSize, and its lines

Nothing is computed and no memory is taken: the model is copied with fake tensors, which have shapes and no values
(torch._subclasses.fake_tensor), and the copy is run. The model, its buffers and the random numbers stay as they are.

The name, the arguments and the three lines are those of Pytorch-Memory-Utils' modelsize_estimate.py.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ModelSize", "modelsize"]


class ModelSize(NamedTuple):
    """Bytes of a training step. What several views share counts once; sizes are those asked for, before an allocator
    rounds them (`requested_bytes` of `torch.cuda.memory_stats`). State that optimizers keep on the CPU (the count of
    steps) and workspaces of libraries (cuBLAS, cuDNN) are not in it."""

    parameters: int
    buffers: int
    inputs: int
    gradients: int  # of all parameters that got one from a backward pass
    optimizer_state: int  # 0 without an optimizer
    activations: int  # saved for the backward pass, without parameters, buffers and inputs
    output: int
    forward_peak: int  # the largest moment of each part, with everything that is alive then: the sums above are in it
    backward_peak: int
    step_peak: int

    @property
    def peak(self) -> int:
        """The largest moment of all: of two steps, the second of which begins with the optimizer's state."""
        return max(self.forward_peak, self.backward_peak, self.step_peak)

    @property
    def peak_in(self) -> str:
        """Where the largest moment is: "forward", "backward" or "step" (of the optimizer)."""
        return max(("forward", "backward", "step"), key=lambda part: getattr(self, f"{part}_peak"))

    def __str__(self) -> str:
        rows = [(name.replace("_", " "), getattr(self, name)) for name in self._fields if not name.endswith("_peak")]
        rows.append((f"largest moment, in {self.peak_in}", self.peak))
        return "\n".join(f"{name:<28} {size / 1024**2:>14.6f} MiB {size:>18,} bytes" for name, size in rows)


def modelsize(model: Any, input: Any, type_size: int = 4, *, exact: bool = False, optimizer: Any = None,
              loss: Callable[[Any], Any] | None = None, device: Any = None, quiet: bool = False) -> ModelSize | None:
    """Prints what a model takes.

    model: a torch.nn.Module. input: what it is called with: a tensor, or a tuple of arguments, or a dict of named ones.

    Without `exact`: the three lines "params", "intermedite variables (without backward)" and "(with backward)", in
    millions of bytes at `type_size` bytes an element. Intermediate variables are what the modules give, each fed with
    what the one before it gave, in the order of `model.modules()`, as Pytorch-Memory-Utils does it; where a model
    cannot be run like that, what its innermost modules give when the model itself is run. ReLUs in place give nothing
    new. Returns None.

    With `exact`: walks through two steps of training and returns a `ModelSize`, bytes from sizes and dtypes, and
    prints it (not if `quiet`). `type_size` has no say then.

    optimizer: a class (torch.optim.AdamW), a function of the list of parameters, or an optimizer, of which a copy is
    made. loss: a function of the model's output that gives what backward() starts from; without it the output's `loss`
    where it has
        one, else the sum of its elements.
    device: as if model and input were there ("cuda"): kernels, and so what they save, differ. Default: where they are.

    Raises whatever running the model raises; RuntimeError where an operation needs values, which fake tensors do not
    have.
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
    """Pytorch-Memory-Utils' lines and arithmetic (its spelling, too)."""
    name = model._get_name()
    elements = sum(math.prod(parameter.size()) for parameter in model.parameters())
    print(f"Model {name} : params: {elements * type_size / 1000 / 1000:4f}M")
    outputs = _elements_of_outputs(model, given)
    print(f"Model {name} : intermedite variables: {outputs * type_size / 1000 / 1000:3f} M (without backward)")
    print(f"Model {name} : intermedite variables: {outputs * type_size * 2 / 1000 / 1000:3f} M (with backward)")


def _elements_of_outputs(model: Any, given: Any) -> int:
    """By the first way that this model can be run: one module after another, as a whole, and at last in earnest, since
    an operation may need values."""
    import torch

    from vramscope._step import Twin

    for count in (_one_after_another, _as_it_runs):
        twin = Twin(model, given, None)
        with twin.mode, torch.no_grad(), _Silence("torch._subclasses.fake_tensor"):
            try:
                return count(twin)
            except Exception:  # each way has its own reasons to fail; the last one tells them
                continue
    with torch.no_grad():
        return _one_after_another(_Itself(model, given))


class _Silence(logging.Filter):
    """Keeps a logger quiet for a while: that a way is no way is nothing to tell."""

    def __enter__(self) -> None:
        logging.getLogger(self.name).addFilter(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger(self.name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        return False


class _Itself:
    """The model as it is, in the place of a twin."""

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
