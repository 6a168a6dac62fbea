"""modelsize(exact=True) beside the real run of the same step, and the three lines of modelsize beside their
definition."""

import contextlib
import copy
import gc
import io
import json
import warnings

import torch
from torch import nn

from vramscope.modelsize_estimate import modelsize

warnings.simplefilter("ignore")
found = {}


def printed(*arguments, **named):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        modelsize(*arguments, **named)
    return text.getvalue().splitlines()


def defined(model, value, size=4):
    """What the three lines stand for, by running the modules one after another."""
    model, total = copy.deepcopy(model), 0
    with torch.no_grad():
        for module in list(model.modules())[1:]:
            if not (isinstance(module, nn.ReLU) and module.inplace):
                value = module(value)
                total += value.numel()
    elements = sum(parameter.numel() for parameter in model.parameters())
    name = type(model).__name__
    return [f"Model {name} : params: {elements * size / 1000 / 1000:4f}M",
            f"Model {name} : intermedite variables: {total * size / 1000 / 1000:3f} M (without backward)",
            f"Model {name} : intermedite variables: {total * size * 2 / 1000 / 1000:3f} M (with backward)"]


# ---- the three lines

documented = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(64, 64, 3, padding=1),
                           nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(inplace=True))
found["documented"] = printed(documented, torch.empty(1, 3, 682, 700))
flat = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Dropout(), nn.Linear(16, 4), nn.Softmax(1))
odd = nn.Sequential(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 8))  # containers and parts: both are run
found["lines"] = [[printed(model, value, size), defined(model, value, size)] for model, value, size in (
    (flat, torch.randn(5, 8), 4), (odd, torch.randn(3, 8), 2), (nn.Sequential(nn.Embedding(10, 4)), torch.tensor([1, 2]), 4))]


class Branches(nn.Module):
    """Cannot be run one module after another."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 3), nn.Linear(4, 5)

    def forward(self, x):
        return torch.cat([self.left(x), self.right(x)], 1)


class Reads(Branches):
    """Needs values."""

    def forward(self, x):
        return super().forward(x) if x.sum().item() > -1e9 else x


found["branches"] = printed(Branches(), torch.randn(2, 4))
before = flat.state_dict()["2.running_mean"].clone(), torch.get_rng_state()
printed(flat, torch.randn(5, 8))
found["untouched"] = torch.equal(before[0], flat[2].running_mean) and flat[2].num_batches_tracked.item() == 0
try:
    modelsize(Reads(), torch.randn(2, 4), exact=True)
except Exception as error:
    found["reads"] = type(error).__name__

# ---- exact


def stats(what):
    return torch.cuda.memory_stats()[f"requested_bytes.all.{what}"]


def storages(tensors):
    return sum({tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in tensors}.values())


def really(make, value, optimizer):
    """Two steps on the simulated GPU: sizes, what saved-tensor hooks saw, and the allocator's peaks of each part."""
    gc.collect()
    base = stats("current")
    model, value = make().cuda(), value.cuda()
    chosen = optimizer(model.parameters())
    known = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers(), value]}
    saved, peaks = {}, {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if tensor.is_cuda and storage.data_ptr() not in known:
            saved[storage._cdata] = storage.nbytes()
        return tensor

    def part(name, call):
        torch.cuda.reset_peak_memory_stats()
        result = call()
        peaks[name] = max(peaks.get(name, 0), stats("peak") - base)
        return result

    def forward():
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            output = model(value)
            return output, output.sum()

    def step():
        chosen.zero_grad()
        saved.clear()
        output, loss = part("forward_peak", forward)
        part("backward_peak", loss.backward)
        part("step_peak", chosen.step)

    step()
    step()
    return {"parameters": storages(model.parameters()), "buffers": storages(model.buffers()), "inputs": value.nbytes,
            "gradients": storages(parameter.grad for parameter in model.parameters() if parameter.grad is not None),
            "optimizer_state": storages(each for state in chosen.state.values() for each in state.values()
                                        if isinstance(each, torch.Tensor) and each.is_cuda),
            "activations": sum(saved.values()), **peaks}


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Embedding(100, 32), nn.Linear(32, 100, bias=False)
        self.last.weight = self.first.weight
        self.unused = nn.Parameter(torch.zeros(77))
        self.register_buffer("table", torch.ones(100))
        self.register_buffer("part_of_it", self.table[:10])

    def forward(self, x):
        return self.last(self.first(x)) * self.table


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(3)])

    def forward(self, x):
        for part in self.parts:
            x = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
        return x


def mlp():
    return nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.LayerNorm(1024), nn.Dropout(), nn.Linear(1024, 10))


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(14400, 10))


def momentum(parameters):
    return torch.optim.SGD(parameters, 0.1, momentum=0.9)


cases = {
    "mlp": (mlp, torch.zeros(256, 512), torch.optim.Adam),
    "half": (lambda: mlp().half(), torch.zeros(256, 512).half(), momentum),
    "convolutions": (convolutions, torch.zeros(16, 3, 32, 32), momentum),
    "attention": (lambda: nn.TransformerEncoderLayer(256, 4, batch_first=True), torch.zeros(8, 64, 256), torch.optim.AdamW),
    "tied": (Tied, torch.zeros(8, 16, dtype=torch.int64), torch.optim.Adagrad),
    "checkpointed": (Checkpointed, torch.zeros(128, 64), torch.optim.Adam),
}
torch.zeros(1, device="cuda")
found["exact"] = {}
for name, (make, value, optimizer) in cases.items():
    count = torch.cuda.memory_stats()["allocation.all.allocated"]
    ours = modelsize(make(), value, exact=True, optimizer=optimizer, device="cuda", quiet=True)
    taken = torch.cuda.memory_stats()["allocation.all.allocated"] - count
    found["exact"][name] = [{**ours._asdict(), "allocations": taken}, really(make, value, optimizer)]

# an optimizer that exists and has state, a model that is on the GPU, a model that is nowhere
model = mlp().cuda()
optimizer = torch.optim.Adam(model.parameters())
model(torch.zeros(256, 512, device="cuda")).sum().backward()
optimizer.step()
gradient = model[0].weight.grad
ours = modelsize(model, torch.zeros(256, 512, device="cuda"), exact=True, optimizer=optimizer, quiet=True)
found["existing"] = ours._asdict()
found["gradient_kept"] = model[0].weight.grad is gradient and optimizer.state[model[0].weight]["step"].item() == 1
with torch.device("meta"):
    huge = nn.Linear(10**6, 10**6, bias=False)
    value = torch.zeros(1, 10**6)
found["huge"] = modelsize(huge, value, exact=True, optimizer=torch.optim.AdamW, quiet=True)._asdict()
found["peak_in"] = modelsize(huge, value, exact=True, optimizer=torch.optim.AdamW, quiet=True).peak_in
found["no_optimizer"] = modelsize(mlp(), torch.zeros(4, 512), exact=True, device="cuda", quiet=True)._asdict()
frozen = mlp().requires_grad_(False)
found["frozen"] = modelsize(frozen, torch.zeros(4, 512), exact=True, device="cuda", quiet=True)._asdict()
twice = modelsize(mlp(), torch.zeros(4, 512), exact=True, device="cuda", quiet=True, loss=lambda out: (out * out).sum())
found["loss"] = twice._asdict()
found["printed"] = printed(mlp(), {"input": torch.zeros(4, 512)}, exact=True, device="cuda")
print(json.dumps(found))
