"""Programs as people write them: `cards.py NAME...` runs each on a GPU of its own, as if it were alone, and prints for each whether it
ran. A program that is alone ends as any other does where it runs out of memory.
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional


def mlp():
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(4):
        model(torch.randn(4096, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (y.view(batch, time, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(width, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, words=8000, width=384, layers=4):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, 6) for _ in range(layers))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def gpt(lengths=(256, 256, 256), batch=16):
    model = GPT().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for length in lengths:
        ids = torch.randint(8000, (batch, length), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def lengths():
    """The same on batches of changing length."""
    gpt((100, 300, 217, 400, 90, 333, 401, 128))


def conv():
    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128),
        nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(128, 256, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(256, 1000)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        images, classes = torch.randn(32, 3, 224, 224, device="cuda"), torch.zeros(32, dtype=torch.long, device="cuda")
        functional.cross_entropy(model(images), classes).backward()
        optimizer.step()
        optimizer.zero_grad()


@torch.inference_mode()
def kv_cache():
    model = GPT(layers=2).cuda().half()
    caches = [torch.empty(8, 6, 0, 64, dtype=torch.half, device="cuda") for _ in range(4)]
    for _ in range(100):
        new = torch.randn(8, 6, 32, 64, dtype=torch.half, device="cuda")
        caches = [torch.cat((cache, new), 2) for cache in caches]
        q = torch.randn(8, 6, 32, 64, dtype=torch.half, device="cuda")
        for keys, values in zip(caches[::2], caches[1::2], strict=True):
            q = functional.scaled_dot_product_attention(q, keys, values)
        model.head(q.transpose(1, 2).reshape(8, 32, 384))


def two_streams():
    side = torch.cuda.Stream()
    weight = torch.randn(2048, 2048, device="cuda")
    for i in range(20):
        with torch.cuda.stream(side):
            x = torch.randn(1024 + 512 * (i % 5), 2048, device="cuda")
        torch.cuda.current_stream().wait_stream(side)
        x.record_stream(torch.cuda.current_stream())
        y = x @ weight
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y.relu()
        y.record_stream(side)
        del x, y
        torch.cuda.synchronize()


def graph():
    """A training step as a CUDA graph."""
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(2048, 1024, device="cuda")

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()
    for _ in range(5):
        captured.replay()
    torch.cuda.synchronize()


def solve():
    """Linear algebra by cuSOLVER."""
    a = torch.randn(3000, 3000, device="cuda")
    torch.linalg.inv(a @ a.T)
    torch.linalg.cholesky(a @ a.T)


def runs(name, gpu):
    try:
        with torch.cuda.device(gpu):
            globals()[name]()
    except torch.OutOfMemoryError:
        return False
    except RuntimeError as error:  # of a convolution whose workspace found no memory: there is no algorithm without one
        assert "unable to find an engine" in str(error), error
        return False
    return True


if __name__ == "__main__":
    if len(sys.argv) == 2:
        globals()[sys.argv[1]]()
    else:
        print(json.dumps([runs(name, gpu) for gpu, name in enumerate(sys.argv[1:])]))
