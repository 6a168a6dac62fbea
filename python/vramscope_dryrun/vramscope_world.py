"""Object collectives of torch.distributed (broadcast_object_list, all_gather_object, ...) on a simulated GPU.

PyTorch moves Python objects through GPU memory: it sends their sizes, reads on the host what a kernel made of them, and
unpickles bytes that it copies from the GPU. No kernel runs here and NCCL moves nothing between ranks, so those values are
exchanged on the host, and the functions get them where they read a size or unpickle an object. All else they do themselves:
each tensor is allocated as on a GPU.

    the other ranks run          values go through the group's store: each rank gets what the others really passed
    they do not (--world)        a world of identical ranks: what another rank would send is what this rank has in that place. The
                                 report says so ("assumed"), with the line of the call

A rank that runs alone has no rank to call by gloo either. There each gloo group is one of PyTorch's fake process groups, which
assumes identical ranks, too.
"""

from __future__ import annotations

import functools
import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import Any

    Frames = tuple[tuple[str, str, int], ...]
    Assume = Callable[..., None]

_CHUNK = 4 << 20  # PyTorch's store takes values of up to 8 MiB
_MOST_FRAMES = 64


def follow(
    c10d: Any, assume: Assume, note: Callable[[str, BaseException], None]
) -> tuple[Callable[[], None], Callable[[list[Any] | None, str], None]]:
    """`c10d`: the module torch.distributed.distributed_c10d, just executed. `assume` is called with a sentence, and how often it
    was the case where; `note` with what failed. Of the functions that are returned the first writes the counts, and has to be
    called when the process ends; the second is _World.expect."""
    is_alone = os.environ.get("VRAMSCOPE_RANK_ALONE") == "1"
    doubts = _Doubts(assume)
    world = _World(c10d, is_alone, doubts)
    for name in [name[len("plan_") :] for name in dir(_World) if name.startswith("plan_")]:
        if hasattr(c10d, name):
            _wrap(c10d, name, world, note)
    _wrap_pickling(c10d, world)
    if is_alone:
        _replace_gloo(c10d)
    return doubts.tell, world.expect


# ---- the functions that are replaced


def _wrap(c10d: Any, name: str, world: _World, note: Callable[[str, BaseException], None]) -> None:
    import inspect

    original = getattr(c10d, name)
    signature = inspect.signature(original)
    plan = getattr(world, "plan_" + name)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
        except TypeError:
            return original(*args, **kwargs)  # which raises
        transfer = None
        try:
            transfer = plan(bound.arguments) if c10d.is_initialized() else None
        except getattr(c10d, "DistError", ()):
            raise  # another rank ended, or did not come
        except Exception as error:
            note(f"what other ranks pass to {name}", error)
        if transfer is None:
            return original(*args, **kwargs)
        return transfer.run(original, args, kwargs)

    setattr(c10d, name, call)


def _wrap_pickling(c10d: Any, world: _World) -> None:
    """Objects that a transfer brings are unpickled from its bytes. While an object of the program is pickled or unpickled,
    nothing is replaced: its methods may call PyTorch."""
    to_tensor, to_object = world.to_tensor, world.to_object

    @functools.wraps(to_tensor)
    def _object_to_tensor(*args: Any, **kwargs: Any) -> Any:
        transfer, world.of_thread.transfer = world.of_thread.transfer, None
        try:
            return to_tensor(*args, **kwargs)
        finally:
            world.of_thread.transfer = transfer

    @functools.wraps(to_object)
    def _tensor_to_object(tensor: Any, tensor_size: Any, *args: Any, **kwargs: Any) -> Any:
        transfer, world.of_thread.transfer = world.of_thread.transfer, None
        try:
            if transfer is None:
                return to_object(tensor, tensor_size, *args, **kwargs)
            import torch

            piece = transfer.next_piece()
            return to_object(torch.frombuffer(bytearray(piece), dtype=torch.uint8), len(piece), *args, **kwargs)
        finally:
            world.of_thread.transfer = transfer

    c10d._object_to_tensor, c10d._tensor_to_object = _object_to_tensor, _tensor_to_object


