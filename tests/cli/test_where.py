"""`vramscope where`: the ledger of a GPU, of snapshots, recordings, dry runs and processes; and documents that contradict themselves.

Every document's rows are added up again here, from docs/formats/where.md.
"""

import copy
import json
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import conftest as make
from conftest import MiB, write

FAKE = os.environ.get("VRAMSCOPE_FAKE", "")
SCENARIOS = Path(__file__).parents[1] / "fake" / "scenarios"
DOCUMENT = Path(__file__).parents[2] / "docs" / "formats" / "where.md"
PARTS = ("requested", "rounding", "pending", "fragmented", "releasable")


def check_row(row):
    """The sum of what is below each row, by the rule of where.md."""
    assert (row["bytes"] is None) == (row["why"] is not None) == (row["source"] is None)
    rest = [below for below in row["rows"] if below["kind"] in ("unexplained", "unknown_together")]
    if row["bytes"] is not None and row["rows"]:
        assert rest == row["rows"][-1:]
        others = row["rows"][:-1]
        kind = "unknown_together" if any(below["bytes"] is None for below in others) else "unexplained"
        assert rest[0]["kind"] == kind
        if rest[0]["bytes"] is not None:
            assert sum(below["bytes"] or 0 for below in row["rows"]) == row["bytes"]
    else:
        assert rest == []
    for below in row["rows"]:
        check_row(below)


def every_row(row):
    yield row
    for below in row["rows"]:
        yield from every_row(below)


def rows_of(card, kind):
    return [row for row in every_row(card) if row["kind"] == kind]


def only(card, kind):
    (row,) = rows_of(card, kind)
    return row


@pytest.fixture
def where(vramscope):
    """where("s.pickle") -> the document of --json, checked."""

    def run(*args, **more):
        done = vramscope("where", "--json", *args, **more)
        assert done.code == 0, done.err
        document = json.loads(done.out)
        assert document["schema"] == 1 and document["method"] == "where"
        for card in document["devices"]:
            check_row(card)
        return document

    return run


# ---- snapshots and recordings


SNAPSHOTS = {"training": make.training, "out_of_memory": make.out_of_memory, "two_gpus": make.two_gpus, "end_only": make.end_only}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshots(folder, vramscope, where, golden, name):
    write(folder / "s.pickle", SNAPSHOTS[name]())
    done = vramscope("where", "s.pickle")
    assert done.code == 0 and done.err == ""
    assert max(map(len, done.out.splitlines())) <= 80
    golden(f"where_{name}", done.out)
    for card in where("s.pickle", "--at", "end")["devices"]:
        assert card["bytes"] is None and only(card, "used")["bytes"] is None and only(card, "library")["bytes"] is None
        report = json.loads(vramscope("report", "--json", "--device", card["device"], "s.pickle").out)["devices"][0]
        end = report["end"]
        assert only(card, "pytorch")["bytes"] == end["reserved_bytes"]
        assert only(card, "releasable")["bytes"] == end["releasable_bytes"] and only(card, "fragmented")["bytes"] == end["pinned_bytes"]
        assert only(card, "rounding")["bytes"] == report["rounding"]["lost_bytes"]


def test_an_out_of_memory_error_knows_what_was_free(folder, where):
    """And with the size of the GPU, which a recording of vramscope's allocator has, what was not PyTorch's."""
    write(folder / "s.pickle", make.out_of_memory())
    (card,) = where("--at", "oom", "s.pickle")["devices"]
    assert only(card, "free")["bytes"] is not None and card["bytes"] is None and only(card, "used")["bytes"] is None


def test_a_recording_with_the_size_of_the_gpu(folder, vramscope, where, golden):
    assert vramscope("demo", "--keep", "d.vram", "-q").code == 0
    (card,) = where("--at", "oom", "d.vram")["devices"]
    used, pytorch, free = only(card, "used"), only(card, "pytorch"), only(card, "free")
    assert card["bytes"] == 8 << 30 and used["bytes"] == card["bytes"] - free["bytes"] >= pytorch["bytes"]
    assert used["rows"][-1]["bytes"] == card["bytes"] - free["bytes"] - pytorch["bytes"]  # exactly what is not PyTorch's
    (card,) = where("d.vram")["devices"]
    assert card["bytes"] == 8 << 30 and only(card, "used")["bytes"] is None
    done = vramscope("where", "--at", "oom", "d.vram")
    golden("where_recording", done.out)


