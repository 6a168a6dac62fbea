"""Ray Train: a function that is trained by one worker on one GPU."""

import os

import ray
import torch
import truth
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model


def train():
    model = prepare_model(torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]))
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(2):
        model(torch.randn(512, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    truth.near(torch.cuda.memory_allocated(), 3 * weights, 0.1, "weights and two states")
    truth.torch_peaks("ray")


ray.init(_temp_dir=os.getcwd(), include_dashboard=False)
TorchTrainer(train, scaling_config=ScalingConfig(num_workers=1, use_gpu=True), run_config=RunConfig(storage_path=os.getcwd())).fit()