def _replace_gloo(c10d: Any) -> None:
    gloo = getattr(c10d, "ProcessGroupGloo", None)
    if gloo is None:
        return
    from torch._C._distributed_c10d import FakeProcessGroup

    kinds: Any = (gloo, FakeProcessGroup)

    class _Kind(type(gloo)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, kinds)

    class ProcessGroupGloo(gloo, metaclass=_Kind):  # type: ignore[misc, valid-type]
        def __new__(cls, store: Any, rank: int, size: int, *args: Any, **kwargs: Any) -> Any:
            options = FakeProcessGroup.Options()
            if hasattr(options, "simulate_uniform_ranks"):
                options.simulate_uniform_ranks = True  # sums are multiplied
            return FakeProcessGroup._create_internal(rank, size, options)

    FakeProcessGroup._set_sequence_number_for_group = lambda self: None  # PyTorch 2.11 calls it for gloo
    ProcessGroupGloo.__module__, ProcessGroupGloo.__qualname__ = gloo.__module__, gloo.__qualname__
    c10d.ProcessGroupGloo = ProcessGroupGloo
    barrier = c10d.monitored_barrier

    @functools.wraps(barrier)
    def monitored_barrier(group: Any = None, *args: Any, **kwargs: Any) -> None:
        import torch

        used = group or c10d._get_default_group()
        if c10d._rank_not_in_group(group) or torch.device("cpu") not in used._device_types:
            barrier(group, *args, **kwargs)  # which warns or raises

    c10d.monitored_barrier = monitored_barrier


# ---- one call


class _OfThread(threading.local):
    transfer: Any = None  # the _Transfer that replaces what is read now
    expected: tuple[list[Any], str] | None = None  # see _World.expect


@functools.cache
def _mode() -> Any:
    """A torch-function mode that replaces what an object collective reads from its tensors. Made at the first use:
    torch.overrides cannot be imported while torch.distributed is."""
    from torch import Tensor, int64
    from torch.overrides import TorchFunctionMode

    item, truth, part, resize = Tensor.item, Tensor.__bool__, Tensor.__getitem__, Tensor.resize_

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __init__(self, transfer: _Transfer) -> None:
            super().__init__()
            self.transfer = transfer

        def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
            transfer = self.transfer
            if transfer.is_reading():
                if func is item and args[0].dtype == int64:
                    return transfer.size
                if func is truth:
                    return False  # max() compares the sizes, and `item` then reads the largest one, whichever it took
                if func is part and isinstance(args[1], slice):
                    return func(args[0], transfer.next_slice())
                if func is resize:
                    args = (args[0], *(transfer.size if isinstance(size, Tensor) else size for size in args[1:]))
            return func(*args, **(kwargs or {}))

    return Mode


class _Transfer:
    """What one call reads: a size, and the bytes of one object after the other."""

    def __init__(self, of_thread: _OfThread, size: int, pieces: Sequence[bytes]) -> None:
        self.of_thread = of_thread
        self.size = size
        self.pieces = pieces
        self.taken = 0  # pieces
        self.offset = 0  # bytes in front of the next slice

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        outer, self.of_thread.transfer = self.of_thread.transfer, self
        try:
            with _mode()(self):
                return function(*args, **kwargs)
        finally:
            self.of_thread.transfer = outer

    def is_reading(self) -> bool:
        return self.of_thread.transfer is self

    def next_slice(self) -> slice:
        start, self.offset = self.offset, self.offset + len(self.pieces[self.taken])
        return slice(start, self.offset)

    def next_piece(self) -> bytes:
        self.taken += 1
        return self.pieces[self.taken - 1]