def test_options(folder, vramscope, where):
    write(folder / "s.pickle", make.two_gpus())
    assert [card["device"] for card in where("s.pickle")["devices"]] == [0, 1]
    assert [card["device"] for card in where("--device", "1", "s.pickle")["devices"]] == [1]
    assert re.search(r"PyTorch reserved +[\d,]+ B ", vramscope("where", "--bytes", "s.pickle").out)
    assert " MB" in vramscope("where", "--si", "s.pickle").out
    for args, sentence in [
        (["--device", "7", "s.pickle"], "no memory of device 7"),
        (["--device", "host", "s.pickle"], "pinned host memory"),
        (["--at", "oom", "s.pickle"], "no out-of-memory error|no request failed"),
        (["--at", "1", "0"], "not the number of a process"),
        (["99999999999"], "not the number of a process"),
        (["4194000"], "there is no process 4194000"),
        (["--at", "end", "4194000"], "--at is for snapshots"),
        (["nowhere.pickle"], "no such file"),
    ]:
        done = vramscope("where", *args)
        assert done.code != 0 and re.search(sentence, done.err), (args, done.err)


# ---- dry runs


def sums(reserved, requested, rounding, pending, fragmented):
    return {"reserved_bytes": reserved, "requested_bytes": requested, "rounding_bytes": rounding, "pending_bytes": pending,
            "fragmented_bytes": fragmented, "releasable_bytes": reserved - requested - rounding - pending - fragmented}


def division():
    plain, graph = sums(300 * MiB, 200 * MiB, 1000, 2 * MiB, 50 * MiB), sums(100 * MiB, 90 * MiB, 24, 0, 6 * MiB)
    return {"schema": 1, "method": "reserved", "is_exact": False, **{key: plain[key] + graph[key] for key in plain},
            "pools": [{"pool": [0, 0], "is_private": False, **plain}, {"pool": [0, 1], "is_private": True, **graph}]}


def ledger(*rows):
    return [{"kind": kind, "owner": owner, "bytes": size} for kind, owner, size in rows]


def copied(document):
    """Without parts that are one object."""
    return json.loads(json.dumps(document))


def dry_run():
    """Two processes on GPU 0, one of them also on GPU 1, of which 5 MiB have an unknown owner; GPU 2 was not used."""
    first = ledger(("pytorch", "PyTorch's allocator", 400 * MiB), ("context", "CUDA context", 500 * MiB), ("library", "NCCL", 120 * MiB))
    second = ledger(("context", "CUDA context", 500 * MiB), ("library", "libmine.so", 30 * MiB))
    other = ledger(("pytorch", "PyTorch's allocator", 64 * MiB), ("unexplained", "not known", 5 * MiB))

    def device(number, rows, **more):
        return {"device": number, "name": "NVIDIA H100 80GB HBM3 (simulated)", "total_bytes": 80000 * MiB, "nvml_total_bytes": 80480 * MiB,
                "taken_bytes": 0, "used": True, "driver_peak_bytes": sum(row["bytes"] for row in rows), "ledger": rows, **more}

    def use(number, rows, reserved=None, why=None):
        return {"device": number, "ledger": rows, "reserved": reserved, "reserved_why": why}

    return copied({
        "schema": 1, "method": "dryrun",
        "devices": [device(0, first + second, taken_bytes=1000 * MiB), device(1, other), {"device": 2, **device(2, []), "used": False}],
        "processes": [
            {"pid": 71, "program": "python", "rank": 0, "devices": [use(0, first, division()), use(1, other, None, "it was killed")]},
            {"pid": 72, "program": "", "rank": None, "devices": [use(0, second)]},
        ],
    })


@pytest.fixture
def put(folder):
    def write_reply(reply, name="run.json"):
        (folder / name).write_text(reply if isinstance(reply, str) else json.dumps(reply))
        return name

    return write_reply


def test_a_dry_run(put, vramscope, where, golden):
    document = where(put(dry_run()))
    assert document["of"] == "dryrun" and [card["device"] for card in document["devices"]] == [0, 1]
    first, second = document["devices"]
    assert first["bytes"] == 80480 * MiB and only(first, "used")["bytes"] == 2550 * MiB
    assert only(first, "other_processes")["bytes"] == 1000 * MiB and only(first, "driver_reserve")["bytes"] == 480 * MiB
    assert [row["pid"] for row in rows_of(first, "process")] == [71, 72]
    assert {row["name"]: row["bytes"] for row in rows_of(first, "library")} == {"NCCL": 120 * MiB, "libmine.so": 30 * MiB}
    pytorch = only(first, "pytorch")
    assert [row["bytes"] for row in pytorch["rows"][:5]] == [division()["pools"][0][f"{part}_bytes"] for part in PARTS]
    assert [row["bytes"] for row in only(first, "private_pool")["rows"][:5]] == [division()["pools"][1][f"{part}_bytes"] for part in PARTS]
    assert all(row["bytes"] == 0 for row in rows_of(first, "unexplained"))
    assert [row["bytes"] for row in rows_of(second, "unexplained")] == [5 * MiB, 0, 0]  # of the process, of what is used, of the card
    assert only(second, "requested")["why"] == "it was killed"
    golden("where_dryrun", vramscope("where", "run.json").out)
    golden("where_dryrun_gpu1", vramscope("where", "--device", 1, "run.json").out)
    assert vramscope("where", "--device", 2, "run.json").err == "vramscope: run.json: the dry run did not use GPU 2\n"
    assert "--at is for snapshots" in vramscope("where", "--at", "end", "run.json").err


