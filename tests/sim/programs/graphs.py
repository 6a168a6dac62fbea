"""CUDA graphs, memory pools, streams inside captures, a pluggable allocator inside a pool."""

import books
import torch
from torch import nn

MiB = 1 << 20
books.begin()
done = {}

# A capture: memory comes from the graph's private pool, and stays in it until the graph is destroyed.
graph, x = torch.cuda.CUDAGraph(), torch.ones(1000, 1000, device="cuda")
before = torch.cuda.memory_reserved()
with torch.cuda.graph(graph):
    y = x @ x
    z = y + 1
graph.replay()
torch.cuda.synchronize()
pools = {tuple(s["segment_pool_id"]) for s in torch.cuda.memory_snapshot()}
done["pools"] = sorted(map(list, pools))
assert torch.cuda.memory_reserved() > before
held = torch.cuda.memory_reserved()
del y, z
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == held, "a live graph keeps its memory"
del graph
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() < held, "a dead graph gives it back"

# A side stream joins and leaves inside a capture; two graphs share a pool.
side, pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
graphs = [torch.cuda.CUDAGraph() for _ in range(2)]
for graph in graphs:
    with torch.cuda.graph(graph, pool=pool):
        a = x + 1
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            b = a * 2
        torch.cuda.current_stream().wait_stream(side)
        c = a + b
    graph.replay()

# A capture that does what it may not: an error with a name, and the next one works. In PyTorch 2.4 to 2.11 such a capture counts as
# under way for ever, and the next empty_cache() fails.
try:
    if books.VERSION < (2, 15):
        raise RuntimeError("no capture was tried")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.cuda.synchronize()
    raise SystemExit("synchronising inside a capture was let pass")
except RuntimeError as error:
    done["refused"] = str(error).splitlines()[0]
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    d = x + 2
graph.replay()

# Whole models.
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
sample = torch.randn(16, 64, device="cuda", requires_grad=True)
graphed = torch.cuda.make_graphed_callables(model, (sample,))
graphed(sample).sum().backward()

# A pool of one's own.
if hasattr(torch.cuda, "use_mem_pool"):
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        mine = torch.empty(30 * MiB, dtype=torch.uint8, device="cuda")
    done["own"] = [s["total_size"] for s in own.snapshot()]
    del mine
torch.cuda.synchronize()
found = books.check()
books.tell(done=done, books=found)
