"""`oom` for synthetic recordings, against naive computations: all figures of the failed request, and each remedy repeated with
`whatif`. That a remedy passes with PyTorch itself is proven by tests/sim/test_oom.py.
"""

import functools
import json
import re
from collections import Counter
from pathlib import Path

import pytest

import cli
import closed_unpickler
import shapes
import truth
from failing import FAILING
from normal import normalise
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

GRANULE = 2 << 20
SEARCH = re.findall(r'^VS_SEARCH\("(.*)"\)', (Path(__file__).parents[2] / "src/analyze/search.def").read_text(), re.MULTILINE)
RANDOM = (3010, 3015, 3020, 3034, 3042, 3059)  # seeds of runs whose requests fail


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oom")
    for name, make in FAILING.items():
        (folder / f"made_{name}.pickle").write_bytes(WRITERS["c-4"].write(make()))
    runs = {"sample": sample_run(), **{f"random{n}": random_run(n)[0] for n in RANDOM}}
    for name, run in runs.items():
        (folder / f"{name}.pickle").write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.15")))
    return sorted(folder.iterdir())


@functools.cache
def snapshot_of(path):
    return normalise(closed_unpickler.read_file(path).data)


@functools.cache
def ask(path, device, method, *pairs):
    done = cli.run("query", path, method, f"device={device}", *pairs)
    assert done.code == 0, done.err
    return json.loads(done.out)


def cases(paths):
    """(path, device, memory, reply) of each device with a failed request."""
    return [(path, device, memory, ask(path, device, "oom", "top=0")) for path in paths
            for device, memory in snapshot_of(path).devices.items() if truth.ooms(memory)]


def whatif(path, device, parameters):
    return ask(path, device, "whatif", *(f"{key}={json.dumps(value)}" for key, value in parameters.items()))["runs"][0]


