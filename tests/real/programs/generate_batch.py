"""transformers' continuous batching: generate_batch() of a small Llama over 32 prompts."""

import llama
import torch
import truth
from transformers import GenerationConfig

model = llama.make("tiny", attn_implementation="sdpa").eval()
config = GenerationConfig(max_new_tokens=20, do_sample=False, eos_token_id=1, pad_token_id=0, num_blocks=64, max_batch_tokens=512)
prompts = [list(range(2, 10 + length)) for length in range(32)]
out = model.generate_batch(inputs=prompts, generation_config=config)
assert len(out) == 32 and all(len(one.generated_tokens) == 20 for one in out.values())
truth.torch_peaks("transformers")
