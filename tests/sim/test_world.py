"""Jobs of several ranks: real local ones (`--ranks`), and one rank alone of a world of any size (`--world`, `--rank`).

PyTorch's own fake process group, which moves nothing and needs nobody, says what a rank's memory must be.
"""

import functools
import json
import os
import re
import subprocess

import pytest

from conftest import BINARY, command, environment, environment_of, finish

MiB, GiB = 1 << 20, 1 << 30
SHARDED = ("fsdp", "hybrid", "tensor_parallel")
ALL = (*SHARDED, "ddp", "collectives")  # the last leaves memory behind: its works hold their tensors


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """ranks(options, *names) -> {rank: {name: what it found}} of one job under `vramscope dryrun`. Equal jobs run once."""

    @functools.cache
    def run(options, *names):
        folder = tmp_path_factory.mktemp("job")
        argv = [BINARY, "dryrun", "--gpu", "H100", *options.split(), "--", *command("ranks.py", names)]
        return found_by(folder, finish(argv, environment_of({}), folder))

    return run


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """fake(world, rank, *names): the same on PyTorch's fake process group."""

    def run(world, rank, *names):
        folder = tmp_path_factory.mktemp("fake")
        job = {"WORLD_SIZE": world, "RANK": rank, "LOCAL_RANK": 0, "RANKS_FAKE": 1}
        return found_by(folder, finish(command("ranks.py", names), environment(gpu="H100", **job), folder))[rank]

    return run


def found_by(folder, done):
    assert done.code == 0, f"exit code {done.code}\n{done.out[-2000:]}\n{done.err[-6000:]}"
    return {int(path.name.split(".")[1]): json.loads(path.read_text()) for path in folder.glob("rank.*.json")}


# ---- one rank alone is the same as that rank among real ones, and as PyTorch's fake group has it: to the byte


def test_rank_0_alone_is_rank_0(ranks, fake):
    real, alone = ranks("--ranks 4", *ALL), ranks("--world 4", *ALL)
    assert sorted(real) == [0, 1, 2, 3] and sorted(alone) == [0]
    fakes = fake(4, 0, *SHARDED)  # DDP compares what its ranks say, and the fake group says nothing
    for name in (*SHARDED, "ddp"):
        assert alone[0][name] == real[0][name], name
        assert real[3][name]["history"] == real[0][name]["history"], name
    for name in SHARDED:
        assert fakes[name]["history"] == real[0][name]["history"], name


def test_two_ranks(ranks):
    real = ranks("--ranks 2", "fsdp")
    assert sorted(real) == [0, 1]
    assert ranks("--world 2", "fsdp")[0] == real[0]


@pytest.mark.parametrize("world, rank", ((64, 0), (64, 37), (1024, 0), (1024, 5)))
def test_any_rank_of_any_world(ranks, fake, world, rank):
    found = ranks(f"--world {world} --rank {rank}", *ALL)
    assert list(found) == [rank]
    for name, wanted in fake(world, rank, *SHARDED).items():
        assert found[rank][name]["history"] == wanted["history"], name
    assert found[rank]["hybrid"]["mesh"] == [2, world // 2]
    assert found[rank]["tensor_parallel"]["local"] == 2048 // 4


def test_sharding_shares(ranks):
    """Parameters, gradients and Adam's two states of 8,398,848 numbers, over all ranks."""
    jobs = {2: ranks("--world 2", "fsdp"), 64: ranks("--world 64 --rank 0", *ALL)}
    held = {world: found[0]["fsdp"]["history"][-1][0] for world, found in jobs.items()}
    numbers = 4 * (512 * 2048 * 2 + 2048 + 512)
    assert held[2] == pytest.approx(3 * 4 * numbers / 2, rel=0.02)
    assert held[64] == pytest.approx(3 * 4 * numbers / 64, rel=0.2)


@pytest.mark.parametrize("rank", (0, 2, 7))
def test_stages_of_a_pipeline(ranks, rank):
    assert ranks(f"--world 8 --rank {rank}", "pipeline")[rank]["pipeline"]["peak"] > 4 * 4 * 512 * 2048 * 2


# ---- values that are only moved


@pytest.mark.parametrize("options, rank", (("--ranks 4", 3), ("--world 64 --rank 0", 0), ("--world 1024 --rank 5", 5)))
def test_collectives(ranks, options, rank):
    found = ranks(options, *ALL)[rank]["collectives"]
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
    said = subprocess.run([BINARY, "dryrun", "--world", "64", "--", "torchrun", "train.py"], capture_output=True, text=True, check=False)
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
        torch.ones(1, device="cuda").add_(torch.ones(1, device="cuda"))  # loads PyTorch's kernels
        torch.cuda.Stream()  # makes PyTorch's pool of streams
        before = torch.cuda.mem_get_info()[0]
        dist.init_process_group("nccl")
        dist.all_reduce(torch.ones(1, device="cuda"))
        torch.cuda.synchronize()
        print(json.dumps(before - torch.cuda.mem_get_info()[0]))
    """
    options = ["--world", "8", "--gpu", "H100"]
    assert dryrun(options, program).out.strip().splitlines()[0] == str((2 * 16 * 12 + 256) * MiB)
    assert dryrun(options, program, NCCL_NVLS_ENABLE="0").out.strip().splitlines()[0] == str(2 * 16 * 12 * MiB)
