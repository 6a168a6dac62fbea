"""vLLM in an environment of its own, which VRAMSCOPE_VLLM_PYTHON names: it is too large for the one of the other tests."""

import json
import os
import re
import threading
import urllib.request
from pathlib import Path

import conftest as make
import pytest
from engines import GIB, HIDDEN, LAYERS, MAX_LEN, PARAMETERS, TOKEN, dryrun, free_port, model, worded_model  # noqa: F401  (fixtures)

PYTHON = os.environ.get("VRAMSCOPE_VLLM_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="VRAMSCOPE_VLLM_PYTHON names no Python with vLLM: `pip install vllm` in an "
                                                   "environment, and give its bin/python")
SETTINGS = {"VLLM_NO_USAGE_STATS": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0"}


def generate(model, folder, settings, prompts, sampling, options=("--gpu", "24GiB")):
    program = [PYTHON, make.PROGRAMS / "vllm_generate.py", model, json.dumps({"max_model_len": MAX_LEN, **settings}), json.dumps(prompts),
               json.dumps(sampling)]
    reply, told = dryrun(options, program, folder, **SETTINGS)
    (line,) = [line for line in told.splitlines() if line.startswith('{"tokens"')]
    return reply, json.loads(line), told


def test_requests_end(model, tmp_path):
    """In the processes that vLLM makes: one with less tokens than a chunk of a prompt, one with more, one up to max_model_len. The tokens
    are zeros, and zero is the model's end of a sequence and a stop token."""
    sampling = [{"max_tokens": 20}, {"max_tokens": 7, "stop_token_ids": [0]}, {"max_tokens": 500}]
    settings = {"max_num_batched_tokens": 256, "enforce_eager": True}
    reply, told, log = generate(model, tmp_path, settings, [10, 700, 1000], sampling)
    assert (told["tokens"], told["reasons"]) == ([20, 7, MAX_LEN - 1000], ["length"] * 3)
    assert "EngineCore" in log  # another process
    assumed = [doubt["what"] for doubt in reply["doubts"] if doubt["kind"] == "assumed"]
    assert len(assumed) == 1 and "max_tokens" in assumed[0]
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] in ("not_recorded", "history_lost")]
    using = [process for process in reply["processes"] if process["devices"]]
    assert [process["complete"] for process in using] == [True]
    assert reply["devices"][0]["torch"]["peak_requested_bytes"] > 20 * GIB


@pytest.mark.parametrize("gpu", ("24GiB", "A100-80GB", "H100"))
def test_capacity_and_parts(model, tmp_path, gpu):
    """Beside vLLM's own log and the layout of its cache: a token has 2 bytes of a key and a value for each layer, head and dimension."""
    reply, _, log = generate(model, tmp_path, {"enforce_eager": gpu != "24GiB"}, [100], [{"max_tokens": 3}], ["--gpu", gpu])
    tokens, requests = re.search(r"KV cache size: ([0-9,]+) tokens, Maximum concurrency for 1,024 tokens per request: ([0-9.]+)x", log).groups()
    cache = reply["kv_cache"]
    assert (cache["engine"], cache["engines"], cache["max_model_len"]) == ("vLLM", 1, MAX_LEN)
    assert (cache["tokens"], f"{cache['requests']:.2f}") == (int(tokens.replace(",", "")), requests)
    peak = reply["report"][0]["peak"]
    parts = {part["key"]: part["bytes"] for part in peak["metadata"]}
    assert parts["KV cache"] == cache["tokens"] * TOKEN
    assert abs(parts["KV cache"] / GIB - float(re.search(r"Available KV cache memory: ([0-9.]+) GiB", log).group(1))) < 0.01
    assert abs(parts["weights"] / GIB - float(re.search(r"Model loading took ([0-9.]+) GiB memory", log).group(1))) < 0.01
    assert 0 <= parts["weights"] - 2 * PARAMETERS < 1 << 20  # and the tables of RoPE
    assert reply["model"]["parameters"] == PARAMETERS
    assert {"weights", "KV cache", "activations", "workspaces"} <= {*parts} <= {"weights", "KV cache", "activations", "workspaces",
                                                                                "CUDA graphs"}
    assert ("CUDA graphs" in parts) == (gpu == "24GiB")
    assert sum(parts.values()) == peak["requested_bytes"]


