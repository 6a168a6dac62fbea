"""What `vramscope dryrun` says of programs by how they end, and of those with several processes."""

import json
import pickle
import re
import subprocess

import pytest

import conftest as make
from training import TRAIN, last_line

MiB, GiB = 1 << 20, 1 << 30
OWNERS = []


def owners_of_training(report):
    """At the peak of a step, in a run that ends by itself: PyTorch's own history has them."""
    if not OWNERS:
        reply, _ = report([], TRAIN + "    train(steps=1)\n")
        assert reply["processes"][0]["history_source"] == "snapshot"
        OWNERS.extend(rows_of(reply["report"][0]["peak"]))
    assert "backward pass (no Python stack)" in [label for label, _, _ in OWNERS] and len(OWNERS) > 3
    return OWNERS


def rows_of(peak):
    return [(row["label"], row["bytes"], row["count"]) for row in peak["owners"]]


@pytest.mark.parametrize(
    "end, code, is_complete",
    (
        ("sys.exit(7)", 7, True),
        ("raise ValueError('no')", 1, True),
        ("import os; os._exit(5)", 5, True),
        ("import os; os.kill(os.getpid(), 9)", 137, False),
        ("import ctypes; ctypes.string_at(0)", 139, False),
    ),
)
def test_ends(report, end, code, is_complete):
    """A killed process leaves what its allocator reported while it ran, whatever the program reset; and its history, which the recorder
    has."""
    script = "    train(steps=1)\n    print(json.dumps(figures()), flush=True)\n    torch.cuda.empty_cache()\n"
    script += "    torch.cuda.reset_peak_memory_stats()\n"
    if not is_complete:
        script += "    import recorder; recorder.wait_until_written()\n"
    reply, printed = report([], TRAIN + script + f"    {end}\n", code=code)
    own = last_line(printed)
    if not is_complete:
        own |= {"peak_requested_bytes": None, "retries": None}
    assert reply["devices"][0]["torch"] == own == reply["processes"][0]["devices"][0]["torch"]
    assert reply["verdict"] == "stopped" and reply["processes"][0]["complete"] is is_complete
    assert reply["processes"][0]["end"] == ("ended" if is_complete else "killed")
    assert reply["processes"][0]["history_source"] == ("snapshot" if is_complete else "recording")
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "history_lost"]
    peak = reply["report"][0]["peak"]
    assert peak["allocated_bytes"] == own["peak_allocated_bytes"] and rows_of(peak) == owners_of_training(report)
    assert reply["devices"][0]["driver_peak_bytes"] > 100 * MiB  # the node knows, whatever became of the process


def test_a_recording_that_was_cut_is_said(report, dryrun):
    """Here the file is as it was a while before, else a hundredth of a second before the kill."""
    script = """
        import os, recorder, shutil, torch
        path = f"{os.environ['VRAMSCOPE_SIM_RUN']}/recording.{os.getpid()}.vram"
        first = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
        recorder.wait_until_written()
        shutil.copy(path, "before.vram")
        held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        shutil.copy("before.vram", path + ".part")
        os.replace(path + ".part", path)
        os.kill(os.getpid(), 9)
    """
    reply, _ = report([], script, code=137)
    (process,) = reply["processes"]
    (row,) = process["devices"][0]["owners"]
    assert row["bytes"] == MiB and process["devices"][0]["torch"]["peak_allocated_bytes"] == 65 * MiB
    assert {"kind": "history_cut", "processes": 1, "bytes": 64 * MiB} in reply["doubts"]
    out = " ".join(dryrun([], script).out.split())
    assert "a process was killed before its last events were recorded: 64.00 MiB of its peak have no owner" in out


def test_children_by_spawn(report, tmp_path):
    (tmp_path / "spawn.py").write_text(
        "import torch, torch.multiprocessing as multiprocessing\n"
        "def work(rank):\n"
        "    torch.cuda.set_device(rank)\n"
        "    held = torch.empty((rank + 1) << 30, dtype=torch.uint8, device='cuda')\n"
        "if __name__ == '__main__':\n"
        "    multiprocessing.spawn(work, nprocs=2)\n"
    )
    script = "\nimport runpy, sys\nsys.argv = ['spawn.py']\nrunpy.run_path('spawn.py', run_name='__main__')\n"
    reply, _ = report(["--gpu", "2xL4"], script)
    peaks = [device["torch"]["peak_reserved_bytes"] for device in reply["devices"]]
    assert peaks == [GiB, 2 * GiB]
    assert sum(process["complete"] for process in reply["processes"]) == 2


