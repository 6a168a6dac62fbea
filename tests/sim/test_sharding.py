"""What a dry run does in a first step with many distributed tensors: less work of Python's, and nothing else."""

import importlib.util
import json
import types

from conftest import ROOT

# One program for all runs: PyTorch is imported once. Each run is a forked process, which begins CUDA itself.
FORK = """
    import os, sys, torch._dynamo

    def fork_each(runs):
        for run in runs:
            child = os.fork()
            if child == 0:
                return run.split(",")
            if os.waitpid(child, 0)[1] != 0:
                sys.exit(f"{run} failed")
        sys.exit()
"""


def each(dryrun, options, program, *runs, **settings):
    """What each run prints, without its name."""
    done = dryrun(options, FORK + program, *runs, **settings)
    assert done.code == 0, done.err[-4000:]
    printed = [json.loads(line) for line in done.out.splitlines() if line.startswith('{"run"')]
    assert [found.pop("run") for found in printed] == list(runs)
    return printed


SHARDED = """
    import json, os, sys, torch, torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import _sharding_prop as sharding
    from torch.distributed.tensor._op_schema import OpSchema
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    walks = 0
    original = OpSchema.args_spec.fget
    def counted(self):
        global walks
        walks += sys._getframe(1).f_code.co_name in ("_propagate_use_strided_shard_flag", "once", "<genexpr>")
        return original(self)
    OpSchema.args_spec = property(counted)
    which, kind = fork_each(sys.argv[1:])
    if which == "original":
        sharding._propagate_use_strided_shard_flag = sharding._propagate_use_strided_shard_flag.__wrapped__
    dist.init_process_group("nccl")
    mesh = dist.init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "tensor"))
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(20)]).cuda()
    if kind == "strided":
        for layer in model:
            parallelize_module(layer, mesh["tensor"], ColwiseParallel(use_local_output=True))
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    walks = 0
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    places = sorted({str((p.placements, optimizer.state[p]["exp_avg"].placements)) for p in model.parameters()})
    print(json.dumps({"run": f"{which},{kind}", "walks": walks, "places": places, "allocated": torch.cuda.memory_stats()["allocated_bytes.all.allocated"]}))
    dist.destroy_process_group()
"""


def test_distributed_tensors_are_walked_over_once(dryrun):
    """40 tensors: PyTorch's own walk for each of them in each operation, and ours; with placements of the kind _StridedShard,
    which tensor parallelism and FSDP2 together make, PyTorch's own function does what it does."""
    ours, theirs, *strided = each(dryrun, ["--world", "4"], SHARDED, "ours,plain", "original,plain", "ours,strided", "original,strided")
    assert theirs["walks"] > 200 and ours["walks"] * 10 < theirs["walks"]
    assert {**ours, "walks": 0} == {**theirs, "walks": 0}
    ours, theirs = strided
    assert any("_StridedShard" in places for places in ours["places"])
    assert ours["walks"] >= theirs["walks"] > 200, "no walk of PyTorch's is left out"
    assert {**ours, "walks": 0} == {**theirs, "walks": 0}


