"""vramscope.memory beside torch.cuda.memory, over PyTorch's allocator ("native") or vramscope's ("ours"), and
free_tensor."""

import json
import os
import sys

import torch

import vramscope
from vramscope import memory
from vramscope.scopes import Scope

MB = 2**20
facts = {"early": [memory.memory_stats(), torch.cuda.is_initialized()]}
if sys.argv[1] == "ours":
    from vramscope.torch import use_allocator

    allocator = use_allocator()


def block(megabytes):
    return torch.empty(megabytes * MB, dtype=torch.uint8, device="cuda")


memory.record_memory_history(max_entries=1000)
with Scope() as scope:
    a, b, c = block(30), block(3), [torch.empty(i + 1, device="cuda") for i in range(10)]
    del b, c[2:5]
facts["scope"] = [scope.allocated.used, scope.allocated.peak, scope.is_exact]
stats = memory.memory_stats()
facts["stats"] = [stats == torch.cuda.memory_stats(), list(stats) == list(torch.cuda.memory_stats()),
                  memory.memory_stats(nested=True) == torch.cuda.memory_stats_as_nested_dict(),
                  stats["allocated_bytes.all.current"], stats["allocated_bytes.all.peak"]]
facts["summary"] = [memory.memory_summary(abbreviated=short) == torch.cuda.memory_summary(abbreviated=short)
                    for short in (False, True)]
four = memory.total_reserved_allocated_free()
facts["four"] = [four.reserved == torch.cuda.memory_reserved(), four.allocated == torch.cuda.memory_allocated(),
                 four.free == four.reserved - four.allocated, four.total // MB]
import torch.cuda.memory as pytorchs  # noqa: E402
facts["total"] = [four.total == torch.cuda.get_device_properties(0).total_memory, four.driver_total >= four.total,
                  [name for name in pytorchs.__all__ if not hasattr(memory, name)],
                  memory.max_memory_allocated() == torch.cuda.max_memory_allocated(), hasattr(memory, "nothing")]
memory.reset_peak_memory_stats()
memory.reset_accumulated_memory_stats()
stats = memory.memory_stats()
peak, current, freed = (stats[f"allocated_bytes.all.{metric}"] for metric in ("peak", "current", "freed"))
facts["reset"] = [peak == current, freed]
snapshot = memory.snapshot()
memory.dump_snapshot("here.pickle")
events = snapshot["device_traces"][0]
facts["snapshot"] = [len(snapshot["segments"]) > 0, sum(event["action"] == "alloc" for event in events),
                     os.path.getsize("here.pickle") > 1000, type(vramscope.open("here.pickle")).__name__]
memory.record_memory_history(None)
before = torch.cuda.memory_reserved()
del a
memory.empty_cache()
facts["emptied"] = before - torch.cuda.memory_reserved() >= 30 * MB

if sys.argv[1] == "native":
    # ---- free_tensor
    class Trainer:
        pass

    def inner():
        local = tensor  # noqa: F841 (it holds)
        view = tensor[:100]  # noqa: F841
        return memory.free_tensor(tensor)

    tensor, trainer = block(100), Trainer()
    trainer.cache = [1, tensor]
    freed = inner()
    facts["held"] = [freed.bytes // MB, freed.still_held // MB, freed.is_free, freed.freed,
                     sorted(holder.split(" (")[0] for holder in freed.holders)]
    facts["held_text"] = str(freed)
    del trainer, tensor
    facts["gone"] = torch.cuda.memory_allocated() < MB
    memory.empty_cache()

    cache = {"key": block(50)}
    freed = memory.free_tensor(cache.pop("key"))
    facts["freed"] = [freed.is_free, freed.freed // MB, (freed.reserved[0] - freed.reserved[1]) // MB,
                      (freed.driver_free[1] - freed.driver_free[0]) // MB, freed.holders]

    class Knot:
        pass

    knot = Knot()
    knot.self, knot.tensor = knot, block(40)
    given = [knot.tensor]
    del knot
    freed = memory.free_tensor(given.pop())
    facts["cycle"] = [freed.is_free, freed.freed // MB]

    weight = torch.empty(20 * MB // 4, device="cuda", requires_grad=True)
    inside = [weight * 2]
    out = inside[0].pow(2)
    freed = memory.free_tensor(inside.pop())
    facts["autograd"] = [freed.is_free, freed.holders, "outside Python" in str(freed)]

    net = torch.nn.Linear(1024, 1024, device="cuda")
    freed = memory.free_tensor(net)
    facts["module"] = [freed.bytes, freed.holders]
    stuck = block(60)
    freed = memory.free_tensor(stuck, force=True)
    facts["force"] = [freed.is_free, freed.freed // MB, stuck.untyped_storage().nbytes()]
    freed = memory.free_tensor({"cpu": torch.ones(3)})
    facts["nothing"] = [freed.bytes, freed.is_free, freed.holders]
print(json.dumps(facts))