class _Group:
    def __init__(self, c10d: Any, group: Any, is_alone: bool) -> None:
        self.c10d, self.group, self.is_alone = c10d, group, is_alone
        self.name: str = group.group_name
        self.rank: int = c10d.get_rank(group)
        self.size: int = c10d.get_world_size(group)

    def root(self, arguments: dict[str, Any], name: str) -> int:
        """The rank in the group that the argument `name` ("src", "dst"), or "group_" and that, means."""
        of_group = arguments.get("group_" + name)
        root: int = of_group if of_group is not None else self.c10d.get_group_rank(self.group, arguments[name] or 0)
        return root

    def global_rank(self, rank: int) -> int:
        found: int = self.c10d.get_global_rank(self.group, rank)
        return found


class _World:
    """Plans of object collectives: a _Transfer, or None where PyTorch's function needs no help. `a`: the call's arguments."""

    def __init__(self, c10d: Any, is_alone: bool, doubts: _Doubts) -> None:
        self.c10d, self.is_alone, self.doubts = c10d, is_alone, doubts
        self.to_tensor, self.to_object = c10d._object_to_tensor, c10d._tensor_to_object
        self.of_thread = _OfThread()
        self.mail = _Mail(c10d)
        self.gathered: dict[str, tuple[int, bytes]] = {}  # group -> root, this rank's object, if its last call was gather_object

    def expect(self, objects: list[Any] | None, sentence: str) -> None:
        """The next recv_object_list of this thread, on a rank that runs alone, brings these, of which `sentence` says what is
        assumed; None: as if nothing was said."""
        self.of_thread.expected = None if objects is None else (objects, sentence)

    def plan_all_gather_object(self, a: dict[str, Any]) -> _Transfer | None:
        group = self._group(a)
        if group is None:
            return None
        self.gathered.pop(group.name, None)
        pieces = self._everyones(group, self._pack(a["obj"], group, a))
        if group.is_alone and group.size > 1:
            self.doubts.add("the objects that other ranks pass to all_gather_object equal this rank's")
        return _Transfer(self.of_thread, max(map(len, pieces)), pieces)

    def plan_gather_object(self, a: dict[str, Any]) -> _Transfer | None:
        group = self._group(a)
        if group is None:
            return None
        root, own = group.root(a, "dst"), self._pack(a["obj"], group, a)
        pieces = self._everyones(group, own)
        if group.is_alone and group.rank != root:
            self.gathered[group.name] = root, own
        if group.is_alone and group.size > 1 and group.rank == root:
            self.doubts.add("the objects that other ranks pass to gather_object equal this rank's")
        return _Transfer(self.of_thread, max(map(len, pieces)), pieces)

    def plan_broadcast_object_list(self, a: dict[str, Any]) -> _Transfer | None:
        group = self._group(a)
        if group is None:
            return None
        root = group.root(a, "src")
        self.gathered.pop(group.name, None)
        label = f"b/{self.mail.number(group, 'b')}"
        if group.rank == root:
            if not group.is_alone and group.size > 1:
                self.mail.post(group, label, [self._pack(item, group, a) for item in a["object_list"]])
            return None
        if not group.is_alone:
            return self._list(self.mail.take(group, label, group.size - 1))
        return self._own_list(group, a, f"rank {group.global_rank(root)} broadcasts")

    def plan_send_object_list(self, a: dict[str, Any]) -> None:
        group = self._group(a)
        if group is None or group.is_alone:
            return
        lane = f"p/{group.rank}/{group.root(a, 'dst')}"
        pieces = [self._pack(item, group, a) for item in a["object_list"]]
        self.mail.post(group, f"{lane}/{self.mail.number(group, lane)}", pieces)

    def plan_recv_object_list(self, a: dict[str, Any]) -> _Transfer | None:
        group = self._group(a)
        if group is None or (a["src"] is None and a.get("group_src") is None):
            return None  # from any rank, which NCCL cannot
        root = group.root(a, "src")
        expected = self.of_thread.expected
        if group.is_alone and expected is not None:
            self.doubts.add(expected[1])
            return self._list([self._pack(item, group, a) for item in expected[0]])
        if group.is_alone:
            return self._own_list(group, a, f"rank {group.global_rank(root)} sends")
        lane = f"p/{root}/{group.rank}"
        return self._list(self.mail.take(group, f"{lane}/{self.mail.number(group, lane)}", 1))

    def plan_scatter_object_list(self, a: dict[str, Any]) -> _Transfer | None:
        group = self._group(a)
        if group is None:
            return None
        root, objects = group.root(a, "src"), a["scatter_object_input_list"]
        label = f"s/{self.mail.number(group, 's')}"
        if group.rank != root:
            taken = None if group.is_alone else self.mail.take(group, f"{label}/{group.rank}", 1)
            pieces = taken or self._scattered(group, a, root)
            return _Transfer(self.of_thread, max(map(len, pieces)), pieces)
        if not isinstance(objects, (list, tuple)) or len(objects) != group.size:
            return None  # PyTorch says what is wrong with them
        pieces = [self._pack(item, group, a) for item in objects]
        largest = max(pieces, key=len)
        for rank in range(0 if group.is_alone else group.size):
            if rank != root:
                self.mail.post(group, f"{label}/{rank}", [pieces[rank], b"\0" * len(largest)])
        return _Transfer(self.of_thread, len(largest), [pieces[root]])

    # ---- parts of plans

    def _group(self, a: dict[str, Any]) -> _Group | None:
        """None: PyTorch's function works as it is, or raises."""
        import torch
        from torch._C._distributed_c10d import FakeProcessGroup

        c10d = self.c10d
        if c10d._rank_not_in_group(a["group"]):
            return None
        group = a["group"] or c10d._get_default_group()
        device = torch.device(a.get("device") or c10d._get_object_coll_device(group))
        is_alone = self.is_alone or isinstance(group._get_backend(device), FakeProcessGroup)
        if device.type == "cpu" and not is_alone:
            return None
        return _Group(c10d, group, is_alone)

    def _pack(self, item: Any, group: _Group, a: dict[str, Any]) -> bytes:
        more = (a["weights_only"],) if "weights_only" in a else ()
        packed: bytes = self.to_tensor(item, "cpu", group.group, *more)[0].numpy().tobytes()
        return packed

    def _everyones(self, group: _Group, own: bytes) -> Sequence[bytes]:
        """In the order of ranks."""
        return [own] * group.size if group.is_alone else self.mail.swap(group, own)

    def _list(self, pieces: Sequence[bytes]) -> _Transfer:
        return _Transfer(self.of_thread, sum(map(len, pieces)), pieces)

    def _own_list(self, group: _Group, a: dict[str, Any], what: str) -> _Transfer:
        own = a["object_list"]
        try:
            pieces = [self._pack(item, group, a) for item in own]
        except Exception:  # what this rank has there cannot be sent
            own = [None] * len(own)
            pieces = [self._pack(item, group, a) for item in own]
        is_known = all(item is not None for item in own)
        self.doubts.add(f"the objects that {what} " + (
            "equal those in this rank's list" if is_known else "are unknown: this rank keeps its list, which has None"))
        return self._list(pieces)

    def _scattered(self, group: _Group, a: dict[str, Any], root: int) -> list[bytes]:
        """The object for this rank, from a rank that does not run: this rank's slot, if it has a list. A scatter after a gather
        to the same rank returns what that rank made of the gathered objects, which is most like the gathered one."""
        what = f"the object that rank {group.global_rank(root)} scatters to this rank "
        own, gathered = a["scatter_object_input_list"], self.gathered.pop(group.name, None)
        if isinstance(own, (list, tuple)) and len(own) == group.size and own[group.rank] is not None:
            self.doubts.add(what + "equals that in this rank's list")
            return [self._pack(own[group.rank], group, a)]
        is_known = gathered is not None and gathered[0] == root
        self.doubts.add(what + ("equals what this rank passed to gather_object" if is_known else "is unknown: it is None here"))
        return [gathered[1] if gathered is not None and is_known else self._pack(None, group, a)]