KINDS = """
    import gc, json, sys, torch, torch.distributed as dist
    from torch.distributed.tensor import DTensor, Replicate, Shard, _sharding_prop as sharding

    which, count_of_tensors = fork_each(sys.argv[1:])
    asked = 0
    name = "_expand_single_dim_strategy_to_mesh"
    ours = getattr(sharding, name)
    theirs = ours.__wrapped__
    if which == "original":
        setattr(sharding, name, theirs)
    from torch.distributed.tensor._ops import single_dim_strategy
    full = single_dim_strategy._PreparedSingleDimStrategy
    class Counted(full):
        def __init__(self, *args, **kwargs):
            global asked
            asked += 1
            super().__init__(*args, **kwargs)
    single_dim_strategy._PreparedSingleDimStrategy = Counted

    class Cycle:  # garbage that holds memory of the GPU until Python's collector finds it
        def __init__(self, size):
            self.held, self.own = torch.empty(size, device="cuda"), self

    collections = [0, 0, 0]
    def count(phase, info):
        collections[info["generation"]] += phase == "start"

    dist.init_process_group("nccl")
    mesh = dist.init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "tensor"))
    def made(i, shift):
        places = [Shard(0), Shard(1), Replicate()]
        shape = [(64, 64), (128, 64), (64, 256)][i // 3 % 3]
        pair = (places[(i + shift) % 3], places[(i // 2 + shift) % 3])
        size = [n // 2 ** sum(p == Shard(d) for p in pair) for d, n in enumerate(shape)]
        kind = torch.bfloat16 if i % 9 == 0 else torch.float32
        local = torch.zeros(size, dtype=kind, device="cuda")
        return DTensor.from_local(local, mesh, pair, run_check=False, shape=torch.Size(shape), stride=(shape[1], 1))
    parameters = [torch.nn.Parameter(made(i, 0)) for i in range(int(count_of_tensors))]
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    gc.collect()
    gc.callbacks.append(count)
    for step in range(2):
        for i, parameter in enumerate(parameters):
            parameter.grad = made(i, i % 7 == 0)  # some gradients have other placements: they are redistributed
        garbage = [Cycle(1000 + 512 * i) for i in range(8)]
        del garbage
        optimizer.step()
        mixed = torch._foreach_sqrt([p.grad for p in parameters])
        torch._foreach_mul_(mixed, [float(i) for i in range(len(mixed))])
        mixed = torch._foreach_add(mixed, [p.detach() for p in parameters])
    gc.callbacks.clear()
    places = [str((p.placements, p.shape, p.stride(), p.dtype, m.placements, m.shape, m.stride(), m.dtype, m.to_local().shape))
              for p, m in zip(parameters, mixed)]
    events = [[e["action"], e["addr"], e["size"], e["stream"]] for e in torch.cuda.memory._snapshot()["device_traces"][0]]
    print(json.dumps({"run": f"{which},{count_of_tensors}", "asked": asked, "places": places, "events": events, "collections": collections}))
    dist.destroy_process_group()
"""


def test_tensors_of_a_kind_are_asked_about_once(dryrun):
    """Many distributed tensors of few kinds, some with gradients that have to be redistributed, and garbage that holds memory:
    with PyTorch's own search and with ours, each event of the memory is the same. The collector starts as often, too."""
    runs = "ours,150", "original,150", "ours,30", "original,30"
    ours, theirs, *short = each(dryrun, ["--world", "4", "--gpu", "A100"], KINDS, *runs, PYTHONHASHSEED="0")
    assert theirs["asked"] > 1000 and ours["asked"] * 3 < theirs["asked"]
    assert ours["places"] == theirs["places"] and len(set(theirs["places"])) > 10
    assert len(theirs["events"]) > 1000 and ours["events"] == theirs["events"]
    for made, expected in zip(ours["collections"], theirs["collections"], strict=True):
        assert abs(made - expected) <= 1 + expected * 0.2, (ours["collections"], theirs["collections"])
    ours, theirs = short
    assert ours == theirs, "a short list is left to PyTorch"


def test_another_function_of_pytorch_is_left_alone():
    """One with the same name and parameters whose inner functions use something else, as other versions of PyTorch have."""
    spec = importlib.util.spec_from_file_location("sharding", ROOT / "python/vramscope_dryrun/vramscope_sharding.py")
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)

    def _expand_single_dim_strategy_to_mesh(mesh, op_schema, strategy_info, output_tensor_meta):
        def expanded_foreach_strategy(op, args_schema, kwargs_schema):
            return op_schema

        return expanded_foreach_strategy

    other = types.SimpleNamespace(
        _expand_single_dim_strategy_to_mesh=_expand_single_dim_strategy_to_mesh, TupleStrategy=tuple)
    ours.follow(other)
    assert other._expand_single_dim_strategy_to_mesh is _expand_single_dim_strategy_to_mesh
