"""Simulates a training step on fake tensors, which have sizes but no memory, and counts every allocation and free in order.

`Twin` is a copy of a model and its arguments with fake tensors. `Ledger` counts: it is a TorchDispatchMode, so it sees the
results of each operation. A storage that it has not seen before is an allocation, and the end of that storage (seen through
a weak reference) is a free, no matter whether Python, autograd or an operation held it. So the count at each moment is what
an allocator would have allocated, except for temporaries that kernels allocate and free inside one operation.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

_PARTS = ("forward", "backward", "step")
# The device that is assumed for a model on the meta device.
_DEFAULT = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Twin:
    """A copy of a model, its arguments and its optimizer with fake tensors, and the `mode` in which to run them.

    Invariant: each tensor of the original has exactly one fake tensor, so tensors that were shared or tied are so in the copy
    too."""

    def __init__(self, model: Any, given: Any, device: Any, optimizer: Any = None) -> None:
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.device = None if device is None else torch.device(device)
        self.fakes: dict[int, Any] = {}
        self.storages: dict[int, Any] = {}
        self.kept: list[Any] = []  # the memo of deepcopy identifies objects by id, so they must stay alive
        memo = self._memo(model)
        if isinstance(optimizer, torch.optim.Optimizer):
            memo.update(self._memo_of_state(optimizer))
        self.model = copy.deepcopy(model, memo)
        self.optimizer = self._optimizer(optimizer, memo)
        positional, named = _arguments(given)
        self.arguments = tree_map(self._fake_or_same, positional)
        self.named = tree_map(self._fake_or_same, named)

    def _memo(self, model: Any) -> dict[int, Any]:
        """The memo for deepcopy: the fake tensors that replace parameters, buffers, and tensors in plain attributes."""
        memo: dict[int, Any] = {}
        for tensor in [*model.parameters(), *model.buffers(), *_plain_tensors(model)]:
            memo[id(tensor)] = self.fake(tensor)
        return memo

    def _memo_of_state(self, optimizer: Any) -> dict[int, Any]:
        held = [*tree_leaves(list(optimizer.state.values())), *tree_leaves(optimizer.param_groups)]
        return {id(value): self._fake_state(value) for value in held if isinstance(value, torch.Tensor)}

    def _fake_state(self, tensor: Any) -> Any:
        """A scalar on the CPU (a step count, a learning rate) keeps its value, because optimizers read it in their step."""
        if tensor.device.type == "cpu" and tensor.dim() == 0:
            self.kept.append(tensor)
            value = tensor.item()
            with self.mode:
                return torch.tensor(value, dtype=tensor.dtype)
        return self.fake(tensor)

    def _optimizer(self, optimizer: Any, memo: dict[int, Any]) -> Any:
        if optimizer is None:
            return None
        if isinstance(optimizer, torch.optim.Optimizer):
            made = copy.deepcopy(optimizer, memo)
        else:
            with self.mode:
                made = optimizer([each for each in self.model.parameters() if each.requires_grad])
        for group in made.param_groups:
            self._choose_foreach(group)
        return made

    def _choose_foreach(self, group: dict[str, Any]) -> None:
        """Sets `foreach` as PyTorch does by default on a GPU, where an optimizer then updates all parameters together and
        needs more memory at once. PyTorch decides by the class of the parameters and does not know fake ones."""
        on_gpu = all(parameter.is_cuda and not parameter.is_complex() for parameter in group["params"])
        is_told = group.get("fused") or group.get("differentiable") or group.get("foreach", False) is not None
        if on_gpu and not is_told:
            group["foreach"] = True

    def _fake_or_same(self, value: Any) -> Any:
        return self.fake(value) if isinstance(value, torch.Tensor) else value

    def fake(self, tensor: Any) -> Any:
        """The fake tensor for a tensor, a parameter for a parameter. Views of one storage stay views of one storage."""
        known = self.fakes.get(id(tensor))
        if known is not None:
            return known
        self.kept.append(tensor)
        made = self._fake_strided(tensor) if _is_simple(tensor) else self.mode.from_tensor(tensor)
        if isinstance(tensor, torch.nn.Parameter) and not isinstance(made, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        elif made.requires_grad != tensor.requires_grad and made.is_leaf:
            made.requires_grad_(tensor.requires_grad)
        self.fakes[id(tensor)] = made
        return made

    def _fake_strided(self, tensor: Any) -> Any:
        """On the tensor's own device: the same view of one fake storage. On another device each tensor gets its own storage, as
        a copy to that device would."""
        place = tensor.device if self.device is None else self.device
        if place.type == "meta":
            place = _DEFAULT
        with self.mode, torch.no_grad():
            if place != tensor.device:
                return torch.empty_like(tensor, device=place)
            storage = tensor.untyped_storage()
            base = self.storages.get(storage._cdata)
            if base is None:
                base = torch.empty(storage.nbytes(), dtype=torch.uint8, device=place)
                self.storages[storage._cdata] = base
                self.kept.append(storage)
            made = torch.empty(0, dtype=tensor.dtype, device=place)
            return made.set_(base.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())

    def let_go(self) -> None:
        """Drops the references to the originals and to the fakes, so that from now on only the copy holds the fakes."""
        self.kept.clear()
        self.fakes.clear()
        self.storages.clear()


def _is_simple(tensor: Any) -> bool:
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
    return plain and tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized


def _plain_tensors(model: Any) -> Iterator[Any]:
    """Tensors in attributes of modules that are neither parameters nor buffers: caches, results of hooks such as
    weight_norm's."""
    for module in model.modules():
        registered = ("_parameters", "_buffers", "_modules")
        for value in tree_leaves({name: value for name, value in vars(module).items() if name not in registered}):
            if isinstance(value, torch.Tensor):
                yield value


