"""`vramscope where` of dry runs and of recorded processes: against what the programs themselves measured, to the byte."""

import json
import os
import re
import textwrap
from pathlib import Path

import pytest

from conftest import BINARY, PYTHON, environment_of, finish, simulation

MiB = 1 << 20
FAKE = os.environ.get("VRAMSCOPE_FAKE", "")

# Each rank prints what the driver and its allocator say once the card's peak is reached, and after that only frees. Requested bytes are
# those of its blocks; freed ones that a stream still uses are "active" in PyTorch's statistics, too.
MEASURE = """
    def measure(rank, before, **more):
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        stats = torch.cuda.memory_stats()
        told = {"rank": rank, "used": total - free, "total": total, "reserved": stats["reserved_bytes.all.current"],
                "peak_reserved": stats["reserved_bytes.all.peak"], "allocated": stats["allocated_bytes.all.current"],
                "active": stats["active_bytes.all.current"], "requested": stats["requested_bytes.all.current"], **more}
        os.write(1, (json.dumps(told) + chr(10)).encode())
"""

# By its defaults torchrun asks for the addresses of "localhost" and of this machine's name, which not every container can tell.
TORCHRUN = ("-m", "torch.distributed.run", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1")

FSDP = """
    import json, os, torch, torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard
    {measure}
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    start = torch.empty(1, device="cuda")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    dist.all_reduce(start)
    torch.cuda.synchronize()
    nccl = free - torch.cuda.mem_get_info()[0]
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).cuda()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    for _ in range(2):
        model(torch.empty(512, 2048, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    kept = [torch.empty(int(9.5 * (1 << 20)) + 100 * rank, dtype=torch.uint8, device="cuda") for _ in range(40)]
    del kept[::3]
    last = torch.empty(700 << 20, dtype=torch.uint8, device="cuda")  # the card's peak
    measure(rank, free, nccl=nccl)
"""


def run_dry(folder, options, script, python=(str(PYTHON),)):
    """(the JSON of the dry run in run.json, what its ranks printed as JSON)"""
    body = textwrap.dedent(script).replace("{measure}", textwrap.dedent(MEASURE).strip())
    (folder / "program.py").write_text(body)
    done = finish([BINARY, "dryrun", "--exit-code", "child", "--json", *options, "--", *python, "program.py"], environment_of({}), folder)
    assert done.code == 0, done.err[-4000:]
    (folder / "run.json").write_text(done.out)
    return json.loads(done.out), [json.loads(line) for line in re.findall(r'\{"rank".*?\}', done.err)]


def where(folder, *args, env=None):
    done = finish([BINARY, "where", *args], {**environment_of({}), **(env or {})}, folder)
    assert done.code == 0, done.err
    return done.out


def ledger(folder, *args, env=None):
    document = json.loads(where(folder, "--json", *args, env=env))
    for card in document["devices"]:
        check(card)
    return {card["device"]: card for card in document["devices"]}


def check(row):
    if row["bytes"] is not None and row["rows"]:
        assert sum(below["bytes"] or 0 for below in row["rows"]) == row["bytes"]
    for below in row["rows"]:
        check(below)


def every(row):
    yield row
    for below in row["rows"]:
        yield from every(below)


def only(card, kind, name=None):
    (row,) = [row for row in every(card) if row["kind"] == kind and name in (None, row["name"])]
    return row


def check_rank(card, told):
    assert only(card, "used")["bytes"] == told["used"]
    assert card["bytes"] - only(card, "driver_reserve")["bytes"] == told["total"]
    assert only(card, "library", "NCCL")["bytes"] == told["nccl"] > 100 * MiB
    pytorch = only(card, "pytorch")
    assert pytorch["bytes"] == told["reserved"] == told["peak_reserved"]
    parts = {row["kind"]: row["bytes"] for row in pytorch["rows"]}
    assert parts["requested"] + parts["rounding"] == told["allocated"]
    assert parts["pending"] == told["active"] - told["allocated"]
    assert parts["fragmented"] + parts["releasable"] == told["reserved"] - told["active"]
    if parts["pending"] == 0:  # PyTorch's requested bytes contain those of pending blocks
        assert parts["requested"] == told["requested"]
    unknown = [row for row in every(card) if row["bytes"] is None]
    assert unknown == [] and all(row["bytes"] == 0 for row in every(card) if row["kind"] == "unexplained")


@pytest.mark.parametrize("ranks, options, python", [
    (4, ["--ranks", "4", "--gpu", "4xH100"], [str(PYTHON)]),
    (2, ["--gpu", "2xH100"], [str(PYTHON), *TORCHRUN, "--nproc-per-node", "2"]),
    (2, ["--ranks", "2", "--gpu", "2xH100", "--conf", "expandable_segments:True"], [str(PYTHON)]),
])
def test_each_byte_of_the_ranks(tmp_path, ranks, options, python):
    """FSDP: the driver's figure of each card is explained, and NCCL's share is what the card lost at the first collective call."""
    _, told = run_dry(tmp_path, options, FSDP, python)
    cards = ledger(tmp_path, "run.json")
    assert sorted(line["rank"] for line in told) == sorted(cards) == list(range(ranks))
    for line in told:
        check_rank(cards[line["rank"]], line)
    text = where(tmp_path, "run.json")
    assert "NCCL" in text and "unexplained" in text and f"GPU {ranks - 1}" in text and max(map(len, text.splitlines())) <= 80


def test_one_rank_of_four(tmp_path):
    """--world: the others do not run, and the rank that does is explained in the same way."""
    _, (told,) = run_dry(tmp_path, ["--world", "4", "--gpu", "H100"], FSDP.replace("set_device(rank)", "set_device(0)"))
    check_rank(ledger(tmp_path, "run.json")[0], told)


def test_a_peak_that_another_library_makes(tmp_path):
    """PyTorch's memory is divided as it was when the library took its own, not at PyTorch's own peaks: the time of the card's peak tells."""
    script = """
        import ctypes, json, os, time, torch
        {measure}
        kept = [torch.empty(3 << 20, dtype=torch.uint8, device="cuda") for _ in range(60)]
        del kept[1::2]
        time.sleep(0.2)
        measure(0, 0)
        runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(48 << 20)) == 0
        time.sleep(0.2)
        del kept
        torch.empty(9 << 20, dtype=torch.uint8, device="cuda")
    """
    _, (told,) = run_dry(tmp_path, [], script)
    card = ledger(tmp_path, "run.json")[0]
    assert only(card, "used")["bytes"] == told["used"] + 48 * MiB
    parts = {row["kind"]: row["bytes"] for row in only(card, "pytorch")["rows"]}
    assert only(card, "pytorch")["bytes"] == told["reserved"] and parts["requested"] == told["requested"] == 90 * MiB
    assert parts["fragmented"] + parts["releasable"] == told["reserved"] - told["active"]


def test_without_a_history(tmp_path):
    run_dry(tmp_path, ["--no-history"], "import torch\nkept = torch.empty(30 << 20, dtype=torch.uint8, device='cuda')\n")
    pytorch = only(ledger(tmp_path, "run.json")[0], "pytorch")
    assert pytorch["bytes"] == 30 * MiB
    assert pytorch["rows"][0]["why"] == "no history of PyTorch's allocator was read of the process"


def test_a_private_pool(tmp_path):
    script = """
        import torch
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            kept = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
        other = torch.empty(70 << 20, dtype=torch.uint8, device="cuda")
    """
    run_dry(tmp_path, [], script)
    card = ledger(tmp_path, "run.json")[0]
    assert only(card, "private_pool")["bytes"] == 30 * MiB and only(card, "private_pool")["rows"][0]["bytes"] == 30 * MiB
    assert only(card, "pytorch")["bytes"] == 100 * MiB and only(card, "pytorch")["rows"][0]["bytes"] == 70 * MiB


@pytest.mark.skipif(not FAKE, reason="VRAMSCOPE_FAKE does not name the folder of the fake NVML")
def test_a_recorded_process(tmp_path):
    """A process asks about itself while it is recorded: PyTorch's rows are those of its statistics at that moment."""
    scenarios = Path(__file__).parents[1] / "fake" / "scenarios"
    script = """
        import json, os, recorder, subprocess, sys, torch
        kept = [torch.empty(5 * (1 << 20) + 7, dtype=torch.uint8, device="cuda") for _ in range(20)]
        del kept[::2]
        stats = torch.cuda.memory_stats()
        open("machine.txt", "w").write(f"include = {sys.argv[2]}/h200.txt\\n[card 0]\\nmemory.used = 33934016512\\nprocess = {os.getpid()} C 20000MiB\\n")
        environment = {**os.environ, "VRAMSCOPE_NVML": sys.argv[3], "VRAMSCOPE_FAKE_NVML": "machine.txt"}
        environment = {key: value for key, value in environment.items() if key != "LD_PRELOAD"}
        recorder.wait_until_written()
        asked = subprocess.run([sys.argv[1], "where", "--json", str(os.getpid())], env=environment, capture_output=True, text=True)
        print(json.dumps({"where": asked.stdout, "err": asked.stderr, "reserved": stats["reserved_bytes.all.current"],
                          "allocated": stats["allocated_bytes.all.current"], "requested": stats["requested_bytes.all.current"]}))
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(script))
    relative = os.path.relpath(scenarios, tmp_path)
    argv = [BINARY, "run", "--gpu", "24GiB", "-q", "-o", "run.vram", "--", str(PYTHON), "program.py", BINARY, relative, f"{FAKE}/libnvidia-ml.so.1"]
    done = finish(argv, environment_of({}), tmp_path)
    (line,) = [line for line in done.out.splitlines() if line.startswith('{"where"')]
    told = json.loads(line)
    (card,) = json.loads(told["where"] or told["err"])["devices"]
    check(card)
    pytorch = only(card, "pytorch")
    parts = {row["kind"]: row["bytes"] for row in pytorch["rows"]}
    assert pytorch["bytes"] == told["reserved"] and parts["requested"] == told["requested"]
    assert parts["requested"] + parts["rounding"] == told["allocated"]
    assert only(card, "process")["rows"][-1]["bytes"] == (20000 << 20) - told["reserved"]


LIBRARIES = """
    import ctypes, json, os, torch
    {measure}
    runtime, memory, gone = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p(), ctypes.c_void_p()
    def beside_pytorch():
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()
    kept = torch.empty(64, 64, device="cuda") + 1
    before = beside_pytorch()
    product = kept @ kept
    cublas = beside_pytorch() - before
    assert runtime.cudaMalloc(ctypes.byref(gone), ctypes.c_size_t(600 << 20)) == 0
    assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(48 << 20)) == 0
    assert runtime.cudaFree(gone) == 0
    last = torch.empty(700 << 20, dtype=torch.uint8, device="cuda")  # PyTorch's peak, and the card's
    measure(0, 0, cublas=cublas)
