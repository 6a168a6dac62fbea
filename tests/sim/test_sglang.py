"""SGLang in an environment of its own, which VRAMSCOPE_SGLANG_PYTHON names: it is too large for the one of the other tests."""

import json
import os
import re

import conftest as make
import pytest
from engines import GIB, HIDDEN, LAYERS, MAX_LEN, PARAMETERS, TOKEN, dryrun, free_port, model  # noqa: F401  (model is a fixture)

PYTHON = os.environ.get("VRAMSCOPE_SGLANG_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="VRAMSCOPE_SGLANG_PYTHON names no Python with SGLang: `pip install sglang` in an "
                                                   "environment, and give its bin/python")


def whole(reply):
    """The one process that uses the GPU wrote all of its figures. A server's detokenizer, which uses none, may be killed before."""
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"]
    using = [process for process in reply["processes"] if process["devices"]]
    return [(process["complete"], process["end"]) for process in using] == [(True, "ended")]


# On an H100 SGLang takes FlashAttention 3, whose kernels are in its packages, and by default FlashInfer's on others, which nvcc compiles.
@pytest.mark.parametrize("gpu, attention", [("24GiB", "triton"), ("A100-80GB", "triton"), ("H100", "fa3")])
def test_capacity_and_parts(model, tmp_path, gpu, attention):
    """Beside SGLang's own log: the cache gets what is free after the weights, less what mem_fraction_static leaves of what was free before
    them. Requests end at max_new_tokens or the context length, though zero is the end of a sequence and a stop token."""
    has_graphs = gpu == "H100"
    settings = {"context_length": MAX_LEN, "attention_backend": attention, "disable_cuda_graph": not has_graphs,
                "disable_prefill_cuda_graph": True, "cuda_graph_max_bs_decode": 8}
    sampling = [{"max_new_tokens": 20}, {"max_new_tokens": 7, "stop_token_ids": [0]}]
    program = [PYTHON, make.PROGRAMS / "sglang_generate.py", model, json.dumps(settings), json.dumps([10, 700]), json.dumps(sampling)]
    reply, log = dryrun(["--gpu", gpu], program, tmp_path)
    (told,) = [json.loads(line) for line in log.splitlines() if line.startswith('{"tokens"')]
    assert (told["tokens"], told["reasons"]) == ([20, 7], ["length"] * 2)
    assert whole(reply)
    cache, tokens = reply["kv_cache"], told["max_total_num_tokens"]
    assert (cache["engine"], cache["engines"], cache["max_model_len"], cache["tokens"]) == ("SGLang", 1, MAX_LEN, tokens)
    assert cache["requests"] == tokens / MAX_LEN
    before, after = (float(re.search(rf"Load weight {when}\..*avail mem=([0-9.]+) GB", log).group(1)) for when in ("begin", "end"))
    budget = after - before * (1 - told["mem_fraction_static"])  # of two digits each, and some MiB were allocated since then
    assert abs(tokens * TOKEN / GIB - budget) < 0.04
    peak = reply["report"][0]["peak"]
    parts = {part["key"]: part["bytes"] for part in peak["metadata"]}
    tables = 3 * 2 * 8 * LAYERS  # addresses of keys and of values, both once more, their strides
    assert parts["KV cache"] == (tokens + told["page_size"]) * TOKEN + tables  # and a page for tokens of padding
    assert 0 <= parts["weights"] - 2 * PARAMETERS < 1 << 20  # and the tables of RoPE
    assert reply["model"]["parameters"] == PARAMETERS
    assert ("CUDA graphs" in parts) == has_graphs
    assert {"weights", "KV cache", "workspaces"} <= {*parts} <= {"weights", "KV cache", "activations", "workspaces", "CUDA graphs"}
    assert sum(parts.values()) == peak["requested_bytes"]
    assert reply["devices"][0]["contexts"] == 1


def test_tensor_parallel(model, tmp_path):
    """Two schedulers, on a GPU each. Halves: heads, the words of both embeddings, the hidden size of the MLP; whole: the norms. The cache
    has each token's half of the heads."""
    settings = {"context_length": MAX_LEN, "attention_backend": "fa3", "disable_cuda_graph": True, "disable_prefill_cuda_graph": True,
                "tp_size": 2}
    program = [PYTHON, make.PROGRAMS / "sglang_generate.py", model, json.dumps(settings), json.dumps([10, 100]),
               json.dumps([{"max_new_tokens": 20}, {"max_new_tokens": 7}])]
    reply, log = dryrun(["--gpu", "2xH100"], program, tmp_path)
    (told,) = [json.loads(line) for line in log.splitlines() if line.startswith('{"tokens"')]
    assert (told["tokens"], told["reasons"]) == ([20, 7], ["length"] * 2)
    assert (reply["kv_cache"]["engines"], reply["kv_cache"]["tokens"]) == (1, told["max_total_num_tokens"])
    norms = HIDDEN + LAYERS * 2 * HIDDEN
    assert reply["model"]["parameters"] == norms + (PARAMETERS - norms) // 2
    parts = {part["key"]: part["bytes"] for part in reply["report"][0]["peak"]["metadata"]}
    cache = (told["max_total_num_tokens"] + told["page_size"]) * TOKEN // 2
    assert 0 <= parts["KV cache"] - cache < 1 << 10  # and tables of addresses
    using = [process for process in reply["processes"] if process["devices"]]
    assert [(process["complete"], process["end"]) for process in using] == [(True, "ended")] * 2
    first, second = (device["torch"] for device in reply["devices"])
    assert first == second and first["peak_requested_bytes"] > 60 * GIB
    assert [device["contexts"] for device in reply["devices"]] == [1, 1]


def test_server(model, tmp_path):
    """Until /health answers: before that the server sends itself a request."""
    command = [PYTHON, "-m", "sglang.launch_server", "--model-path", model, "--load-format", "dummy", "--skip-tokenizer-init",
               "--context-length", MAX_LEN, "--port", free_port(), "--disable-prefill-cuda-graph", "--cuda-graph-max-bs-decode", 8]
    reply, log = dryrun(["--gpu", "H100", "--until", "ready"], command, tmp_path)
    assert (reply["verdict"], reply["until"]) == ("fits", "ready") and reply["ended_us"] > 0
    assert re.search(r"POST /generate HTTP/1.1\"? 200", log) and re.search(r"GET /health HTTP/1.1\"? 200", log)
    assert whole(reply)
    assert reply["kv_cache"]["tokens"] * TOKEN > 60 * GIB
