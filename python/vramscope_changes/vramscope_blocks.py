"""Activation checkpointing of repeated blocks (vramscope_changes.py): children of one class in a ModuleList or Sequential.

Which modules are blocks is decided when a model first runs, because programs wrap and replace modules until then. Containers
are noted when they are made, copied or unpickled. A global forward hook, which is there only while containers are noted that
no model that ran has, looks for them in the model that is called.

A chosen block has the member FLAG, which copies of it have as well, and the forward() of its class runs blocks with that
member in torch.utils.checkpoint.checkpoint. Hooks of the module run outside of it, as those of FSDP have to.
"""

from __future__ import annotations

import functools
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Report = Callable[..., None]  # as in vramscope_changes.py

FLAG = "_vramscope_checkpoint"


class Blocks:
    """`every`, `first`: every n-th of all blocks that are found, at most so many."""

    def __init__(self, torch: Any, every: int, first: int, report: Report) -> None:
        self.torch = torch
        self.every = every
        self.first = first
        self.report = report
        self.found: int = 0  # blocks so far
        self.chosen: int = 0  # of these
        self.noted: list[Any] = []  # weak references to containers that no model that ran has
        self.seen: Any = weakref.WeakSet()  # modules of models that ran
        self.wrapped: Any = weakref.WeakSet()  # classes
        self.hook: Any = None

    def follow(self, is_late: bool) -> None:
        """`is_late`: the program may have made models already."""
        import gc

        import torch.utils.checkpoint  # noqa: F401 (used in `_wrap`)

        kinds = (self.torch.nn.ModuleList, self.torch.nn.Sequential)
        for kind in kinds:
            self._note_new(kind)
        for thing in gc.get_objects() if is_late else ():
            if isinstance(thing, kinds):
                self._note(thing)

    # ---- containers

    def _note_new(self, kind: Any) -> None:
        construct, restore = kind.__init__, kind.__setstate__

        @functools.wraps(construct)
        def __init__(container: Any, *args: Any, **kwargs: Any) -> None:
            construct(container, *args, **kwargs)
            self._note(container)

        @functools.wraps(restore)
        def __setstate__(container: Any, state: Any) -> None:
            restore(container, state)
            self._note(container)

        kind.__init__, kind.__setstate__ = __init__, __setstate__

    def _note(self, container: Any) -> None:
        self.noted.append(weakref.ref(container))
        if self.hook is None:
            self.hook = self.torch.nn.modules.module.register_module_forward_pre_hook(self._is_called)

    def _is_called(self, module: Any, args: Any) -> None:
        if module in self.seen:
            return
        try:
            self._look_into(module)
        except Exception as error:
            self.report(False, f"{type(error).__name__}: " + str(error).split("\n")[0][:200])
        if not self.noted and self.hook is not None:
            self.hook.remove()
            self.hook = None

    def _look_into(self, module: Any) -> None:
        """The containers of a model that is called for the first time; or the one that has the module, where the program
        calls blocks itself."""
        names = {id(child): name for name, child in module.named_modules()}
        waiting = [container for container in (reference() for reference in self.noted) if container is not None]
        here = [container for container in waiting if id(container) in names]
        root = type(_unwrapped(module)).__name__
        if not here:
            here = [container for container in waiting if any(child is module for child in container.children())]
            root = ""
        inner = {id(child) for container in here for block in _repeated(self.torch, container) for child in block.modules()}
        for container in here:
            self.seen.update(container.modules())
            if id(container) not in inner:
                self._choose(container, _name(root, names.get(id(container), "")))
        self.seen.update(module.modules())
        self.noted = [reference for reference in self.noted if (held := reference()) is not None and held not in self.seen]

    # ---- blocks

    def _choose(self, container: Any, name: str) -> None:
        groups: dict[Any, list[Any]] = {}
        for block in _repeated(self.torch, container):
            groups.setdefault(type(block), []).append(block)
        for kind, blocks in groups.items():
            place = f"{kind.__name__} ({name})" if name else kind.__name__
            why_not = next(filter(None, map(_objection, blocks)), None)
            if why_not is not None:
                self.report(False, f"{place}: {why_not}")
                continue
            chosen = [block for block in blocks if self._is_chosen()]
            for block in chosen:
                object.__setattr__(block, FLAG, True)
            if chosen:
                self._wrap(kind)
            self.report(bool(chosen), f"{len(chosen)} of {len(blocks)} \u00d7 {place}", blocks=len(chosen))

    def _is_chosen(self) -> bool:
        is_chosen = self.found % self.every == 0 and self.chosen < self.first
        self.found += 1
        self.chosen += is_chosen
        return is_chosen

    def _wrap(self, kind: Any) -> None:
        if kind in self.wrapped:
            return
        self.wrapped.add(kind)
        torch, original = self.torch, kind.forward
        checkpoint = torch.utils.checkpoint.checkpoint

        def run(block: Any, args: Any, kwargs: Any) -> Any:
            return original(block, *args, **kwargs)

        @functools.wraps(original)
        def forward(block: Any, *args: Any, **kwargs: Any) -> Any:
            if type(block) is not kind or FLAG not in block.__dict__ or not torch.is_grad_enabled():
                return original(block, *args, **kwargs)
            if torch.compiler.is_compiling():
                return checkpoint(original, block, *args, use_reentrant=False, **kwargs)
            options = {} if not (kept := _with_statistics(torch, block)) else {"context_fn": lambda: _contexts(torch, kept)}
            # Tensors among the arguments by name tell the device whose random numbers are kept, too.
            return checkpoint(run, block, args, kwargs, use_reentrant=False, **options)

        kind.forward = forward


