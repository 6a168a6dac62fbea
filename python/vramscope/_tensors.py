"""Finds the tensors on GPUs and the bytes of each. Only this module knows how each kind of tensor stores its data.

A tensor is a view of one or more *pieces*: ranges of device memory, (address, bytes, device index).

    strided              one piece: its whole storage, however little of it the tensor shows
    COO                  indices and values
    CSR, CSC, BSR, BSC   compressed indices, plain indices and values
    nested (strided)     one piece, the buffer
    wrapper subclass     the pieces of its inner tensors, as `__tensor_flatten__` names them (DTensor, jagged nested tensors,
                         quantised wrappers); inner tensors are not listed themselves
    fake, meta, zero     none, because they have no memory

Bytes are counted for pieces, so they are right for every dtype, also packed and quantised ones, and a storage with many
views counts once. Addresses are compared as ranges, so two storages over the same memory (DLPack) count once, too.

Nothing here keeps a tensor alive, starts CUDA, or calls functions that a subclass overrides (`__torch_function__`,
properties): tensors are read with the methods of `torch._C.TensorBase`.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from vramscope._native import instances, share_memory

Piece = tuple[int, int, int]  # address, bytes, index of the device
Size = tuple[int | None, ...]  # None: a ragged dimension
Kind = tuple[type, Size, Any]  # class, size, dtype


class Entry(NamedTuple):
    """A tensor and the bytes that are counted for it: those of the pieces of which no other tensor shows more."""

    tensor: Any
    kind: Kind
    bytes: int


class Census(NamedTuple):
    """All tensors of some devices, by kind: (count, bytes). It has no reference to a tensor."""

    kinds: dict[Kind, tuple[int, int]]
    bytes: int
    tensors: int


EMPTY = Census({}, 0, 0)


class Walk:
    """Finds the objects of a class among all objects.

    Python's garbage collector keeps objects in generations: an object that survives collections, or gc.freeze and gc.unfreeze,
    moves to an older generation and never back. Each walk begins by making an object, its mark. As long as the mark is in one of
    the two younger generations, so are all objects made since then. The next walk examines only those, hundreds instead of
    hundreds of thousands; the others are those that the last walk found. The collector does not list frozen objects (gc.freeze),
    but those that were found earlier are still known.
    """

    def __init__(self, wanted: type) -> None:
        self.wanted = wanted
        self.known: list[weakref.ref[Any]] = []
        self.mark: list[Any] | None = None  # of the last walk
        self.frozen = 0  # how many objects were frozen at the last walk
        # Python 3.14 collects in steps, and one without the lock has a single generation
        self.has_generations = sys.version_info < (3, 14) and "free-threading" not in sys.version

    def tensors(self) -> list[Any]:
        collects = gc.isenabled()
        gc.disable()  # so many new references would start a full collection
        try:
            return self._find()
        finally:
            if collects:
                gc.enable()

    def _find(self) -> list[Any]:
        mark: list[Any] = []
        frozen = gc.get_freeze_count()
        may_be_young = self.has_generations and self.mark is not None and frozen == self.frozen
        young = gc.get_objects(0) + gc.get_objects(1) if may_be_young else []
        if any(each is self.mark for each in young):
            found = self._still_there()
            more = instances(young, self.wanted)
        else:
            found = instances(gc.get_objects(), self.wanted)
            more = self._still_there() if frozen else []
        if more:
            present = set(map(id, found))
            found += [each for each in more if id(each) not in present]
        self.known = list(map(weakref.ref, found))
        self.mark, self.frozen = mark, frozen
        return found

    def _still_there(self) -> list[Any]:
        return [each for ref in self.known if (each := ref()) is not None]


class Reader:
    """Reads tensors of the loaded PyTorch. `trivial` is called with the error of each tensor that could not be read."""

    def __init__(self, torch: Any, trivial: Callable[[Exception], None] | None = None) -> None:
        base = torch._C.TensorBase
        self.torch = torch
        self.trivial = trivial
        self.walk = Walk(torch.Tensor)
        self.plain = {torch.Tensor, torch.nn.Parameter}  # classes that are not wrappers
        self.wrappers: set[type] = set()
        from torch._subclasses.fake_tensor import FakeTensor

        self.memoryless = FakeTensor
        # PyTorch's own accessors, also for subclasses that override these names
        self._is_cuda, self._is_nested = base.is_cuda.__get__, base.is_nested.__get__
        self._shape, self._dtype, self._layout = base.shape.__get__, base.dtype.__get__, base.layout.__get__
        self._nbytes, self._storage, self._device = base.nbytes.__get__, base.untyped_storage, base.get_device
        self._requires_grad, self._is_leaf = base.requires_grad.__get__, base.is_leaf.__get__
        self._retains_grad, self._grad = base.retains_grad.__get__, base.grad.__get__
        self._base, self._is_view = base._base.__get__, base._is_view
        self._is_lazy_copy = getattr(torch._C, "_is_cow_tensor", None)

    # ---- finding tensors

    def all(self, devices: frozenset[int] | None) -> list[Any]:
        """Every tensor on these devices (None: on any) that Python can reach, and gradients that Python has not accessed yet;
        without the tensors inside wrappers."""
        with self.torch._C.DisableTorchFunctionSubclass():
            found = self._on_cuda(self.walk.tensors())
            found += self._unseen_gradients(found)
            hidden = self._inside_wrappers(found)
            if hidden:
                found = [tensor for tensor in found if id(tensor) not in hidden]
            if devices is None or (devices == frozenset([0]) and self.torch.cuda.device_count() == 1):
                return found
            return [tensor for tensor in found if self.device(tensor) in devices]

    def _on_cuda(self, tensors: list[Any]) -> list[Any]:
        return self._those(self._is_cuda, tensors)

    def _those(self, is_so: Callable[[Any], bool], tensors: list[Any]) -> list[Any]:
        try:
            return list(filter(is_so, tensors))
        except Exception:  # one tensor raises; the others are still asked
            return [tensor for tensor in tensors if self._try(is_so, tensor)]

    def device(self, tensor: Any) -> int:
        """The index of its device; -1 if reading it fails."""
        index = self._try(self._device, tensor)
        return -1 if index is None else index

    def _unseen_gradients(self, tensors: list[Any]) -> list[Any]:
        """Gradients that are no Python objects yet: they become one at the first access, but have memory before."""
        unseen: list[Any] = []
        known: set[int] = set()
        for tensor in self._those(self._requires_grad, tensors):
            gradient = self.gradient(tensor)
            if gradient is None or not self._try(self._is_cuda, gradient):
                continue
            known = known or {id(each) for each in tensors}
            if id(gradient) not in known:
                known.add(id(gradient))
                unseen.append(gradient)
        return unseen

    def gradient(self, tensor: Any) -> Any:
        """The gradient of a tensor that keeps one, or None. Never warns."""
        try:
            if self._requires_grad(tensor) and (self._is_leaf(tensor) or self._retains_grad(tensor)):
                return self._grad(tensor)
        except Exception as error:
            self._say(error)
        return None

    def base(self, tensor: Any) -> Any:
        """The tensor that this one is a view of, or None."""
        return self._try(self._base, tensor)

    def _inside_wrappers(self, tensors: list[Any]) -> set[int]:
        """The ids of inner tensors of wrappers, and of tensors without memory."""
        hidden: set[int] = set()
        plain = self.plain
        for tensor in tensors:
            kind = type(tensor)
            if kind in plain:
                continue
            if issubclass(kind, self.memoryless):
                hidden.add(id(tensor))
            elif self._is_wrapper(kind):
                hidden.update(id(inner) for inner in self._flatten(tensor))
        return hidden

    # ---- the memory of a tensor

    def pieces(self, tensor: Any) -> tuple[Piece, ...]:
        """The pieces of GPU memory of this tensor; () if it has none."""
        try:
            if type(tensor) in self.plain:
                return self._plain_pieces(tensor)
            if issubclass(type(tensor), self.memoryless):
                return ()
            if self._is_wrapper(type(tensor)):
                return tuple(piece for part in self._flatten(tensor) for piece in self.pieces(part))
            return self._plain_pieces(tensor)
        except Exception as error:
            self._say(error)
            return ()

    def _plain_pieces(self, tensor: Any) -> tuple[Piece, ...]:
        try:
            storage = self._storage(tensor)
        except NotImplementedError:  # no storage of its own
            return tuple(piece for part in self._components(tensor) for piece in self.pieces(part))
        size = storage.nbytes()
        if size == 0 or storage.device.type != "cuda":
            return ()
        return ((self._address(tensor, storage), size, storage.device.index),)

    def _address(self, tensor: Any, storage: Any) -> int:
        """The address of the storage. Raises for a storage without memory. A lazy copy (copy-on-write) has to stay lazy, so its
        address is read without data_ptr(), which would materialise it."""
        if self._is_lazy_copy is not None and self._is_lazy_copy(tensor):
            shown: int = self.torch._C._data_address(tensor)
            offset: int = tensor.storage_offset() * tensor.element_size()
            return shown - offset
        address: int = storage.data_ptr()
        return address

    def _components(self, tensor: Any) -> list[Any]:
        """The strided tensors of a sparse one, or the tensor that a transformed function (vmap, grad) has wrapped."""
        base, layout = self.torch._C.TensorBase, self._layout(tensor)
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes(), self.torch.no_grad():
            if layout == self.torch.sparse_coo:
                return [base._indices(tensor), base._values(tensor)]
            if layout in (self.torch.sparse_csr, self.torch.sparse_bsr):
                return [base.crow_indices(tensor), base.col_indices(tensor), base.values(tensor)]
            if layout in (self.torch.sparse_csc, self.torch.sparse_bsc):
                return [base.ccol_indices(tensor), base.row_indices(tensor), base.values(tensor)]
        functorch = self.torch._C._functorch
        if functorch.is_functorch_wrapped_tensor(tensor):
            return [functorch.get_unwrapped(tensor)]
        return []

    def _is_wrapper(self, kind: type) -> bool:
        """Whether tensors of this class consist of inner tensors. The memory that such a subclass has besides these is not
        counted."""
        if kind in self.plain:
            return False
        if kind in self.wrappers:
            return True
        if issubclass(kind, self.memoryless):
            return False
        is_wrapper = any("__tensor_flatten__" in vars(base) for base in kind.__mro__)
        (self.wrappers if is_wrapper else self.plain).add(kind)
        return is_wrapper

    def _flatten(self, tensor: Any) -> list[Any]:
        try:
            names, _ = type(tensor).__tensor_flatten__(tensor)
            return instances([getattr(tensor, name) for name in names], self.torch.Tensor)
        except Exception as error:
            self._say(error)
            return []

    # ---- kinds

    def size(self, tensor: Any) -> Size:
        try:
            if not self._is_nested(tensor) or self._layout(tensor) != self.torch.strided:
                return tuple(extent if type(extent) is int else None for extent in self._shape(tensor))
            rows = self.torch._C.TensorBase._nested_tensor_size(tensor).tolist()
            return (len(rows), *(column[0] if len(set(column)) == 1 else None for column in zip(*rows, strict=True)))
        except Exception as error:
            self._say(error)
            return ()

    def shares(self, tensors: list[Any]) -> tuple[list[Kind], list[int], list[int]]:
        """(kinds, which, bytes): all kinds, and for each tensor the index of its kind and the bytes that are counted for it.
        If several tensors share a piece, its bytes are counted for the one that shows most of it; among equals for a
        parameter, then for one that is not a view, then for the first."""
        with self.torch._C.DisableTorchFunctionSubclass():
            kinds, which, shares = share_memory(tensors, self._means())
        return [(kind, tuple(size), dtype) for kind, size, dtype in kinds], which, shares

    def _means(self) -> tuple[Any, ...]:
        base, storage = self.torch._C.TensorBase, self.torch._C.StorageBase
        return (self.plain, base.untyped_storage, base.shape, base.dtype, storage.nbytes, storage.data_ptr,
                self._is_lazy_copy, self._read_slowly, self._prefers)

    def _read_slowly(self, tensor: Any) -> tuple[Kind, tuple[Piece, ...]]:
        return (type(tensor), self.size(tensor), self._try(self._dtype, tensor)), self.pieces(tensor)

    def _prefers(self, tensor: Any, other: Any) -> bool:
        return self._rank(tensor) > self._rank(other)

    def _rank(self, tensor: Any) -> tuple[int, bool, bool]:
        try:
            shown = self._nbytes(tensor)
        except Exception:  # a sparse or ragged tensor has no nbytes
            shown = 0
        return (shown, issubclass(type(tensor), self.torch.nn.Parameter), not self._try(self._is_view, tensor))

    def entries(self, tensors: list[Any]) -> list[Entry]:
        """Each tensor with the bytes that are counted for it (`shares`)."""
        kinds, which, shares = self.shares(tensors)
        return [Entry(tensor, kinds[place], share) for tensor, place, share in zip(tensors, which, shares, strict=True)]

    def census(self, devices: frozenset[int] | None) -> Census:
        """All tensors of these devices (None: of any), by kind."""
        kinds, which, shares = self.shares(self.all(devices))
        counts, held = [0] * len(kinds), [0] * len(kinds)
        for place, share in zip(which, shares, strict=True):
            counts[place] += 1
            held[place] += share
        of_kinds = zip(counts, held, strict=True)
        return Census(dict(zip(kinds, of_kinds, strict=True)), sum(held), len(which))

    # ---- errors

    def _try(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            self._say(error)
            return None

    def _say(self, error: Exception) -> None:
        if self.trivial is not None:
            self.trivial(error)


class Counters(NamedTuple):
    """The counters of an allocator for one device. If `is_counting` and they are unchanged, nothing was allocated or freed
    there."""

    bytes: int  # allocated and not freed, as the allocator rounds
    requested: int  # the same without the rounding
    allocations: int
    frees: int
    is_counting: bool


NOTHING = Counters(0, 0, 0, 0, True)


def counters(torch: Any, device: int) -> Counters:
    """The counters of the allocator that PyTorch uses on this device, in microseconds. Never starts CUDA."""
    if not torch.cuda.is_initialized():
        return NOTHING
    try:
        stats, is_counting = _statistics(torch, device)
        count, held, asked = (stats[name]["all"] for name in ("allocation", "allocated_bytes", "requested_bytes"))
        return Counters(held["current"], asked["current"], count["allocated"], count["freed"], is_counting)
    except Exception:  # a pluggable allocator says nothing at all
        return NOTHING._replace(is_counting=False)


def _statistics(torch: Any, device: int) -> tuple[dict[str, Any], bool]:
    ours = sys.modules.get("vramscope.torch")
    allocator = ours.active_allocator(device) if ours is not None and hasattr(ours, "active_allocator") else None
    if allocator is not None:
        return allocator.memory_stats(device), True
    return torch._C._cuda_memoryStats(device), torch.cuda.get_allocator_backend() == "native"


def devices_of(torch: Any, device: Any) -> frozenset[int] | None:
    """The indices of the devices in `device`: a number, "cuda:1", a torch.device, several of them, or None for all."""
    if device is None:
        return None
    if isinstance(device, (list, tuple, set, frozenset)):
        return frozenset(index for each in device for index in (devices_of(torch, each) or ()))
    if isinstance(device, int):
        return frozenset([device])
    device = torch.device(device)
    if device.type != "cuda":
        raise ValueError(f"{str(device)!r} is no CUDA device")
    if device.index is not None:
        return frozenset([device.index])
    return frozenset([torch.cuda.current_device() if torch.cuda.is_initialized() else 0])


def every_device(torch: Any, devices: frozenset[int] | None) -> Iterator[int]:
    """The indices of these devices in order. Never starts CUDA."""
    if devices is not None:
        yield from sorted(devices)
    elif torch.cuda.is_initialized():
        yield from range(torch.cuda.device_count())
