"""What the tests of engines for inference share (test_vllm.py, test_sglang.py): a small Llama that is only a configuration, and how an
engine runs under dryrun."""

import json
import socket
import subprocess

import conftest as make
import pytest

GIB = 1 << 30
LAYERS, HIDDEN, KV_HEADS, HEAD, WORDS, MAX_LEN = 4, 512, 4, 64, 4096, 1024
PARAMETERS = 2 * WORDS * HIDDEN + HIDDEN + LAYERS * HIDDEN * (2 * HIDDEN + 2 * KV_HEADS * HEAD + 3 * 1024 + 2)
TOKEN = 2 * 2 * LAYERS * KV_HEADS * HEAD  # bytes in the cache: 2 of a key and 2 of a value for each layer, head and dimension
MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": 1024,
         "num_hidden_layers": LAYERS, "num_attention_heads": 8, "num_key_value_heads": KV_HEADS, "head_dim": HEAD,
         "vocab_size": WORDS, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "hidden_act": "silu", "torch_dtype": "bfloat16",
         "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 0}  # the token 0 is what a GPU without kernels samples


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with the configuration alone."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text(json.dumps(MODEL))
    return folder


@pytest.fixture(scope="module")
def worded_model(tmp_path_factory):
    """The same with a tokenizer, whose words are w0, w1, ..."""
    folder = tmp_path_factory.mktemp("worded_model")
    (folder / "config.json").write_text(json.dumps(MODEL))
    vocabulary = {word: i for i, word in enumerate(["<e>", "<s>", "<unk>", *(f"w{i}" for i in range(WORDS - 3))])}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<e>", "unk_token": "<unk>"}))
    return folder


def dryrun(options, command, folder, **settings):
    """(reply, the program's own output)"""
    argv = [make.BINARY, "dryrun", "--json", *options, "--", *map(str, command)]
    done = subprocess.run(argv, env=make.environment_of(settings), cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-6000:]  # it fits
    return json.loads(done.stdout), done.stderr


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
