"""FullyShardedDataParallel (FSDP1): a Llama with one billion parameters, a unit for each layer, bfloat16, sharded gradients and states."""

import functools
import os

import llama
import torch
import torch.distributed as dist
import truth
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
whole = llama.make("1b", torch.float32, use_cache=False, tie_word_embeddings=False)
weights = llama.bytes_of(whole)
model = FullyShardedDataParallel(whole, auto_wrap_policy=policy, mixed_precision=half, device_id=torch.cuda.current_device(),
                                 use_orig_params=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(2):
    tokens = torch.randint(4096, (2, 1024)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# FSDP1 keeps the shard of the gradients until the next forward pass
truth.near(torch.cuda.memory_allocated(), 4 * weights // dist.get_world_size(), 0.05, "this rank's weights, gradients and states")
truth.torch_peaks("transformers")
dist.destroy_process_group()
