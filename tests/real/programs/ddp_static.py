"""DistributedDataParallel with a static graph and gradients that are views of the buckets."""

import os

import torch
import torch.distributed as dist
import truth
from torch.nn.parallel import DistributedDataParallel

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).cuda()
weights = sum(p.numel() for p in model.parameters()) * 4
model = DistributedDataParallel(model, static_graph=True, gradient_as_bucket_view=True, bucket_cap_mb=25)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(torch.randn(8, 256, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
truth.near(torch.cuda.memory_allocated(), 3 * weights, 0.1, "weights, buckets and momentum")
truth.torch_peaks()
dist.destroy_process_group()
