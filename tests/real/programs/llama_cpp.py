"""llama.cpp's engine with its CUDA backend, as ctransformers has it: a Llama with random weights in a file that the package gguf writes,
all of its layers on the GPU, and 32 tokens."""

import ctypes
import os

import gguf
import numpy
import truth
from ctransformers import AutoModelForCausalLM

VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 4096, 1024, 16, 4096, 8
tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + [f"w{i}" for i in range(VOCABULARY - 259)]
file = gguf.GGUFWriter("model.gguf", "llama")
file.add_context_length(512), file.add_embedding_length(WIDTH), file.add_block_count(LAYERS), file.add_feed_forward_length(INNER)
file.add_head_count(HEADS), file.add_head_count_kv(HEADS), file.add_layer_norm_rms_eps(1e-5), file.add_rope_dimension_count(WIDTH // HEADS)
file.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
file.add_tokenizer_model("llama"), file.add_token_list(tokens), file.add_token_scores([0.0] * VOCABULARY)
file.add_token_types([2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - 259))
file.add_bos_token_id(1), file.add_eos_token_id(2), file.add_unk_token_id(0)
shapes = {"token_embd": (VOCABULARY, WIDTH), "output_norm": (WIDTH,), "output": (VOCABULARY, WIDTH)}
for n in range(LAYERS):
    shapes |= {f"blk.{n}.{name}_norm": (WIDTH,) for name in ("attn", "ffn")}
    shapes |= {f"blk.{n}.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    shapes |= {f"blk.{n}.ffn_gate": (INNER, WIDTH), f"blk.{n}.ffn_up": (INNER, WIDTH), f"blk.{n}.ffn_down": (WIDTH, INNER)}
for name, shape in shapes.items():
    file.add_tensor(name + ".weight", numpy.zeros(shape, numpy.float16 if len(shape) > 1 else numpy.float32))
file.write_header_to_file(), file.write_kv_data_to_file(), file.write_tensors_to_file(), file.close()
with open("model.gguf", "r+b") as written:  # version 3 differs from 2, the last that ctransformers reads, for big-endian machines only
    written.seek(4), written.write(b"\2")
model = AutoModelForCausalLM.from_pretrained(os.path.abspath("model.gguf"), model_type="llama", lib="cuda", gpu_layers=LAYERS + 1, context_length=512)
for token in range(300, 332):
    model.eval([token])
free, whole = ctypes.c_size_t(), ctypes.c_size_t()
assert ctypes.CDLL("libcuda.so.1").cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(whole)) == 0
matrices = sum(2 * numpy.prod(shape) for name, shape in shapes.items() if len(shape) > 1 and name != "token_embd")
assert whole.value - free.value > matrices, "the embedding stays on the host, all other matrices are on the GPU"
truth.tell("driver", 0, used=whole.value - free.value)
truth.versions("ctransformers", "gguf")
