"""Growth, names, what is looked at and when, and what stays untouched."""

import contextlib
import gc
import io
import json
import os
import sys
import weakref

import torch

from vramscope import gpu_mem_track
from vramscope.gpu_mem_track import MemTracker

found = {}

# before CUDA begins
early = MemTracker(path="early-")
early.track()
found["cuda_begun"] = torch.cuda.is_initialized()
found["early"] = open(early.gpu_profile_fn).read()

# how often all objects are listed
walks = 0
all_objects = gc.get_objects


def counting(*arguments):
    global walks
    walks += 1
    return all_objects(*arguments)


gc.get_objects = counting


def walked(call):
    global walks
    walks = 0
    call()
    return walks


tracker = MemTracker(path="walks-")
tensor = torch.zeros(1000, device="cuda")
found["walks"] = {"new": walked(tracker.track), "same": walked(tracker.track), "usage": walked(tracker.get_tensor_usage)}
view = tensor[:3]
found["walks"]["view"] = walked(tracker.track)
tensor = torch.zeros(1000, device="cuda")
found["walks"]["swapped"] = walked(tracker.track)
found["usage_after"] = tracker.get_tensor_usage() * 2**20
gc.get_objects = all_objects
del view

# what freezing and unfreezing moves into the oldest generation, without a collection
tracker.get_tensor_usage()
gc.disable()
moved = torch.zeros(500, device="cuda")
gc.freeze()
gc.unfreeze()
found["usage_moved"] = tracker.get_tensor_usage() * 2**20
gc.enable()
del moved

# asking in between does not lose lines
tracker = MemTracker(path="asked-")
tracker.track()
more = torch.zeros(3, 5, device="cuda")
tracker.get_tensor_usage()
tracker.tensors()
tracker.track()
found["asked"] = [line for line in open(tracker.gpu_profile_fn) if "(3, 5)" in line]
found["last"] = sorted(str(row[1:4]) for row in tracker.last_tensor_sizes)
del more, tensor


# a loop that keeps a tensor in each round, and one that does not
def loop(tracker, keep):
    held = []
    for _ in range(5):
        tracker.track()
        new = torch.zeros(1024, 256, device="cuda")
        if keep:
            held.append(new)
        tracker.track()
        del new
    return tracker


def rows(tracker):
    return [[row.begin.rpartition(" line ")[2], row.end.rpartition(" line ")[2], row.passes, row.first, row.later,
             row.allocated_later, row.returned, [[str(kind[1]), count, size] for kind, count, size in row.kinds]]
            for row in tracker.growth()]


found["keeps"] = rows(leaky := loop(MemTracker(detail=False, path="loop-"), True))
found["lets_go"] = rows(loop(MemTracker(detail=False, path="loop-"), False))
found["summary"] = leaky.summary()


# names
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("mask", torch.zeros(8))
        self.cache = {"keys": torch.zeros(33, device="cuda")}

    def __getattr__(self, name):
        if name == "trap":
            raise RuntimeError("touched")
        return super().__getattr__(name)


model = torch.nn.Sequential(Block(), Block()).cuda()
model[1].linear.weight = model[0].linear.weight  # tied
optimizer = torch.optim.Adam(model.parameters())
batch = {"x": torch.zeros(4, 8, device="cuda")}
sum(block.linear(batch["x"]).sum() for block in model).backward()
optimizer.step()


def in_a_function():
    mine = torch.zeros(21, device="cuda")
    names = sorted(row.name for row in MemTracker().tensors() if row.name)
    gone = weakref.ref(mine)
    del mine
    return names, gone() is None


found["names"], found["freed_in_function"] = in_a_function()


def with_locals():
    mine = torch.zeros(22, device="cuda")
    space = locals()
    MemTracker().tensors()
    return "mine" in space and mine is space["mine"]


found["locals_kept"] = with_locals()
named = MemTracker(path="named-", names=True)
named.track()
found["named"] = open(named.gpu_profile_fn).read()
anonymous = [torch.nn.Linear(3, 5).cuda() for _ in range(2)]
found["anonymous"] = sorted(row.name for row in MemTracker().tensors() if row.size == (5, 3))
del anonymous, model, optimizer, batch

# devices
gc.collect()  # what a model and its optimizer left in cycles is counted, too
one, two = torch.zeros(100, device="cuda:0"), torch.zeros(200, device="cuda:1")
found["devices"] = [round(MemTracker(device=device).get_tensor_usage() * 2**20)
                    for device in (0, 1, "cuda:1", torch.device("cuda", 1), [0, 1], None)]
found["rows"] = sorted([row.name, row.device, row.bytes] for row in MemTracker(device=None).tensors())
found["allocated"] = [MemTracker(device=1).get_allocate_usage() * 2**20, torch.cuda.memory_allocated(1)]
try:
    MemTracker(device="cpu").track()
except ValueError as error:
    found["cpu"] = str(error)

# nothing is emptied and nothing kept
alive = torch.zeros(2**20, device="cuda")
del alive
reserved = torch.cuda.memory_reserved()
kept = torch.zeros(10, device="cuda")
tracker = MemTracker(path="kept-", names=True)
tracker.track()
list(tracker.get_tensors())
found["reserved_same"] = torch.cuda.memory_reserved() == reserved
gone = weakref.ref(kept)
del kept
found["freed"] = gone() is None
tracker.clear_cache()
found["emptied"] = torch.cuda.memory_reserved() < reserved
with contextlib.redirect_stdout(io.StringIO()) as text:
    MemTracker().print_all_gpu_tensor()
    MemTracker().print_all_gpu_tensor(file=sys.stdout)
found["printed"] = text.getvalue()
found["tiny"] = [gpu_mem_track._mib_text(size) for size in (0, 1, 4, 1024, 2**20, 180 * 2**20, 147456, 2**60)]



class Broken(torch.Tensor):
    def __tensor_flatten__(self):
        raise ValueError("broken")


class Bad(dict):
    def __len__(self):
        raise RuntimeError("touched")


bad = Bad(x=torch.zeros(6, device="cuda"))
broken = torch.zeros(5, device="cuda").as_subclass(Broken)
with contextlib.redirect_stdout(io.StringIO()) as text:
    rows = MemTracker(verbose=True).tensors()
    MemTracker().tensors()
found["trivial"] = [sorted(row.name for row in rows if row.size in ((5,), (6,))), sorted(set(text.getvalue().splitlines()))]

# a summary at the end
with MemTracker(path="with-", summary=True) as tracker:
    tracker.track()
found["with"] = open(tracker.gpu_profile_fn).read().count("GPU Memory Growth")
at_exit = MemTracker(path="exit-", summary=True)
at_exit.track()
found["exit"] = os.path.abspath(at_exit.gpu_profile_fn)
print(json.dumps(found))