@pytest.mark.parametrize("method", ("fork", "forkserver"))
def test_children_by_fork(report, tmp_path, method):
    """They end with os._exit; one is terminated while it waits."""
    (tmp_path / "forks.py").write_text(
        "import multiprocessing, time\n"
        "def work(size, ready):\n"
        "    import recorder, torch\n"
        "    held = torch.empty(size << 20, dtype=torch.uint8, device='cuda')\n"
        "    recorder.wait_until_written()\n"
        "    ready.set()\n"
        "    time.sleep(600 if size == 96 else 0)\n"
        "if __name__ == '__main__':\n"
        f"    context = multiprocessing.get_context('{method}')\n"
        "    events = [context.Event() for _ in range(2)]\n"
        "    children = [context.Process(target=work, args=pair) for pair in zip((64, 96), events)]\n"
        "    for child, event in zip(children, events):\n"
        "        child.start()\n"
        "        event.wait()\n"
        "    children[1].terminate()\n"
        "    for child in children:\n"
        "        child.join()\n"
    )
    reply, _ = report([], "\nimport runpy\nrunpy.run_path('forks.py', run_name='__main__')\n")
    used = sorted((process["devices"][0]["torch"]["peak_allocated_bytes"] >> 20, process["complete"]) for process in reply["processes"])
    assert used == [(64, True), (96, False)]
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "history_lost"]
    owners = {process["history_source"]: process["devices"][0]["owners"] for process in reply["processes"]}
    for source, size in (("snapshot", 64), ("recording", 96)):
        (row,) = owners[source]
        assert row["bytes"] == size * MiB and "forks.py:4" in row["label"]


POOL = """
import ctypes, multiprocessing, sys

def work(number, barrier):
    cudart = ctypes.CDLL("libcudart.so.13")
    memory = ctypes.c_void_p()
    status = cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(number + 1 << 21))
    barrier.wait()  # all hold theirs
    sys.exit(status)

if __name__ == "__main__":
    context, count = multiprocessing.get_context(sys.argv[1]), int(sys.argv[2])
    barrier = context.Barrier(count)
    children = [context.Process(target=work, args=(number, barrier)) for number in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print("failed", sum(child.exitcode != 0 for child in children), file=sys.stderr)
"""


def pool_of(tmp_path, method, count, *options):
    """(reply, standard error) of a program with so many processes that hold memory at the same time."""
    (tmp_path / "pool.py").write_text(POOL)
    done = subprocess.run([make.BINARY, "dryrun", "--json", *options, "--", make.PYTHON, "pool.py", method, str(count)], cwd=tmp_path,
                          env=make.environment_of({}), capture_output=True, text=True, timeout=make.TIMEOUT, check=True)
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_a_pool_of_64_workers(tmp_path, method):
    reply, told = pool_of(tmp_path, method, 64, "--context", "300MiB")
    assert "failed 0" in told and reply["verdict"] == "fits" and reply["doubts"] == []
    peaks = sorted(process["devices"][0]["driver_peak_bytes"] for process in reply["processes"])
    assert peaks == [(300 + 2 * number) * MiB for number in range(1, 65)]
    if method == "spawn":  # forked ones leave by os._exit, and without PyTorch nothing follows that
        assert {process["end"] for process in reply["processes"]} == {"ended"}
    assert reply["devices"][0]["driver_peak_bytes"] == sum(peaks)


def test_more_processes_than_a_gpu_can_have(tmp_path):
    """256 get it, the others an error; the report says whose memory it lacks."""
    reply, told = pool_of(tmp_path, "fork", 260, "--gpu", "B300", "--context", "2MiB")
    assert "failed 4" in told and len(reply["processes"]) == 260
    assert reply["doubts"] == [{"kind": "not_recorded", "what": "GPU memory", "processes": 4,
                                "why": "256 other processes use it, and no more can"}]
    peaks = [process["devices"][0]["driver_peak_bytes"] for process in reply["processes"] if process["devices"]]
    assert len(peaks) == 256 and reply["devices"][0]["driver_peak_bytes"] == sum(peaks)


def test_the_same_run_twice(report, tmp_path_factory):
    """Event for event with addresses and stacks, under autocast, which frees its casts in the order of a hash table of addresses.
    Without a backward pass: its thread races with the program's for addresses of the host. The snapshots lie outside of the
    program's directory: Python reads its names when it imports a module, so one file more is another order of addresses."""
    kept = tmp_path_factory.mktemp("kept")
    script = """
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 4).cuda()
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.zeros(4, 128, 64, device="cuda")).float().square().mean()
        del loss
    """
    runs = []
    for name in ("first.pickle", "other.pickle"):
        reply, _ = report(["--snapshot", str(kept / name)], script)
        assert reply["repeatable"] is True
        with open(kept / name, "rb") as file:
            (trace,) = [trace for trace in pickle.load(file)["device_traces"] if trace]
        runs.append([{key: value for key, value in entry.items() if key != "time_us"} for entry in trace])
    assert len(runs[0]) > 1000 and runs[0] == runs[1]


