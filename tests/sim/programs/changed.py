"""A small GPT that is trained. It knows nothing of changes, but makes one itself with --by-hand NAME, as its author would in the source. Prints the losses, all
gradients of the last step in short, running statistics, and the peaks of PyTorch's allocator."""

import argparse
import contextlib
import hashlib
import json
import os

options = argparse.ArgumentParser()
options.add_argument("--by-hand", default="")
options.add_argument("--device", default="cuda")
options.add_argument("--every", type=int, default=1)
options.add_argument("--first", type=int, default=10**6)
options.add_argument("--width", type=int, default=256)
options.add_argument("--batch", type=int, default=8)
options.add_argument("--norm", default="LayerNorm")
options.add_argument("--zeros", action="store_true", help="zero_grad(set_to_none=False)")
options.add_argument("--autocast", action="store_true")
options.add_argument("--ddp", action="store_true")
options.add_argument("--models", type=int, default=1)
options.add_argument("--compile", action="store_true")
options.add_argument("--apply", default="", help="a fit.json for vramscope.apply()")
args = options.parse_args()
hand = args.by_hand

if hand == "allocator":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
if hand == "cublas_workspace":
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
if args.apply:
    import vramscope

    applied = vramscope.apply(args.apply)

import torch  # noqa: E402 (after the settings)
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

torch.manual_seed(0)
WORDS, LENGTH, LAYERS, STEPS = 512, 64, 6, 3


class Scale(torch.autograd.Function):
    """A custom function, which saves a tensor as PyTorch asks for it."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient * weight, (gradient * x).sum(dim=(0, 1))


class Over(nn.Module):
    """BatchNorm1d over the width."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.norm(x.transpose(1, 2)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width) if args.norm == "LayerNorm" else Over(width)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(2))
        self.scale = nn.Parameter(torch.ones(width))
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask=None):
        y = self.norm(x)
        for expert in self.experts:
            y = y + expert(y)
        return x + self.drop(Scale.apply(y, self.scale))


class GPT(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(LAYERS))
        self.head = nn.Linear(width, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        chosen = [i for i in range(LAYERS) if i % args.every == 0][: args.first]
        for i, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False) if hand == "checkpoint" and i in chosen else block(x)
        return self.head(x)


def optimizer_of(parameters):
    if hand == "bf16_parameters":
        for parameter in parameters:
            parameter.data = parameter.data.to(torch.bfloat16)
    if hand in ("adam_8bit", "adam_paged"):
        import bitsandbytes

        make = bitsandbytes.optim.AdamW8bit if hand == "adam_8bit" else bitsandbytes.optim.PagedAdamW
        return make(parameters, lr=1e-3, weight_decay=1e-2)
    more = {"foreach_off": {"foreach": False}, "fused": {"fused": True}}.get(hand, {})
    return torch.optim.AdamW(parameters, lr=1e-3, **more)


def make():
    model = GPT(args.width).to(args.device)
    called = model
    if args.ddp:
        torch.distributed.init_process_group("nccl")
        called = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=hand == "bucket_view")
    if args.compile:
        called = torch.compile(called, backend="aot_eager")
    return model, called, optimizer_of(list(model.parameters()))


def step(called, optimizer, tokens):
    context = torch.autocast(args.device, torch.bfloat16) if args.autocast else contextlib.nullcontext()
    with context:
        loss = nn.functional.cross_entropy(called(tokens).flatten(0, 1).float(), tokens.flatten())
    loss.backward()
    optimizer.step()
    return loss


with torch.autograd.graph.save_on_cpu(pin_memory=True) if hand == "save_on_cpu" else contextlib.nullcontext():
    models, losses = [make() for _ in range(args.models)], []
    for number in range(STEPS):
        for model, called, optimizer in models:
            tokens = torch.arange(args.batch * LENGTH, device=args.device).view(args.batch, LENGTH) * (7 + number) % WORDS
            losses.append(step(called, optimizer, tokens).item())
            if number + 1 < STEPS:
                optimizer.zero_grad(set_to_none=not args.zeros or hand == "set_to_none")

model = models[0][0]
gradients = [parameter.grad.float().cpu() for parameter in model.parameters()]
digest = hashlib.sha256(b"".join(g.contiguous().numpy().tobytes() for g in gradients)).hexdigest()
buffers = hashlib.sha256(b"".join(b.cpu().numpy().tobytes() for b in model.buffers())).hexdigest()
peaks = {}
if args.device == "cuda":
    stats = torch.cuda.memory_stats()
    peaks = {name: stats[f"{name}_bytes.all.peak"] for name in ("allocated", "requested", "reserved")}
print(json.dumps({"losses": losses, "norms": [float(g.norm()) for g in gradients], "digest": digest, "buffers": buffers, "peaks": peaks,
                  "keys": sorted(model.state_dict())[:3], "applied": [str(applied), applied.outcomes] if args.apply else None}))
