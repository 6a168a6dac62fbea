"""Unsloth: LoRA on all linear layers of a Llama of 0.3 billion parameters in bfloat16. Weights and tokenizer are made here, on the CPU."""

import torch
import truth
from tokenizers import Tokenizer, models, pre_tokenizers
from unsloth import FastLanguageModel  # before transformers, which it patches
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

LAYERS, HIDDEN, INNER, KV, WORDS, RANK = 8, 1536, 6144, 512, 4096, 16
PARAMETERS = 2 * WORDS * HIDDEN + HIDDEN + LAYERS * (2 * HIDDEN * (HIDDEN + KV) + 3 * HIDDEN * INNER + 2 * HIDDEN)
ADAPTER = LAYERS * RANK * (2 * (HIDDEN + HIDDEN) + 2 * (HIDDEN + KV) + 3 * (HIDDEN + INNER))
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

words = ["<s>", "</s>", "<unk>", "<pad>", *(f"word{i}" for i in range(WORDS - 4))]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                        pad_token="<pad>").save_pretrained("model")
config = LlamaConfig(vocab_size=WORDS, hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, num_attention_heads=12,
                     num_key_value_heads=4, max_position_embeddings=2048, bos_token_id=0, eos_token_id=1, pad_token_id=3)
LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained("model")

before = torch.cuda.memory_allocated()  # what Unsloth's own trials at its import leave
model, _ = FastLanguageModel.from_pretrained("./model", max_seq_length=2048, dtype=torch.bfloat16, load_in_4bit=False,
                                             local_files_only=True)
model = FastLanguageModel.get_peft_model(model, r=RANK, lora_alpha=16, lora_dropout=0, target_modules=PROJECTIONS,
                                         use_gradient_checkpointing="unsloth")
assert sum(p.numel() for p in model.parameters()) == PARAMETERS + ADAPTER
assert sum(p.numel() for p in model.parameters() if p.requires_grad) == ADAPTER
truth.near(torch.cuda.memory_allocated() - before, 2 * PARAMETERS + 4 * ADAPTER, 0.001, "weights and adapter")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(2):
    tokens = torch.randint(WORDS, (2, 2048)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
held = 2 * PARAMETERS + 3 * 4 * ADAPTER
truth.near(torch.cuda.memory_allocated() - before, held, 0.06, "weights, adapter, its two states, and what the backward pass leaves")
truth.torch_peaks("unsloth", "unsloth_zoo", "transformers", "peft")
truth.tell("model", 0, parameters=PARAMETERS + ADAPTER)