def test_a_run_without_a_gpu(put, vramscope):
    assert vramscope("where", put({"schema": 1, "method": "dryrun", "devices": [], "processes": []})).out.endswith("The program used no GPU.\n")


def paths_of(value, at=()):
    """The path of every value in a document."""
    yield at
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths_of(value[key], (*at, key))


def changed(document, path, value):
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


WRONG = (KeyError, None, -1, 1.5, True, "x", [], {}, (1 << 64) - 1, 1 << 64, [[[]]], [None], {"bytes": 1})


def test_hostile_dry_runs(put, vramscope, where):
    """Each value of a reply replaced by wrong ones: an error in words, or a ledger whose rows sum up, never a crash."""
    names = []
    for number, (path, wrong) in enumerate((path, wrong) for path in paths_of(dry_run()) if path and path[0] not in ("schema", "method") for wrong in WRONG):
        names.append(put(changed(dry_run(), path, wrong), f"{number}.json"))
    assert len(names) > 1500
    ends = set()
    for name in names:
        done = vramscope("where", "--json", name)
        assert done.code in (0, 2), (name, done)
        if done.code == 0:
            for card in json.loads(done.out)["devices"]:
                check_row(card)
        else:
            assert re.fullmatch(rf"vramscope: {name}: .*\n", done.err), done.err
        ends.add(done.code)
    assert ends == {0, 2}


def test_dry_runs_that_contradict_themselves(put, vramscope):
    def said(*changes):
        reply = dry_run()
        for path, value in changes:
            reply = changed(reply, path, value)
        done = vramscope("where", put(reply))
        assert done.code == 2 and done.out == ""
        return done.err.removeprefix("vramscope: run.json: ").strip()

    assert said((("devices", 0, "driver_peak_bytes"), 1)) == 'GPU 0: the rows of "ledger" do not sum up to "driver_peak_bytes"'
    assert said((("devices", 1, "total_bytes"), -5)) == 'GPU 1: "total_bytes" is not a number of bytes'
    assert said((("devices", 1, "ledger"), KeyError)) == 'GPU 1: "ledger" is missing or is no list'
    assert said((("devices", 1, "nvml_total_bytes"), KeyError)) == 'GPU 1: "nvml_total_bytes" is missing'
    assert "more than 64 bits" in said((("devices", 0, "ledger", 1, "bytes"), (1 << 64) - 1))
    assert "sum up to more than" in said((("processes", 0, "devices", 0, "ledger", 1, "bytes"), 5000 * MiB))
    assert "is not about the bytes" in said((("processes", 0, "devices", 0, "reserved"), {**division(), **sums(1 << 30, 1, 2, 3, 4), "pools": [
        {"is_private": False, **sums(1 << 30, 1, 2, 3, 4)}]}))
    assert said((("processes", 0, "devices", 0, "reserved", "rounding_bytes"), 7)) == (
        '"reserved_bytes" is not the sum of what the reserved memory consists of')
    assert said((("processes", 0, "devices", 0, "reserved", "pools"), [])) == '"pools" do not sum up to "requested_bytes"'
    assert said((("devices",), 5)) == 'the dry run has no "devices" or no "processes"'
    assert said((("method",), "inventory")) == "this JSON is not that of one dry run (vramscope dryrun --json)"


# ---- processes


PROGRAM = """
import mmap, sys
files = [open(name, "rb") for name in sys.argv[1:]]
kept = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in files]
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def process(folder):
    """process("run.vram") -> a process that has mapped these files, and one that marks it as one of CUDA's."""
    started = []

    def start(*names):
        (folder / "libcuda.so.1").write_bytes(bytes(mmap.PAGESIZE))
        child = subprocess.Popen([sys.executable, "-c", PROGRAM, "libcuda.so.1", *names], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True)
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        return child.pid

    yield start
    for child in started:
        child.communicate()


