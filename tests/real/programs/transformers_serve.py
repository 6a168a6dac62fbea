"""transformers' own server as a user types it, `transformers serve ./model [OPTION...]`: transformers_serve.py ask|wait [OPTION...]. Weights and
tokenizer are made here, on the CPU. With `ask` it gets a chat completion once it is ready, and then Ctrl-C; with `wait` neither."""

import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.request

import torch
import truth
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.cli.transformers import main

HOW, OPTIONS = sys.argv[1], sys.argv[2:]
LAYERS, HIDDEN, INNER, HEADS, HEAD, WORDS, PROMPT, NEW = 16, 512, 1024, 8, 128, 4096, 100, 300
PARAMETERS = 2 * WORDS * HIDDEN + HIDDEN + LAYERS * (4 * HIDDEN * HEADS * HEAD + 3 * HIDDEN * INNER + 2 * HIDDEN)
TOKEN = 2 * LAYERS * HEADS * HEAD * 2  # bytes in the KV cache
WORKSPACE = 32 << 20  # PyTorch's for cuBLAS on an H100
BATCHED, BLOCKS, BLOCK = "--continuous-batching" in OPTIONS, 64, 32
if BATCHED:
    OPTIONS += ["--cb-num-blocks", str(BLOCKS), "--cb-block-size", str(BLOCK), "--cb-max-batch-tokens", "256"]


def make(folder):
    words = ["<s>", "</s>", "<unk>", *(f"word{i}" for i in range(WORDS - 3))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(vocab_size=WORDS, hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         num_key_value_heads=HEADS, head_dim=HEAD, max_position_embeddings=2048, bos_token_id=0, eos_token_id=1)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def reply_of(path, body=None):
    request = urllib.request.Request(f"http://localhost:{PORT}{path}", body and json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def is_ready():
    try:
        return reply_of("/health")["status"] == "ok"
    except OSError:
        return False


def ask():
    try:
        while not is_ready():
            time.sleep(0.1)
        text = " ".join(f"word{i}" for i in range(PROMPT))
        reply = reply_of("/v1/chat/completions", {"model": "./model", "max_tokens": NEW, "messages": [{"role": "user", "content": text}]})
        answers.append((reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"], reply["choices"][0]["finish_reason"]))
    finally:
        os.kill(os.getpid(), signal.SIGINT)


answers = []
PORT = free_port()
make("model")
if HOW == "ask":
    threading.Thread(target=ask).start()
sys.argv = ["transformers", "serve", "./model", "--port", str(PORT), *OPTIONS]
try:
    main()
except SystemExit:  # of a server that was interrupted
    pass
allocated, cached, tolerance = torch.cuda.max_memory_allocated(), 0, 0.001
if HOW == "ask":
    assert answers == [(PROMPT, NEW, "length")], answers
    cached = PROMPT + NEW - 1  # the last token is not in the cache
if BATCHED:  # the cache is there from the first request on, with two blocks for padding, and each of two batches has its masks
    cached, tolerance = (BLOCKS + 2) * BLOCK, 0.01
truth.near(allocated, 2 * PARAMETERS + TOKEN * cached + (WORKSPACE if cached else 0), tolerance, "weights and KV cache")
truth.torch_peaks("transformers", "fastapi", "uvicorn")
truth.tell("model", 0, parameters=PARAMETERS)
if BATCHED:
    os._exit(0)  # its thread runs on after Ctrl-C
