"""torchvision's Faster R-CNN with a ResNet-50 FPN: a training step, and inference."""

import torch
import torchvision
import truth

model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None).cuda().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
images = [torch.rand(3, 480, 640, device="cuda") for _ in range(2)]
targets = [{"boxes": torch.tensor([[10.0, 10.0, 200.0, 200.0]], device="cuda"), "labels": torch.ones(1, dtype=torch.long, device="cuda")}
           for _ in images]
for step in range(2):
    sum(model(images, targets).values()).backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.inference_mode():
    model.eval()(images)
truth.torch_peaks("torchvision")
