"""Tensors that are spread over four GPUs, of which this process has one: what MemTracker counts, and what was asked
for."""

import json
import warnings

import torch
import torch.distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from vramscope.gpu_mem_track import MemTracker

warnings.simplefilter("ignore")
torch.distributed.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard  # noqa: E402
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh  # noqa: E402

mesh = init_device_mesh("cuda", (4,))
torch.zeros(1, device="cuda")
tracker = MemTracker()
rows = {}


def asked_for():
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


def case(name, make):
    before, counted = asked_for(), tracker.get_tensor_usage()
    kept = make()
    rows[name] = [(tracker.get_tensor_usage() - counted) * 2**20, asked_for() - before]
    return kept


def layers():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8)).cuda()


def sharded():
    model = layers()
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    return model


whole = torch.zeros(64, 4, device="cuda")
kept = case("DTensor", lambda: distribute_tensor(whole, mesh, [Shard(0)]))
also = case("DTensor, replicated", lambda: distribute_tensor(whole, mesh, [Replicate()]))
del kept, also, whole
model = case("FSDP2, parameters", sharded)
named = [[row.name, str(row.size), row.type.__name__, row.bytes] for row in tracker.tensors() if row.name.startswith("model.")]
output = case("FSDP2, forward", lambda: model(torch.zeros(2, 8, device="cuda")))
del output
case("FSDP2, sharded again", lambda: model.reshard())
older = case("FSDP", lambda: FullyShardedDataParallel(layers(), device_id=0))
print(json.dumps({"rows": rows, "named": sorted(named)}))
