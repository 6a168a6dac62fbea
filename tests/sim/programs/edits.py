"""Programs with an edit of their source: `edits.py FOLDER` records each program as it is in FOLDER/<program>.pickle, runs it with each
edit, and prints {edit: {"program", "option", "filters", "factor": of whatif, "before" and "after": PyTorch's statistics}}.
"""

import inspect
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import torch
from loads import MiB, begin
from torch import nn

STATISTICS = ("reserved_bytes.all.peak", "allocated_bytes.all.peak", "active_bytes.all.peak", "segment.all.peak",
              "num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms")


ON_CARD = {"dtype": torch.uint8, "device": "cuda"}


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.outer(torch.nn.functional.gelu(self.inner(x)))


def training():
    model = nn.Sequential(*(Layer(512) for _ in range(3))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    average = [p.detach().clone() for p in model.parameters()]
    mask = torch.ones(1500, 1501, device="cuda")
    history = []
    for step in range(5):
        x = torch.empty(700 + 100 * step, 512, device="cuda")
        y = model(x)
        history.append(y.detach().clone())
        y.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        for mean, p in zip(average, model.parameters(), strict=False):
            mean.lerp_(p.detach(), 0.1)
    return model, optimizer, average, mask, history


@torch.inference_mode()
def decoding():
    layers = [Layer(512).cuda() for _ in range(3)]
    embeddings = torch.empty(6000, 512, dtype=torch.float32, device="cuda")
    cache = torch.empty(6, 2, 16, 1024, 512, device="cuda")
    for length in (300, 800, 500, 1000):
        x = torch.empty(4 * length, 512, device="cuda")
        for layer in layers:
            x = layer(x)
        scores = torch.empty(8, length, 1024, device="cuda")
        scores.zero_()
    return layers, embeddings, cache


def loading():
    """Weights come through a buffer that is still there when the next one is made, and after the last one."""
    weights = [torch.empty((20 + 7 * i) * MiB, **ON_CARD) for i in range(5)]
    for weight in weights:
        staging = torch.empty(weight.numel(), **ON_CARD)
        weight.copy_(staging)
    summary = torch.empty(40 * MiB, **ON_CARD)
    summary.copy_(weights[-1][:40 * MiB])
    return weights, summary


def late():
    """The buffer is used once more behind another allocation."""
    for i in range(3):
        staging = torch.empty((60 + i) * MiB, **ON_CARD)
        result = torch.empty(staging.numel() // 2, **ON_CARD)
        result.copy_(staging[: result.numel()])
        more = torch.empty(90 * MiB, **ON_CARD)
        more.zero_()
    return more


def full():
    held = [torch.empty(450 * MiB, **ON_CARD) for _ in range(4)]
    others = [torch.empty(200 * MiB + i, **ON_CARD) for i in range(5)]
    others.append(torch.empty(1100 * MiB, **ON_CARD))
    return held, others


class Edit(NamedTuple):
    program: object
    option: str  # of whatif
    text: str  # of the source, and what it becomes
    replacement: str
    factor: float = 1
    allocates: str = ""  # the line whose allocations change, if it is another one
    filter: str = ""  # the filter that names them, where that is no line


EDITS = {
    "the average of the weights": Edit(training, "without", "average = [p.detach().clone() for p in model.parameters()]", "average = []"),
    "a mask": Edit(training, "without", 'mask = torch.ones(1500, 1501, device="cuda")', "mask = None"),
    "outputs that are logged": Edit(training, "without", "history.append(y.detach().clone())", "history.append(None)"),
    "the momentum": Edit(training, "without", "lr=0.1, momentum=0.9", "lr=0.1", filter="sgd.py"),
    "a cache of half the length": Edit(decoding, "scale", "torch.empty(6, 2, 16, 1024, 512", "torch.empty(6, 2, 16, 512, 512", 0.5),
    "embeddings of half the width": Edit(decoding, "scale", "torch.float32", "torch.float16", 0.5),
    "scores in chunks": Edit(decoding, "scale", "torch.empty(8, length", "torch.empty(2, length", 0.25),
    "three quarters of the batch": Edit(decoding, "scale", "torch.empty(4 * length", "torch.empty(3 * length", 0.75, filter="forward"),
    "half of the batch in training": Edit(training, "scale", "torch.empty(700 + 100 * step", "torch.empty(350 + 50 * step", 0.5, filter="forward"),
    "a buffer deleted after its use": Edit(loading, "free_early", "weight.copy_(staging)", "weight.copy_(staging); del staging",
                                           allocates="staging = "),
    "scores deleted after their use": Edit(decoding, "free_early", "scores.zero_()", "scores.zero_(); del scores", allocates="scores = "),
    "a buffer deleted after a later use": Edit(late, "free_early", "result.copy_(staging[: result.numel()])",
                                               "result.copy_(staging[: result.numel()]); del staging", allocates="staging = "),
    "a list that is emptied": Edit(full, "free", "others.append(", "held.clear(); others.append(", allocates="held = "),
}


def edited(edit):
    source = textwrap.dedent(inspect.getsource(edit.program))
    assert source.count(edit.text) == 1, edit
    scope = {}
    exec(compile(source.replace(edit.text, edit.replacement), __file__, "exec"), globals(), scope)
    return scope[edit.program.__name__]


def filters_of(edit):
    """The line of the edit, or of the allocations that it changes, and what else the edit reaches."""
    lines, first = inspect.getsourcelines(edit.program)
    (number,) = [first + i for i, line in enumerate(lines) if (edit.allocates or edit.text) in line]
    found = [f'line="{__file__}:{number}"']
    return [*found, edit.filter] if edit.filter else found


def measured(program):
    begin("")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()
    try:
        kept = program()
    except torch.OutOfMemoryError:
        kept = None
    after = torch.cuda.memory_stats()
    del kept
    return {name: after[name] - (0 if name.endswith("peak") else before[name]) for name in STATISTICS}


def record(folder, program):
    begin("")
    torch.cuda.memory._record_memory_history(context="all", stacks="python")
    told = measured(program)
    torch.cuda.memory._dump_snapshot(str(folder / f"{program.__name__}.pickle"))
    torch.cuda.memory._record_memory_history(enabled=None)
    return told


def main(folder):
    before = {program: record(folder, program) for program in {edit.program: None for edit in EDITS.values()}}
    told = {name: {"program": edit.program.__name__, "option": edit.option, "factor": edit.factor, "filters": filters_of(edit),
                   "before": before[edit.program], "after": measured(edited(edit))} for name, edit in EDITS.items()}
    print(json.dumps(told), flush=True)
    os._exit(0)


main(Path(sys.argv[1]))
