#!/usr/bin/env python3
"""What cuDNN's convolutions allocate beyond their results: one line of JSON for each, on a real GPU.

    workspaces.py > workspaces.jsonl

cuDNN chooses an algorithm by the card, the types and the sizes, and PyTorch allocates the workspace that the algorithm asks for.
"""

import itertools
import json
import sys

import torch
import torch.nn.functional as F

# (dimensions, batch, channels in, channels out, size, kernel, stride, padding, groups)
LAYERS = [
    (2, 32, 3, 64, 224, 7, 2, 3, 1), (2, 32, 64, 64, 56, 1, 1, 0, 1), (2, 32, 64, 64, 56, 3, 1, 1, 1), (2, 32, 64, 256, 56, 1, 1, 0, 1),
    (2, 32, 256, 128, 56, 1, 1, 0, 1), (2, 32, 128, 128, 56, 3, 2, 1, 1), (2, 32, 128, 128, 28, 3, 1, 1, 1), (2, 32, 256, 512, 56, 1, 2, 0, 1),
    (2, 32, 256, 256, 14, 3, 1, 1, 1), (2, 32, 512, 512, 7, 3, 1, 1, 1), (2, 32, 1024, 2048, 14, 1, 2, 0, 1), (2, 32, 512, 2048, 7, 1, 1, 0, 1),
    (2, 1, 64, 64, 56, 3, 1, 1, 1), (2, 8, 64, 64, 56, 3, 1, 1, 1), (2, 128, 64, 64, 56, 3, 1, 1, 1), (2, 256, 64, 64, 56, 3, 1, 1, 1),
    (2, 4, 320, 320, 64, 3, 1, 1, 1), (2, 4, 640, 640, 32, 3, 1, 1, 1), (2, 4, 1280, 1280, 16, 3, 1, 1, 1), (2, 4, 4, 320, 64, 3, 1, 1, 1),
    (2, 4, 320, 4, 64, 3, 1, 1, 1), (2, 4, 320, 320, 64, 3, 2, 1, 1), (2, 4, 1920, 640, 32, 3, 1, 1, 1), (2, 1, 512, 512, 512, 3, 1, 1, 1),
    (2, 1, 128, 3, 512, 3, 1, 1, 1), (2, 32, 3, 768, 224, 16, 16, 0, 1), (2, 32, 32, 32, 112, 3, 1, 1, 32), (2, 32, 256, 256, 56, 3, 1, 1, 32),
    (2, 16, 64, 64, 128, 5, 1, 2, 1), (2, 16, 64, 64, 128, 11, 1, 5, 1), (2, 16, 3, 8, 33, 3, 1, 1, 1), (2, 16, 17, 19, 33, 3, 1, 1, 1),
    (1, 16, 256, 256, 1000, 3, 1, 1, 1), (1, 16, 80, 512, 3000, 3, 1, 1, 1), (1, 16, 512, 512, 3000, 3, 2, 1, 1), (1, 16, 256, 256, 1000, 31, 1, 15, 256),
    (3, 2, 32, 32, 64, 3, 1, 1, 1), (3, 2, 1, 32, 128, 3, 1, 1, 1), (3, 2, 64, 128, 32, 3, 2, 1, 1), (3, 1, 32, 32, 128, 3, 1, 1, 1),
]
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}




def temporaries(run):
    """The sizes that `run` allocates and frees again, in order."""
    torch.cuda.memory._record_memory_history(context=None, clear_history=True)
    kept = run()
    torch.cuda.synchronize()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return kept, [(event["action"], event["size"]) for event in events if event["action"] in ("alloc", "free_completed", "segment_free")]


def main():
    print(json.dumps({"card": torch.cuda.get_device_name(), "cudnn": torch.backends.cudnn.version(), "torch": torch.__version__}))
    variants = itertools.product(LAYERS, (torch.float32, torch.bfloat16, torch.float16), (False, True), (False, True), (False, True))
    for layer, dtype, last, benchmark, tf32 in variants:
        dimensions, batch, inside, outside, size, kernel, stride, padding, groups = layer
        if (last and dimensions == 1) or (benchmark and (last or tf32)) or (tf32 and dtype != torch.float32):
            continue
        torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = benchmark, tf32
        layout = {2: torch.channels_last, 3: torch.channels_last_3d}[dimensions] if last else torch.contiguous_format
        x = torch.randn(batch, inside, *[size] * dimensions, device="cuda").to(dtype, memory_format=layout).requires_grad_()
        w = torch.randn(outside, inside // groups, *[kernel] * dimensions, device="cuda").to(dtype, memory_format=layout).requires_grad_()
        told = {"layer": layer, "dtype": str(dtype)[6:], "channels_last": last, "benchmark": benchmark, "tf32": tf32}
        try:
            out, told["forward"] = temporaries(lambda: CONVOLUTIONS[dimensions](x, w, None, stride, padding, 1, groups))
            gradient = torch.ones_like(out)
            _, told["backward"] = temporaries(lambda: torch.autograd.grad(out, (x, w), gradient))
        except RuntimeError as error:
            told["error"] = str(error).split("\n")[0]
        print(json.dumps(told), flush=True)
        out = gradient = None


if __name__ == "__main__":
    sys.exit(main())
