"""The hook of `vramscope dryrun` in a program that uses PyTorch: records the history and the figures of PyTorch's allocator.

Nothing here may change what the program does or prints. Each step is independent: an exception in it never reaches the
program, but becomes a line in DIR/problems.PID.jsonl, and the report says what is missing and why.

    first import of torch   counts optimizer steps from then on, and waits for CUDA
    CUDA is initialized     starts the history, before the first allocation
    end of the process      writes DIR/snapshot.PID.pickle and DIR/stats.PID.json (DIR is VRAMSCOPE_SIM_RUN);
                            vramscope_end.py says when that is

stats.PID.json is also written at the beginning and after an out-of-memory error, with "complete" false: that file remains if
the process is killed. Its peaks are in the simulated machine also then (src/faces/simcuda/core/pytorch.c).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these would take time in each process that Python starts
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, BinaryIO, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    Held = dict[str, Any]  # the memory of a model and its optimizer: the member "model" of stats.PID.json

_PEAKS = ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes")
_COUNTS = ("num_ooms", "num_alloc_retries")
_MANY = 1_000_000


def _drop(what: str, error: BaseException) -> None:
    """The value of _note until `arrange` is called."""


def _drop_sentence(sentence: str, **more: Any) -> None:
    """The value of _assume until then."""


def _drop_facts(**facts: object) -> None:
    """The value of _tell until then."""


_ending: Any = None  # an Ending of vramscope_end.py: what is done when the process ends
_groups: list[Callable[[], list[dict[str, Any]]]] = []  # the process groups that this rank was in, if it uses torch.distributed
_expect: list[Callable[[list[Any] | None, str], None]] = []  # vramscope_world.py's, if it uses torch.distributed
_note: Callable[[str, BaseException], None] = _drop  # sitecustomize.py's: writes (what is missing, the exception) for the report
_assume: Callable[..., None] = _drop_sentence  # sitecustomize.py's: writes what is assumed where nothing is computed
_tell: Callable[..., None] = _drop_facts  # sitecustomize.py's: writes facts of a library's own configuration
_finder: Any = None  # a Finder of vramscope_loading.py
_beside: Any = None  # vramscope_loading.py's: loads a module of this folder
_recorder: _Recorder | None = None


def arrange(
    loading: Any, note: Callable[[str, BaseException], None], assume: Callable[..., None], tell: Callable[..., None]
) -> None:
    """Called once, when Python starts; `loading` is the module vramscope_loading.py."""
    global _note, _assume, _tell, _ending, _finder, _beside
    _note, _assume, _tell, _beside = note, assume, tell, loading.beside
    if not os.environ.get("VRAMSCOPE_SIM_RUN"):
        return
    _ending = _beside("vramscope_end").Ending(note)
    wanted: dict[str, Callable[[ModuleType], None]] = {
        "ctypes": _follow_ctypes,
        "torch": _follow_torch,
        "torch.distributed.distributed_c10d": _follow_distributed,
        "torch.distributed.pipelining.stage": _follow_pipelining,
        "torch.distributed.tensor._sharding_prop": _follow_sharding,
        "transformers.generation.utils": _follow_generate,
        "jax": _follow_jax,
        "jax._src.hardware_utils": _find_gpu_for_jax,
        "tensorflow": _follow_tensorflow,
        "transformers.generation.continuous_batching.requests": _follow_requests,
        "transformers.cli.serving.model_manager": _follow_server,
    }
    _finder = loading.Finder(
        {
            "vllm": lambda: _follow_engine("vLLM", "vramscope_vllm"),
            "sglang": lambda: _follow_engine("SGLang", "vramscope_sglang"),
        },
        lambda error: note(FIGURES, error),
    )
    _finder.wait_for(wanted)
    sys.meta_path.insert(0, _finder)


def _follow_ctypes(ctypes: ModuleType) -> None:
    _beside("vramscope_libraries").follow(ctypes)


def _follow_torch(torch: ModuleType) -> None:
    global _recorder
    _recorder = _Recorder(torch)
    _recorder.begin()


def _follow_generate(utils: ModuleType) -> None:
    try:
        _beside("vramscope_generate").follow(utils, _assume, _note)
    except Exception as error:
        _note("the end of generate()", error)


def _follow_distributed(c10d: ModuleType) -> None:
    try:
        _groups.append(_beside("vramscope_groups").follow(c10d, _note))
    except Exception as error:
        _note("process groups", error)
    try:
        tell, expect = _beside("vramscope_world").follow(c10d, _assume, _note)
        _ending.add("how often ranks were assumed to be equal", tell)
        _expect.append(expect)
    except Exception as error:
        _note("objects of other ranks", error)


def _follow_pipelining(stage: ModuleType) -> None:
    try:
        if _expect:
            _beside("vramscope_pipeline").follow(stage, _expect[0], _note)
    except Exception as error:
        _note("the shapes between stages of a pipeline", error)


def _follow_sharding(sharding: ModuleType) -> None:
    try:
        _beside("vramscope_sharding").follow(sharding)
    except Exception as error:
        _note("the placements of distributed tensors", error)


def _follow_jax(jax: ModuleType) -> None:
    _follow_pool("JAX's figures", "vramscope_jax")


def _follow_tensorflow(tensorflow: ModuleType) -> None:
    _follow_pool("TensorFlow's figures", "vramscope_tensorflow")


def _follow_pool(what: str, module: str) -> None:
    """A library with a pool of its own, just imported: what it registered for the end of the process is done after ours."""
    try:
        recorder = _beside(module).recorder(_beside("vramscope_pool").Recorder, _card)
        recorder.begin()
        _ending.add(what, recorder.end)
    except Exception as error:
        _note(what, error)


def _find_gpu_for_jax(hardware_utils: ModuleType) -> None:
    try:
        _beside("vramscope_jax").find_gpu(hardware_utils)
    except Exception as error:
        _note("JAX's search for a GPU", error)


def _follow_requests(requests: ModuleType) -> None:
    try:
        _beside("vramscope_generate").follow_requests(requests, _assume)
    except Exception as error:
        _note("the end of generate_batch()", error)


def _follow_server(manager: ModuleType) -> None:
    try:
        _beside("vramscope_generate").follow_server(manager, _keep_model)
    except Exception as error:
        _note("the model of transformers' server", error)


def _follow_engine(engine: str, module: str) -> None:
    """An engine for inference, whose package is about to be imported: so are its modules, some of them by the package itself."""
    try:
        assert _finder is not None  # it called this function
        _finder.wait_for(_beside(module).modules(_beside("vramscope_engine"), _assume, _note, _tell, _keep_model))
    except Exception as error:
        _note(f"the end of {engine}'s requests", error)


def _keep_model(model: Any) -> None:
    """A model whose memory is that of the process, although it may be gone when the process ends."""
    if _recorder is not None:
        _recorder.keep_model(model)


FIGURES = "PyTorch's figures"


def _or_note(what: str) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """A decorator: if the function raises, it returns None, and the report says that `what` is missing, with the exception."""

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                _note(what, error)
                return None

        return guarded

    return decorate


class _Recorder:
    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.programs: Any = None  # the program's own history: a History of vramscope_history.py
        self.folder = os.environ["VRAMSCOPE_SIM_RUN"]
        wanted = os.environ.get("VRAMSCOPE_DRYRUN_HISTORY", _MANY)
        self.is_recorded = wanted == "recorder"  # by the library of `vramscope run`, which is preloaded then
        self.most_events = 0 if self.is_recorded else int(wanted)
        self.pid: int | None = None  # of the process that initialized CUDA
        self.began: float | None = None
        self.history: dict[str, Any] = {"on": False, "why": None, "calls": []}
        self.folded: dict[int, dict[str, int]] = {}  # device -> peaks and counts that the program has reset
        self.measured: dict[int, tuple[int, Held | None]] = {}  # id of an optimizer -> its steps, its memory
        self.inner: list[Any] = []  # optimizers that took a step inside the one of another
        self.step_code: Any = None  # the code that PyTorch wraps around each optimizer's step; None: this version wraps none
        self.kept: Held | None = None  # the largest model of an engine, as it was loaded
        self.oom: dict[str, Any] | None = None
        self.ooms = 0
        self.steps = 0
        self.note_step: Any = None  # the simulated GPU's function that counts a step; False if there is none

    # ---- beginning

    @_or_note(FIGURES)
    def begin(self) -> None:
        self._count_steps()
        self._follow_resets()
        self._follow_recording()
        _ending.add(FIGURES, self.end)
        self.torch.cuda._lazy_call(self.cuda_begins)

    @_or_note(FIGURES)
    def cuda_begins(self) -> None:
        import time

        self.pid = os.getpid()
        self.began = time.monotonic()
        self._begin_history()
        self._observe_ooms()
        self.write_stats(False)

    @_or_note("optimizer steps")
    def _count_steps(self) -> None:
        from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

        wrap = getattr(Optimizer, "profile_hook_step", None)
        self.step_code = None if wrap is None else wrap(len).__code__
        register_optimizer_step_post_hook(self.step_done)

    def _is_inner(self) -> bool:
        """Does the optimizer take its step inside the one of another, as the optimizers of torchtitan's container do?"""
        import sys

        frame, steps = sys._getframe(1), 0
        while frame is not None and steps < 2:
            steps += frame.f_code is self.step_code
            frame = frame.f_back  # type: ignore[assignment]
        return steps == 2

    @_or_note("optimizer steps")
    def step_done(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._is_inner():
            self.inner.append(optimizer)
            return
        stepped, self.inner = [*self.inner, optimizer], []
        self.steps += 1
        if self.pid is None:
            return
        if self.note_step is None:
            import ctypes

            self.note_step = getattr(ctypes.CDLL(None), "vs_simcuda_note_step", False)
        if self.note_step:
            self.note_step()
        # After the second step all optimizer state exists.
        seen, held = self.measured.get(id(optimizer), (0, None))
        if seen < 2:
            self.measured[id(optimizer)] = (seen + 1, self._held_by(stepped, []) or held)

    # ---- history: recorded from beginning to end; the program's own recording is a part of it

    def _begin_history(self) -> bool:
        """Called when CUDA starts, or by the program's own recording before that."""
        if self.history["on"] or self.history["why"] is not None:
            return bool(self.history["on"])
        if self.most_events == 0:
            self.history["why"] = "the recorder has it" if self.is_recorded else "recording was switched off"
            return False
        try:
            with self._ours():
                self.torch.cuda.memory._record_memory_history(max_entries=self.most_events, stacks="python")
            self.history["on"] = True
        except Exception as error:
            self.history["why"] = str(error).split("\n")[0][:200]
            _note("the history", error)
        if self.programs is not None:
            self.programs.is_begun = self.history["on"]
        return bool(self.history["on"])

    def _ours(self) -> Any:
        """A context in which the history is recorded and read as a whole."""
        import contextlib

        return contextlib.nullcontext() if self.programs is None else self.programs.ours()

    @_or_note("the program's own recording")
    def _follow_recording(self) -> None:
        if self.most_events != 0:
            history = _beside("vramscope_history").History
            self.programs = history(self.torch._C, self.most_events, self._begin_history, self.history["calls"], _assume, _note)

    # ---- peaks: those that the program resets are kept

    def _follow_resets(self) -> None:
        for name in ("_cuda_resetPeakMemoryStats", "_cuda_resetAccumulatedMemoryStats"):
            self._fold_before(name)
        for name in ("_accelerator_resetPeakStats", "_accelerator_resetAccumulatedStats"):
            self._fold_before(name)

    @_or_note("peaks before a reset")
    def _fold_before(self, name: str) -> None:
        original = getattr(self.torch._C, name, None)
        if original is None:
            return  # this PyTorch has no such function

        def reset(device: int, *args: Any, **kwargs: Any) -> Any:
            self.fold(device, "Accumulated" in name)
            return original(device, *args, **kwargs)

        setattr(self.torch._C, name, reset)

    @_or_note("peaks before a reset")
    def fold(self, device: int, counts: bool) -> None:
        stats = self.torch._C._cuda_memoryStats(device)
        folded = self.folded.setdefault(device, {})
        for name in _PEAKS:
            if name in stats:
                folded[name] = max(folded.get(name, 0), stats[name]["all"]["peak"])
        for name in _COUNTS if counts else ():
            folded[name] = folded.get(name, 0) + stats.get(name, 0)

    def _figures(self, device: int, stats: dict[str, Any]) -> dict[str, int | None]:
        folded = self.folded.get(device, {})
        figures: dict[str, int | None] = {}
        for name in _PEAKS:
            peak = stats[name]["all"]["peak"] if name in stats else None
            figures["peak_" + name] = max(peak, folded.get(name, 0)) if peak is not None else folded.get(name)
        for name in _COUNTS:
            figures[name] = stats.get(name, 0) + folded.get(name, 0)
        return figures

    # ---- out of memory

    @_or_note("out-of-memory errors")
    def _observe_ooms(self) -> None:
        self.torch._C._cuda_attach_out_of_memory_observer(self.out_of_memory)

    @_or_note("out-of-memory errors")
    def out_of_memory(self, device: int, asked: int, device_total: int, device_free: int) -> None:
        self.ooms += 1
        stats = self.torch._C._cuda_memoryStats(device)
        self.oom = {
            "device": device,
            "asked_bytes": asked,
            "free_bytes": device_free,
            "allocated_bytes": stats["allocated_bytes"]["all"]["current"],
            "reserved_bytes": stats["reserved_bytes"]["all"]["current"],
            "model": self._model() if self.ooms == 1 else (self.oom or {}).get("model"),
        }
        if self.ooms == 1:
            self.write_stats(False)

    # ---- the memory of a model

    def _held_by(self, optimizers: list[Any], modules: list[Any]) -> Held | None:
        """Bytes on the GPU of parameters, their gradients, and the state of optimizers. One that stands around another, as
        accelerate's does, shows the parameters and the state of that one."""
        parameters: dict[int, Any] = {}
        states: dict[int, Any] = {}
        trainable: set[int] = set()
        for module in modules:
            for parameter in module._parameters.values():
                if parameter is not None:
                    parameters[id(parameter)] = parameter
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameters[id(parameter)] = parameter
                    trainable.add(id(parameter))
            for state in list(optimizer.state.values()):
                states.update((id(value), value) for value in (state.values() if isinstance(state, dict) else ()))
        on_gpu = [parameter for parameter in parameters.values() if self._bytes(parameter)]
        if not on_gpu:
            return None
        owners = [optimizer for optimizer in optimizers if "state" in vars(optimizer)]
        return {
            "parameters": sum(self._local(parameter).numel() for parameter in on_gpu),
            "parameter_bytes": sum(map(self._bytes, on_gpu)),
            "trainable_bytes": sum(self._bytes(p) for p in on_gpu if id(p) in trainable or p.requires_grad),
            "gradient_bytes": sum(self._bytes(parameter.grad) for parameter in on_gpu),
            "optimizer_bytes": sum(map(self._bytes, states.values())),
            "optimizer": type((owners or optimizers)[0]).__name__ if optimizers else None,
        }

    def _local(self, tensor: Any) -> Any:
        """The local part of a tensor that is distributed over ranks (DTensor); any other tensor itself."""
        return getattr(tensor, "_local_tensor", tensor)

    def _bytes(self, value: Any) -> int:
        if not isinstance(value, self.torch.Tensor):
            return 0
        value = self._local(value)
        size: int = value.numel() * value.element_size()
        return size if value.is_cuda else 0

    @_or_note("the model's sizes")
    def _model(self) -> Held | None:
        """The largest of three measurements: at the first steps of the optimizers, of an engine's model as it was loaded, and of
        the objects that are live now."""
        import gc

        of_modules, of_optimizers = _kinds_of(self.torch.nn.Module), _kinds_of(self.torch.optim.Optimizer)
        wanted = of_modules | of_optimizers
        found = [thing for thing in gc.get_objects() if id(type(thing)) in wanted]  # of a few hundred thousand
        modules = [thing for thing in found if id(type(thing)) in of_modules]
        optimizers = [thing for thing in found if id(type(thing)) not in of_modules]
        living = self._held_by(optimizers, modules)
        return _larger(living, self._measured(), self.kept)

    @_or_note("the model's sizes")
    def keep_model(self, model: Any) -> None:
        self.kept = _larger(self.kept, self._held_by([], list(model.modules())))

    def _measured(self) -> Held | None:
        all_held = [held for _, held in self.measured.values() if held]
        if not all_held:
            return None
        total = dict(max(all_held, key=lambda held: held["parameter_bytes"]))
        for key, value in total.items():
            if isinstance(value, int):
                total[key] = sum(held[key] for held in all_held)
        return total

    # ---- ending

    def end(self) -> None:
        if self.pid != os.getpid():
            return  # CUDA was not used, or this is a child of a process that used it
        self.write_stats(True)  # first, because the snapshot may take long, or fail
        self._write_snapshot()

    @_or_note("the history")
    def _write_snapshot(self) -> None:
        import gc
        import pickle

        if not self.history["on"]:
            return
        was_enabled = gc.isenabled()
        gc.disable()  # it would walk over all objects of the program several times while a large snapshot is built
        try:
            with self._ours():
                snapshot = take_snapshot(self.torch)
            self._write("snapshot", "pickle", lambda file: pickle.dump(snapshot, file))
        finally:
            if was_enabled:
                gc.enable()

    @_or_note(FIGURES)
    def write_stats(self, is_complete: bool) -> None:
        import json
        import time

        torch, numbers = self.torch, os.environ.get("CUDA_VISIBLE_DEVICES")
        visible, devices = [], []
        for device in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(device)
            visible.append({"device": device, "card": _card(device, numbers), "name": properties.name})
            stats = self._stats_of(device)
            if stats is not None and not stats["reserved_bytes"]["all"]["allocated"] and not stats["num_ooms"]:
                continue  # not used
            entry: dict[str, Any] = {**visible[-1], "total_bytes": properties.total_memory}
            if stats is not None:
                entry.update(self._figures(device, stats))
            devices.append(entry)
        everything = {
            "schema": 1,
            "complete": is_complete,
            "pid": self.pid,
            "rank": os.environ.get("RANK"),
            "argv": list(getattr(sys, "orig_argv", sys.argv)),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "allocator": {"backend": _backend(torch), "settings": _settings()},
            "began": self.began,
            "ended": time.monotonic(),
            "history": self.history,
            "is_recorded": self.is_recorded,
            "steps": self.steps,
            "visible": visible,
            "devices": devices,
            "model": self._model() if is_complete else None,
            "oom": self.oom,
            "ooms": self.ooms,
            "groups": [group for groups in _groups for group in groups()],
        }
        text = json.dumps(everything, default=str)
        self._write("stats", "json", lambda file: file.write(text.encode("utf-8", "surrogateescape")))

    @_or_note(FIGURES)
    def _stats_of(self, device: int) -> dict[str, Any]:
        """Raises if the allocator has no statistics (a pluggable one)."""
        stats: dict[str, Any] = self.torch._C._cuda_memoryStats(device)
        return stats

    def _write(self, what: str, ending: str, put: Callable[[BinaryIO], object]) -> None:
        """Writes a file under another name and renames it, so a reader never sees a part of it."""
        path = os.path.join(self.folder, f"{what}.{self.pid}.{ending}")
        with open(path + ".part", "wb") as file:
            put(file)
        os.replace(path + ".part", path)


def take_snapshot(torch: Any) -> Any:
    """torch.cuda.memory._snapshot(), without its import of torch._inductor, which takes longer than a small program. PyTorch uses
    that module to name compiled frames, and a program that has not imported it has none, so it is None meanwhile."""
    names = torch.__dict__
    if "_inductor" in names:
        return torch.cuda.memory._snapshot()
    names["_inductor"] = None
    try:
        return torch.cuda.memory._snapshot()
    finally:
        if names["_inductor"] is None:  # no other thread has imported it
            del names["_inductor"]


def _kinds_of(base: Any) -> set[int]:
    """The ids of a class and of those that are derived from it: not the classes themselves, as some cannot be hashed."""
    kinds, todo = {id(base)}, [base]
    while todo:
        derived = [kind for kind in type.__subclasses__(todo.pop()) if id(kind) not in kinds]
        kinds.update(map(id, derived))
        todo += derived
    return kinds


def _larger(*candidates: Held | None) -> Held | None:
    """The one with the most bytes; None if there is none."""

    def weight(held: Held) -> int:
        total: int = held["parameter_bytes"] + held["gradient_bytes"] + held["optimizer_bytes"]
        return total

    return max((held for held in candidates if held), key=weight, default=None)


def _card(device: int, visible: str | None) -> int | None:
    """The GPU of the machine for a device of the program; None if the variable does not tell."""
    if visible is None:
        return device
    try:
        return int(visible.split(",")[device])
    except (ValueError, IndexError):
        return None


def _backend(torch: Any) -> str | None:
    try:
        backend: str = torch.cuda.get_allocator_backend()
        return backend
    except Exception:
        return None


def _settings() -> str:
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        if os.environ.get(name):
            return os.environ[name]
    return ""
