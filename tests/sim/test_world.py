"""Jobs of several ranks: real local ones (`--ranks`), and one rank alone of a world of any size (`--world`, `--rank`).

PyTorch's own fake process group, which moves nothing and needs nobody, says what a rank's memory must be.
"""

import json
import os
import re
import sys

import pytest

MiB, GiB = 1 << 20, 1 << 30


@pytest.fixture
def ranks(dryrun, tmp_path):
    """ranks(options, NAME, ...) -> what each rank found, by its number."""

    def run(options, name, **settings):
        done = dryrun(options, "ranks.py", name, **settings)
        assert done.code == 0, f"exit code {done.code}\n{done.out[-2000:]}\n{done.err[-6000:]}"
        found = {}
        for path in tmp_path.glob("rank.*.json"):
            result = json.loads(path.read_text())
            found[result["rank"]] = result
            path.unlink()
        return found

    return run


def fake(python, name, world, rank):
    """The same on PyTorch's fake process group."""
    job = {"WORLD_SIZE": world, "RANK": rank, "LOCAL_RANK": 0, "RANKS_FAKE": 1}
    return python("ranks.py", name, gpu="H100", **job).result


# ---- one rank alone is the same as that rank among real ones, and as PyTorch's fake group has it: to the byte


@pytest.mark.parametrize("name", ("ddp", "fsdp", "hybrid", "tensor_parallel"))
def test_rank_0_alone_is_rank_0(ranks, python, name):
    real = ranks(["--ranks", "4", "--gpu", "H100"], name)
    assert sorted(real) == [0, 1, 2, 3]
    alone = ranks(["--world", "4", "--gpu", "H100"], name)
    assert alone[0] == real[0]
    if name != "ddp":  # which compares what its ranks say, and the fake group says nothing
        assert fake(python, name, 4, 0)["history"] == real[0]["history"]
    assert real[3]["history"] == real[0]["history"]


def test_two_ranks(ranks):
    real = ranks(["--ranks", "2", "--gpu", "H100"], "fsdp")
    assert sorted(real) == [0, 1]
    assert ranks(["--world", "2", "--gpu", "H100"], "fsdp")[0] == real[0]


@pytest.mark.parametrize("world, rank", ((64, 0), (64, 5), (1024, 0), (1024, 5)))
def test_any_rank_of_any_world(ranks, python, world, rank):
    options = ["--world", str(world), "--rank", str(rank), "--gpu", "H100"]
    found = ranks(options, "fsdp")
    assert list(found) == [rank]
    assert found[rank]["history"] == fake(python, "fsdp", world, rank)["history"]


def test_sharding_shares(ranks):
    """Parameters, gradients and Adam's two states of 8,398,848 numbers, over all ranks."""
    held = {world: ranks(["--world", str(world), "--gpu", "H100"], "fsdp")[0]["history"][-1][0] for world in (2, 64)}
    numbers = 4 * (512 * 2048 * 2 + 2048 + 512)
    assert held[2] == pytest.approx(3 * 4 * numbers / 2, rel=0.02)
    assert held[64] == pytest.approx(3 * 4 * numbers / 64, rel=0.2)


def test_meshes(ranks):
    found = ranks(["--world", "64", "--rank", "37", "--gpu", "H100"], "hybrid")[37]
    assert found["mesh"] == [2, 32]
    assert ranks(["--world", "64", "--rank", "37", "--gpu", "H100"], "tensor_parallel")[37]["local"] == 2048 // 4


@pytest.mark.parametrize("rank", (0, 2, 7))
def test_stages_of_a_pipeline(ranks, rank):
    assert ranks(["--world", "8", "--rank", str(rank), "--gpu", "H100"], "pipeline")[rank]["peak"] > 4 * 4 * 512 * 2048 * 2


# ---- values that are only moved


@pytest.mark.parametrize("options, rank", ((["--ranks", "4"], 3), (["--world", "64"], 0), (["--world", "1024", "--rank", "5"], 5)))
def test_collectives(ranks, options, rank):
    found = ranks([*options, "--gpu", "H100"], "collectives")[rank]
    own = [10.0 * (rank + 1), 1.0]
    assert found["all_gather"] == [own, own]
    assert found["all_gather_into_tensor"] == own
    assert found["exchange"] == own
    assert found["all_reduce"] == own and found["broadcast"] == own


# What cannot work: the sizes of other ranks' objects are computed on the device.
def test_objects_are_not_moved(dryrun):
    done = dryrun(["--world", "8", "--gpu", "H100"], "ranks.py", "objects")
    assert done.code != 0


# ---- the whole way


def test_llama_of_70_billion(dryrun):
    """examples/fsdp_llama.py has nothing of ours in it. On PyTorch's fake group it reserved 33.21 GiB."""
    script = os.path.join(os.path.dirname(__file__), "../../examples/fsdp_llama.py")
    assert "vramscope" not in open(script).read().split('"""')[2]
    done = dryrun(["--world", "64", "--gpu", "H100"], "import runpy, sys\nrunpy.run_path(sys.argv[1], run_name='__main__')", script)
    assert done.code == 0, done.err[-4000:]
    assert "70,553,706,496 parameters on 64 ranks" in done.out
    reserved = int(re.search(r"step 1: peak [\d,]+ bytes allocated, ([\d,]+) reserved", done.out).group(1).replace(",", ""))
    assert reserved / GiB == pytest.approx(33.21, abs=0.005)


# ---- what is said


def test_launchers_are_refused(dryrun):
    done = dryrun(["--world", "64", "--gpu", "H100"], "print(1)")
    assert done.out.strip().splitlines()[0] == "1"
    binary = os.environ["VRAMSCOPE"]
    import subprocess

    said = subprocess.run([binary, "dryrun", "--world", "64", "--", "torchrun", "train.py"], capture_output=True, text=True, check=False)
    assert said.returncode == 2 and "torchrun" in said.stderr


def test_a_wait_for_another_rank_is_named(dryrun):
    program = """
        import datetime, torch.distributed as dist
        store, rank, size = next(dist.rendezvous("env://"))
        try:
            store.wait(["only rank 0 sets this"], datetime.timedelta(seconds=5))
        except dist.DistStoreError:
            print("not there")
    """
    done = dryrun(["--world", "8", "--rank", "3", "--gpu", "H100"], program)
    assert "not there" in done.out
    assert "only rank 0 sets this" in done.err


def test_nccl_buffers_count(dryrun):
    """Rings, trees and NVLink SHARP take memory outside of PyTorch's; without NVLS less."""
    program = """
        import json, os, torch, torch.distributed as dist
        torch.cuda.set_device(0)
        torch.ones(1, device="cuda")
        before = torch.cuda.mem_get_info()[0]
        dist.init_process_group("nccl")
        dist.all_reduce(torch.ones(1, device="cuda"))
        torch.cuda.synchronize()
        print(json.dumps(before - torch.cuda.mem_get_info()[0]))
    """
    options = ["--world", "8", "--gpu", "H100"]
    assert dryrun(options, program).out.strip().splitlines()[0] == str((2 * 16 * 12 + 256) * MiB)
    assert dryrun(options, program, NCCL_NVLS_ENABLE="0").out.strip().splitlines()[0] == str(2 * 16 * 12 * MiB)