class _Mail:
    """Bytes that the ranks of a group exchange through its store. They make the same calls, so they number them alike."""

    def __init__(self, c10d: Any) -> None:
        self.c10d = c10d
        self.numbers: dict[tuple[str, str], int] = {}

    def number(self, group: _Group, lane: str) -> int:
        key = (group.name, lane)
        self.numbers[key] = self.numbers.get(key, 0) + 1
        return self.numbers[key]

    def swap(self, group: _Group, own: bytes) -> list[bytes]:
        label = f"g/{self.number(group, 'g')}"
        if group.size == 1:
            return [own]
        for rank in range(group.size):
            if rank != group.rank:
                self.post(group, f"{label}/{group.rank}/{rank}", [own])
        found = [own] * group.size
        for rank in range(group.size):
            if rank != group.rank:
                found[rank] = self.take(group, f"{label}/{rank}/{group.rank}", 1)[0]
        return found

    def post(self, group: _Group, label: str, pieces: Sequence[bytes]) -> None:
        import pickle

        store, data = self._store(group), pickle.dumps(list(pieces))
        chunks = range(0, len(data), _CHUNK)
        for i, start in enumerate(chunks):
            store.set(f"vramscope/{label}/{i}", data[start : start + _CHUNK])
        store.set(f"vramscope/{label}/chunks", str(len(chunks)))

    def take(self, group: _Group, label: str, readers: int) -> list[bytes]:
        """The last one of the readers deletes it."""
        import pickle

        store = self._store(group)
        chunks = int(store.get(f"vramscope/{label}/chunks"))
        pieces: list[bytes] = pickle.loads(b"".join(store.get(f"vramscope/{label}/{i}") for i in range(chunks)))
        if readers == 1 or store.add(f"vramscope/{label}/readers", 1) == readers:
            for name in (*map(str, range(chunks)), "chunks", *(("readers",) if readers > 1 else ())):
                store.delete_key(f"vramscope/{label}/{name}")
        return pieces

    def _store(self, group: _Group) -> Any:
        return self.c10d._world.pg_map[group.group][1]