def test_tensor_parallel(model, tmp_path):
    """Two workers, which are processes that the engine makes, on a GPU each. Halves: heads, the words of both embeddings, the hidden size
    of the MLP; whole: the norms. The cache has each token's half of the heads."""
    settings = {"tensor_parallel_size": 2, "enforce_eager": True}
    reply, told, log = generate(model, tmp_path, settings, [100], [{"max_tokens": 5}], ["--gpu", "2xH100"])
    assert told["tokens"] == [5]
    norms = HIDDEN + LAYERS * 2 * HIDDEN
    shard = norms + (PARAMETERS - norms) // 2
    assert [(worker["device"], worker["weights"]) for worker in told["workers"]] == [(0, 2 * shard), (1, 2 * shard)]
    for worker, device in zip(told["workers"], reply["devices"], strict=True):
        assert {name: device["torch"][name] for name in worker if name.startswith("peak")} == \
               {name: value for name, value in worker.items() if name.startswith("peak")}
        assert device["contexts"] == 1  # a worker opens the other's memory without a context on its GPU
    cache = reply["kv_cache"]
    (tokens,) = {int(found.replace(",", "")) for found in re.findall(r"KV cache size: ([0-9,]+) tokens", log)}
    assert (cache["engines"], cache["tokens"]) == (1, tokens)
    parts = {part["key"]: part["bytes"] for part in reply["report"][0]["peak"]["metadata"]}
    assert parts["KV cache"] == tokens * TOKEN // 2
    assert reply["model"]["parameters"] == shard
    using = [process for process in reply["processes"] if process["devices"]]
    assert [(process["complete"], process["end"]) for process in using] == [(True, "ended")] * 2


def test_speculation(model, tmp_path):
    settings = {"speculative_config": {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 2}, "enforce_eager": True}
    reply, told, _ = generate(model, tmp_path, settings, [40], [{"max_tokens": 50}])
    assert told["tokens"] == [50]


def serve(folder, *words):
    return [PYTHON, Path(PYTHON).parent / "vllm", "serve", folder, "--load-format", "dummy", *words]


def test_server(model, tmp_path):
    """`vllm serve` with its compilation and its CUDA graphs, until /health answers."""
    command = serve(model, "--skip-tokenizer-init", "--max-model-len", MAX_LEN, "--port", free_port())
    reply, log = dryrun(["--gpu", "H100", "--until", "ready"], command, tmp_path, **SETTINGS)
    assert (reply["verdict"], reply["until"]) == ("fits", "ready") and reply["ended_us"] > 0
    assert re.search(r"GET /health HTTP/1.1\"? 200", log)
    assert "has read the same value" not in log  # by the warm-up, for each of many requests
    using = [process for process in reply["processes"] if process["devices"]]
    assert [process["complete"] for process in using] == [True]
    assert reply["devices"][0]["torch"]["peak_requested_bytes"] > 60 * GIB


class Client(threading.Thread):
    """Asks a server for a completion of 20 tokens as soon as it listens. `answer`: None until it came."""

    def __init__(self, folder, port):
        super().__init__(daemon=True)
        body = {"model": str(folder), "prompt": "w1 w2 w3 w4 w5", "max_tokens": 20}
        self.request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                              {"Content-Type": "application/json"})
        self.is_over, self.answer = threading.Event(), None

    def run(self):
        while self.answer is None and not self.is_over.wait(0.1):
            try:
                with urllib.request.urlopen(self.request, timeout=600) as response:
                    self.answer = json.load(response)
            except OSError:
                pass  # not yet


@pytest.mark.parametrize("until", ("ready", "idle"))
def test_server_on_two_gpus(worded_model, tmp_path, until):
    """As a user types it, with no other setting. Until it is idle it answers a request, which runs to its max_tokens."""
    port = free_port()
    client = Client(worded_model, port)
    if until == "idle":
        client.start()
    command = serve(worded_model, "--tensor-parallel-size", 2, "--port", port)
    reply, log = dryrun(["--gpu", "2xH100", "--until", until], command, tmp_path, **SETTINGS)
    client.is_over.set()
    assert (reply["verdict"], reply["until"], reply["exit_code"], reply["signal"]) == ("fits", until, 0, None)
    if until == "idle":
        usage, (choice,) = client.answer["usage"], client.answer["choices"]
        assert (usage["prompt_tokens"], usage["completion_tokens"], choice["finish_reason"]) == (5, 20, "length")
    (tokens,) = {int(found.replace(",", "")) for found in re.findall(r"KV cache size: ([0-9,]+) tokens", log)}
    assert (reply["kv_cache"]["engines"], reply["kv_cache"]["tokens"]) == (1, tokens)
    using = [process for process in reply["processes"] if process["devices"]]
    assert [(process["complete"], process["end"]) for process in using] == [(True, "ended")] * 2
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] in ("not_recorded", "history_lost")]
    assert all(device["torch"]["peak_requested_bytes"] > 60 * GIB for device in reply["devices"])
