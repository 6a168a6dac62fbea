"""A training step of a model that is not there: on fake tensors, which have sizes and no memory, with every allocation
and every end of one counted in its order.

`Twin` is the copy of a model and of what it is called with. `Ledger` counts: it is a TorchDispatchMode, so it sees
what each operation gives back; a storage that it has not met is memory taken, and the storage's end (a weak reference)
is memory given back, whether Python, autograd or an operation held it. So the count at a moment is what an allocator
would have handed out, but for what kernels take and give back within themselves.
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
# For a model on the meta device, which is nowhere.
_DEFAULT = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Twin:
    """A copy of a model, its arguments and optimizer with fake tensors, in the `mode` to run them under.

    Invariant: for each tensor that the original reaches there is one fake one, so what was shared or tied is so in the
    copy."""

    def __init__(self, model: Any, given: Any, device: Any, optimizer: Any = None) -> None:
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.device = None if device is None else torch.device(device)
        self.fakes: dict[int, Any] = {}
        self.storages: dict[int, Any] = {}
        self.kept: list[Any] = []  # copy's memo speaks of objects by id: they must stay
        memo = self._memo(model)
        if isinstance(optimizer, torch.optim.Optimizer):
            memo.update(self._memo_of_state(optimizer))
        self.model = copy.deepcopy(model, memo)
        self.optimizer = self._optimizer(optimizer, memo)
        positional, named = _arguments(given)
        self.arguments = tree_map(self._fake_or_same, positional)
        self.named = tree_map(self._fake_or_same, named)

    def _memo(self, model: Any) -> dict[int, Any]:
        """For deepcopy: what to put in the place of each tensor. Parameters and buffers, and tensors in plain
        attributes."""
        memo: dict[int, Any] = {}
        for tensor in [*model.parameters(), *model.buffers(), *_plain_tensors(model)]:
            memo[id(tensor)] = self.fake(tensor)
        return memo

    def _memo_of_state(self, optimizer: Any) -> dict[int, Any]:
        held = [*tree_leaves(list(optimizer.state.values())), *tree_leaves(optimizer.param_groups)]
        return {id(value): self._fake_state(value) for value in held if isinstance(value, torch.Tensor)}

    def _fake_state(self, tensor: Any) -> Any:
        """A number on the CPU (a count of steps, a learning rate) is read while an optimizer steps: it keeps its
        value."""
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
        """On a GPU an optimizer that was told nothing works on all parameters together, which takes more at a time. It
        looks at the class of the parameters for that, and a fake one is not on its list."""
        on_gpu = all(parameter.is_cuda and not parameter.is_complex() for parameter in group["params"])
        is_told = group.get("fused") or group.get("differentiable") or group.get("foreach", False) is not None
        if on_gpu and not is_told:
            group["foreach"] = True

    def _fake_or_same(self, value: Any) -> Any:
        return self.fake(value) if isinstance(value, torch.Tensor) else value

    def fake(self, tensor: Any) -> Any:
        """The fake tensor for this one, a parameter for a parameter; views of one storage stay that."""
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
        """Where it is, its storage once, and the same view of it. Going elsewhere makes each tensor one of its own."""
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
        """Forgets the originals and the table: from now on only the copy holds the fakes."""
        self.kept.clear()
        self.fakes.clear()
        self.storages.clear()


def _is_simple(tensor: Any) -> bool:
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
    return plain and tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized


def _plain_tensors(model: Any) -> Iterator[Any]:
    """Tensors that modules hold in other attributes: caches, results of hooks such as weight_norm's."""
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
    """Bytes that are alive, and the largest that they were since `part` began."""

    def __init__(self, host_too: bool) -> None:
        super().__init__()
        self.host_too = host_too  # for a model on the CPU: its memory is what is asked about
        self.alive: dict[int, Any] = {}  # number -> weak reference to the storage
        self.sizes: dict[int, int] = {}  # of the storages that count, by the same number
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
        """Counts the storages of a tensor that were not there before, or that have changed their size."""
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
        """Bytes of the storages of these tensors that count here, each once, but for those of `without`."""
        numbers = _numbers(tensors) - _numbers(without)
        return sum(self.sizes.get(number, 0) for number in numbers)


def _numbers(tensors: Iterable[Any]) -> set[int]:
    return {storage._cdata for tensor in tensors for storage, _ in storages(tensor)}


def _is_seed(function: Any, tensor: Any) -> bool:
    """Attention gives back the state of its random numbers, which it keeps on the CPU; of a fake one it says
    otherwise."""
    name = str(function)
    return name.startswith("aten._scaled_dot_product_") and tensor.dim() == 0 and not tensor.is_floating_point()


def storages(tensor: Any) -> list[tuple[Any, Any]]:
    """(storage, device as the tensor pretends) of what a fake tensor consists of."""
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
    """Two steps of training; the figures of vramscope.modelsize_estimate.ModelSize by their names."""
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
    """zero_grad, forward, backward, step. The output and the loss live to its end, as the variables of a function
    would."""
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
        # in this thread: a thread of autograd's would let go of the modes some time later, perhaps while Python ends
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
    """What backward() starts from, or None where nothing in the output has a gradient."""
    if loss is not None:
        return loss(output)
    own = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if isinstance(own, torch.Tensor):
        return own
    sums = [leaf.sum() for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    return sum(sums[1:], sums[0]) if sums else None


def _state(optimizer: Any) -> list[Any]:
    """The tensors of an optimizer's state, but for numbers on the CPU: the counts of steps are there for any model."""
    if optimizer is None:
        return []
    tensors = [leaf for leaf in tree_leaves(list(optimizer.state.values())) if isinstance(leaf, torch.Tensor)]
    return [tensor for tensor in tensors if tensor.device.type != "cpu" or tensor.dim() > 0]
