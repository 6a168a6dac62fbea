"""What a dry run does in a first step with many distributed tensors: less work of Python's, and nothing else."""

import json

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
    if sys.argv[1] == "original":
        sharding._propagate_use_strided_shard_flag = sharding._propagate_use_strided_shard_flag.__wrapped__
    dist.init_process_group("nccl")
    mesh = dist.init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "tensor"))
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(20)]).cuda()
    if sys.argv[2] == "strided":
        for layer in model:
            parallelize_module(layer, mesh["tensor"], ColwiseParallel(use_local_output=True))
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    walks = 0
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    places = sorted({str((p.placements, optimizer.state[p]["exp_avg"].placements)) for p in model.parameters()})
    print(json.dumps({"walks": walks, "places": places, "allocated": torch.cuda.memory_stats()["allocated_bytes.all.allocated"]}))
    dist.destroy_process_group()
"""


def test_distributed_tensors_are_walked_over_once(dryrun):
    """40 tensors: PyTorch's own walk for each of them in each operation, and ours; with placements of the kind _StridedShard,
    which tensor parallelism and FSDP2 together make, PyTorch's own function does what it does."""
    def step(which, kind):
        done = dryrun(["--world", "4"], SHARDED, which, kind)
        assert done.code == 0, done.err[-4000:]
        return json.loads(done.out.splitlines()[0])

    ours, theirs = step("ours", "plain"), step("original", "plain")
    assert theirs["walks"] > 200 and ours["walks"] * 10 < theirs["walks"]
    assert {**ours, "walks": 0} == {**theirs, "walks": 0}
    ours, theirs = step("ours", "strided"), step("original", "strided")
    assert any("_StridedShard" in places for places in ours["places"])
    assert ours["walks"] >= theirs["walks"] > 200, "no walk of PyTorch's is left out"
    assert {**ours, "walks": 0} == {**theirs, "walks": 0}
