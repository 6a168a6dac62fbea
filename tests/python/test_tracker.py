"""MemTracker on the simulated GPU: its log read by the rules of the old format, its figures beside those of PyTorch's
allocator.

VRAMSCOPE_PEER_TRACKER=FOLDER (with Pytorch-Memory-Utils' gpu_mem_track.py) runs the same script with that tool, too,
and compares the two logs; it is no part of the project."""

import os
import re
from pathlib import Path

import pytest

from conftest import PACKAGE, PROGRAMS

NAME = re.compile(r"\d\d-[A-Z][a-z]{2}-\d\d-\d\d:\d\d:\d\d-gpu_mem_track\.txt")
TOTALS = r"Total Tensor Used Memory:([\d.]+) *Mb Total Allocated Memory:([\d.]+) *Mb"
HEADER = re.compile(r"GPU Memory Track \| \d\d-[A-Z][a-z]{2}-\d\d-\d\d:\d\d:\d\d \| " + TOTALS)
KIND = re.compile(r"([+-]) \| (\d+) \* Size:(\([\d, ]*\)) *\| Memory: ([\d.]+) M \| (<class '[\w.]+'>) *\| (torch\.\w+)")
AT = re.compile(r"At (.+) line (\d+): (\S+) +" + TOTALS)


def read_log(text):
    """The log as a list of ("track" | "at" | "+" | "-", ...). Every line must be one of the old format."""
    rows = []
    for line in text.splitlines():
        if line == "":
            continue
        for pattern in (HEADER, KIND, AT):
            if match := pattern.fullmatch(line):
                break
        else:
            raise AssertionError(f"no line of the old format: {line!r}")
        if pattern is HEADER:
            rows.append(("track", *map(float, match.groups())))
        elif pattern is AT:
            rows.append(("at", int(match[2]), match[3], float(match[4]), float(match[5])))
        else:
            rows.append((match[1], int(match[2]), match[3], match[4], match[5], match[6]))
    return rows


def steps(rows):
    """What stands between one "at" and the next: [(set of lines, the "at")]."""
    result, lines = [], set()
    for row in rows:
        if row[0] == "at":
            result.append((lines, row))
            lines = set()
        elif row[0] in "+-":
            lines.add(row)
    return result


PARAMETER, TENSOR = "<class 'torch.nn.parameter.Parameter'>", "<class 'torch.Tensor'>"
VGG = {  # as the documentation of the old tool shows it
    ("(64, 64, 3, 3)", 1, "0.1406"), ("(128, 128, 3, 3)", 1, "0.5625"), ("(256, 128, 3, 3)", 1, "1.125"),
    ("(512, 256, 3, 3)", 1, "4.5"), ("(256, 256, 3, 3)", 3, "6.75"), ("(512,)", 8, "0.0156"), ("(64,)", 2, "0.0004"),
    ("(512, 512, 3, 3)", 7, "63.0"), ("(256,)", 4, "0.0039"), ("(128, 64, 3, 3)", 1, "0.2812"), ("(128,)", 2, "0.0009"),
    ("(64, 3, 3, 3)", 1, "0.0065"),
}


def batch(sign, count, size):
    return (sign, 1, f"({count}, 3, 512, 512)", size, TENSOR, "torch.float32")


def test_the_documented_script_gives_the_documented_log(simulated, tmp_path):
    found = simulated("tracker_script.py").result
    assert NAME.fullmatch(found["file"])
    text = (tmp_path / found["file"]).read_text()
    rows = read_log(text)
    assert rows[0] == ("track", 0.0, 0.0)
    parts = steps(rows)
    assert [at[1] for _, at in parts] == found["lines"] and {at[2] for _, at in parts} == {"<module>"}
    assert str(PROGRAMS / "tracker_script.py") in text
    assert [lines for lines, _ in parts] == [
        set(),
        {("+", count, size, shown, PARAMETER, "torch.float32") for size, count, shown in VGG},
        {batch("+", 60, "180.0"), batch("+", 40, "120.0"), batch("+", 30, "90.0")},
        {batch("+", 120, "360.0"), batch("+", 80, "240.0")},
        {batch("-", 40, "120.0"), batch("-", 120, "360.0")},
    ]
    # the documentation's totals, which are PyTorch's
    assert [at[3] for _, at in parts] == [0.0, 76.4, 466.4, 1066.4, 586.4]
    assert [at[3:] for _, at in parts] == [tuple(round(size / 2**20, 1) for size in told) for told in found["told"]]
    assert [found["usage"] * 2**20, found["allocated"] * 2**20] == found["told"][-1]
    assert found["tensors"] == 32 + 3


@pytest.mark.skipif("VRAMSCOPE_PEER_TRACKER" not in os.environ, reason="VRAMSCOPE_PEER_TRACKER=FOLDER has the other tool")
def test_the_other_tool_writes_the_same(simulated, tmp_path):
    ours = simulated("tracker_script.py").result
    text = (tmp_path / ours["file"]).read_text()
    (tmp_path / ours["file"]).unlink()
    theirs = simulated("tracker_script.py", os.environ["VRAMSCOPE_PEER_TRACKER"]).result
    peer = (tmp_path / theirs["file"]).read_text()
    strip = lambda lines: sorted(re.sub(r"\d\d-\w+-\d\d-[\d:]+", "", line) for line in lines.splitlines())  # noqa: E731
    assert strip(text) == strip(peer)
    assert steps(read_log(text)) == steps(read_log(peer))
    assert {name: ours[name] for name in ours if name != "file"} == {name: theirs[name] for name in theirs if name != "file"}


