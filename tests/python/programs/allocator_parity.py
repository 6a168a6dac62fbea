"""One training program, on PyTorch's allocator or ours: its requests, their addresses, and the statistics.

    allocator_parity.py torch|ours [settings]

The two must say the same. Stacks are compared for the lines of this file."""

import json
import os
import sys

if len(sys.argv) > 2:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = sys.argv[2]

import torch

IS_OURS = sys.argv[1] == "ours"
if IS_OURS:
    import vramscope

    vramscope.use_allocator()

torch.manual_seed(0)
torch.cuda.memory._record_memory_history(stacks="python")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Embedding(1000, 256), torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 1000)
        )

    def forward(self, tokens):
        return self.layers(tokens)


def train(steps):
    model = Model().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    for step in range(steps):
        tokens = torch.randint(0, 1000, (8, 64 + 16 * step)).cuda()
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        with torch.cuda.stream(side):  # work of another stream on memory of this one
            side.wait_stream(torch.cuda.current_stream())
            loss.detach().mul(2)
            loss.record_stream(side)
            tokens.record_stream(side)
        loss.backward()
        del loss, tokens
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    return model, optimizer


def graph(model):
    """A captured step: a private pool, and memory that stays with the graph."""
    tokens = torch.zeros(4, 32, dtype=torch.long, device="cuda")
    captured = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(captured):
        for _ in range(3):
            out = model(tokens).sum()
    captured.replay()
    torch.cuda.synchronize()
    del out, captured
    return tokens


def run_out():
    """Three sizes of failed requests; the program continues."""
    texts = []
    for size in (2**40, 7 * 2**30, 9 * 2**30):
        kept = [torch.empty(2**30, dtype=torch.uint8, device="cuda") for _ in range(3)]
        try:
            torch.empty(size, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            texts.append(str(error))
        del kept
        torch.ones(100, device="cuda")  # nothing of the failure is left behind
    return texts


def flat_frames(entry):
    return [[f["name"], f["line"]] for f in entry.get("frames", ()) if f["filename"] == __file__]


model, optimizer = train(4)
stats = [dict(torch.cuda.memory_stats())]
torch.cuda.reset_peak_memory_stats()
tokens = graph(model)
stats.append(dict(torch.cuda.memory_stats()))
torch.cuda.empty_cache()
torch.cuda.reset_accumulated_memory_stats()
texts = run_out()
torch.cuda.memory.set_per_process_memory_fraction(0.5)
texts += run_out()[:1]
stats.append(dict(torch.cuda.memory_stats()))
summary = torch.cuda.memory_summary()
snapshot = torch.cuda.memory._snapshot()
SEGMENT = ("address", "total_size", "allocated_size", "active_size", "stream", "segment_type", "segment_pool_id")
events = [
    [e["action"], e.get("addr", e.get("device_free")), e["size"], e["stream"], list(e["pool_id"]), flat_frames(e)]
    for e in snapshot["device_traces"][0]
]
segments = [
    [*(s[key] for key in SEGMENT),
     [[*(b[key] for key in ("address", "size", "requested_size", "state")), flat_frames(b)] for b in s["blocks"]]]
    for s in snapshot["segments"]
]
print(json.dumps({
    "events": events, "segments": segments, "stats": stats, "summary": summary, "texts": texts,
    "settings": snapshot["allocator_settings"], "keys": sorted(snapshot),
    "entry": sorted(snapshot["device_traces"][0][-1]),
    "block": sorted(snapshot["segments"][0]["blocks"][0]), "segment": sorted(snapshot["segments"][0]),
    "fraction": torch.cuda.memory.get_per_process_memory_fraction(),
    "backend": torch.cuda.memory.get_allocator_backend(),
    "allocated": torch.cuda.memory_allocated(), "nested": sorted(map(str, torch.cuda.memory_stats_as_nested_dict())),
}))
