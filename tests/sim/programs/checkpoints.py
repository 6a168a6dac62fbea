"""Training programs, each recorded as it is and then run with torch.utils.checkpoint around one of its functions.

    checkpoints.py FOLDER [NAME...]     writes FOLDER/<name>.pickle, prints {name: {"functions", "plain", "checkpointed"}}: what to
                                        ask for, and torch.cuda.max_memory_allocated() of both runs
    checkpoints.py --failing FOLDER     on a GPU that is too small: writes FOLDER/<name>.pickle of programs that run out of memory,
                                        prints {name: {"functions", "failed", "checkpointed"}}: whether it failed, and whether it
                                        ran to the end with checkpoints
"""

import contextlib
import inspect
import json
import os
import sys
from pathlib import Path

import torch
from loads import begin
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers.models.bert import modeling_bert
from transformers.models.llama import modeling_llama


class Mlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (t.view(batch, time, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        scores = scores.masked_fill(torch.ones(time, time, dtype=torch.bool, device=x.device).triu(1), float("-inf"))
        y = self.dropout(scores.softmax(-1)) @ v
        return self.dropout(self.out(y.transpose(1, 2).reshape(batch, time, width)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.attention, self.mlp = nn.LayerNorm(width), Attention(width, heads), Mlp(width, 4 * width)

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return self.mlp(x)


class Gpt(nn.Module):
    def __init__(self, depth=6, width=256, heads=4, words=1000, time=256):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(time, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(after) for _ in range(2))
        self.aside = nn.Conv2d(before, after, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = functional.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        return functional.relu(y + self.aside(x))


class Plain(nn.Module):
    """Layers in a row without a residual, all of one line."""

    def __init__(self, width, inner):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))

    def forward(self, x):
        return self.net(x)


class PostNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 3 * width), nn.Tanh(), nn.Linear(3 * width, width), nn.Dropout(0.2))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.net(x))


class Gated(nn.Module):
    """A root-mean-square norm written out, a gate, and a pair as the result."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.gate, self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight
        y = functional.silu(self.gate(y)) * self.up(y)
        return x + self.down(y)


class Half(nn.Module):
    """As in Llama: the norm is computed in float32, so that nothing saves the input itself."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.up.bfloat16()
        self.down.bfloat16()

    def forward(self, x):
        y = self.norm(x.float()).bfloat16()
        return x + self.down(functional.silu(self.up(y)))


class Functions(nn.Module):
    """The layers are functions of the module, called in a loop; one of them saves its own result."""

    def __init__(self, width, depth):
        super().__init__()
        self.weights = nn.ParameterList(torch.empty(width, width) for _ in range(depth))

    def forward(self, x):
        for weight in self.weights:
            x = squash(layer(x, weight))
        return x


def layer(x, weight):
    y = functional.gelu(x @ weight)
    return functional.gelu(y * 2) + x


def squash(x):
    y = x.sigmoid() * x
    return y.tanh()


def train(model, batch, loss_of, optimizer, steps=3, parts=1):
    model.cuda()
    optimizer = optimizer(model.parameters())
    for _ in range(steps):
        for _ in range(parts):
            loss_of(model(batch())).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def mean_of_squares(y):
    return y.square().mean()


def words(logits):
    return functional.cross_entropy(logits.flatten(0, 1), torch.zeros(logits.shape[0] * logits.shape[1], dtype=torch.long, device="cuda"))


def mlp():
    return train(nn.Sequential(*(Mlp(256, 1024) for _ in range(8))), lambda: torch.empty(1024, 256, device="cuda"), mean_of_squares,
                 torch.optim.AdamW)


def gpt():
    return train(Gpt(), lambda: torch.zeros(4, 256, dtype=torch.long, device="cuda"), words, torch.optim.AdamW)


def conv():
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), Residual(32, 32, 1), Residual(32, 32, 1), Residual(32, 64, 2), Residual(64, 64, 1),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return train(net, lambda: torch.empty(16, 3, 64, 64, device="cuda"), mean_of_squares, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))


def plain():
    return train(nn.Sequential(*(Plain(320, 1280) for _ in range(7))), lambda: torch.empty(1024, 320, device="cuda"), mean_of_squares, sgd)


def post_norm():
    return train(nn.Sequential(*(PostNorm(384) for _ in range(6))), lambda: torch.empty(3000, 384, device="cuda"), mean_of_squares, sgd)


def sgd(parameters):
    return torch.optim.SGD(parameters, 0.1)


def gated():
    return train(nn.Sequential(*(Gated(256) for _ in range(8))), lambda: torch.empty(3000, 256, device="cuda"), mean_of_squares, sgd)


def half():
    return train(nn.Sequential(*(Half(256) for _ in range(8))), lambda: torch.zeros(3000, 256, dtype=torch.bfloat16, device="cuda"),
                 mean_of_squares, torch.optim.AdamW)


def functions():
    return train(Functions(512, 6), lambda: torch.empty(2048, 512, device="cuda"), mean_of_squares, sgd)


def accumulated():
    """Two batches for each step of the optimizer, a validation without gradients between."""
    model = nn.Sequential(*(Mlp(256, 1024) for _ in range(6)))
    batch = lambda: torch.empty(1500, 256, device="cuda")  # noqa: E731
    train(model, batch, mean_of_squares, torch.optim.AdamW, steps=2, parts=2)
    with torch.no_grad():
        model(batch())
    return train(model, batch, mean_of_squares, sgd, steps=1)


