"""vramscope: see where your GPU memory went.

    import vramscope

    vramscope.report("snapshot.pickle")                # owners at the peak, why it ran out
    vramscope.merge("today/").table("ranks")           # a job of many ranks as tables
    vramscope.view("snapshot.pickle")                  # the viewer, in a notebook's cell or in the browser
    with vramscope.GPUMemTrace(): ...                  # memory that a piece of code added, and its peak
    with vramscope.Tracker().step(): ...               # exact figures of each step of a training loop
    with vramscope.record("run.vram"): ...             # every allocation, with its stack, to a file
    vramscope.MemTracker().track()                     # every tensor on the GPU, by line
    vramscope.dryrun(["python", "train.py"], gpu="H100")   # will it fit? without a GPU

Importing this package loads nothing else: no PyTorch, no NumPy, no CUDA. Each name is loaded when it is first used.
With VRAMSCOPE_RECORD=run.vram in the environment it also records this process (docs/guide/record.md).
"""

from __future__ import annotations

from importlib import import_module as _import_module
from os import environ as _environ

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take most of the time that importing this package takes
    from typing import Any

# Where each public name lives: a module of this package. Sorted; one line each.
_HOME = {
    "AppliedChanges": "_changes",
    "ArgumentError": "errors",
    "CancelledError": "errors",
    "DeviceError": "errors",
    "DeviceMemoryError": "errors",
    "DryRun": "_dryrun",
    "DryRunLargest": "_dryrun",
    "DryRunTable": "_dryrun",
    "Error": "errors",
    "Figures": "scopes",
    "FileError": "errors",
    "Fit": "_fit",
    "FormatError": "errors",
    "Freed": "memory",
    "GPUMemTrace": "fastai",
    "GPUMemory": "fastai",
    "GPUMemoryWarning": "_tracker",
    "Growth": "gpu_mem_track",
    "Job": "_job",
    "LimitError": "errors",
    "MemTracker": "gpu_mem_track",
    "MemoryFigures": "memory",
    "ModelSize": "modelsize_estimate",
    "NoMemoryError": "errors",
    "NotFoundError": "errors",
    "Recording": "_recording",
    "RefusedError": "errors",
    "Report": "_report",
    "Scope": "scopes",
    "ServedView": "_view",
    "Snapshot": "query",
    "Step": "_tracker",
    "Table": "_table",
    "TrackedTensor": "gpu_mem_track",
    "Tracker": "_tracker",
    "UnsupportedError": "errors",
    "View": "_view",
    "apply": "_changes",
    "b2mb": "fastai",
    "dryrun": "_dryrun",
    "dryrun_largest": "_dryrun",
    "dryrun_table": "_dryrun",
    "dump_snapshot": "memory",
    "empty_cache": "memory",
    "fit": "_fit",
    "free_tensor": "memory",
    "get_ref_free_exc_info": "fastai",
    "gpu_mem_get": "fastai",
    "gpu_mem_get_all": "fastai",
    "gpu_mem_get_free": "fastai",
    "gpu_mem_get_free_no_cache": "fastai",
    "gpu_mem_get_used": "fastai",
    "gpu_mem_get_used_fast": "fastai",
    "gpu_mem_get_used_no_cache": "fastai",
    "gpu_mem_held_by_error": "fastai",
    "gpu_mem_restore": "fastai",
    "gpu_mem_restore_ctx": "fastai",
    "gpu_mem_trace": "fastai",
    "gpu_with_max_free_mem": "fastai",
    "memory_stats": "memory",
    "memory_stats_as_nested_dict": "memory",
    "memory_summary": "memory",
    "merge": "_job",
    "modelsize": "modelsize_estimate",
    "open": "query",
    "preload_pytorch": "fastai",
    "record": "_recording",
    "record_memory_history": "memory",
    "record_on_oom": "_recording",
    "report": "query",
    "reset_accumulated_memory_stats": "memory",
    "reset_peak_memory_stats": "memory",
    "scope_source": "scopes",
    "snapshot": "memory",
    "total_reserved_allocated_free": "memory",
    "use_allocator": "torch",
    "view": "_view",
    "where": "_where",
}

# Modules that are reached as attributes: vramscope.fastai.gpu_mem_get().
_MODULES = ("devices", "errors", "fastai", "gpu_mem_track", "integrations", "memory", "modelsize_estimate", "query", "scopes",
            "torch")

# `from vramscope import *` leaves Python's own open alone.
__all__ = sorted({*_HOME, "__version__"} - {"open"})  # noqa: PLE0605 (__init__.pyi names them for type checkers)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is not None:
        value = getattr(_import_module(f"vramscope.{home}"), name)
        globals()[name] = value  # the next time is a plain look-up
        return value
    if name == "__version__":
        return _import_module("vramscope._native").version
    if name in _MODULES:
        return _import_module(f"vramscope.{name}")
    raise AttributeError(f"module 'vramscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOME, *_MODULES, "__version__"})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext vramscope`."""
    _import_module("vramscope.jupyter").load_ipython_extension(shell)


if _environ.get("VRAMSCOPE_RECORD"):
    _import_module("vramscope._recording").begin_from_environment()
