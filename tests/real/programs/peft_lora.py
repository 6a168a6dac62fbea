"""PEFT: LoRA on all linear layers of a Llama with 8 billion parameters in bfloat16."""

import llama
import torch
import truth
from peft import LoraConfig, get_peft_model

model = llama.make("8b", use_cache=False)
weights = llama.bytes_of(model)
assert weights == 2 * 8030261248  # the published size of Llama 3 8B
model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
model.enable_input_require_grads()
model.gradient_checkpointing_enable()
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(2):
    tokens = torch.randint(4096, (1, 2048)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
adapter = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
truth.near(torch.cuda.memory_allocated(), weights + 3 * adapter, 0.01, "weights, adapter and its two states")
truth.torch_peaks("peft", "transformers")
