"""transformers' generate() of a Llama with one billion parameters: generate.py HOW. The cache holds what its layout says."""

import sys

import llama
import torch
import truth

HOW, PROMPT, NEW, BATCH = sys.argv[1], 512, 64, 4
WAYS = {
    "greedy": dict(do_sample=False),
    "sample": dict(do_sample=True, top_k=50),
    "beam": dict(num_beams=4, do_sample=False),
    "static": dict(do_sample=False, cache_implementation="static", disable_compile=True),
    "assisted": dict(do_sample=False),
}

model = llama.make("1b").eval()
config = model.config
prompt = torch.randint(10, 4096, (1 if HOW == "assisted" else BATCH, PROMPT)).cuda()
if HOW == "assisted":
    WAYS[HOW]["assistant_model"] = llama.make("1b", num_hidden_layers=2).eval()
out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW, pad_token_id=0, return_dict_in_generate=True,
                     **WAYS[HOW])
rows, cached = out.sequences.shape[0] * WAYS[HOW].get("num_beams", 1), PROMPT + NEW - 1  # the last token is not in the cache
assert out.sequences.shape[1] == PROMPT + NEW
states = [tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]
length = states[0].shape[2]
assert HOW == "assisted" or length == cached
head = config.hidden_size // config.num_attention_heads
expected = 2 * config.num_hidden_layers * rows * config.num_key_value_heads * length * head * 2
held = sum(tensor.numel() * tensor.element_size() for tensor in states)
assert held == expected, (HOW, held, expected, states[0].shape)
truth.torch_peaks("transformers")
