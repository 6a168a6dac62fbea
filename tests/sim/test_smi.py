"""`vramscope smi` and independent NVML clients on one simulated machine: NVIDIA's own Python binding (pynvml),
gpustat and nvitop. While a program holds memory on two cards, all of them have to show the same figures.
"""

import csv
import io
import json
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from conftest import BINARY  # noqa: E402

MiB = 1 << 20
FIELDS = ("index,name,uuid,pci.bus_id,driver_version,memory.total,memory.reserved,memory.used,memory.free,temperature.gpu,"
          "utilization.gpu")
APPS = "gpu_uuid,pid,process_name,used_gpu_memory"

# Holds 512 MiB of card 0 and 1536 MiB of card 1 by the driver's own calls, then runs `vramscope smi`, pynvml, nvitop and gpustat.
HOLDER = """
    import ctypes, json, subprocess, sys
    binary, fields, apps = sys.argv[1:4]
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
    for card, mebibytes in ((0, 512), (1, 1536)):
        context, address = ctypes.c_void_p(), ctypes.c_uint64()
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), card) == 0
        assert cuda.cuCtxSetCurrent(context) == 0
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mebibytes << 20)) == 0

    def ask(*argv):
        done = subprocess.run(argv, capture_output=True, text=True)
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}

    PYNVML = '''if True:
        import json, pynvml as n
        n.nvmlInit()
        def known(call, *arguments):
            try:
                return call(*arguments)
            except n.NVMLError_NotSupported:
                return None
        cards = []
        for i in range(n.nvmlDeviceGetCount()):
            card = n.nvmlDeviceGetHandleByIndex(i)
            memory = n.nvmlDeviceGetMemoryInfo(card, version=n.nvmlMemory_v2)
            cards.append({
                "name": n.nvmlDeviceGetName(card), "uuid": n.nvmlDeviceGetUUID(card),
                "bus_id": n.nvmlDeviceGetPciInfo(card).busId, "driver": n.nvmlSystemGetDriverVersion(),
                "total": memory.total, "reserved": memory.reserved, "used": memory.used, "free": memory.free,
                "temperature": known(n.nvmlDeviceGetTemperature, card, n.NVML_TEMPERATURE_GPU),
                "power": known(n.nvmlDeviceGetPowerUsage, card),
                "processes": [[p.pid, p.usedGpuMemory] for p in n.nvmlDeviceGetComputeRunningProcesses(card)]})
        print(json.dumps(cards))'''
    NVITOP = '''if True:
        import json
        from nvitop import Device, NA
        def known(value):
            return None if value is NA else value
        cards = []
        for card in Device.all():
            cards.append({
                "name": card.name(), "uuid": card.uuid(), "bus_id": card.bus_id(), "driver": card.driver_version(),
                "total": card.memory_total(), "used": card.memory_used(), "free": card.memory_free(),
                "temperature": known(card.temperature()), "utilization": known(card.gpu_utilization()),
                "processes": [[pid, p.gpu_memory()] for pid, p in card.processes().items()]})
        print(json.dumps(cards))'''
    python = sys.executable
    print(json.dumps({
        "gpu": ask(binary, "smi", "--query-gpu=" + fields, "--json"),
        "gpu_csv": ask(binary, "smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits"),
        "apps": ask(binary, "smi", "--query-compute-apps=" + apps, "--json"),
        "table": ask(binary, "smi"),
        "table_json": ask(binary, "smi", "--json"),
        "pynvml": ask(python, "-c", PYNVML),
        "nvitop": ask(python, "-c", NVITOP),
        "gpustat": ask(python, "-m", "gpustat", "--json"),
        "has": [name for name in ("pynvml", "nvitop", "gpustat") if __import__("importlib.util").util.find_spec(name)],
    }))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """{program: its output as values}."""
    from conftest import command, environment, finish

    env = environment(LD_PRELOAD=None, TRITON_LIBCUDA_PATH=None, COLUMNS="80", LC_ALL="C.UTF-8")
    argv = [BINARY, "dryrun", "--gpu", "2xH100", "--quiet", "--json", "--", *command(HOLDER, [BINARY, FIELDS, APPS])]
    done = finish(argv, env, tmp_path_factory.mktemp("smi"))
    lines = [line for line in done.err.splitlines() if line.startswith('{"gpu"')]  # --json: its output is on standard error
    assert lines, (done.code, done.out[-500:], done.err[-3000:])
    answers = json.loads(lines[0])
    ours = ("gpu", "gpu_csv", "apps", "table", "table_json")
    for who in (*ours, *answers["has"]):
        assert answers[who]["code"] == 0, (who, answers[who])
    return answers


def data(seen, who):
    if who not in seen["has"] and who in ("pynvml", "nvitop", "gpustat"):
        pytest.skip(f"{who} is not in build/simvenv (tools/setup test)")
    return json.loads(seen[who]["out"])


@pytest.fixture(scope="module")
def cards(seen):
    return [row["values"] for row in data(seen, "gpu")["rows"]]


@pytest.fixture(scope="module")
def processes(seen):
    """{uuid of a card: [[pid, bytes]]}."""
    found = {}
    for row in data(seen, "apps")["rows"]:
        found.setdefault(row["values"]["gpu_uuid"], []).append([row["values"]["pid"], row["values"]["used_gpu_memory_bytes"]])
    return found


def test_what_smi_shows(seen, cards, processes):
    assert len(cards) == 2 and data(seen, "gpu")["driver"]["is_simulated"]
    for card, held in zip(cards, (512, 1536), strict=True):
        assert card["memory.total_bytes"] == sum(card[f"memory.{part}_bytes"] for part in ("reserved", "used", "free"))
        ((pid, used),) = processes[card["uuid"]]
        assert card["memory.used_bytes"] >= used > held * MiB and pid > 0  # and the context


def test_pynvml(seen, cards, processes):
    theirs = data(seen, "pynvml")
    assert len(theirs) == len(cards)
    for mine, card in zip(cards, theirs, strict=True):
        assert (mine["name"], mine["uuid"], mine["pci.bus_id"], mine["driver_version"]) == (
            card["name"], card["uuid"], card["bus_id"], card["driver"])
        assert [mine[f"memory.{part}_bytes"] for part in ("total", "reserved", "used", "free")] == [
            card[part] for part in ("total", "reserved", "used", "free")]
        assert mine["temperature.gpu"] == card["temperature"]
        assert processes[mine["uuid"]] == card["processes"]


def test_nvitop(seen, cards, processes):
    theirs = data(seen, "nvitop")
    assert len(theirs) == len(cards)
    for mine, card in zip(cards, theirs, strict=True):
        assert (mine["name"], mine["uuid"], mine["pci.bus_id"], mine["driver_version"]) == (
            card["name"], card["uuid"], card["bus_id"], card["driver"])
        assert [mine[f"memory.{part}_bytes"] for part in ("total", "used", "free")] == [
            card[part] for part in ("total", "used", "free")]
        assert (mine["temperature.gpu"], mine["utilization.gpu"]) == (card["temperature"], card["utilization"])
        assert processes[mine["uuid"]] == card["processes"]


def test_gpustat(seen, cards, processes):
    """Its megabytes are MiB, cut off."""
    theirs = data(seen, "gpustat")["gpus"]
    assert len(theirs) == len(cards)
    for mine, card in zip(cards, theirs, strict=True):
        assert (mine["index"], mine["name"], mine["uuid"]) == (card["index"], card["name"], card["uuid"])
        assert [mine[f"memory.{part}_bytes"] // MiB for part in ("total", "used")] == [card["memory.total"], card["memory.used"]]
        assert (mine["temperature.gpu"], mine["utilization.gpu"]) == (card["temperature.gpu"], card["utilization.gpu"])
        assert [[pid, used // MiB] for pid, used in processes[mine["uuid"]]] == [
            [p["pid"], p["gpu_memory_usage"]] for p in card["processes"]]


def test_csv_and_table_agree(seen, cards, processes):
    rows = list(csv.reader(io.StringIO(seen["gpu_csv"]["out"]), skipinitialspace=True))
    names = FIELDS.split(",")
    for card, row in zip(cards, rows, strict=True):
        for name, cell in zip(names, row, strict=True):
            if f"{name}_bytes" in card:
                assert int(cell) == math.ceil(card[f"{name}_bytes"] / MiB)
            else:
                assert cell == ("[N/A]" if card[name] is None else str(card[name]))
    for card, device in zip(cards, data(seen, "table_json")["devices"], strict=True):
        memory = device["memory"]
        assert [memory[f"{part}_bytes"] for part in ("total", "reserved", "used", "free")] == [
            card[f"memory.{part}_bytes"] for part in ("total", "reserved", "used", "free")]
        assert [[p["pid"], p["used_bytes"]] for p in device["processes"]] == processes[card["uuid"]]
        assert card["name"] in seen["table"]["out"]
