"""torchvision's ResNet-50: training with AMP in float16, GradScaler, channels_last, SGD."""

import torch
import torchvision
import truth

model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
scaler, criterion = torch.amp.GradScaler(), torch.nn.CrossEntropyLoss()
for step in range(3):
    images = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    with torch.autocast("cuda", torch.float16):
        loss = criterion(model(images), torch.zeros(64, dtype=torch.long, device="cuda"))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
assert sum(p.numel() for p in model.parameters()) == 25557032  # as published
truth.torch_peaks("torchvision")