class _Doubts:
    """What was assumed, by the stack of the call. The first time is written at once, further ones when the process ends."""

    def __init__(self, assume: Assume) -> None:
        self.assume = assume
        self.lock = threading.Lock()
        self.pid = os.getpid()
        self.more: dict[tuple[str, Frames], int] = {}
        self.parts = 0  # makes each line of a process another one

    def add(self, sentence: str) -> None:
        key = (sentence, _frames(sys._getframe(1)))
        with self.lock:
            if self.pid != os.getpid():
                self.pid, self.more = os.getpid(), {}  # a forked child counts its own
            is_first = key not in self.more
            self.more[key] = 0 if is_first else self.more[key] + 1
        if is_first:
            self._write(key, 1)

    def tell(self) -> None:
        with self.lock:
            again = [(key, count) for key, count in self.more.items() if count and self.pid == os.getpid()]
            self.more = dict.fromkeys(self.more, 0)
        for key, count in again:
            self._write(key, count)

    def _write(self, key: tuple[str, Frames], times: int) -> None:
        frames = [{"name": name, "file": file, "line": line} for name, file, line in key[1]]
        self.parts += 1
        self.assume(key[0], times=times, frames=frames, part=self.parts)


def _frames(frame: FrameType | None) -> Frames:
    """Innermost first, without those of this file."""
    found: list[tuple[str, str, int]] = []
    while frame is not None and len(found) < _MOST_FRAMES:
        code = frame.f_code
        if code.co_filename != __file__:
            found.append((code.co_name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)
