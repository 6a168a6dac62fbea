"""SGLang on a GPU that computes nothing: each request generates its max_new_tokens, and SGLang's memory is told apart.

The tokens are zeros, which may be the end of a sequence, a stop token, or the beginning of a stop string: none of them ends a
request, so it runs to its max_new_tokens, or to the context length, with the most memory that it can need.

Memory is told apart by the functions of SGLang that allocate it (vramscope_engine.py). The capacity of the KV cache is the one
that its scheduler tells the other processes when it is ready.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

SENTENCE = "SGLang generates max_new_tokens for each request, because no token is computed that could end it"
CAPACITY = "the capacity of SGLang's KV cache"
GRAMMAR = "SGLang checks no token against a grammar, because none is computed"


def modules(
    engine: ModuleType,
    assume: Callable[[str], None],
    note: Callable[[str, BaseException], None],
    tell: Callable[..., None],
    keep_model: Callable[[Any], None],
) -> dict[str, Callable[[Any], None]]:
    """The modules of SGLang that are followed, each with the function that does so after it was executed. `engine`:
    vramscope_engine.py."""
    steps = engine.Steps("SGLang", note)
    scheduler, detokenizer = "sglang.srt.managers.scheduler", "sglang.srt.managers.detokenizer_manager"
    runner, common = "sglang.srt.model_executor.model_runner", "sglang.srt.utils.common"
    ends, ended = "the end of SGLang's requests", "figures of SGLang's processes that are killed"
    steps.add("sglang.srt.managers.schedule_batch", ends, lambda module: _stop_at_length(module, engine, assume))
    steps.add("sglang.srt.constrained.xgrammar_backend", ends, lambda module: _ignore_grammars(module, engine, assume))
    steps.add(scheduler, "which loops of SGLang end", lambda module: _trust_loops(module, engine))
    steps.add(scheduler, CAPACITY, lambda module: _tell_capacity(module, engine, note, tell))
    steps.add(scheduler, ended, lambda module: _end_whole(module, "run_scheduler_process", engine))
    steps.add(detokenizer, ended, lambda module: _end_whole(module, "run_detokenizer_process", engine))
    steps.add(common, ended, lambda module: _ask_before(module, engine))
    steps.add(common, "the size of the GPU for SGLang", lambda module: _ask_nvml(module, engine))
    steps.add(runner, "the model's sizes", lambda module: _keep_model(module, engine, keep_model))
    steps.add("sgl_kernel.elementwise", "SGLang's norms", _use_own_norms)
    steps.add_parts(_parts(engine))
    return steps.modules()  # type: ignore[no-any-return]


def _parts(engine: ModuleType) -> dict[str, tuple[tuple[str, str, str], ...]]:
    """What belongs to a part of memory: for each module classes (or the module itself, as "") and their functions."""
    return {
        "sglang.srt.managers.scheduler": (
            ("Scheduler", "__init__", engine.WORKSPACES),
            ("Scheduler", "run_event_loop", engine.ACTIVATIONS),
        ),
        "sglang.srt.model_executor.model_runner": (
            ("ModelRunner", "load_model", engine.WEIGHTS),
            ("ModelRunner", "init_cuda_graphs", engine.GRAPHS),
            ("ModelRunner", "forward", engine.ACTIVATIONS),
            ("ModelRunner", "sample", engine.ACTIVATIONS),
        ),
        # made by init_cuda_graphs
        "sglang.srt.model_executor.runner.eager_runner": (("EagerRunner", "__init__", engine.WORKSPACES),),
        "sglang.srt.mem_cache.kv_cache_configurator": (("KVCacheConfigurator", "_build_token_to_kv_pool", engine.KV_CACHE),),
    }


# ---- when a request ends


def _stop_at_length(module: Any, engine: ModuleType, assume: Callable[[str], None]) -> None:
    def update(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        assume(SENTENCE)
        return original(*args, **kwargs)

    def is_not_found(original: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        return False

    engine.replace(module.Req, "update_finish_state", update)
    engine.replace(module.Req, "_check_token_based_finish", is_not_found)
    engine.replace(module.Req, "_check_str_based_finish", is_not_found)


def _ignore_grammars(module: Any, engine: ModuleType, assume: Callable[[str], None]) -> None:
    def accept_token(original: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        assume(GRAMMAR)

    def is_terminated(original: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        return False

    engine.replace(module.XGrammarGrammar, "accept_token", accept_token)
    engine.replace(module.XGrammarGrammar, "is_terminated", is_terminated)


def _trust_loops(module: Any, engine: ModuleType) -> None:
    def init(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        engine.trust_loops()
        return original(*args, **kwargs)

    engine.replace(module.Scheduler, "__init__", init)


# ---- what runs instead


def _use_own_norms(module: Any) -> None:
    """FlashInfer's norms are of NVIDIA's CuTe DSL, whose runtime requires a genuine driver. SGLang has the same ones as kernels
    of its own, for tensors that FlashInfer does not take; they allocate the same."""
    module._has_flashinfer = False


def _ask_nvml(module: Any, engine: ModuleType) -> None:
    """SGLang asks nvidia-smi, which there need not be, and else makes a context in a process that has none on a GPU."""

    def memory(original: Callable[..., Any]) -> float:
        import importlib

        pynvml: Any = importlib.import_module("pynvml")  # SGLang has it
        pynvml.nvmlInit()
        cards = [pynvml.nvmlDeviceGetHandleByIndex(card) for card in range(pynvml.nvmlDeviceGetCount())]
        return float(min(pynvml.nvmlDeviceGetMemoryInfo(card).total >> 20 for card in cards))

    engine.replace(module, "get_nvgpu_memory_capacity", memory)


# ---- how its processes end


def _end_whole(module: Any, name: str, engine: ModuleType) -> None:
    """A process of SGLang that is asked to end writes its figures, and is not asked twice."""
    import signal

    def end(number: int, frame: Any) -> None:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, signal.SIG_IGN)
        os._exit(0)

    def run(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, end)
        return original(*args, **kwargs)

    engine.replace(module, name, run)


def _ask_before(module: Any, engine: ModuleType) -> None:
    """SGLang ends its processes by SIGKILL. Before that, those of `_end_whole` are asked to end."""

    def kill(original: Callable[..., Any], parent_pid: int | None, *args: Any, **kwargs: Any) -> Any:
        import importlib

        psutil: Any = importlib.import_module("psutil")  # SGLang has it
        try:
            children = psutil.Process(parent_pid or os.getpid()).children(recursive=True)
            asked = [child for child in children if _is_engines(child)]
            for child in asked:
                child.terminate()
            engine.wait_to_end([child.pid for child in asked])
        except psutil.Error:
            pass  # ended in the meantime
        return original(parent_pid, *args, **kwargs)

    engine.replace(module, "kill_process_tree", kill)


def _is_engines(process: Any) -> bool:
    """By the titles that SGLang gives its processes."""
    line = process.cmdline()
    return bool(line) and line[0].startswith(("sglang::scheduler", "sglang::detokenizer"))


# ---- the model, and what the KV cache has room for


def _keep_model(module: Any, engine: ModuleType, keep_model: Callable[[Any], None]) -> None:
    def load_model(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        keep_model(self.model)
        return result

    engine.replace(module.ModelRunner, "load_model", load_model)


def _tell_capacity(
    module: Any, engine: ModuleType, note: Callable[[str, BaseException], None], tell: Callable[..., None]
) -> None:
    def get_init_info(original: Callable[..., Any], self: Any) -> Any:
        result = original(self)
        try:
            parallel = module.get_parallel()
            if parallel.tp_rank == 0 and parallel.pp_rank == 0:  # the others have as much
                tell(kv_cache=_capacity_of(self))
        except Exception as error:
            note(CAPACITY, error)
        return result

    engine.replace(module.Scheduler, "get_init_info", get_init_info)


def _capacity_of(scheduler: Any) -> dict[str, object]:
    """What the capacity follows from: pages of tokens, and how many of them one request of the context length takes."""
    page, longest = scheduler.page_size, scheduler.model_config.context_len
    return {
        "engine": "SGLang",
        "blocks": scheduler.max_total_num_tokens // page,
        "blocks_per_request": -(-longest // page),
        "max_model_len": longest,
    }