def test_every_kind_of_tensor_counts_what_it_took(simulated):
    found = simulated("tracker_kinds.py").result
    wrong = {name: pair for name, pair in found["rows"].items() if pair[0] != pair[1]}
    assert wrong == {}
    assert sum(name.startswith("torch.") for name in found["rows"]) >= 45  # all dtypes
    assert found["rows"]["lazy copy"][1] == 999 * 4  # looking at it made no copy
    assert found["rows"]["views"][0] == 40000 and found["rows"]["torch.quint4x2"][0] == 512
    assert {name: pair[0] for name, pair in found["rows"].items() if name.startswith("no memory")} == {
        "no memory: zeros for autograd": 0, "no memory: fake": 0, "no memory: meta and CPU": 0}
    lines = found["lines"]
    assert lines["nested"] == lines["jagged"] == ["(2, None, 4)"]
    assert lines["shared"] == [["piece", 0], ["whole", 40000]]
    assert lines["left"] == [["piece", 0], ["piece._base", 40000]]
    assert lines["older"] == [["piece", 0], ["whole", 4000]]
    assert lines["parameter"] == [["piece", 0], ["weight", 4000], ["whole", 0]]
    assert lines["wrapper"] == [["pair", 140, "Pair"]]  # its parts are no tensors of their own


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    import conftest

    folder = tmp_path_factory.mktemp("loops")
    argv = conftest.command("tracker_loops.py", [])
    return conftest.finish(argv, conftest.simulated_environment(gpu="8GiB,8GiB"), folder).result


def test_cuda_is_not_begun_and_nothing_kept_or_emptied(loops):
    assert loops["cuda_begun"] is False
    assert [row[0] for row in read_log(loops["early"])] == ["track", "at"]
    assert loops["reserved_same"] and loops["freed"] and loops["emptied"]
    assert loops["freed_in_function"] and loops["locals_kept"]


def test_objects_are_looked_at_only_after_a_change(loops):
    assert loops["walks"]["new"] == 1 and 2 <= loops["walks"]["swapped"] <= 3  # the younger generations; the oldest one after a collection
    assert loops["walks"]["same"] == loops["walks"]["usage"] == loops["walks"]["view"] == 0
    assert loops["usage_after"] == 8000  # the view still holds the first
    assert loops["usage_moved"] == 4000 + 2000
    assert len(loops["asked"]) == 1 and loops["asked"][0].startswith("+ | 1 * Size:(3, 5) ")
    assert loops["last"] == ["((1000,), 1, 0.003814697265625)", "((3, 5), 1, 5.7220458984375e-05)"]


def test_growth_by_line(loops):
    mib = 2**20
    (begin, end, *grown), *others = loops["keeps"]
    assert (begin.split(":")[1], end.split(":")[1]) == (" loop", " loop") and int(end.split(":")[0]) > int(begin.split(":")[0])
    assert grown == [5, mib, 4 * mib, 4 * mib, 3 * mib, [["(1024, 256)", 3, 3 * mib]]]
    assert all(row[4] == 0 for row in others) and len(others) == 2
    assert sum(row[4] for row in loops["lets_go"]) == mib  # up four times, and down three
    assert all(row[6] == 0 and row[7] == [] for row in loops["lets_go"])
    summary = loops["summary"]
    assert "+3 * Size:(1024, 256)" in summary and "+4.0000 M" in summary and "the beginning -> " in summary
    assert loops["with"] == 1
    assert Path(loops["exit"]).read_text().count("GPU Memory Growth") == 1


def test_names(loops):
    of_linear = ["", ".exp_avg", ".exp_avg_sq", ".grad"]
    expected = {f"model.{index}.linear.bias{what}" for index in (0, 1) for what in of_linear}
    expected |= {f"model.0.linear.weight{what}" for what in of_linear}  # tied: the first of its names
    expected |= {f"model.{index}.{what}" for index in (0, 1) for what in ("mask", "cache['keys']")}
    expected |= {"batch['x']", "mine"}
    assert set(loops["names"]) == expected and len(loops["names"]) == len(expected)
    lines = loops["named"].splitlines()
    weights = next(index for index, line in enumerate(lines) if "| 1 * Size:(8, 8)" in line)
    assert lines[weights + 1] == "    model.0.linear.weight"
    read_log("\n".join(line for line in lines if not line.startswith("    ")))
    assert loops["anonymous"] == ["anonymous[0].weight", "anonymous[1].weight"]


