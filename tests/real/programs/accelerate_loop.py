"""A training loop with accelerate: bfloat16, gradient accumulation, clipping, a learning-rate schedule, gathered metrics."""

import llama
import torch
import truth
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
model = llama.make("1b", torch.float32, use_cache=False, num_hidden_layers=4, vocab_size=32000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
data = DataLoader(TensorDataset(torch.randint(32000, (16, 512))), batch_size=2)
model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
for step, (tokens,) in zip(range(6), data):
    with accelerator.accumulate(model):
        loss = model(input_ids=tokens, labels=tokens).loss
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    accelerator.gather(loss.detach())
truth.torch_peaks("accelerate", "transformers")