def autocast():
    def step(model, batch):
        with torch.autocast("cuda", torch.bfloat16):
            return mean_of_squares(model(batch))

    model = nn.Sequential(*(Mlp(256, 1024) for _ in range(6))).cuda()
    optimizer = sgd(model.parameters())
    for _ in range(3):
        step(model, torch.empty(3000, 256, device="cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def hugging_face(module, name, config, dtype=torch.float32):
    """A model of the library transformers, its own code unchanged. It keeps no cache: with checkpoints it would not, either."""
    model = getattr(module, name)(config).to(dtype)
    model.config.use_cache = False
    tokens = lambda: torch.zeros(8, 128, dtype=torch.long, device="cuda")  # noqa: E731
    return train(model, tokens, lambda out: words(out.logits), sgd, steps=2)


def llama():
    from transformers import LlamaConfig
    return hugging_face(modeling_llama, "LlamaForCausalLM", LlamaConfig(
        vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4), torch.bfloat16)


def bert():
    from transformers import BertConfig
    return hugging_face(modeling_bert, "BertForMaskedLM", BertConfig(
        vocab_size=1000, hidden_size=256, num_hidden_layers=5, num_attention_heads=8, intermediate_size=1024))


def growing(last, vocabulary):
    """A batch that grows with each step: the last one does not fit."""
    tokens = [torch.zeros(size, 256, dtype=torch.long, device="cuda") for size in (1, 2, last)]
    return train(Gpt(depth=8, words=vocabulary), lambda: tokens.pop(0), words, sgd)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return f"{Path(inspect.getsourcefile(inspect.unwrap(function))).name}:{first + next(i for i, line in enumerate(lines) if text in line)}"


def lines(*owners):
    """(class or module, name of the function, a line of it) -> what `whatif` is asked for"""
    return [line_of(getattr(owner, name), text) if text else f"{Path(__file__).name}:{name}" for owner, name, text in owners]


# name: (program, functions that are checkpointed: their owner, name, and a line that they have; None: by name)
MODULE = sys.modules[__name__]
PROGRAMS = {
    "mlp": (mlp, [(Mlp, "forward", "self.down")]),
    "gpt": (gpt, [(Block, "forward", "self.mlp")]),
    "gpt_attention": (gpt, [(Attention, "forward", "softmax")]),
    "gpt_mlp": (gpt, [(Mlp, "forward", "self.down")]),
    "gpt_both": (gpt, [(Attention, "forward", "softmax"), (Mlp, "forward", "self.down")]),
    "gpt_whole": (gpt, [(Gpt, "forward", "self.head")]),
    "conv": (conv, [(Residual, "forward", "self.second")]),
    "plain": (plain, [(Plain, "forward", "self.net(x)")]),
    "post_norm": (post_norm, [(PostNorm, "forward", "self.norm(x")]),
    "gated": (gated, [(Gated, "forward", "silu")]),
    "half": (half, [(Half, "forward", "silu")]),
    "layers": (functions, [(MODULE, "layer", None)]),
    "squashes": (functions, [(MODULE, "squash", None)]),
    "accumulated": (accumulated, [(Mlp, "forward", "self.down")]),
    "autocast": (autocast, [(Mlp, "forward", "self.down")]),
    "llama": (llama, [(modeling_llama.LlamaDecoderLayer, "forward", "self.self_attn(")]),
    "bert": (bert, [(modeling_bert.BertLayer, "forward", "self.attention(")]),
}


def wrapped(function):
    return lambda *args, **more: checkpoint(function, *args, use_reentrant=False, **more)


def peak_of(program):
    begin("")
    torch.cuda.reset_peak_memory_stats()
    kept = program()
    peak = torch.cuda.max_memory_allocated()
    del kept
    return peak


@contextlib.contextmanager
def checkpoints(owners):
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in owners]
    for owner, name, function in originals:
        setattr(owner, name, wrapped(function))
    try:
        yield
    finally:
        for owner, name, function in originals:
            setattr(owner, name, function)


def recorded(path, program):
    begin("")
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
    kept = program()
    torch.cuda.memory._dump_snapshot(str(path))
    torch.cuda.memory._record_memory_history(enabled=None)
    del kept


def judge(folder, names):
    told = {}
    for name in names or PROGRAMS:
        program, owners = PROGRAMS[name]
        recorded(folder / f"{name}.pickle", program)
        told[name] = {"functions": lines(*owners), "plain": peak_of(program)}
        with checkpoints(owners):
            told[name]["checkpointed"] = peak_of(program)
    return told


# With a large vocabulary the backward pass needs more than the forward pass.
FAILING = {
    "forward": (lambda: growing(32, 100), [(Block, "forward", "self.mlp")]),
    "backward": (lambda: growing(8, 20000), [(Block, "forward", "self.mlp")]),
}


def fails(program):
    begin("")
    try:
        kept = program()
    except torch.OutOfMemoryError:
        return True
    del kept
    return False


def judge_failing(folder):
    told = {}
    for name, (program, owners) in FAILING.items():
        begin("")
        torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
        failed = fails(program)
        torch.cuda.memory._dump_snapshot(str(folder / f"{name}.pickle"))
        torch.cuda.memory._record_memory_history(enabled=None)
        told[name] = {"functions": lines(*owners), "failed": failed}
        with checkpoints(owners):
            told[name]["checkpointed"] = not fails(program)
    return told


if __name__ == "__main__":
    if sys.argv[1] == "--failing":
        print(json.dumps(judge_failing(Path(sys.argv[2]))))
    else:
        print(json.dumps(judge(Path(sys.argv[1]), sys.argv[2:])))
    # A thread of autograd that has run Python may ask for the interpreter's lock while that ends, which ends the process in C++.
    sys.stdout.flush()
    os._exit(0)