def test_devices_and_words(loops):
    assert loops["devices"] == [400, 800, 800, 800, 1200, 1200]
    assert loops["rows"] == [["one", 0, 400], ["two", 1, 800]]
    assert loops["allocated"] == [1024, 1024]
    assert loops["cpu"] == "'cpu' is no CUDA device"
    assert loops["printed"] == "torch.Size([100]) torch.float32 0.0003814697265625\n" * 2
    assert loops["tiny"] == ["0.0", "0.000001", "0.000004", "0.0009", "1.0", "180.0", "0.1406", "1099511627776"]


def test_what_cannot_be_read_is_told_only_if_asked(loops):
    assert loops["trivial"] == [["bad['x']", "broken", "broken._base"], ["A trivial exception occured: broken"]]


OTHER_ALLOCATOR = """
    import json, sys, torch
    if sys.argv[1] == "ours":
        import vramscope.torch
        vramscope.torch.use_allocator()
    from vramscope import MemTracker
    tracker, rows = MemTracker(), []
    for count in (1000, 500):
        kept = [torch.zeros(count, device="cuda")] + (kept if rows else [])
        tracker.track()
        rows.append([tracker.get_tensor_usage() * 2**20, tracker.get_allocate_usage() * 2**20,
        torch.cuda.memory_allocated()])
    del kept[0]
    rows.append(tracker.get_tensor_usage() * 2**20)
    print(json.dumps(rows))
    """


@pytest.mark.parametrize("allocator", ["ours", "cudaMallocAsync"])
def test_under_another_allocator(simulated, allocator):
    """Of which one counts, and the other does not."""
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"} if allocator != "ours" else {}
    found = simulated(OTHER_ALLOCATOR, allocator, **settings).result
    assert found == [[4000, 4096, 4096], [6000, 6144, 6144], 4000]


def test_under_dryrun(dryrun, tmp_path):
    done = dryrun(["--gpu", "H100"], "tracker_script.py")
    assert done.code == 0, done.err
    (log,) = tmp_path.glob("*-gpu_mem_track.txt")
    assert [at[3] for _, at in steps(read_log(log.read_text()))] == [0.0, 76.4, 466.4, 1066.4, 586.4]


def test_distributed_parameters(simulated):
    found = simulated("tracker_distributed.py").result
    wrong = {name: pair for name, pair in found["rows"].items() if pair[0] != pair[1]}
    assert wrong == {} and len(found["rows"]) >= 5
    sharded = ["model.0.bias", "model.0.weight", "model.2.bias", "model.2.weight"]
    assert [row[0] for row in found["named"]] == sharded
    assert [row[1:] for row in found["named"]] == [["(16,)", "DTensor", 16], ["(16, 8)", "DTensor", 128],
                                                   ["(8,)", "DTensor", 8], ["(8, 16)", "DTensor", 128]]


def test_a_walk_finds_what_a_look_at_all_objects_finds():
    """Random programs: objects come, go, wait in cycles, are collected by part or whole, and frozen."""
    import gc
    import random
    import sys

    sys.path.insert(0, str(PACKAGE))
    from vramscope._native import instances
    from vramscope._tensors import Walk

    class Thing:
        pass

    def cycle():
        thing = Thing()
        thing.itself = thing

    gc.collect()
    gc.freeze()  # the test runner's own objects, so that a look at all is quick
    chance, held, short, walk = random.Random(7), [], 0, Walk(Thing)
    all_objects, walks = gc.get_objects, []
    gc.get_objects = lambda *generation: walks.append(generation) or all_objects(*generation)
    try:
        for _ in range(3000):
            action = chance.randrange(12)
            if action < 4:
                held.append(Thing())
            elif action < 6 and held:
                held.pop(chance.randrange(len(held)))
            elif action == 6:
                cycle()
            elif action == 7:
                [[] for _ in range(chance.randrange(3000))]
            elif action == 8:
                gc.collect(chance.choice((0, 0, 0, 1, 2)))
            elif action == 9:
                (gc.enable, gc.disable)[chance.randrange(2)]()
            else:
                was_on = gc.isenabled()
                walks.clear()
                found = walk.tensors()
                short += () not in walks
                assert gc.isenabled() == was_on
                assert sorted(map(id, found)) == sorted(map(id, instances(all_objects(), Thing)))
                assert {id(each) for each in held} <= {id(each) for each in found}
                del found
        assert short > 100 or not walk.has_generations  # most of them without a look at all
        walk.tensors()
        gc.freeze()  # what is known stays known, though the collector lists it no more
        assert {id(each) for each in held} <= {id(each) for each in walk.tensors()}
        assert instances(all_objects(), Thing) == []
    finally:
        gc.get_objects = all_objects
        gc.unfreeze()
        gc.enable()


def test_a_gpu_that_is_not_there_is_refused(simulated):
    program = """
        import json
        from vramscope import MemTracker
        said = []
        for device in (7, "cuda:7", [0, 7], -1):
            try:
                MemTracker(device=device)
                said.append("")
            except ValueError as error:
                said.append(str(error))
        print(json.dumps(said))
    """
    assert simulated(program, gpu="8GiB").result == ["there is no cuda:7: PyTorch has 1 GPU here"] * 3 + [
        "there is no cuda:-1: PyTorch has 1 GPU here"]
