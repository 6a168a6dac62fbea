"""The script that Pytorch-Memory-Utils' documentation shows, step by step, with a VGG-19 of our own; then what PyTorch
says."""

import json
import sys

import torch

if len(sys.argv) > 1:  # the folder of the other tool: the same script with its import line
    sys.path.insert(0, sys.argv[1])
    from gpu_mem_track import MemTracker
else:
    from vramscope.gpu_mem_track import MemTracker


def vgg19_features():
    layers, channels = [], 3
    for width in [64] * 2 + [0] + [128] * 2 + [0] + [256] * 4 + [0] + [512] * 4 + [0] + [512] * 4 + [0]:
        if width == 0:
            layers.append(torch.nn.MaxPool2d(2, 2))
            continue
        layers += [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.ReLU(inplace=True)]
        channels = width
    return torch.nn.Sequential(*layers)


told = []


def note():
    told.append([torch.cuda.memory_stats().get(f"{name}_bytes.all.current", 0) for name in ("requested", "allocated")])


device = torch.device("cuda:0")
gpu_tracker = MemTracker()
gpu_tracker.track()
note()
cnn = vgg19_features().to(device).eval()
gpu_tracker.track()
note()
dummy_tensor_1 = torch.empty(30, 3, 512, 512).float().to(device)
dummy_tensor_2 = torch.empty(40, 3, 512, 512).float().to(device)
dummy_tensor_3 = torch.empty(60, 3, 512, 512).float().to(device)
gpu_tracker.track()
note()
dummy_tensor_4 = torch.empty(120, 3, 512, 512).float().to(device)
dummy_tensor_5 = torch.empty(80, 3, 512, 512).float().to(device)
gpu_tracker.track()
note()
dummy_tensor_4 = dummy_tensor_4.cpu()
dummy_tensor_2 = dummy_tensor_2.cpu()
gpu_tracker.clear_cache()
gpu_tracker.track()
note()
lines = [number for number, line in enumerate(open(__file__), 1) if line.startswith("gpu_tracker.track()")]
print(json.dumps({"told": told, "lines": lines, "usage": float(gpu_tracker.get_tensor_usage()),
                  "allocated": float(gpu_tracker.get_allocate_usage()), "file": gpu_tracker.gpu_profile_fn,
                  "tensors": len(list(gpu_tracker.get_tensors()))}))
