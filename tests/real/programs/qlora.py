"""QLoRA: a Llama in 4 bit by bitsandbytes, LoRA by PEFT, and the paged 8-bit AdamW."""

import bitsandbytes
import llama
import torch
import truth
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

llama.make("1b", device="cpu", num_hidden_layers=4, vocab_size=32000).save_pretrained("model")
quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                                  bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("model", quantization_config=quantization, device_map={"": 0}, dtype=torch.bfloat16)
four_bit = [m for m in model.modules() if isinstance(m, bitsandbytes.nn.Linear4bit)]
assert len(four_bit) == 4 * 7 and all(m.weight.numel() * 2 == m.in_features * m.out_features for m in four_bit)
model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
optimizer = bitsandbytes.optim.PagedAdamW8bit([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(3):
    tokens = torch.randint(4096, (2, 1024)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks("bitsandbytes", "peft", "transformers")
