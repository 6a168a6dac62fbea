"""`whatif` about made-up recordings, against naive computations: the bounds, what the process could reserve, the ranking, the
smallest capacity. That each run is what PyTorch does is proven by tests/sim/test_whatif.py.
"""

import functools
import json

import pytest

import cli
import closed_unpickler
import shapes
import truth
from normal import normalise
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

GRANULE = 2 << 20


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whatif")
    runs = {"sample": sample_run(), "late": sample_run().recorded(60), **{f"random{n}": random_run(n)[0] for n in range(4000, 4006)}}
    for name, run in runs.items():
        (folder / f"{name}.pickle").write_bytes(WRITERS["c-4"].write(shapes.build(run, "2.15")))
    return sorted(folder.iterdir())


def devices(path):
    return {number: memory for number, memory in normalise(closed_unpickler.read_file(path).data).devices.items() if memory.entries}


@functools.cache
def ask(path, device, *pairs):
    done = cli.run("query", path, "whatif", f"device={device}", *pairs)
    assert done.code == 0, done.err
    return json.loads(done.out)


def cases(paths):
    return [(path, device, memory) for path in paths for device, memory in devices(path).items()]


def rounded(size):
    return max(512, -(-size // 512) * 512)


def test_bounds(paths):
    for path, device, memory in cases(paths):
        bound = ask(path, device)["bound"]
        lower = max(sum(rounded(size) for _, size, _ in truth.live_at(memory, event)) for event in range(-1, len(memory.entries)))
        assert bound["lower_bytes"] == lower <= bound["plan_bytes"], (path, device)
        assert bound["plan_bytes"] <= sum(rounded(e.size) for e in memory.entries if e.action == "alloc") + sum(b.size for b in memory.blocks)


def test_what_the_process_could_reserve(paths):
    """Reserved bytes at the last failed request, and what the driver reported as free then."""
    known = 0
    for path, device, memory in cases(paths):
        reply, ooms = ask(path, device), [o for o in truth.ooms(memory) if o["device_free_bytes"] is not None]
        if not ooms:
            assert reply["capacity_bytes"] is None and reply["capacity_event"] is None
            continue
        known += 1
        last = ooms[-1]
        reserved = truth.reserved_curve(memory)[last["event"] + 1]
        assert (reply["capacity_bytes"], reply["capacity_event"]) == (reserved + last["device_free_bytes"], last["event"])
    assert known > 0


def test_cards(paths):
    """What a card has for the allocator is its total without the context: of the H100 that was measured, of others 2 KiB for each
    thread (of the B200 148 x 2048) and 20 MiB."""
    path, device, _ = cases(paths)[0]
    reply = ask(path, device, 'cards=["H100","40GiB","B200"]')
    h100, size, b200 = reply["runs"]
    assert (h100["card"], h100["total_bytes"]) == ("H100", 85017493504) and (size["card"], size["total_bytes"]) == ("40GiB", 40 << 30)
    assert h100["capacity_bytes"] == h100["total_bytes"] - 552402944
    assert b200["capacity_bytes"] == b200["total_bytes"] - 148 * 2048 * 2048 - (20 << 20)
    assert not reply["is_search"] and size["capacity_bytes"] < size["total_bytes"]


def test_the_search_has_settings_that_the_version_knows(tmp_path):
    """expandable_segments came with 2.1, large_segment_size_mb after 2.6."""
    counts = {}
    for age in ("1.13", "2.1", "2.15"):
        path = tmp_path / f"{age}.pickle"
        path.write_bytes(WRITERS["c-4"].write(shapes.build(sample_run(), age)))
        asked = [run["asked"] for run in ask(path, min(devices(path)))["runs"]]
        counts[age] = [sum(word in text for text in asked) > 0 for word in ("max_split", "expandable", "large_segment")]
    assert counts["2.15"] == [True, True, True] and counts["1.13"] == [True, False, False], counts


def test_the_best_run_comes_first(paths):
    """Also where a run that fails reserves less: on a card with few bytes beside its context."""
    passing = set()
    for path, device, _ in cases(paths):
        reply = ask(path, device, 'cards=["428MiB","40GiB"]')
        passes = [run["passes"] for run in reply["runs"]]
        passing.add(tuple(passes))
        assert (reply["best"] is not None) == any(passes) and passes[reply["ranking"][0]] == any(passes)
    assert (False, True) in passing
    for path, device, _ in cases(paths):
        reply = ask(path, device)
        runs = reply["runs"]
        expected = sorted(range(len(runs)), key=lambda i: (not runs[i]["passes"], runs[i]["reserved_peak_bytes"],
                                                           runs[i]["device_allocs"] + runs[i]["retries"], i))
        assert reply["ranking"] == expected and reply["is_search"]
        assert reply["best"] == (expected[0] if runs[expected[0]]["passes"] else None)
        for run in runs:
            assert run["passes"] == (run["ran_out"] is None and not run["is_cut"] and run["refused_ooms"] == 0)


def test_the_smallest_capacity(paths):
    """It passes there, and one granule below it does not: as the method `replay` runs it."""
    for path, device, _ in cases(paths):
        smallest = ask(path, device)["smallest"][0]
        passed = []
        for size in (smallest["capacity_bytes"] - GRANULE, smallest["capacity_bytes"]):
            done = cli.run("query", path, "replay", f"device={device}", f"card={size}")
            assert done.code == 0, done.err
            run = json.loads(done.out)["run"]
            failures = len(truth.ooms(devices(path)[device]))
            passed.append(run["ran_out"] is None and run["avoided_ooms"] == failures)
        assert passed == [False, True] or (passed == [True, True] and smallest["capacity_bytes"] == GRANULE), (path, device)


def test_edits(paths):
    """Without all allocations nothing but the blocks of before the recording was ever allocated; of half the size no more."""
    for path, device, memory in cases(paths):
        everything = ask(path, device, "without=size>=0")
        assert everything["recorded"] == ask(path, device)["recorded"]
        allocs = sum(e.action == "alloc" for e in memory.entries)
        assert everything["edits"]["allocations"] - everything["edits"]["older"] == allocs
        assert everything["runs"][0]["passes"]
        if truth.reserved_curve(memory)[0] == 0:  # else what was there before counts
            assert everything["runs"][0]["device_allocs"] == 0
        half, whole = ask(path, device, "scale=size>=0=0.5")["runs"][0], ask(path, device)["recorded"]
        assert half["allocated_peak_bytes"] <= whole["allocated_peak_bytes"] or not whole["passes"]
        early = ask(path, device, "free_early=size>=0")["runs"][0]
        assert early["active_peak_bytes"] <= whole["active_peak_bytes"] or not whole["passes"]


@pytest.mark.parametrize(("pairs", "sentence"), [
    (["scale=train.py"], "has to be FILTER=FACTOR"), (["scale=train.py=0"], "has to be FILTER=FACTOR"),
    (["scale=train.py=1e9"], "has to be FILTER=FACTOR"), (["cards=H1000"], "cards: "), (["cards=64MiB:1"], "cards: "),
    (["set=expandable_segment:True"], "settings: "), (["without=sizes>1"], "did you mean"), (['set=[1]'], "has to be text, a list of texts")])
def test_what_makes_no_sense_is_refused(paths, pairs, sentence):
    done = cli.run("query", paths[0], "whatif", *pairs)
    assert done.code == 2 and sentence in done.err.decode() and done.out == b"", done
