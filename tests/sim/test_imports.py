"""What a dry run does while a program imports its libraries, and in a first step with many distributed tensors: less work of
Python's, and nothing else."""

import json

PROGRAM = """
    import gc, json, os, sys
    python = gc.get_threshold()
    {before}
    import torch
    told = {{"python": python, "imported": gc.get_stats()[0]["collections"], "asked": gc.get_threshold()}}
    {between}
    torch.cuda.init()
    told["begun"] = gc.get_threshold()
    told["full"] = gc.get_stats()[2]["collections"]
    told["callbacks"], told["is_pythons"] = len(gc.callbacks), type(gc.get_threshold).__name__
    at = gc.get_stats()[0]["collections"]
    kept = [[] for _ in range(70_000)]
    told["after"] = gc.get_stats()[0]["collections"] - at
    import torch.distributed.tensor
    told["end"] = gc.get_threshold()
    print(json.dumps(told))
"""


def told_by(dryrun, before="", between=""):
    done = dryrun([], PROGRAM.format(before=before, between=between))
    assert done.code == 0, done.err[-4000:]
    return json.loads(done.out.splitlines()[0])


def test_the_collector_rests_while_libraries_are_imported(dryrun):
    told = told_by(dryrun)
    assert told["imported"] < 100, "an import of torch causes some hundred collections by itself"
    assert told["asked"] == told["python"], "a program that keeps the threshold, to set it again, must get its own"
    assert told["begun"] == told["end"] == told["python"], "CUDA has begun: everything is as it was"
    assert told["full"] == 1 and told["callbacks"] == 0 and told["is_pythons"] == "builtin_function_or_method"
    assert 90 <= told["after"] <= 110, "70,000 objects at 700 for each collection"


def test_what_the_program_sets_stays(dryrun):
    before = told_by(dryrun, before="gc.set_threshold(500, 7, 7)")
    assert before["asked"] == before["begun"] == [500, 7, 7] and before["imported"] < 140
    between = told_by(dryrun, between="gc.set_threshold(900, 8, 8)")
    assert between["begun"] == between["end"] == [900, 8, 8]
    off = told_by(dryrun, before="gc.disable()", between="told['off'] = not gc.isenabled()")
    assert off["off"] and off["imported"] < 50 and off["full"] == off["after"] == 0  # those of Python's own start


def test_the_first_collection_without_an_import_ends_it(dryrun):
    """A program whose GPU is used by another library than PyTorch never says when."""
    told = told_by(dryrun, between="kept = [[] for _ in range(20_000)]; at = gc.get_stats()[0]['collections']\n"
                                   "    kept += [[] for _ in range(35_000)]\n"
                                   "    told['then'] = gc.get_stats()[0]['collections'] - at")
    assert 45 <= told["then"] <= 55


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
