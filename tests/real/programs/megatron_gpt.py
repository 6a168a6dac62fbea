"""Megatron-LM core: a GPT with tensor parallelism over two ranks, of which one runs, and Megatron's own DDP."""

import os

import torch
import truth
from megatron.core import parallel_state, tensor_parallel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.transformer.transformer_config import TransformerConfig

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
tensor_parallel.model_parallel_cuda_manual_seed(1)
config = TransformerConfig(num_layers=8, hidden_size=1024, num_attention_heads=16, use_cpu_initialization=True, bf16=True,
                           params_dtype=torch.bfloat16, tensor_model_parallel_size=2, attention_softmax_in_fp32=True,
                           gradient_accumulation_fusion=False, bias_dropout_fusion=False, masked_softmax_fusion=False)
model = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=32000, max_sequence_length=1024).cuda().bfloat16()
weights = sum(p.numel() * p.element_size() for p in model.parameters())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
tokens = torch.randint(32000, (2, 1024)).cuda()
positions, mask = torch.arange(1024, device="cuda").expand(2, -1), torch.ones(1, 1, 1024, 1024, dtype=torch.bool, device="cuda").triu(1)
for step in range(2):
    model(tokens, positions, mask, labels=tokens).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
truth.near(torch.cuda.memory_allocated(), 3 * weights, 0.1, "this rank's weights and two states, with cuBLAS' workspaces beside them")
truth.torch_peaks("megatron-core")
torch.distributed.destroy_process_group()
