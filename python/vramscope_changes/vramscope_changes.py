"""Applies changes to a PyTorch program from outside: those of a fit.json that `vramscope run --with` and `vramscope dryrun
--with` pass on in VRAMSCOPE_CHANGES, or that the program itself passes to vramscope.apply().

The facts about the changes are in C (src/changes/changes.def), which has also read and checked the list: here it is valid
and complete, and there is one function for each name. An exception in one of these never reaches the program: the change is
reported as not applied, with the exception. Beside the changes, nothing here alters what the program does or prints.

    before torch is imported    the allocator's settings, the size of cuBLAS's workspaces
    after that                  all others; each one waits for the objects that it is about (blocks, optimizers ...)

Each outcome is a line of the file VRAMSCOPE_CHANGES_LIST: {"pid", "change": its number in the list, "applied", "text": what
it was applied to, or why it was not}. Before them stands {"pid"}: the process loaded this, so a change without an outcome did not
meet what it is about. Others have figures: {"pid", "change", "blocks": how many more are checkpointed}, and when the process ends
{"pid", "change", "copied_bytes": what was copied between host and device because of the change, "at_most": whether that is an
upper bound}.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these would take time in each process that Python starts
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, Protocol

    class Report(Protocol):
        def __call__(self, applied: bool, text: str, **figures: int) -> None:
            """Was it applied; to what, or why not."""

    Entry = dict[str, Any]  # a change of the list: {"name": ..., and its parameters}

ALLOCATOR_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")  # the first one that is set counts


class Changes:
    """The changes of one list in this process. `outcomes`: (number of the change, was it applied, the text), each one once."""

    def __init__(self, text: str, loading: Any, path: str | None) -> None:
        import json

        self.entries: list[Entry] = json.loads(text)["changes"]
        self.loading = loading  # vramscope_loading.py
        self.path = path  # of the file for the outcomes; None: there is none
        self.outcomes: list[tuple[int, bool, str]] = []
        self.pid: int = os.getpid()
        self.is_late: bool = False  # PyTorch was imported before the changes were applied

    def apply(self) -> None:
        """Begins: what can be applied is applied at once, what waits for an import is applied after that."""
        self._write()
        self.is_late = "torch" in sys.modules
        finder = self.loading.Finder({} if self.is_late else {"torch": self._before_torch}, self._note)
        finder.wait_for({"torch": self._after_torch})
        if not self.is_late:
            sys.meta_path.insert(0, finder)

    def _before_torch(self) -> None:
        self._apply_each({
            "allocator": lambda entry, report: _set_variables(entry["settings"], report),
            "cublas_workspace": lambda entry, report: _set_workspace(entry["config"], report),
        })

    def _after_torch(self, torch: ModuleType) -> None:
        optimizers = self.loading.beside("vramscope_optimizers")
        blocks = self.loading.beside("vramscope_blocks")
        functions: dict[str, Callable[[Entry, Report], None]] = {
            "set_to_none": lambda entry, report: optimizers.set_to_none(torch, report),
            "bucket_view": lambda entry, report: _view_buckets(torch, report),
            "foreach_off": lambda entry, report: optimizers.give(torch, "foreach", False, report),
            "fused": lambda entry, report: optimizers.give(torch, "fused", True, report),
            "checkpoint": lambda entry, report: blocks.Blocks(torch, entry["every"], entry["first"], report).follow(self.is_late),
            "save_on_cpu": lambda entry, report: self._save_on_cpu(torch, entry, report),
            "adam_paged": lambda entry, report: self._use_paged(optimizers, torch, entry, report),
            "adam_8bit": lambda entry, report: optimizers.use_8bit(torch, report),
            "bf16_parameters": lambda entry, report: optimizers.use_bf16(torch, report),
        }
        if self.is_late:
            functions["allocator"] = lambda entry, report: _set_at_runtime(torch, entry["settings"], report)
            functions["cublas_workspace"] = lambda entry, report: _set_workspace_at_runtime(torch, entry["config"], report)
        self._apply_each(functions)

    def _apply_each(self, functions: dict[str, Callable[[Entry, Report], None]]) -> None:
        for number, entry in enumerate(self.entries):
            function = functions.get(entry["name"])
            if function is None:
                continue
            report = self._reporter(number)
            try:
                function(entry, report)
            except Exception as error:
                report(False, _sentence(error))

    # ---- what is kept on the host

    def _save_on_cpu(self, torch: Any, entry: Entry, report: Report) -> None:
        saver = torch.autograd.graph.save_on_cpu(pin_memory=True)
        self._tell_copied(entry, _count_copies(saver))
        saver.__enter__()  # until the process ends
        report(True, "all saved tensors of the main thread")

    def _use_paged(self, optimizers: Any, torch: Any, entry: Entry, report: Report) -> None:
        self._tell_copied(entry, optimizers.use_paged(torch, report), at_most=True)

    def _tell_copied(self, entry: Entry, copied: Callable[[], int], at_most: bool = False) -> None:
        """At the end of the process."""
        import atexit

        number = self.entries.index(entry)
        atexit.register(lambda: self._write(change=number, copied_bytes=copied(), at_most=at_most))

    # ---- outcomes

    def _reporter(self, number: int) -> Report:
        def report(applied: bool, text: str, **figures: int) -> None:
            if self.pid != os.getpid():  # a fork reports as a process of its own
                self.pid, self.outcomes = os.getpid(), []
            if (number, applied, text) not in self.outcomes and len(self.outcomes) < 1000:
                self.outcomes.append((number, applied, text))
                self._write(change=number, applied=applied, text=text[:1000])
            if figures:
                self._write(change=number, **figures)

        return report

    def _write(self, **members: object) -> None:
        import json

        if self.path is None:
            return
        line = json.dumps({"pid": os.getpid(), **members})
        try:
            with open(self.path, "a") as file:
                file.write(line + "\n")
        except OSError:
            pass  # the report lacks this line

    def _note(self, error: BaseException) -> None:
        """The finder failed, so what waited for an import is not applied."""
        for number in range(len(self.entries)):
            self._reporter(number)(False, _sentence(error))


def arrange(loading: Any) -> None:
    """Called once, when Python starts with a list of changes."""
    Changes(os.environ["VRAMSCOPE_CHANGES"], loading, os.environ.get("VRAMSCOPE_CHANGES_LIST")).apply()


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: " + str(error).split("\n")[0][:200]


# ---- the allocator


def _joined(settings: str) -> str:
    """The settings behind those of the environment: of two values of one setting PyTorch takes the last."""
    before = next((os.environ[name] for name in ALLOCATOR_VARIABLES if os.environ.get(name)), "")
    return f"{before},{settings}" if before else settings


def _set_variables(settings: str, report: Report) -> None:
    joined = _joined(settings)
    for name in ALLOCATOR_VARIABLES:
        os.environ[name] = joined
    report(True, joined)


def _set_at_runtime(torch: Any, settings: str, report: Report) -> None:
    """PyTorch has read the variables already. What is cached now keeps the segments that it has."""
    joined = _joined(settings)
    change = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
    if change is None:  # an older PyTorch
        change = torch.cuda.memory._set_allocator_settings
    change(joined)
    used = " (what was cached before keeps its segments)" if torch.cuda.is_initialized() else ""
    report(True, joined + used)


# ---- cuBLAS


def _set_workspace(config: str, report: Report) -> None:
    had = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = config
    report(True, f"{config} instead of {had}" if had else config)


def _set_workspace_at_runtime(torch: Any, config: str, report: Report) -> None:
    """PyTorch reads the variable when it first needs a workspace, which no program does before it uses the GPU."""
    if torch.cuda.is_initialized():
        report(False, "the program has used the GPU already, so PyTorch may have read CUBLAS_WORKSPACE_CONFIG")
    else:
        _set_workspace(config, report)


# ---- what is saved for the backward pass


def _count_copies(saver: Any) -> Callable[[], int]:
    """Returns a function that tells how many bytes the hooks of `saver` have copied from a GPU and back."""
    import threading

    lock, copied = threading.Lock(), [0]  # the backward pass runs in threads of its own
    pack, unpack = saver.pack_hook, saver.unpack_hook

    def count(tensor: Any) -> None:
        with lock:
            copied[0] += tensor.numel() * tensor.element_size()

    def counted_pack(tensor: Any) -> Any:
        if tensor.is_cuda:
            count(tensor)
        return pack(tensor)

    def counted_unpack(packed: Any) -> Any:
        tensor = unpack(packed)
        if tensor.is_cuda:
            count(tensor)
        return tensor

    saver.pack_hook, saver.unpack_hook = counted_pack, counted_unpack
    return lambda: copied[0]


# ---- DistributedDataParallel


def _view_buckets(torch: Any, report: Report) -> None:
    import functools
    import inspect

    kind = torch.nn.parallel.DistributedDataParallel
    original = kind.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:  # the program's own mistake
            original(self, *args, **kwargs)
            return
        had = bound.arguments.get("gradient_as_bucket_view", False)
        bound.arguments["gradient_as_bucket_view"] = True
        original(*bound.args, **bound.kwargs)
        name = type(bound.arguments["module"]).__name__
        report(not had, f"{name} has them already" if had else f"the gradients of {name}")

    kind.__init__ = __init__