@pytest.fixture
def machine(folder):
    """machine("[card 0]", ...) -> the environment of an H200 with these lines."""

    def environment(*lines):
        (folder / "machine.txt").write_text("\n".join([f"include = {os.path.relpath(SCENARIOS, folder)}/h200.txt", *lines]) + "\n")
        return {"VRAMSCOPE_NVML": f"{FAKE}/libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": str(folder / "machine.txt")}

    return environment


def test_a_process(vramscope, where, process, machine):
    """The driver's figures; PyTorch's rows are not known without a recording, and the remedy is named."""
    pid = process()
    env = machine("[card 0]", "memory.used = 33934016512", f"process = {pid} C 20000MiB", "process = 4190001 C 3000MiB")
    document = where(pid, env=env)
    assert document["of"] == "process" and document["name"] == str(pid)
    (card,) = document["devices"]
    own = only(card, "process")
    assert own["bytes"] == 20000 * MiB and own["pid"] == pid and only(card, "used")["bytes"] == 33934016512
    assert only(card, "pytorch")["why"] == f"the process is not recorded (vramscope attach {pid})"
    assert own["rows"][-1] == {"kind": "unknown_together", "name": "the unknown rows, together", "bytes": 20000 * MiB, "why": None,
                               "source": "what is left", "is_shown": True, "rows": []}
    assert [row["pid"] for row in rows_of(card, "other_process")] == [4190001]
    assert sum(only(card, kind)["bytes"] for kind in ("used", "driver_reserve", "free")) == card["bytes"]
    out = vramscope("where", pid, env=env).out
    assert "not recorded (vramscope attach" in out and max(map(len, out.splitlines())) <= 80
    assert "no memory of a GPU" in vramscope("where", os.getpid(), env=env).err or "another number" in vramscope("where", os.getpid(), env=env).err


def test_a_recorded_process(folder, vramscope, where, process, machine):
    """Its recording is read as it is; what is neither PyTorch's nor another process' is what is left."""
    assert vramscope("demo", "--keep", "d.vram", "-q").code == 0
    pid = process("d.vram")
    env = machine("[card 0]", "memory.used = 33934016512", f"process = {pid} C 20000MiB")
    (card,) = where(pid, env=env)["devices"]
    end = json.loads(vramscope("query", "d.vram", "reserved").out)
    pytorch = only(card, "pytorch")
    assert pytorch["bytes"] == end["reserved_bytes"] > 0
    assert [row["bytes"] for row in pytorch["rows"][:5]] == [end[f"{part}_bytes"] for part in PARTS]
    assert only(card, "process")["rows"][-1]["bytes"] == 20000 * MiB - end["reserved_bytes"]
    (card,) = where(env=env)["devices"]  # the machine: each process, and PyTorch's rows of those that are recorded
    assert only(card, "pytorch")["bytes"] == end["reserved_bytes"]


def test_figures_of_different_moments(vramscope, where, process, machine):
    """NVML says less of the process than its recording: what is left is unknown, not negative."""
    assert vramscope("demo", "--keep", "d.vram", "-q").code == 0
    pid = process("d.vram")
    (card,) = where(pid, env=machine("[card 0]", "memory.used = 33934016512", f"process = {pid} C 5MiB"))["devices"]
    rest = only(card, "process")["rows"][-1]
    assert rest["bytes"] is None and rest["why"] == "the figures are of different moments and contradict each other"


def test_what_the_driver_does_not_tell(where, vramscope, process, machine):
    pid = process()
    (card,) = where(env=machine("[card 0]", "processes = 4"))["devices"]
    assert only(card, "other_processes")["bytes"] is None and only(card, "used")["bytes"] is not None
    (card,) = where(pid, env=machine("[card 0]", f"process = {pid} C unknown"))["devices"]
    assert only(card, "process")["bytes"] is None
    done = vramscope("where", env={"VRAMSCOPE_NVML": "/nowhere/libnvidia-ml.so.1"})
    assert done.code == 3 and done.out == ""


def test_every_key_and_kind_is_documented(put, where):
    words = set(re.findall(r"`\"?(\w+)\"?`", DOCUMENT.read_text()))
    document = where(put(dry_run()))
    assert {key for card in document["devices"] for row in every_row(card) for key in row} | set(document) <= words | {"schema", "method"}
    kinds = re.findall(r"VS_LEDGER_KIND\(\w+, \"(\w+)\"\)", (Path(__file__).parents[2] / "src" / "ledger" / "kinds.def").read_text())
    assert len(kinds) == 18 and set(kinds) <= words
