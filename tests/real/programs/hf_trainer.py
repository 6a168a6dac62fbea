"""Hugging Face's Trainer: full training of a Llama with one billion parameters in bfloat16, with AdamW and gradient checkpointing."""

import os

import llama
import torch
import truth
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Tokens(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        tokens = torch.randint(4096, (1024,))
        return {"input_ids": tokens, "labels": tokens}


torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
model = llama.make("1b", use_cache=False)
arguments = TrainingArguments(output_dir="out", max_steps=3, per_device_train_batch_size=2, bf16=True, gradient_checkpointing=True,
                              logging_steps=1, report_to=[], save_strategy="no", dataloader_num_workers=2)
trainer = Trainer(model=model, args=arguments, train_dataset=Tokens())
trainer.train()
states = [value for state in trainer.optimizer.state.values() for value in state.values() if torch.is_tensor(value) and value.dim()]
assert sum(value.numel() * value.element_size() for value in states) == 2 * llama.bytes_of(model)
truth.torch_peaks("transformers", "accelerate")