def rounded(size):
    return max(512, -(-size // 512) * 512)


def test_the_failed_request(paths):
    causes, parted = set(), 0
    for path, device, memory, reply in cases(paths):
        failures = truth.ooms(memory)
        (oom,) = reply["ooms"]
        last, event = failures[-1], failures[-1]["event"]
        where = f"{path.name}, device {device}"
        assert (reply["failures"], oom["event"], oom["requested_bytes"]) == (len(failures), event, last["requested_bytes"]), where
        assert (oom["time_us"], oom["free_bytes"]) == (memory.entries[event].time, last["device_free_bytes"]), where
        reserved = truth.reserved_curve(memory)[event + 1]
        free = last["device_free_bytes"]
        assert (oom["reserved_bytes"], oom["capacity_bytes"]) == (reserved, None if free is None else reserved + free), where
        expected = truth.diagnoses(memory, snapshot_of(path).settings)[event]
        assert oom["allocated_bytes"] == expected["active_bytes"], where
        for key in ("cause", "cached_bytes", "cached_usable_bytes", "short_bytes"):
            assert oom[key] == expected[key], (where, key)
        owners = truth.owners_at(memory, event)
        assert Counter((o["bytes"], o["count"], o["each_bytes"], o["label"]) for o in oom["owners"]) == Counter(owners), where
        assert oom["owner_count"] == len(owners)
        parted += truth.check_parts(oom["owners"], memory, event, where)
        causes.add(oom["cause"])
    assert len(causes) >= 3, causes
    assert parted != 0


def test_what_is_full_is_full(paths):
    """Settings are tried exactly if the live blocks and the request are not more than the process could reserve."""
    full = 0
    for path, device, memory, reply in cases(paths):
        (oom,) = reply["ooms"]
        if oom["replayed_as"] is None:
            continue
        pending = set()
        for entry in memory.entries[: oom["event"] + 1]:
            pending.discard(entry.address)
            if entry.action == "free_requested":
                pending.add(entry.address)
        held = [size for address, size, _ in truth.live_at(memory, oom["event"]) if address not in pending]
        needed = sum(map(rounded, held)) + rounded(oom["requested_bytes"])
        assert (oom["settings_tried"] == 0) == (needed > oom["replayed_bytes"]), (path.name, device)
        full += oom["settings_tried"] == 0
    assert full >= 3


def passes_at(run, event, failures):
    """Whether a run of `whatif`, which goes on after the request, serves it; None: its reply does not say."""
    if run["is_cut"] or (run["ran_out"] and (run["ran_out"]["event"] is None or run["ran_out"]["event"] < event)):
        return False
    if run["refused_ooms"] == 0:
        return True
    return False if failures == 1 else None


def test_every_remedy_asked_again(paths):
    kinds = set()
    for path, device, memory, reply in cases(paths):
        (oom,) = reply["ooms"]
        for remedy in oom["remedies"]:
            kinds.add(remedy["kind"])
            assert remedy["passes"] and remedy["capacity_bytes"] >= remedy["reserved_peak_bytes"]
            if remedy["whatif"] is None:
                assert oom["replayed_as"] == "least" or remedy["kind"] in ("owner", "shrink", "activations", "card", "limit")
                continue
            run = whatif(path, device, remedy["whatif"])
            assert passes_at(run, oom["event"], reply["failures"]) is not False, (path.name, device, remedy)
            assert run["reserved_peak_bytes"] >= remedy["reserved_peak_bytes"]
    assert kinds >= {"settings", "growth", "owner", "shrink", "activations", "limit", "card"}, kinds


def test_settings_that_are_missing_do_not_pass(paths):
    """Single settings of the search, if only one request failed: `whatif` has the same result for each."""
    compared = 0
    for path, device, memory, reply in cases(paths):
        (oom,) = reply["ooms"]
        if reply["failures"] != 1 or oom["replayed_as"] != "recorded":
            continue
        told = {r["settings"] for r in oom["remedies"] if r["kind"] == "settings"}
        assert len(told) == oom["settings_passing"] <= oom["settings_tried"]
        for text in [text for text in SEARCH if "," not in text][::3]:
            run = ask(path, device, "whatif", f"set={json.dumps([text])}")["runs"][0]
            passes = passes_at(run, oom["event"], 1) and (run["ran_out"] is None)
            assert passes == (text in told) or (run["ran_out"] and run["ran_out"]["event"] > oom["event"]), (path.name, device, text)
            compared += 1
    assert compared > 20


def test_every_block_alone(paths):
    """Each block of each line by `whatif`: the reply counts exactly those that are enough alone."""
    compared = 0
    for path, device, memory, reply in cases(paths):
        (oom,) = reply["ooms"]
        if not path.name.startswith("made_") or oom["replayed_as"] != "recorded":
            continue
        told = {r["owner"]: r for r in oom["remedies"] if r["kind"] == "owner"}
        for owner in oom["owners"]:
            rows = ask(path, device, "allocations", f"at={oom['event']}", f"filter={owner['filter']}", "top=0")["rows"]
            alone = [r["row"] for r in rows if whatif(path, device, {"free": [f"row={r['row']}"]})["passes"]]
            together = whatif(path, device, {"free": [owner["filter"]]})["passes"]
            remedy = told.get(owner["label"])
            assert (remedy is not None) == together, (path.name, owner["label"])
            if remedy is not None:
                (part,) = remedy["parts"]
                assert remedy["is_any"] == (len(alone) == len(rows)) and part["of_blocks"] == len(rows)
                assert (part["blocks"] == 1) == bool(alone)
                if alone:
                    sizes = {r["row"]: r["size_bytes"] for r in rows}
                    assert part["rows"][0] in alone and part["bytes"] == min(sizes[row] for row in alone)
            compared += len(rows)
    assert compared >= 15


def test_the_smallest_reduction_and_the_smallest_card(paths):
    for path, device, memory, reply in cases(paths):
        (oom,) = reply["ooms"]
        for remedy in oom["remedies"]:
            if remedy["kind"] in ("shrink", "activations") and remedy["whatif"] and remedy["percent"] > 1:
                factor = f"=0.{100 - remedy['percent']:02d}"
                less = [text.removesuffix(factor) + f"=0.{101 - remedy['percent']:02d}" for text in remedy["whatif"]["scale"]]
                assert not whatif(path, device, {"scale": less})["passes"]
            if remedy["kind"] in ("card", "limit") and reply["failures"] == 1:
                below, at = (ask(path, device, "replay", f"card={remedy['capacity_bytes'] - less}")["run"] for less in (GRANULE, 0))
                assert below["avoided_ooms"] == 0 or (below["ran_out"] and below["ran_out"]["event"] < oom["event"]), path.name
                assert at["avoided_ooms"] == 1
                if remedy["card"]:
                    assert remedy["card"]["room_bytes"] >= remedy["capacity_bytes"]


def test_each_line_that_could_be_smaller(paths):
    """Of the two lines that hold most, and a tenth of all: told are those where 90% less is enough, by `whatif`, with what that saves
    at the request. None where the memory is not full, and none in a training, whose activations are one remedy together."""
    compared = 0
    for path, device, memory, reply in cases(paths):
        (oom,) = reply["ooms"]
        if oom["replayed_as"] != "recorded" or reply["failures"] != 1:
            continue
        together = "activations" in [r["kind"] for r in oom["remedies"]]
        told = {r["owner"]: r for r in oom["remedies"] if r["kind"] == "shrink"}
        is_full = oom["settings_tried"] == 0
        assert is_full and not together or not told, path.name
        assert [r["bytes"] for r in told.values()] == sorted(r["bytes"] for r in told.values())
        if not path.name.startswith("made_") or together or not is_full:
            continue
        for owner in [owner for owner in oom["owners"] if owner["bytes"] >= sum(o["bytes"] for o in oom["owners"]) // 10][:2]:
            passes = whatif(path, device, {"scale": [f"{owner['filter']}=0.1"]})["passes"]
            assert passes == (owner["label"] in told), (path.name, owner["label"])
            if passes:
                assert told[owner["label"]]["bytes"] == owner["bytes"] * told[owner["label"]]["percent"] // 100
            compared += 1
    assert compared >= 4


def test_made_recordings_read_as_they_were_made(paths):
    told = {path.stem.removeprefix("made_"): reply["ooms"][0] for path, _, _, reply in cases(paths) if path.name.startswith("made_")}
    assert {name: oom["cause"] for name, oom in told.items()} == {
        "activations": "full", "fragmented": "fragmented", "growing": "full", "limited": "limit", "full": "full"}
    shrink, = [r for r in told["activations"]["remedies"] if r["kind"] == "activations"]
    assert shrink["percent"] == 4 and len(shrink["parts"]) == 3 and shrink["bytes"] == (180 << 20) * 4 // 100
    growth, = [r for r in told["growing"]["remedies"] if r["kind"] == "growth"]
    assert growth["owner"] == "train.py:2 step" and growth["parts"][0]["blocks"] == 7
    assert told["limited"]["replayed_as"] == "least" and told["limited"]["replayed_bytes"] == 96 << 20
    assert [r["kind"] for r in told["limited"]["remedies"]] == ["owner", "shrink", "limit"]
    assert told["full"]["short_bytes"] == 22 << 20 and told["full"]["settings_tried"] == 0


def test_without_an_error(paths, tmp_path):
    """The command says so and succeeds; for a file with only an end state it says that this is unknown."""
    empty = tmp_path / "empty.pickle"
    data = FAILING["full"]()
    data["device_traces"] = [[]]
    empty.write_bytes(WRITERS["c-4"].write(data))
    done = cli.run("oom", empty)
    assert done.code == 0 and b"only the end state was recorded" in done.out
    data = FAILING["full"]()
    data["device_traces"] = [[e for e in data["device_traces"][0] if e["action"] != "oom"]]
    empty.write_bytes(WRITERS["c-4"].write(data))
    done = cli.run("oom", empty)
    assert done.code == 0 and b"no request failed in the recorded events" in done.out
    reply = ask(empty, 0, "oom")
    assert (reply["ooms"], reply["check"], reply["failures"]) == ([], None, 0)
