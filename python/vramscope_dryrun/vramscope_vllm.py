"""vLLM on a GPU that computes nothing: each request generates its max_tokens, and vLLM's memory is told apart.

After each step vLLM reads from the GPU how many tokens each request got, and zeros mean "none", for ever. The host knows the
number: a request whose prompt is not read to its end gets none, another one gets one, and one more for each token that was
drafted for it (speculative decoding: each draft is accepted). The tokens themselves are zeros, so no token, string or grammar
ends a request: it runs to its max_tokens or max_model_len, with the most memory that it can need.

Memory is told apart by the functions of vLLM that allocate it (vramscope_engine.py). The capacity of the KV cache comes from
vLLM's own configuration of it. All figures are made of these by the engine.
"""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

SENTENCE = "vLLM generates max_tokens for each request, because no token is computed that could end it"
DRAFTED = "vLLM accepts every drafted token, because nothing is computed"
GRAMMAR = "vLLM checks no token against a grammar, because none is computed"

_COUNTS = "_vramscope_counts"  # an attribute of the tensor with the numbers of tokens: what the host knows of them


def modules(
    engine: ModuleType,
    assume: Callable[[str], None],
    note: Callable[[str, BaseException], None],
    tell: Callable[..., None],
    keep_model: Callable[[Any], None],
) -> dict[str, Callable[[Any], None]]:
    """The modules of vLLM that are followed, each with the function that does so after it was executed. `engine`:
    vramscope_engine.py."""
    steps = engine.Steps("vLLM", note)
    ends, ended = "the end of vLLM's requests", "figures of vLLM's processes that are ended"
    steps.add("vllm.v1.worker.gpu.model_runner", ends, _know_counts)
    steps.add("vllm.v1.worker.gpu.async_utils", ends, lambda module: _give_counts(module, assume))
    steps.add("vllm.v1.worker.gpu_worker", "which loops of vLLM end", lambda module: _trust_loops(module, engine))
    steps.add("vllm.v1.worker.gpu_worker", "the model's sizes", lambda module: _keep_model(module, engine, keep_model))
    steps.add("vllm.v1.core.sched.utils", ends, lambda module: _stop_at_length(module, assume))
    steps.add("vllm.v1.engine.detokenizer", "stop strings of vLLM", _ignore_strings)
    steps.add("vllm.v1.utils", ended, lambda module: _wait_longer(module, engine))
    steps.add("vllm.v1.executor.multiproc_executor", ended, lambda module: _wait_for_workers(module, engine))
    steps.add("vllm.v1.engine.core", ended, _end_whole)
    steps.add("vllm.v1.structured_output", "grammars of vLLM", lambda module: _ignore_grammars(module, assume))
    steps.add("vllm.v1.core.kv_cache_utils", "the capacity of vLLM's KV cache", lambda module: _tell_capacity(module, note, tell))
    steps.add_parts(_parts(engine))
    return steps.modules()  # type: ignore[no-any-return]


def _parts(engine: ModuleType) -> dict[str, tuple[tuple[str, str, str], ...]]:
    """What belongs to a part of memory: for each module classes (or the module itself, as "") and their functions."""
    weights, kv_cache, graphs = engine.WEIGHTS, engine.KV_CACHE, engine.GRAPHS
    activations, workspaces = engine.ACTIVATIONS, engine.WORKSPACES
    runner = (
        ("GPUModelRunner", "profile_run", activations),
        ("GPUModelRunner", "profile_cudagraph_memory", graphs),
        ("GPUModelRunner", "capture_model", graphs),
    )
    return {
        "vllm.v1.worker.gpu_worker": (
            ("Worker", "init_device", workspaces),
            ("Worker", "load_model", workspaces),
            ("Worker", "initialize_from_config", workspaces),
            ("Worker", "compile_or_warm_up_model", activations),
            ("Worker", "execute_model", activations),
            ("Worker", "sample_tokens", activations),
        ),
        "vllm.model_executor.model_loader.base_loader": (("BaseModelLoader", "load_model", weights),),
        "vllm.model_executor.model_loader.tensorizer_loader": (("TensorizerLoader", "load_model", weights),),
        "vllm.v1.worker.gpu.model_runner": runner,
        "vllm.v1.worker.gpu_model_runner": runner,
        "vllm.v1.worker.utils": (("", "allocate_kv_cache", kv_cache),),
        "vllm.v1.worker.workspace": (("WorkspaceManager", "_ensure_workspace_size", workspaces),),
    }


# ---- how many tokens a request gets


def _know_counts(module: Any) -> None:
    """`sample` returns (output, number of tokens of each request, number of rejected drafts)."""
    runner = module.GPUModelRunner
    original = runner.sample

    @functools.wraps(original)
    def sample(self: Any, hidden_states: Any, input_batch: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, hidden_states, input_batch, *args, **kwargs)
        setattr(result[1], _COUNTS, _counts_of(input_batch))
        return result

    runner.sample = sample


def _counts_of(batch: Any) -> list[int]:
    rows = range(batch.num_reqs)
    logits = batch.cu_num_logits_np
    ends = [batch.num_computed_tokens_np[i] + batch.num_scheduled_tokens[i] for i in rows]
    return [0 if ends[i] < batch.prefill_len_np[i] else int(logits[i + 1] - logits[i]) for i in rows]


