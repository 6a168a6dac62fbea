"""TRL's SFTTrainer on tokenized text, with a LoRA adapter."""

import llama
import torch
import truth
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

words = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz"])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
text = Dataset.from_list([{"text": "a b c d e f g h " * 100}] * 32)
config = SFTConfig(output_dir="out", max_steps=3, per_device_train_batch_size=4, max_length=512, bf16=True, report_to=[],
                   save_strategy="no", logging_steps=1, gradient_checkpointing=False)
trainer = SFTTrainer(model=llama.make("1b", torch.float32), args=config, train_dataset=text, processing_class=tokenizer,
                     peft_config=LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
trainer.train()
assert next(trainer.model.parameters()).is_cuda and torch.cuda.is_available()
truth.torch_peaks("trl", "peft", "transformers")
