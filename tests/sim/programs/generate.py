"""transformers' generate() on a small Llama: what it returns, and the bytes that its key-value cache holds.

Prints {case: {"shape": of the sequences, "length": of the cache, "held": bytes that the result keeps on the GPU}}.
"""

import json

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

BATCH, PROMPT = 2, 16
CASES = {
    "greedy": {"max_new_tokens": 20},
    "sample": {"max_new_tokens": 300, "do_sample": True},
    "to a length": {"max_length": 40},
    "beams": {"max_new_tokens": 20, "num_beams": 3},
}

torch.set_default_device("cuda")
config = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4,
                     vocab_size=1000, eos_token_id=2)
model = LlamaForCausalLM(config).half().eval()
prompt = torch.ones(BATCH, PROMPT, dtype=torch.long)
mask = torch.ones_like(prompt)
model.generate(prompt, attention_mask=mask, pad_token_id=0, max_new_tokens=2)  # what stays after the first call
told = {}
for name, options in CASES.items():
    before = torch.cuda.memory_allocated()
    result = model.generate(prompt, attention_mask=mask, pad_token_id=0, return_dict_in_generate=True, **options)
    cache = result.past_key_values
    told[name] = {"shape": list(result.sequences.shape), "length": cache.get_seq_length(), "held": torch.cuda.memory_allocated() - before}
    del result, cache

prompt, mask = prompt[:1], mask[:1]
assistant = LlamaForCausalLM(LlamaConfig(**{**config.to_dict(), "num_hidden_layers": 1})).half().eval()
ASSISTED = {
    "assisted": {"assistant_model": assistant},
    "assisted sampling": {"assistant_model": assistant, "do_sample": True},
    "prompt lookup": {"prompt_lookup_num_tokens": 4},
}
for name, options in ASSISTED.items():
    steps = []
    hook = model.register_forward_hook(lambda *_: steps.append(1))
    result = model.generate(prompt, attention_mask=mask, pad_token_id=0, return_dict_in_generate=True, max_new_tokens=60, **options)
    hook.remove()
    told[name] = {"shape": list(result.sequences.shape), "length": result.past_key_values.get_seq_length(), "steps": len(steps)}
    del result
# Zeros are what it reads, so without the mend token 0 would end each request.
batch = model.generate_batch(inputs=[[1] * 16, [1] * 30], generation_config=GenerationConfig(max_new_tokens=20, eos_token_id=0))
told["batch"] = [len(request.generated_tokens) for request in batch.values()]
print(json.dumps(told))