def _give_counts(module: Any, assume: Callable[[str], None]) -> None:
    output = module.AsyncOutput
    original = output.get_output

    @functools.wraps(original)
    def get_output(self: Any) -> Any:
        counts = getattr(self.num_sampled_tokens, _COUNTS, None)
        if counts is not None:
            if any(count > 1 for count in counts):
                assume(DRAFTED)
            self.copy_event.synchronize()
            self.num_sampled_tokens_np[:] = counts
        return original(self)

    output.get_output = get_output


def _trust_loops(module: Any, engine: ModuleType) -> None:
    def init_device(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        engine.trust_loops()
        return original(*args, **kwargs)

    engine.replace(module.Worker, "init_device", init_device)


def _keep_model(module: Any, engine: ModuleType, keep_model: Callable[[Any], None]) -> None:
    """A worker drops its model before the process ends, so it is measured when it is loaded."""

    def load_model(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        keep_model(self.model_runner.model)
        return result

    engine.replace(module.Worker, "load_model", load_model)


# ---- when a request ends


def _stop_at_length(module: Any, assume: Callable[[str], None]) -> None:
    original, capped = module.check_stop, module.RequestStatus.FINISHED_LENGTH_CAPPED

    @functools.wraps(original)
    def check_stop(request: Any, max_model_len: int, *args: Any, **kwargs: Any) -> bool:
        assume(SENTENCE)
        before = request.status, request.stop_reason
        if not original(request, max_model_len, *args, **kwargs):
            return False
        request.status, request.stop_reason = before
        if request.num_tokens < max_model_len and request.num_output_tokens < request.max_tokens:
            return False
        request.status = capped
        return True

    module.check_stop = check_stop


def _ignore_strings(module: Any) -> None:
    original = module.check_stop_strings

    @functools.wraps(original)
    def check_stop_strings(*args: Any, **kwargs: Any) -> None:
        return None

    module.check_stop_strings = check_stop_strings


def _ignore_grammars(module: Any, assume: Callable[[str], None]) -> None:
    manager = module.StructuredOutputManager
    original = manager.accept_tokens

    @functools.wraps(original)
    def accept_tokens(self: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        if request.use_structured_output:
            assume(GRAMMAR)
        return True

    manager.accept_tokens = accept_tokens


# ---- how its processes end


def _wait_longer(module: Any, engine: ModuleType) -> None:
    """vLLM kills processes 5 seconds after it asked them to end. The engine itself waits for its workers in that time."""

    def shutdown(original: Callable[..., Any], procs: Any, *args: Any, **kwargs: Any) -> Any:
        running = [proc for proc in procs if proc.is_alive()]
        for proc in running:
            proc.terminate()
        engine.wait_to_end([proc.pid for proc in running], most_s=2 * engine.MOST_S)
        return original(procs, *args, **kwargs)

    engine.replace(module, "shutdown", shutdown)


def _wait_for_workers(module: Any, engine: ModuleType) -> None:
    """The workers of several GPUs were asked already, by a pipe."""

    def wait(original: Callable[..., Any], procs: Any, *args: Any, **kwargs: Any) -> Any:
        engine.wait_to_end([proc.pid for proc in procs if proc.is_alive()])
        return original(procs, *args, **kwargs)

    engine.replace(module.MultiprocExecutor, "_ensure_worker_termination", wait)


def _end_whole(module: Any) -> None:
    """Before an engine takes itself down, it gives signals back their default, which ends a process at once. The server's second
    one would come before the history is written."""
    module.signal = _Signals(module.signal)


class _Signals:
    """The module signal, for which the default action of signals that ask to end is to ignore them."""

    def __init__(self, signals: Any) -> None:
        self._signals = signals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._signals, name)

    def signal(self, number: int, handler: Any) -> Any:
        is_asked = number in (self._signals.SIGTERM, self._signals.SIGINT)
        return self._signals.signal(number, self._signals.SIG_IGN if is_asked and handler == self._signals.SIG_DFL else handler)


# ---- what the KV cache has room for


def _tell_capacity(module: Any, note: Callable[[str, BaseException], None], tell: Callable[..., None]) -> None:
    original = module.update_kv_cache_capacity

    @functools.wraps(original)
    def update_kv_cache_capacity(vllm_config: Any, kv_cache_config: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(vllm_config, kv_cache_config, *args, **kwargs)
        try:
            tell(kv_cache=_capacity_of(vllm_config, kv_cache_config))
        except Exception as error:
            note("the capacity of vLLM's KV cache", error)
        return result

    module.update_kv_cache_capacity = update_kv_cache_capacity


def _capacity_of(vllm_config: Any, kv_cache_config: Any) -> dict[str, object]:
    """What the capacity follows from: blocks, and how many of them one request of max_model_len takes."""
    specs = [group.kv_cache_spec for group in kv_cache_config.kv_cache_groups if not getattr(group, "host_resident", False)]
    return {
        "engine": "vLLM",
        "blocks": kv_cache_config.num_blocks,
        "blocks_per_request": sum(-(-spec.max_memory_usage_bytes(vllm_config) // spec.page_size_bytes) for spec in specs),
        "bytes": sum(tensor.size for tensor in kv_cache_config.kv_cache_tensors),
        "max_model_len": vllm_config.model_config.max_model_len,
    }