def test_a_server(report):
    """It waits for requests in another process than the one that holds the model, and is ended once both are idle."""
    script = """
    import http.server, multiprocessing, time

    def engine(ready):
        import torch
        weights = torch.zeros(64, 1 << 20, dtype=torch.uint8, device="cuda")
        ready.set()
        time.sleep(600)

    context = multiprocessing.get_context("fork")
    ready = context.Event()
    context.Process(target=engine, args=(ready,)).start()
    ready.wait()
    http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler).serve_forever()
    """
    reply, _ = report(["--until", "idle"], script)
    assert reply["verdict"] == "fits" and reply["ended_us"] > 5_000_000
    (process,) = reply["processes"]
    assert process["complete"] and process["devices"][0]["torch"]["peak_allocated_bytes"] == 64 << 20
    assert reply["report"][0]["peak"]["owners"][0]["bytes"] == 64 << 20


def test_a_server_that_says_when_it_is_ready(report):
    """It listens and answers before its model is loaded. PyTorch's store for ranks listens, too, with another protocol."""
    script = """
    import http.server, threading
    import torch
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, 1, True)
    asked, is_loaded = threading.Semaphore(0), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if is_loaded.is_set() and self.path == "/health" else 503)
            self.end_headers()
            asked.release()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    weights = torch.zeros(64, 1 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        asked.acquire()
    cache = torch.zeros(32, 1 << 20, dtype=torch.uint8, device="cuda")
    is_loaded.set()
    threading.Event().wait()
    """
    reply, _ = report(["--until", "ready"], script)
    assert (reply["until"], reply["verdict"], reply["exit_code"]) == ("ready", "fits", 0)
    assert 0 < reply["ended_us"] <= reply["time_us"]
    (process,) = reply["processes"]
    assert process["complete"] and process["devices"][0]["torch"]["peak_allocated_bytes"] == 96 << 20


def test_ranks_on_cards_of_their_own(report):
    script = TRAIN + (
        "    import os\n"
        "    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "    held = torch.empty((int(os.environ['RANK']) + 1) << 30, dtype=torch.uint8, device='cuda')\n"
    )
    reply, _ = report(["--gpu", "L4", "--ranks", "3"], script)
    assert [device["torch"]["peak_reserved_bytes"] // GiB for device in reply["devices"]] == [1, 2, 3]
    assert [process["exit_code"] for process in reply["processes"]] == [0, 0, 0]


def test_owners_of_each_process(report, dryrun):
    """Each rank sees one GPU, as its number 0, and each has its memory from a line of its own."""
    script = """
    import os, torch

    rank = int(os.environ["RANK"])
    os.environ["CUDA_VISIBLE_DEVICES"] = str(2 - rank)

    def first(): return torch.zeros(3 << 30, dtype=torch.uint8, device="cuda")
    def second(): return torch.zeros(5 << 30, dtype=torch.uint8, device="cuda")
    def third(): return torch.zeros(4 << 30, dtype=torch.uint8, device="cuda"), torch.zeros(1 << 20, device="cuda")

    held = (first, second, third)[rank]()
    """
    reply, _ = report(["--gpu", "L4", "--ranks", "3"], script)
    found = {}
    for process in reply["processes"]:
        (device,) = process["devices"]
        found[process["rank"]] = (device["device"], device["owner_count"], [(row["label"].split()[-1], row["bytes"] >> 20) for row in device["owners"]])
        assert device["torch"]["peak_requested_bytes"] == sum(row["bytes"] for row in device["owners"])
    assert found == {0: (2, 1, [("first", 3072)]), 1: (1, 1, [("second", 5120)]), 2: (0, 1, [("third", 4100)])}
    main = next(process for process in reply["processes"] if process["pid"] == reply["report_pid"])
    assert main["rank"] == 1 and main["devices"][0]["owners"] == reply["report"][0]["peak"]["owners"]
    assert [row["peak_driver_bytes"] for row in reply["inventories"]] == [main["devices"][0]["driver_peak_bytes"]]
    text = dryrun(["--gpu", "L4", "--ranks", "3"], script).out
    rows = re.findall(r"^  (rank \d) +(\d) .* (\w+)$", text, re.M)
    assert rows == [("rank 1", "1", "second"), ("rank 2", "0", "third"), ("rank 0", "2", "first")], text
    assert "Owners         of rank 1\n" in text
