"""A training program of several ranks whose memory differs, with the environment that torchrun sets: `grid.py NAME`. With several names each
program is a process of its own, which is forked when PyTorch is imported and CUDA has not begun."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, BATCH = 256, 16


def block():
    return nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))


def train(model, is_first=True, steps=2, previous=None, next=None):
    """SGD with momentum, without torch.optim.Optimizer's import of the compiler. A stage of a pipeline passes activations on."""
    state = [torch.zeros_like(p) for p in model.parameters()]
    for _ in range(steps):
        inputs = torch.zeros(BATCH, WIDTH, device="cuda", requires_grad=True)
        if previous is not None:
            dist.recv(inputs.detach(), previous)
        outputs = model(inputs)
        if next is not None:
            dist.send(outputs.detach(), next)
            gradient = torch.empty_like(outputs)
            dist.recv(gradient, next)
            outputs.backward(gradient)
        else:
            outputs.mean().backward()
        if previous is not None:
            dist.send(inputs.grad, previous)
        update(model, state)


def update(model, state):
    with torch.no_grad():
        for p, momentum in zip(model.parameters(), state):
            momentum.mul_(0.9).add_(p.grad)
            p.sub_(momentum)
            p.grad = None


def pipeline():
    """Stages of 1, 2, 2, ... blocks, the last with a head; each shared by two data parallel ranks with FSDP2, whose shards of 5 rows
    are uneven."""
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (dist.get_world_size() // 2, 2), mesh_dim_names=("pp", "dp"))
    stage, stages, rank = mesh["pp"].get_local_rank(), mesh["pp"].size(), dist.get_rank()
    model = nn.Sequential(*(block() for _ in range(1 if stage == 0 else 2)))
    if stage == stages - 1:
        model.append(nn.Linear(WIDTH, 5 * WIDTH + 1))
    for layer in model:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    train(model, previous=rank - 2 if stage > 0 else None, next=rank + 2 if stage + 1 < stages else None)


def stages():
    """PyTorch's own pipeline, whose stages ask each other for shapes: 1, 2, 2, ... blocks behind a layer that only the first has, and a
    head in the last one, which ranks share in pairs."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    mesh = init_device_mesh("cuda", (dist.get_world_size() // 2, 2), mesh_dim_names=("pp", "dp"))
    number, count = mesh["pp"].get_local_rank(), mesh["pp"].size()
    model = nn.Sequential(*([nn.Linear(7, WIDTH), block()] if number == 0 else [block(), block()]))
    if number == count - 1:
        model.append(nn.Linear(WIDTH, 5 * WIDTH + 1))
    model, device = model.cuda(), torch.device("cuda", torch.cuda.current_device())
    stage = PipelineStage(model, number, count, device, group=mesh["pp"].get_group())
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=lambda output, target: (output.mean() - target).square().mean())
    inputs = (torch.zeros(4 * BATCH, 7, device=device),) if number == 0 else ()
    target = {"target": torch.zeros(4 * BATCH, device=device)} if number == count - 1 else {}
    state = [torch.zeros_like(p) for p in model.parameters()]
    for _ in range(2):
        schedule.step(*inputs, **target)
        for p in model.parameters():
            dist.all_reduce(p.grad, group=mesh["dp"].get_group())
        update(model, state)


def uneven():
    """FSDP2 over all ranks, of weights whose first dimension the ranks cannot share evenly."""
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(WIDTH, 5 * dist.get_world_size() // 2 + 1), nn.Linear(5 * dist.get_world_size() // 2 + 1, WIDTH))
    for layer in model:
        fully_shard(layer)
    train(model)


def experts():
    """Expert parallel ranks in groups of 4, with 10 experts for them: 3, 3, 2 and 2."""
    mesh = init_device_mesh("cuda", (dist.get_world_size() // 4, 4), mesh_dim_names=("dp", "ep"))
    own = mesh["ep"].get_local_rank()
    model = nn.ModuleList(block() for _ in range(3 if own < 2 else 2)).cuda()
    tokens = torch.zeros(BATCH, WIDTH, device="cuda", requires_grad=True)
    received = torch.empty_like(tokens)
    dist.all_to_all_single(received, tokens.detach(), group=mesh["ep"].get_group())
    sum(expert(received).sum() for expert in model).backward()
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mesh["dp"].get_group())


def tensor():
    """Tensor parallel ranks in pairs, whose last one also keeps the logits."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
    model = parallelize_module(block().cuda(), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    train(model)
    if mesh["tp"].get_local_rank() == 1:
        torch.empty(1 << 26, device="cuda")


def fork_each(names):
    """Returns the name of its program in each child, which meets the other ranks at a file of the working folder."""
    import torch.distributed.fsdp
    import torch.distributed.pipelining  # noqa: F401

    for name in names:
        child = os.fork()
        if child == 0:
            return name
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f"{name} failed")
    sys.exit()


def main():
    names, meeting = sys.argv[1:], {}
    name = names[0]
    if len(names) > 1:
        name = fork_each(names)
        meeting = {"init_method": f"file://{os.getcwd()}/{name}.store", "rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", **meeting)
    globals()[name]()
    told = f"{name} in process {os.getpid()}: rank {dist.get_rank()} allocated {torch.cuda.max_memory_allocated()}\n"
    os.write(1, told.encode())  # at once: other ranks write, too
    dist.destroy_process_group()


main()
