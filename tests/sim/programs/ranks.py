"""Programs of several ranks, as people write them: `ranks.py NAME...`, with the environment that torchrun sets. They run one after
the other in one process group, each from an empty cache.

What a rank finds out it writes to rank.N.json in the current folder: {NAME: what that program found}. With RANKS_FAKE="WORLD:RANK ..."
PyTorch's own fake process group stands in for NCCL: it moves no data, and waits for no other rank. Each of those ranks is a process of
its own in the folder WORLD, forked from this one, which imports PyTorch once for all of them.
"""

import gc
import json
import os
import pickle
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH = 512
BATCH = 8


def begin():
    torch.manual_seed(0)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if os.environ.get("RANKS_FAKE"):
        from torch.testing._internal.distributed.fake_pg import FakeStore

        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        dist.init_process_group("fake", rank=rank, world_size=size, store=FakeStore())
    else:
        dist.init_process_group("nccl")


def layers(count=4):
    return nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(count)))


def train(model, steps=3):
    """Three steps, and what they took. Adam makes its state in the first."""
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    history = []
    for _ in range(steps):
        model(torch.randn(BATCH, WIDTH).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        stats = torch.cuda.memory_stats()
        history.append([stats[f"{name}_bytes.all.{when}"] for name in ("requested", "allocated", "reserved") for when in ("current", "peak")])
    return {"history": history}


def ddp():
    """Compares the shapes of all ranks at its start: through the device, so values that are only moved must arrive."""
    return train(DistributedDataParallel(layers().cuda()))


def fsdp():
    from torch.distributed.fsdp import fully_shard

    model = layers()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    return train(model)


def hybrid():
    """FSDP2 over half of the ranks, replicated over the others: a mesh with two dimensions, so groups are split off."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))
    model = layers()
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return train(model) | {"mesh": [mesh["replicate"].size(), mesh["shard"].size()]}


def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    size = min(4, dist.get_world_size())
    mesh = init_device_mesh("cuda", (dist.get_world_size() // size, size), mesh_dim_names=("data", "tensor"))
    model = layers().cuda()
    for layer in model:
        parallelize_module(layer, mesh["tensor"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return train(model) | {"local": model[0][0].weight.to_local().shape[0]}


def pipeline():
    """One stage of GPipe, by hand: activations come from the rank before, gradients from the one behind."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = layers(1).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        inputs = torch.zeros(BATCH, WIDTH, device="cuda", requires_grad=True)
        if rank > 0:
            dist.recv(inputs.detach(), rank - 1)
        outputs = model(inputs)
        if rank + 1 < size:
            dist.send(outputs.detach(), rank + 1)
            gradient = torch.empty_like(outputs)
            dist.recv(gradient, rank + 1)
            outputs.backward(gradient)
        else:
            outputs.mean().backward()
        if rank > 0:
            dist.send(inputs.grad, rank - 1)
        optimizer.step()
        optimizer.zero_grad()
    return {"peak": torch.cuda.max_memory_allocated()}


def collectives():
    """Each collective, with values that are only moved."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own = lambda: torch.tensor([10.0 * (rank + 1), 1.0]).cuda()  # noqa: E731
    found = {}
    slots = [torch.empty(2, device="cuda") for _ in range(size)]
    dist.all_gather(slots, own())
    found["all_gather"] = [slots[0].tolist(), slots[-1].tolist()]
    flat = torch.empty(2 * size, device="cuda")
    dist.all_gather_into_tensor(flat, own())
    found["all_gather_into_tensor"] = flat.tolist()[-2:]
    value = own()
    dist.all_reduce(value, op=dist.ReduceOp.MAX)
    found["all_reduce"] = value.tolist()
    part = torch.empty(1, device="cuda")
    dist.reduce_scatter_tensor(part, torch.arange(float(size)).cuda(), op=dist.ReduceOp.AVG)
    found["reduce_scatter"] = part.tolist()
    exchanged = torch.empty(size, device="cuda")
    dist.all_to_all_single(exchanged, torch.arange(float(size)).cuda())
    found["all_to_all"] = exchanged.tolist()[:2]
    value = own()
    dist.broadcast(value, 0)
    found["broadcast"] = value.tolist()
    gathered = [torch.empty(2, device="cuda") for _ in range(size)] if rank == 0 else None
    dist.gather(own(), gathered, 0)
    found["gather"] = gathered and gathered[-1].tolist()
    dist.barrier()
    half = dist.new_group(range(0, size, 2) if rank % 2 == 0 else range(1, size, 2))
    dist.barrier(half)
    neighbour = rank ^ 1
    received = torch.zeros(2, device="cuda")
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, own(), neighbour), dist.P2POp(dist.irecv, received, neighbour)]):
        work.wait()
    found["exchange"] = received.tolist()
    return found


COMMON = {"lr": 0.1, "names": ["layer"] * 300, "note": "x" * 700}  # equal on all ranks


def objects():
    """Python objects that are equal on all ranks, by each function, and the allocator's events meanwhile."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.cuda.memory._record_memory_history(context=None)
    everyone, chosen, own, scattered, received = [None] * size, [COMMON, 5, "y" * 1000], [COMMON], [None], [7, COMMON]
    dist.all_gather_object(everyone, COMMON)
    dist.broadcast_object_list(chosen, 0)
    dist.broadcast_object_list(own, 1)
    gathered = [None] * size
    for root in (0, 1):
        dist.gather_object(COMMON, gathered if rank == root else None, root)
        dist.scatter_object_list(scattered, [COMMON] * size, root)  # on the other ranks the list is ignored
    if rank == 0:
        dist.send_object_list(received, 1)
    if rank == 1:
        dist.recv_object_list(received, 0)
    trace = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
    torch.cuda.memory._record_memory_history(enabled=None)
    arrived = [everyone == [COMMON] * size, chosen == [COMMON, 5, "y" * 1000], own == [COMMON], scattered == [COMMON], received == [7, COMMON]]
    arrived.append(gathered == [COMMON if rank < 2 else None] * size)
    events = [[event["action"], event["size"]] for event in trace if event["action"] in ("alloc", "free_completed")]
    return {"arrived": arrived, "sent": [len(pickle.dumps(value)) for value in (COMMON, 5, "y" * 1000)], "events": events}


def own_objects():
    """Objects that differ between ranks, also over gloo, and those that only another rank has."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own = {"rank": rank, "pad": "x" * (3000 * rank)}
    everyone = {}
    for name, group in (("nccl", None), ("gloo", dist.new_group(backend="gloo"))):
        gathered, chosen, nothing, mine = [None] * size, [own], [None if rank else "only rank 0 has it"], [None]
        dist.all_gather_object(gathered, own, group=group)
        dist.broadcast_object_list(chosen, 0, group=group)
        dist.broadcast_object_list(nothing, 0, group=group)
        dist.scatter_object_list(mine, [{"for": i} for i in range(size)] if rank == 0 else None, 0, group=group)
        everyone[name] = {"gathered": [item["rank"] for item in gathered], "chosen": chosen[0]["rank"], "nothing": nothing, "mine": mine}
    total = torch.ones(1)
    dist.all_reduce(total, group=group)
    dist.monitored_barrier(group)
    return everyone | {"ranks": total.item()}


def run(name):
    """From an empty GPU: memory of another program was freed."""
    # Modules that FSDP has wrapped lie in cycles, and autograd's own thread lets go of its last step a little later.
    for _ in range(100):
        gc.collect()
        if torch.cuda.memory_allocated() == 0:
            break
        time.sleep(0.05)
    assert torch.cuda.memory_allocated() == 0, f"memory is left from what ran before {name}"
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)
    return globals()[name]()


def fork_each(jobs):
    """Returns in the process of each rank."""
    import torch._dynamo  # which optimizers import
    import torch.distributed.fsdp

    for world, rank in (job.split(":") for job in jobs):
        if os.fork() == 0:
            os.mkdir(world)
            os.chdir(world)
            os.environ.update(WORLD_SIZE=world, RANK=rank, LOCAL_RANK="0")
            return
        status = os.waitstatus_to_exitcode(os.wait()[1])
        if status != 0:
            sys.exit(f"rank {rank} of {world} ended with {status}")
    sys.exit()


def main():
    if "RANKS_FAKE" in os.environ:
        fork_each(os.environ["RANKS_FAKE"].split())
    begin()
    found = {name: run(name) for name in sys.argv[1:]}
    rank = dist.get_rank()
    dist.destroy_process_group()
    with open(f"rank.{rank}.json", "w") as file:
        json.dump(found, file)
    if os.environ.get("RANKS_FAKE"):  # with the fake group PyTorch now and then aborts while it takes its threads down
        os._exit(0)


main()