def _arguments(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(given, dict):
        return (), given
    return (tuple(given) if isinstance(given, (tuple, list)) else (given,)), {}


class Ledger(TorchDispatchMode):
    """The live bytes, and their peak in each part of the step."""

    def __init__(self, host_too: bool) -> None:
        super().__init__()
        self.host_too = host_too  # count host memory, because the model is on the CPU
        self.alive: dict[int, Any] = {}  # number -> weak reference to the storage
        self.sizes: dict[int, int] = {}  # number -> bytes of the storage
        self.bytes = 0
        self.peaks = dict.fromkeys(_PARTS, 0)
        self.part = "forward"

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        result = function(*arguments, **(named or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and not _is_seed(function, leaf):
                self.meet(leaf)
        return result

    def begin(self, part: str) -> None:
        self.part = part
        self.peaks[part] = max(self.peaks[part], self.bytes)

    def meet(self, tensor: Any) -> None:
        """Counts the storages of a tensor that are new, or whose size has changed."""
        for storage, device in storages(tensor):
            if device.type == "cpu" and not self.host_too:
                continue
            number = storage._cdata
            size = storage.nbytes()
            if number not in self.alive:
                self.alive[number] = weakref.ref(storage, functools.partial(self._ended, number))
                self.sizes[number] = 0
            self._change(size - self.sizes[number])
            self.sizes[number] = size

    def _ended(self, number: int, _: object) -> None:
        if self.alive.pop(number, None) is not None:
            self._change(-self.sizes.pop(number))

    def _change(self, change: int) -> None:
        self.bytes += change
        self.peaks[self.part] = max(self.peaks[self.part], self.bytes)

    def sum_of(self, tensors: Iterable[Any], without: Iterable[Any] = ()) -> int:
        """Bytes of the counted storages of these tensors, each once, without those of `without`."""
        numbers = _numbers(tensors) - _numbers(without)
        return sum(self.sizes.get(number, 0) for number in numbers)


def _numbers(tensors: Iterable[Any]) -> set[int]:
    return {storage._cdata for tensor in tensors for storage, _ in storages(tensor)}


def _is_seed(function: Any, tensor: Any) -> bool:
    """Whether it is the random state that attention returns: it is on the CPU, although the fake tensor says that it is on the
    GPU."""
    name = str(function)
    return name.startswith("aten._scaled_dot_product_") and tensor.dim() == 0 and not tensor.is_floating_point()


def storages(tensor: Any) -> list[tuple[Any, Any]]:
    """(storage, the device that the tensor claims) of each part of a fake tensor."""
    if hasattr(type(tensor), "__tensor_flatten__") and not isinstance(tensor, FakeTensor):
        names, _ = tensor.__tensor_flatten__()
        return [pair for name in names for pair in storages(getattr(tensor, name))]
    if tensor.layout == torch.sparse_coo:
        parts = [tensor._indices(), tensor._values()]
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        parts = [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    else:
        return [(tensor.untyped_storage(), tensor.device)]
    return [pair for part in parts for pair in storages(part)]


def walk(model: Any, given: Any, *, optimizer: Any = None, loss: Callable[[Any], Any] | None = None,
         device: Any = None) -> dict[str, int]:
    """Simulates two training steps and returns the figures of vramscope.modelsize_estimate.ModelSize by name."""
    twin = Twin(model, given, device, optimizer)
    parameters, buffers = list(twin.model.parameters()), list(twin.model.buffers())
    inputs = [leaf for leaf in tree_leaves((twin.arguments, twin.named)) if isinstance(leaf, torch.Tensor)]
    state = _state(twin.optimizer)
    host_too = all(tensor.device.type == "cpu" for tensor in [*parameters, *buffers, *inputs])
    ledger = Ledger(host_too)
    with twin.mode, ledger:
        for tensor in [*parameters, *buffers, *inputs, *state, *_plain_tensors(twin.model)]:
            ledger.meet(tensor)
        sizes = {
            "parameters": ledger.sum_of(parameters),
            "buffers": ledger.sum_of(buffers, without=parameters),
            "inputs": ledger.sum_of(inputs, without=[*parameters, *buffers]),
        }
        del state
        twin.let_go()
        known = [*parameters, *buffers, *inputs]
        sizes.update(_step(twin, ledger, loss, known))
        if twin.optimizer is not None:
            _step(twin, ledger, loss, known)
        sizes["optimizer_state"] = ledger.sum_of(_state(twin.optimizer), without=known)
    return {**sizes, **{f"{part}_peak": ledger.peaks[part] for part in _PARTS}}


def _step(twin: Twin, ledger: Ledger, loss: Callable[[Any], Any] | None, known: list[Any]) -> dict[str, int]:
    """One step: zero_grad, forward, backward, optimizer step. Output and loss live to its end, as local variables of a training
    function do."""
    saved: dict[int, int] = {}
    left_out = _numbers(known)

    def keep(tensor: Any) -> Any:
        for number in _numbers([tensor]) - left_out:
            saved[number] = ledger.sizes.get(number, 0)
        return tensor

    for parameter in twin.model.parameters():
        parameter.grad = None
    ledger.begin("forward")
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = twin.model(*twin.arguments, **twin.named)
        start = _loss(output, loss)
    leaves = [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor)]
    sizes = {"activations": sum(saved.values()), "output": ledger.sum_of(leaves, without=known), "gradients": 0}
    ledger.begin("backward")
    if start is not None and start.requires_grad:
        # on this thread: a thread of autograd would release the modes some time later, perhaps while Python exits
        with torch.autograd.set_multithreading_enabled(False):
            start.backward()
    gradients = [parameter.grad for parameter in twin.model.parameters() if parameter.grad is not None]
    sizes["gradients"] = ledger.sum_of(gradients, without=known)
    del gradients
    ledger.begin("step")
    if twin.optimizer is not None:
        twin.optimizer.step()
    return sizes


def _loss(output: Any, loss: Callable[[Any], Any] | None) -> Any:
    """The tensor on which backward() is called; None if nothing in the output requires a gradient."""
    if loss is not None:
        return loss(output)
    own = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if isinstance(own, torch.Tensor):
        return own
    sums = [leaf.sum() for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    return sum(sums[1:], sums[0]) if sums else None


def _state(optimizer: Any) -> list[Any]:
    """The tensors of an optimizer's state without scalars on the CPU, such as step counts."""
    if optimizer is None:
        return []
    tensors = [leaf for leaf in tree_leaves(list(optimizer.state.values())) if isinstance(leaf, torch.Tensor)]
    return [tensor for tensor in tensors if tensor.device.type != "cpu" or tensor.dim() > 0]
