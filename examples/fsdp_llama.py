"""Two steps of training a Llama with 70.6 billion parameters, sharded over all ranks with FSDP2.

    torchrun --nnodes 8 --nproc-per-node 8 fsdp_llama.py                 on 64 GPUs
    vramscope dryrun --world 64 --gpu H100 -- python fsdp_llama.py       one rank of them, on any machine

The model is made on the meta device, sharded layer by layer, and only then given memory. bfloat16 parameters and gradients,
activation checkpointing, AdamW, sequences of 4,096 tokens. The weights are random: this is about memory.
"""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import LlamaConfig, LlamaForCausalLM

TOKENS = 4096
STEPS = 2


def make_model():
    config = LlamaConfig(
        vocab_size=128256,
        hidden_size=8192,
        intermediate_size=28672,
        num_hidden_layers=80,
        num_attention_heads=64,
        num_key_value_heads=8,
        max_position_embeddings=8192,
        use_cache=False,
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable()
    return model


def shard(model):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device="cuda")


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = make_model()
    if dist.get_rank() == 0:
        print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {dist.get_world_size()} ranks")
    shard(model)
    model.train()

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step in range(STEPS):
        tokens = torch.randint(model.config.vocab_size, (1, TOKENS)).cuda()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
            print(f"step {step}: peak {allocated:,} bytes allocated, {reserved:,} reserved")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