"""


def run_recorded(folder):
    """`vramscope run` of the program."""
    argv = [BINARY, "run", "--gpu", "24GiB", "-q", "-o", "run.vram", "--", str(PYTHON), "program.py"]
    return finish(argv, environment_of({}), folder)


def run_that_records(folder):
    """The program loads the recorder itself, when libraries have memory already."""
    text = (folder / "program.py").read_text()
    text = text.replace("last =", "import vramscope\nrecording = vramscope.record('run.vram')\nrecording.__enter__()\nlast =")
    (folder / "late.py").write_text(text + "\nrecording.__exit__(None, None, None)\n")
    environment = {**simulation(), "VRAMSCOPE_SIM_GPU": "24GiB", "PYTHONPATH": Path(BINARY).resolve().parent / "python"}
    return finish([str(PYTHON), "late.py"], environment_of(environment), folder)


@pytest.mark.parametrize("record", [run_recorded, run_that_records])
def test_libraries_in_a_recording(tmp_path, record):
    """A recording on a simulated GPU has the card and what other libraries have of it: as the dry run counts it, and as the program
    measures it."""
    _, (told,) = run_dry(tmp_path, ["--gpu", "24GiB"], LIBRARIES)
    done = record(tmp_path)
    assert done.code == 0, done.err
    card, dry = ledger(tmp_path, "run.vram")[0], ledger(tmp_path, "run.json")[0]
    assert card["bytes"] == told["total"] and "(simulated)" in card["name"]
    ours, theirs = ({row["name"]: row["bytes"] for row in every(of) if row["kind"] == "library"} for of in (card, dry))
    assert theirs.pop("kernels") > 0  # the driver loads them, which a recording does not have
    assert ours == theirs and ours["cuBLAS"] == told["cublas"] > 0
    assert 48 * MiB in ours.values() and only(card, "pytorch")["bytes"] == told["reserved"]
