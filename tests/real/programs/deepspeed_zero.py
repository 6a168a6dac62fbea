"""DeepSpeed: training of a Llama with ZeRO: deepspeed_zero.py STAGE [offload]."""

import sys

import deepspeed
import llama
import torch
import truth

STAGE, OFFLOAD = int(sys.argv[1]), "offload" in sys.argv
zero = {"stage": STAGE, **({"offload_optimizer": {"device": "cpu"}} if OFFLOAD else {})}
config = {"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True}, "zero_optimization": zero, "zero_allow_untested_optimizer": True,
          "zero_force_ds_cpu_optimizer": False}
deepspeed.init_distributed("nccl")
model = llama.make("1b", num_hidden_layers=4, vocab_size=32000, tie_word_embeddings=False, use_cache=False)
weights, world = llama.bytes_of(model), torch.distributed.get_world_size()
engine, *_ = deepspeed.initialize(model=model, config=config, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-5))
for step in range(2):
    tokens = torch.randint(32000, (2, 512)).to(engine.device)
    engine.backward(engine(input_ids=tokens, labels=tokens).loss)
    engine.step()
# Two bytes a weight, of which stage 3 keeps a share; for this rank's share weights and two states of four bytes, on the host if offloaded.
own = weights // (world if STAGE == 3 else 1) + (0 if OFFLOAD else 6 * weights // world)
assert torch.cuda.memory_allocated() >= own, (torch.cuda.memory_allocated(), own)
truth.torch_peaks("deepspeed", "transformers")
