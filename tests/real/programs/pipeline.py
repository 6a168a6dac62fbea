"""torch.distributed.pipelining: two stages, four microbatches, 1F1B; each stage runs in a process of its own (--ranks 2)."""

import os

import torch
import torch.distributed as dist
import truth
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

rank, device = int(os.environ["RANK"]), torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
stage = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).to(device)
schedule = Schedule1F1B(PipelineStage(stage, rank, 2, device), n_microbatches=4, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.Adam(stage.parameters())
for step in range(2):
    if rank == 0:
        schedule.step(torch.randn(1024, 2048, device=device))
    else:
        schedule.step(target=torch.randn(1024, 2048, device=device))
    optimizer.step()
    optimizer.zero_grad()
truth.torch_peaks()
dist.destroy_process_group()
