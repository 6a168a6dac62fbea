"""torch.distributed.tensor.parallel: a Llama with 8 billion parameters over four ranks, of which one runs; inference with a KV cache."""

import os

import llama
import torch
import truth
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
model = llama.make("8b", device="meta").eval()
plan = {name: ColwiseParallel() for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")}
plan |= {name: RowwiseParallel() for name in ("self_attn.o_proj", "mlp.down_proj")}
for layer in model.model.layers:
    parallelize_module(layer, mesh, plan)
model.to_empty(device="cuda")
config, shares = model.config, int(os.environ["WORLD_SIZE"])
split = sum(p.numel() * 2 for name, p in model.named_parameters() if "proj" in name)
whole = sum(p.numel() * 2 for name, p in model.named_parameters() if "proj" not in name)
truth.near(torch.cuda.memory_allocated(), split // shares + whole, 0.01, "this rank's weights")
with torch.inference_mode():
    out = model(input_ids=torch.randint(4096, (1, 1024)).cuda(), use_cache=True)
keys = out.past_key_values.layers[0].keys
assert keys.shape == (1, config.num_key_value_heads // shares, 1024, 128)
truth.torch_peaks("transformers")
