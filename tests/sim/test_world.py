"""Jobs of several ranks: real local ones (`--ranks`), and one rank alone of a world of any size (`--world`, `--rank`).

PyTorch's own fake process group, which needs no other rank and moves no data, gives the expected memory of a rank.
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
ALL = (*SHARDED, "ddp", "pipeline", "collectives")  # the last leaves memory behind: its works hold their tensors
PAIR = ("objects", "own_objects", "fsdp")
FAKES = ((4, 0), (64, 0), (1024, 5))  # world, rank


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """ranks(options, *names) -> {rank: {name: what it found}} of one job under `vramscope dryrun`. Equal jobs run once."""

    @functools.cache
    def run(options, *names):
        folder = tmp_path_factory.mktemp("job")
        argv = [BINARY, "dryrun", "--exit-code", "child", "--gpu", "H100", *options.split(), "--", *command("ranks.py", names)]
        return found_by(folder, finish(argv, environment_of({}), folder))

    return run


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    """{(world, rank): {name: the same on PyTorch's fake process group}} of FAKES and SHARDED"""
    folder = tmp_path_factory.mktemp("fake")
    jobs = " ".join(f"{world}:{rank}" for world, rank in FAKES)
    done = finish(command("ranks.py", SHARDED), environment(gpu="H100", RANKS_FAKE=jobs), folder)
    return {(world, rank): found_by(folder / str(world), done)[rank] for world, rank in FAKES}


def found_by(folder, done):
    assert done.code == 0, f"exit code {done.code}\n{done.out[-2000:]}\n{done.err[-6000:]}"
    return {int(path.name.split(".")[1]): json.loads(path.read_text()) for path in folder.glob("rank.*.json")}


# ---- one rank alone is the same as that rank among real ones, and as PyTorch's fake group has it: to the byte


def test_rank_0_alone_is_rank_0(ranks, fakes):
    real, alone = ranks("--ranks 4", *ALL), ranks("--world 4", *ALL)
    assert sorted(real) == [0, 1, 2, 3] and sorted(alone) == [0]
    for name in (*SHARDED, "ddp"):
        assert alone[0][name] == real[0][name], name
        assert real[3][name]["history"] == real[0][name]["history"], name
    for name in SHARDED:  # DDP compares what its ranks say, and the fake group says nothing
        assert fakes[4, 0][name]["history"] == real[0][name]["history"], name


def test_two_ranks(ranks):
    real = ranks("--ranks 2", *PAIR)
    assert sorted(real) == [0, 1]
    assert ranks("--world 2 --rank 1", *PAIR)[1]["fsdp"] == real[1]["fsdp"]


@pytest.mark.parametrize("world, rank", ((64, 0), (1024, 5)))
def test_any_rank_of_any_world(ranks, fakes, world, rank):
    found = ranks(f"--world {world} --rank {rank}", *ALL)
    assert list(found) == [rank]
    for name, wanted in fakes[world, rank].items():
        assert found[rank][name]["history"] == wanted["history"], name
    assert found[rank]["hybrid"]["mesh"] == [2, world // 2]
    assert found[rank]["tensor_parallel"]["local"] == 2048 // 4


def test_sharding_shares(ranks):
    """Parameters, gradients and Adam's two states of 8,398,848 numbers, over all ranks."""
    jobs = {2: ranks("--world 2 --rank 1", *PAIR)[1], 64: ranks("--world 64 --rank 0", *ALL)[0]}
    held = {world: found["fsdp"]["history"][-1][0] for world, found in jobs.items()}
    numbers = 4 * (512 * 2048 * 2 + 2048 + 512)
    assert held[2] == pytest.approx(3 * 4 * numbers / 2, rel=0.02)
    assert held[64] == pytest.approx(3 * 4 * numbers / 64, rel=0.2)


@pytest.mark.parametrize("options, rank", (("--world 64 --rank 0", 0), ("--world 1024 --rank 5", 5), ("--world 8 --rank 7", 7)))
def test_stages_of_a_pipeline(ranks, options, rank):
    """The first, one between, and the last."""
    names = ["pipeline"] if rank == 7 else ALL
    assert ranks(options, *names)[rank]["pipeline"]["peak"] > 4 * 4 * 512 * 2048 * 2


# ---- values that are only moved


@pytest.mark.parametrize("options, rank", (("--ranks 4", 3), ("--world 64 --rank 0", 0), ("--world 1024 --rank 5", 5)))
def test_collectives(ranks, options, rank):
    found = ranks(options, *ALL)[rank]["collectives"]
    own = [10.0 * (rank + 1), 1.0]
    assert found["all_gather"] == [own, own]
    assert found["all_gather_into_tensor"] == own
    assert found["exchange"] == own
    assert found["all_reduce"] == own and found["broadcast"] == own


# ---- groups whose communicators are split off: NCCL has the ranks that PyTorch has


GROUPS = ("halves", "columns", "uneven", "everyone", "alone", "split halves", "split columns", "split uneven", "split backwards",
          "split everyone", "split alone")


@pytest.mark.parametrize("options, size", (("--ranks 4", 4), ("--world 4 --rank 1", 4), ("--world 64 --rank 63", 64), ("--world 8 --rank 5", 8)))
def test_groups_of_a_bound_world(dryrun, tmp_path, options, size):
    """The all-gather and the reduce-scatter of each group fail if the communicator has more ranks than the group."""
    done = dryrun(["--json", "--gpu", "H100", *options.split()], "bound.py")
    found, reply = found_by(tmp_path, done), json.loads(done.out)
    assert len(found) == (4 if "--ranks" in options else 1)
    has_split_group = not reply["processes"][0]["torch_version"].startswith("2.4.")
    wanted = [name for name in GROUPS if has_split_group or not name.startswith("split ")]
    for rank, groups in found.items():
        assert sorted(groups) == sorted(wanted)
        for name, group in groups.items():
            assert rank in group["ranks"] and group["ranks"][group["place"]] == rank, name
            assert group["gathered"] == [float(rank)] * 2 * len(group["ranks"]), name
    lengths = {name: len(group["ranks"]) for name, group in next(iter(found.values())).items()}
    assert lengths["halves"] == lengths["columns"] == size // 2 and lengths["everyone"] == size
    if has_split_group:
        assert lengths["split columns"] == size // 2 and lengths["split backwards"] == size
    assert not [doubt for doubt in reply["doubts"] if doubt.get("what") == "nccl_split"]


# ---- Python objects: their sizes and bytes are read from the device


def test_objects(ranks):
    """They arrive, and cost what they cost: among real ranks, whose processes exchange them, and on one rank alone."""
    real, alone = ranks("--ranks 2", *PAIR), ranks("--world 2 --rank 1", *PAIR)
    assert real[0]["objects"]["arrived"] == real[1]["objects"]["arrived"] == alone[1]["objects"]["arrived"] == [True] * 6
    assert alone[1]["objects"]["events"] == real[1]["objects"]["events"]
    # The tensors of the first two calls, by PyTorch's source: bytes, size, sizes, the largest of them, all bytes; sizes, their sum, bytes.
    one, *rest = real[1]["objects"]["sent"]
    wanted = [one, 8, 2 * 8, 8, 2 * one, 3 * 8, 8, one + sum(rest)]
    assert [size for action, size in real[1]["objects"]["events"] if action == "alloc"][:8] == wanted
    # Objects that differ between ranks, through NCCL and gloo (whose real ranks PyTorch itself connects).
    for rank in (0, 1):
        found = real[rank]["own_objects"]
        assert found["nccl"] == found["gloo"]
        assert found["nccl"] == {"gathered": [0, 1], "chosen": 0, "nothing": ["only rank 0 has it"], "mine": [{"for": rank}]}
    found = alone[1]["own_objects"]
    assert found["nccl"] == found["gloo"] == {"gathered": [1, 1], "chosen": 1, "nothing": [None], "mine": [None]}
    assert found["ranks"] == real[0]["own_objects"]["ranks"] == 2


def test_what_is_assumed_of_other_ranks_is_said(dryrun):
    done = dryrun(["--json", "--world", "8", "--rank", "3", "--gpu", "H100"], "ranks.py", "objects", "own_objects")
    assert done.code == 0, done.err[-4000:]
    doubts = [(doubt["what"], doubt["place"].split(" ")[1], doubt["count"]) for doubt in json.loads(done.out)["doubts"] if doubt["kind"] == "assumed"]
    assert sorted(doubts) == [
        ("the object that rank 0 scatters to this rank equals that in this rank's list", "objects", 1),
        ("the object that rank 0 scatters to this rank is unknown: it is None here", "own_objects", 2),
        ("the object that rank 1 scatters to this rank equals that in this rank's list", "objects", 1),
        ("the objects that other ranks pass to all_gather_object equal this rank's", "objects", 1),
        ("the objects that other ranks pass to all_gather_object equal this rank's", "own_objects", 2),
        ("the objects that rank 0 broadcasts are unknown: this rank keeps its list, which has None", "own_objects", 2),
        ("the objects that rank 0 broadcasts equal those in this rank's list", "objects", 1),
        ("the objects that rank 0 broadcasts equal those in this rank's list", "own_objects", 2),
        ("the objects that rank 1 broadcasts equal those in this rank's list", "objects", 1),
    ]


def test_shapes_between_stages(dryrun):
    """A stage alone derives the gradients' from its own. What the stage before sends it cannot know, unless rank 0 ran before."""
    options = ["--json", "--world", "4", "--gpu", "H100", "--no-history"]
    first = dryrun(options, "grid.py", "stages")
    assert first.code == 0, first.err[-4000:]
    said = [doubt["what"] for doubt in json.loads(first.out)["doubts"] if doubt["kind"] == "assumed"]
    assert said == ["the gradients from stage 1 have the shapes of what this stage sends to it"]
    second = dryrun([*options, "--rank", "2"], "grid.py", "stages")
    assert second.code == 1 and "PipeliningMetadataError" in second.err


def test_what_follows_a_gather(dryrun):
    """torch.distributed.checkpoint gathers plans on rank 0, which scatters them: a rank gets its own back."""
    program = """
        import torch, torch.distributed as dist, torch.distributed.checkpoint as checkpoint
        torch.cuda.set_device(0)
        dist.init_process_group("nccl")
        state = {"weight": torch.zeros(1000, device="cuda")}
        checkpoint.save(state, checkpoint_id="saved")
        plain = [None]
        dist.scatter_object_list(plain, None, 0)
        print("scattered", plain)
    """
    done = dryrun(["--json", "--world", "4", "--rank", "2", "--gpu", "H100"], program)
    assert done.code == 0 and "scattered [None]" in done.err, done.err[-4000:]
    said = [doubt["what"] for doubt in json.loads(done.out)["doubts"] if doubt["kind"] == "assumed"]
    assert "the object that rank 0 scatters to this rank equals what this rank passed to gather_object" in said
    assert "the object that rank 0 scatters to this rank is unknown: it is None here" in said


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


# ---- messages


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
