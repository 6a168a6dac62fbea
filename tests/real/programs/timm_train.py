"""timm: training steps of an image model: timm_train.py NAME BATCH."""

import sys

import timm
import timm.optim
import torch
import truth

model = timm.create_model(sys.argv[1], pretrained=False).cuda().train()
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
for step in range(2):
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(int(sys.argv[2]), 3, 224, 224, device="cuda")),
                                                 torch.zeros(int(sys.argv[2]), dtype=torch.long, device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
weights = sum(p.numel() * p.element_size() for p in model.parameters())
truth.near(torch.cuda.memory_allocated(), 3 * weights, 0.1, "weights and two states")
truth.torch_peaks("timm")
