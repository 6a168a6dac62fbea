"""For whom the memory of a card was at its peak: the ledger of a dry run, against what the programs measure and PyTorch says of itself."""

import json
import textwrap

import pytest

from conftest import BINARY, PYTHON, environment_of, finish

MiB = 1 << 20


def dryrun(folder, options, script, **settings):
    """(the devices of the report, what the program printed as JSON)"""
    (folder / "program.py").write_text(textwrap.dedent(script))
    argv = [BINARY, "dryrun", "--exit-code", "child", "--json", *options, "--", str(PYTHON), "program.py"]
    done = finish(argv, environment_of(settings), folder)
    assert done.code == 0, done.err[-4000:]
    told = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    reply = json.loads(done.out)
    devices = reply["devices"]
    for number, device in enumerate(devices):
        device["processes"] = [use["ledger"] for process in reply["processes"] for use in process["devices"] if use["device"] == number]
        assert sum(row["bytes"] for row in device["ledger"]) == device["driver_peak_bytes"]
        assert all(row["bytes"] == sum(of["bytes"] for ledger in device["processes"] for of in ledger if of["owner"] == row["owner"]) > 0
                   for row in device["ledger"])
        assert [row["bytes"] for row in device["ledger"]] == sorted((row["bytes"] for row in device["ledger"]), reverse=True)
    return devices, told


def owners(device):
    return {row["owner"]: row["bytes"] for row in device["ledger"]}


TRAIN = """
    import json, torch
    from torch import nn
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    for _ in range(3):
        model(torch.empty(2048, 1024, device="cuda")).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("options", [[], ["--conf", "expandable_segments:True"], ["--no-history"], ["--conf", "backend:cudaMallocAsync"]])
def test_pytorch_has_what_it_reserved(tmp_path, options):
    """Whether its calls of the driver go through the recorder or not."""
    (device,), _ = dryrun(tmp_path, options, TRAIN)
    found = owners(device)
    assert found.keys() - {"streams"} == {"PyTorch's allocator", "CUDA context", "cuBLAS", "kernels"}
    assert found["CUDA context"] == device["context_bytes"]
    if "backend:cudaMallocAsync" not in options:
        assert found["PyTorch's allocator"] == device["torch"]["peak_reserved_bytes"]


def test_nccls_share_is_what_the_card_lost(tmp_path):
    """Each rank measures it around its first collective call, which makes the communicator."""
    script = """
        import json, os, torch, torch.distributed as dist
        rank = int(os.environ["RANK"])
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl")
        held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda").zero_()
        side = torch.cuda.Stream()
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0]
        dist.all_reduce(held)
        torch.cuda.synchronize()
        lost = before - torch.cuda.mem_get_info()[0]
        dist.barrier()
        os.write(1, (json.dumps({"rank": rank, "lost": lost, "reserved": torch.cuda.memory_reserved()}) + chr(10)).encode())
    """
    devices, told = dryrun(tmp_path, ["--ranks", "4", "--gpu", "4xH100"], script)
    assert sorted(line["rank"] for line in told) == [0, 1, 2, 3]
    for line in told:
        found = owners(devices[line["rank"]])
        assert line["lost"] > 100 * MiB and found["NCCL"] == line["lost"]
        assert found["PyTorch's allocator"] == line["reserved"]


def test_fsdp(tmp_path):
    """Every byte of two cards has an owner, and NCCL is one of them."""
    script = """
        import os, torch, torch.distributed as dist
        from torch import nn
        from torch.distributed.fsdp import fully_shard
        dist.init_process_group("nccl")
        torch.cuda.set_device(int(os.environ["RANK"]))
        model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)]).cuda()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        model(torch.empty(64, 1024, device="cuda")).sum().backward()
        torch.cuda.synchronize()
    """
    devices, _ = dryrun(tmp_path, ["--ranks", "2", "--gpu", "2xH100"], script)
    assert len(devices) == 2
    for device in devices:
        assert {"NCCL", "PyTorch's allocator", "CUDA context", "streams", "cuBLAS"} <= owners(device).keys()
        assert "not known" not in owners(device) and device["processes"] == [device["ledger"]]


def test_processes_on_one_card(tmp_path):
    """The moment is one of the card: each owner's bytes are those of all processes then."""
    script = """
        import os, torch, torch.multiprocessing as multiprocessing
        def work(size, turn, other):
            held = torch.empty(size << 20, dtype=torch.uint8, device="cuda")
            turn.set()
            other.wait()
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            events = [context.Event() for _ in range(2)]
            children = [context.Process(target=work, args=(size, *events[:: 1 - 2 * i])) for i, size in enumerate((64, 96))]
            for child in children:
                child.start()
            for child in children:
                child.join()
    """
    (device,), _ = dryrun(tmp_path, [], script)
    assert sorted(of["bytes"] for ledger in device["processes"] for of in ledger if of["owner"] == "PyTorch's allocator") == [64 * MiB, 96 * MiB]
    assert owners(device)["CUDA context"] == 2 * device["context_bytes"]


def test_a_library_that_asks_for_itself(tmp_path):
    script = """
        import ctypes, torch
        torch.empty(1, device="cuda")
        runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(48 << 20)) == 0
        driver, handle = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(handle), ctypes.c_size_t(16 << 20)) == 0
    """
    (device,), _ = dryrun(tmp_path, [], script)
    (name,) = [name for name in owners(device) if "ffi" in name]  # ctypes calls through it
    assert owners(device)[name] == 64 * MiB


def test_the_moment_is_the_cards_peak(tmp_path):
    """What was freed before it, or taken after it, is not in it."""
    script = """
        import torch
        first = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
        del first
        torch.cuda.empty_cache()
        second = torch.empty(768 << 20, dtype=torch.uint8, device="cuda")
        del second
        torch.cuda.empty_cache()
        a = torch.randn(256, 256, device="cuda")
        (a @ a).sum()
    """
    (device,), _ = dryrun(tmp_path, [], script)
    assert owners(device)["PyTorch's allocator"] == 768 * MiB and "cuBLAS" not in owners(device)
