"""Programs that allocate in all kinds of ways, each from an empty allocator on, and what begins them under settings."""

import contextlib
import random

import torch

MiB = 1 << 20
streams = [torch.cuda.default_stream(), *(torch.cuda.Stream() for _ in range(3))]


class Absent(Exception):
    """This PyTorch does not have what a program is about."""


def change(settings):
    """Sets the allocator's settings; how it is called, and what an unknown setting raises, depends on PyTorch's version."""
    call = getattr(torch._C, "_accelerator_setAllocatorSettings", None) or torch._C._cuda_cudaCachingAllocator_set_allocator_settings
    try:
        call(settings)
    except (RuntimeError, ValueError) as error:
        if "nrecognized" not in str(error):
            raise
        raise Absent(str(error).splitlines()[0]) from error


def begin(settings, fraction=1.0):
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()  # PyTorch before 2.14 keeps them
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0, torch.cuda.memory_reserved()
    change("expandable_segments:False")
    with contextlib.suppress(Absent):
        change("large_segment_size_mb:20")
    change(settings)
    torch.cuda.set_per_process_memory_fraction(fraction)


def new_pool():
    if not hasattr(torch.cuda, "use_mem_pool"):
        raise Absent("torch.cuda has no use_mem_pool")
    return torch.cuda.MemPool()


def tensor(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def sizes(rng):
    """Mostly small and middle ones, now and then a large one; powers of two and odd ones."""
    kind = rng.random()
    top = 1 << 13 if kind < 0.4 else MiB if kind < 0.6 else 10 * MiB if kind < 0.85 else 90 * MiB
    return rng.choice((rng.randint(1, top), 1 << rng.randint(0, top.bit_length() - 1)))


def churn(seed, steps=700, side=0.0, empties=0.01, most=600 * MiB):
    """Allocates and frees random tensors; `side`: how often another stream allocates or uses one."""
    rng = random.Random(seed)
    held = []
    for _ in range(steps):
        what = rng.random()
        if what < empties:
            torch.cuda.empty_cache()
        elif what < empties + 0.01:
            torch.cuda.synchronize()
        elif held and (what < 0.47 or sum(t.numel() for t in held) > most):
            held.pop(rng.randrange(len(held)))
        else:
            with torch.cuda.stream(rng.choice(streams) if rng.random() < side else streams[0]):
                try:
                    held.append(tensor(sizes(rng)))
                except torch.OutOfMemoryError:
                    del held[: len(held) // 2]
                    continue
            if rng.random() < side:
                held[-1].record_stream(rng.choice(streams))
    return held


def alike(seed, steps=1500):
    """Blocks of nearly one size take each other's places, with room behind them that is too small to be split off."""
    rng = random.Random(seed)
    held = [tensor(rng.randint(40, 60) * MiB // 10) for _ in range(20)]
    for _ in range(steps):
        if len(held) > 80 or (held and rng.random() < 0.48):
            held.pop(rng.randrange(len(held)))
        else:
            held.append(tensor(rng.randint(30, 60) * MiB // 10))
    return held


def growth(seed, side=0.0, steps=150):
    """Segments that are outgrown and get old: for the collection of garbage."""
    rng = random.Random(seed)
    held = []
    for i in range(steps):
        size = (12 + i // 2) * MiB if rng.random() < 0.5 else sizes(rng)
        with torch.cuda.stream(rng.choice(streams) if rng.random() < side else streams[0]):
            held.append(tensor(size))
        if rng.random() < side:
            held[-1].record_stream(rng.choice(streams))
        while sum(t.numel() for t in held) > 250 * MiB:
            held.pop(rng.randrange(len(held)))
    return held


def train(steps=3):
    model = torch.nn.Sequential(*(torch.nn.Linear(700 + 40 * i, 740 + 40 * i) for i in range(5))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        x = torch.empty(64 + 16 * step, 700, device="cuda")
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


class Layer(torch.nn.Linear):
    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight).tanh()


def anomaly():
    """In anomaly mode what the backward pass allocates is recorded with the lines of the forward pass."""
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        model = torch.nn.Sequential(*(Layer(800, 800) for _ in range(3))).cuda()
        for _ in range(2):
            model(torch.empty(400, 800, device="cuda")).square().mean().backward()
    return model


def fill(chunk=160 * MiB, then=lambda: None):
    """Fills the GPU up to the last segment, frees every other block, and then requests one that does not fit into the free blocks."""
    held = []
    for size in (chunk, 9 * MiB):
        try:
            while True:
                held.append(tensor(size))
        except torch.OutOfMemoryError:
            pass
        del held[::2]
    then()
    held.append(tensor(chunk + 7 * MiB))
    return held


def pools():
    first, second = new_pool(), new_pool()
    rng = random.Random(5)
    held = []
    for _ in range(120):
        with torch.cuda.use_mem_pool(rng.choice((first, second))):
            held.append(tensor(sizes(rng) // 4 + 1))
        held.append(tensor(sizes(rng) // 4 + 1))
        while len(held) > 40:
            held.pop(rng.randrange(len(held)))
    held = [t for i, t in enumerate(held) if i % 2]
    torch.cuda.empty_cache()
    return held, first, second


def dying_pools():
    """Pools that end while the recording goes on: their segments go back, and the default pool's do not."""
    held = []
    for i in range(4):
        pool = new_pool()
        with torch.cuda.use_mem_pool(pool):
            inside = [tensor(3 * MiB * (i + 1)), tensor(700), tensor(30 * MiB)]
        held.append(tensor(5 * MiB))
        held.append(tensor(25 * MiB))
        held.pop(0)
        del inside, pool
    torch.cuda.empty_cache()
    return held


def graph():
    """A capture that frees and reuses memory, with other work around it."""
    a = torch.empty(300, 700, device="cuda")
    before = [tensor(4 * MiB) for _ in range(4)]
    del before[::2]
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        b = a * 2
        c = b.repeat(8, 1)
        del b
        d = c + 1
        side = streams[1]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            e = d * 3
        d.record_stream(side)
        torch.cuda.current_stream().wait_stream(side)
        del d
        f = tensor(30 * MiB)
    captured.replay()
    after = [tensor(6 * MiB) for _ in range(4)]
    del captured, c, e, f
    torch.cuda.empty_cache()
    after.append(tensor(22 * MiB))
    return before, after, a


def late_streams():
    """Before the recording: blocks that other streams use when it begins."""
    held = churn(21, 300, 0.3)
    for i in range(12):
        t = tensor((1 + i) * MiB)
        t.record_stream(streams[1 + i % 3])
        del t
    return held