_WRAPPERS = {
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
}


def _unwrapped(module: Any) -> Any:
    """The program's own model."""
    while type(module).__name__ in _WRAPPERS and (inner := getattr(module, _WRAPPERS[type(module).__name__], None)) is not None:
        module = inner
    return module


def _name(root: str, path: str) -> str:
    """ "GPT.blocks", without what wrappers add to the path."""
    words = [word for word in path.split(".") if word not in ("_orig_mod", "module", "_fsdp_wrapped_module")]
    return ".".join(filter(None, (root, *words)))


def _repeated(torch: Any, container: Any) -> Iterator[Any]:
    """The children of a container that are blocks: of one class at least two, which have modules of their own."""
    children = [getattr(child, "_fsdp_wrapped_module", child) for child in container.children()]
    children = [child for child in children if not isinstance(child, torch.jit.ScriptModule) and list(child.children())]
    for child in children:
        if sum(type(other) is type(child) for other in children) > 1:
            yield child


def _objection(block: Any) -> str | None:
    """Why a block cannot be checkpointed from outside; None: it can."""
    if type(block).__name__ == "CheckpointWrapper" or getattr(block, "gradient_checkpointing", False):
        return "the program checkpoints them itself"
    if "forward" in block.__dict__ and FLAG not in block.__dict__:
        return "their forward() was replaced"
    return None


# ---- batch normalization: its running statistics count the first forward pass only


def _with_statistics(torch: Any, block: Any) -> list[Any]:
    norm = torch.nn.modules.batchnorm._NormBase
    return [m for m in block.modules() if isinstance(m, norm) and m.training and m.track_running_stats]


def _contexts(torch: Any, kept: list[Any]) -> Any:
    """For the forward pass, and for its repetition, which computes and saves the same, but updates no statistics: what a
    batch adds to them has no weight, and another counter counts it."""
    import contextlib

    @contextlib.contextmanager
    def repeated() -> Iterator[None]:
        momentums = [module.momentum for module in kept]
        counters = [module.num_batches_tracked for module in kept]
        try:
            for module in kept:
                module.momentum = 0.0
                module.num_batches_tracked = torch.zeros((), dtype=torch.long)  # on the host
            yield
        finally:
            for module, momentum, counter in zip(kept, momentums, counters, strict=True):
                module.momentum, module.num_batches_tracked = momentum, counter

    return contextlib.nullcontext(), repeated()
