"""A few training steps of a transformer, some convolutions and an LSTM, every attention back end: what fills most GPUs."""

import hashlib
import json

import books
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
books.begin()
done = {}


def transformer():
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, dropout=0.1)
    model = nn.Sequential(nn.Embedding(1000, 256), nn.TransformerEncoder(layer, 4), nn.Linear(256, 1000)).cuda()
    for fused in ({"foreach": True}, {"fused": True}, {"capturable": True}):
        optimizer = torch.optim.AdamW(model.parameters(), **fused)
        for _ in range(2):
            tokens = torch.randint(1000, (8, 128)).cuda()
            with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):  # which frees in the order of host addresses
                loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    done["loss"] = loss.item()


def mixed_precision():
    model = nn.Linear(512, 512).cuda()
    optimizer, scaler = torch.optim.SGD(model.parameters(), momentum=0.9, lr=0.1), torch.amp.GradScaler()
    with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
        loss = model(torch.randn(64, 512, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def attention():
    q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    backends = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
    if books.VERSION > (2, 4):  # where it has to be switched on
        backends.append(SDPBackend.CUDNN_ATTENTION)
    for backend in backends:
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        done[backend.name] = list(q.grad.shape)


def convolutions():
    for cudnn, benchmark in ((False, False), (True, False), (True, True)):
        with torch.backends.cudnn.flags(enabled=cudnn, benchmark=benchmark):
            net = nn.Sequential(
                nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(32, 64, 3, stride=2, groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
            ).cuda()
            net(torch.randn(4, 3, 64, 64, device="cuda")).sum().backward()
            done[f"conv {cudnn} {benchmark}"] = list(net[0].weight.grad.shape)


def recurrent():
    for kind in (nn.LSTM, nn.GRU):
        net = kind(32, 64, num_layers=2, bidirectional=True, dropout=0.1, batch_first=True).cuda()
        out, _ = net(torch.randn(4, 16, 32, device="cuda"))
        out.sum().backward()
        done[kind.__name__] = list(out.shape)


for part in (transformer, mixed_precision, attention, convolutions, recurrent):
    part()
found = books.check()
digest = hashlib.sha256(json.dumps(books.trace()).encode()).hexdigest()
books.tell(done=done, books=found, digest=digest)
