"""`whatif` for synthetic recordings, against naive computations: the bounds, what the process could reserve, the ranking, the
smallest capacity. That each run is what PyTorch does is proven by tests/sim/test_whatif.py.
"""

import copy
import functools
import json
from collections import Counter

import pytest

import cli
import closed_unpickler
import shapes
import trainings
import truth
from compare import assert_same_report
from conftest import IS_SANITIZED
from corruptions import CORRUPTIONS, honest
from normal import normalise
from simulate import random_run, sample_run
from writers import WRITERS

pytestmark = pytest.mark.binary

GRANULE = 2 << 20


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whatif")
    runs = {"sample": sample_run(), "late": sample_run().recorded(60), "later": sample_run().recorded(200),
            **{f"random{n}": random_run(n)[0] for n in range(4000, 4006)}}
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


def test_what_was_reserved_before_the_recording(paths):
    """No run reserves less, and where none reserves more the answer says why."""
    said = set()
    for path, device, memory in cases(paths):
        reply = ask(path, device)
        reserved = truth.reserved_curve(memory)[0]
        assert reply["start_reserved_bytes"] == reserved
        peaks = [run["reserved_peak_bytes"] for run in reply["runs"]]
        assert min(peaks) >= reserved
        is_floor = reserved > 0 and peaks[reply["ranking"][0]] == reserved
        assert [line["bytes"] for line in reply["lines"] if line["about"] == "start"] == [reserved] * is_floor
        said.add(is_floor)
    assert said == {False, True}


def beside(threads, streams):
    """What others take of a card of which nothing was measured: a context of 2 KiB for each of its threads and 20 MiB; 92 MiB of
    kernels, two handles of cuBLAS with 8 MiB and of cuDNN with 9 MiB, and 2 MiB of code; and PyTorch's streams."""
    return threads * 2048 + ((20 + 92 + 2 * 8 + 2 + 2 * 9) << 20) + streams


def streams_of(memory):
    """The bytes of PyTorch's pool of streams, which it makes with the first one: 128 x 512 KiB and 6 MiB."""
    used = {entry.stream for entry in memory.entries if entry.action in ("alloc", "oom")} | {segment.stream for segment in memory.segments}
    return 0 if used <= {0, None} else 70 << 20


def test_cards(paths):
    """What a card leaves to the allocator. An H100 had 804,061,184 bytes less after a training on the default stream."""
    for path, device, memory in cases(paths):
        reply = ask(path, device, 'cards=["H100","40GiB","A100"]')
        h100, size, a100 = reply["runs"]
        streams = streams_of(memory)
        assert (h100["card"], h100["total_bytes"]) == ("H100", 85017493504) and (size["card"], size["total_bytes"]) == ("40GiB", 40 << 30)
        assert h100["capacity_bytes"] == h100["total_bytes"] - 804061184 - streams
        assert a100["capacity_bytes"] == a100["total_bytes"] - beside(108 * 2048, streams)
        assert not reply["is_search"] and size["capacity_bytes"] == size["total_bytes"] - beside(128 * 1536, streams)


def test_the_size_of_the_smallest_card(paths):
    """An RTX 4090 with less memory leaves the allocator that much; for more than 48 GiB it is an H100."""
    huge = 0
    for path, device, memory in cases(paths):
        scaled = ["scale=size>=0=1000"] if path.name == "sample.pickle" else []  # the shortest of them: a run of many pages takes long
        for smallest in [*ask(path, device)["smallest"], *(s for pair in scaled for s in ask(path, device, pair)["smallest"])]:
            if smallest["capacity_bytes"] is None:
                assert smallest["card_bytes"] is None
                continue
            small = smallest["capacity_bytes"] + beside(128 * 1536, streams_of(memory))
            large = smallest["capacity_bytes"] + 804061184 + streams_of(memory)
            assert smallest["card_bytes"] == (small if small <= 48 << 30 else large)
            huge += small > 48 << 30
    assert huge > 0


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
    """Also where a run that fails reserves less: on a card with few bytes beside what the driver and PyTorch take."""
    passing = set()
    for path, device, _ in cases(paths):
        reply = ask(path, device, f'cards=["{556 + (streams_of(devices(path)[device]) >> 20)}MiB","40GiB"]')
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


def check_exported_checkpoint(path, memory, *pairs):
    """What is computed again has the stack of what it was computed from."""
    done = cli.run("query", path, "whatif_snapshot", *pairs)
    assert done.code == 0, done.err
    (path.parent / "exported.pickle").write_bytes(done.out)
    data = closed_unpickler.read_file(path.parent / "exported.pickle").data
    (found,) = truth.report_of_data(data)["devices"]
    assert {finding["kind"] for finding in found["trust"]["findings"]} <= {"whatif", "whatif_estimate"}
    known = {(entry.size, tuple(entry.stack)) for entry in memory.entries if entry.action == "alloc"}
    known |= {(entry.size, tuple(entry.stack)) for entry in memory.entries if entry.action == "oom"}  # one that passes now
    (exported,) = normalise(data).devices.values()
    assert {(entry.size, tuple(entry.stack)) for entry in exported.entries if entry.action == "alloc"} <= known


def check_checkpoint(path, seed):
    """The calls, what they save, and the peak; what became of the run."""
    path.write_bytes(WRITERS["c-4"].write(shapes.build(trainings.training_run(seed), "2.15")))
    (memory,) = devices(path).values()
    requests = trainings.requests_of(memory, lambda entry: tuple(entry.stack))
    line = trainings.a_line(requests)
    expected = trainings.Checkpointed(requests, line)
    done = cli.run("query", path, "whatif", f"checkpoint=model.py:{line}", "cards=40GiB")
    assert done.code == 0, done.err
    reply = json.loads(done.out)
    told, (run,) = reply["edits"]["checkpoint"], reply["runs"]
    assert told["functions"] == [{"function": f"model.py:{line}", **expected.figures()}], seed
    assert told["told_by"] == {by: expected.told[by] for by in ("lines", "sizes", "stacks", "runs")}, seed
    assert run["allocated_peak_bytes"] == expected.peak(), seed
    assert reply["edits"]["allocations"] == told["functions"][0]["blocks"] and reply["edits"]["older"] == 0
    if seed % 10 == 0:
        check_exported_checkpoint(path, memory, f"checkpoint=model.py:{line}", "cards=40GiB")
    held = any(c.saved and expected.argument(c, min(map(expected.free.get, filter(expected.by_backward, c.saved)), default=None))
               for c in expected.calls)
    return Counter(arguments=held, saves=bool(expected.figures()["blocks"]), shrinks=run["allocated_peak_bytes"] < reply["recorded"]["allocated_peak_bytes"],
                   results=any(c.recomputes_result for c in expected.calls), failed=expected.failure is not None,
                   unfinished=expected.recomputed < sum(bool(c.saved) for c in expected.calls), **{by: bool(n) for by, n in expected.told.items()})


def test_checkpoints(tmp_path):
    found = Counter()
    for seed in range(60 if IS_SANITIZED else 150):
        found += check_checkpoint(tmp_path / f"{seed}.pickle", seed)
    least = 1 if IS_SANITIZED else 3
    assert all(found[what] >= least for what in ("saves", "shrinks", "arguments", "results", "failed", "unfinished", "lines", "sizes", "stacks", "runs")), found


# ---- a run as a snapshot


RUNS = (["set=expandable_segments:True"], ["set=max_split_size_mb:21"], ["set=roundup_power2_divisions:2"], ["set=", "cards=40GiB"],
        ["set=", "scale=size>=0=1.5"], ["set=garbage_collection_threshold:0.2", "cards=700MiB"], ["set=", "without=size>=5000"])


def written(path, device, *pairs, form="pickle"):
    done = cli.run("query", path, "whatif_snapshot", f"device={device}", f"format={form}", *pairs)
    assert done.code == 0, done.err
    return done.out


def requests(memory):
    """What was allocated and freed, in order: (action, size, stack) of allocations, and which of them each free gives back."""
    found, open_at = [], {}
    for entry in memory.entries:
        if entry.action == "alloc":
            open_at[entry.address] = len(found)
            found.append(("alloc", entry.size, entry.stack, entry.time))
        elif entry.action == "free_requested":
            found.append(("free", open_at.pop(entry.address, None)))
    return found


def test_an_exported_run_holds_together(paths, tmp_path):
    """A naive check finds no contradiction in it, the engine reports what a naive report has, and its figures are the run's."""
    ended = set()
    for i, (path, device, memory) in enumerate(cases(paths)):
        for pairs in RUNS if not IS_SANITIZED else (RUNS[i % 7], RUNS[(i + 2) % 7], RUNS[(i + 5) % 7]):
            run, file = ask(path, device, *pairs)["runs"][0], tmp_path / "exported.pickle"
            if run["ran_out"] is not None and run["ran_out"]["event"] is None:
                done = cli.run("query", path, "whatif_snapshot", f"device={device}", *pairs)
                assert done.code == 2 and b"more than the GPU has" in done.err
                continue
            file.write_bytes(written(path, device, *pairs))
            content = closed_unpickler.read_file(file)
            naive = truth.report(content)
            if not naive["devices"]:  # the edits left nothing
                assert run["reserved_peak_bytes"] == 0 and pairs == RUNS[-1]
                continue
            (found,) = [report for report in naive["devices"] if report["device"] == device]
            kinds = {finding["kind"] for finding in found["trust"]["findings"]}
            assert kinds <= {"whatif", "whatif_estimate", "began_late", "live_without_alloc", "free_without_alloc"}, (path, pairs, kinds)
            assert ("whatif_estimate" in kinds) == (not ask(path, device)["check"]["is_equal"])
            assert found["peak_reserved"]["reserved_bytes"] == run["reserved_peak_bytes"]
            assert_same_report(naive, json.loads(cli.run("report", "--json", file).out), f"{path.name} {pairs}")
            exported = normalise(content.data).devices[device]
            ended.add(run["ran_out"] is not None)
            if run["ran_out"] is not None:
                assert exported.entries[-1].action == "oom" and len(exported.entries) > 1
            assert sum(entry.action == "oom" for entry in exported.entries) == run["refused_ooms"] + (run["ran_out"] is not None)
    assert ended == {True, False}


def test_an_exported_run_makes_the_recorded_requests(paths, tmp_path):
    compared = 0
    for path, device, memory in cases(paths):
        for pairs in RUNS[:4]:
            run, file = ask(path, device, *pairs)["runs"][0], tmp_path / "exported.pickle"
            if run["avoided_ooms"]:
                continue  # a failed request that passes is one more
            file.write_bytes(written(path, device, *pairs))
            mine, theirs = requests(normalise(closed_unpickler.read_file(file).data).devices[device]), requests(memory)
            is_whole = run["ran_out"] is None
            assert mine == theirs[: len(mine)] and (len(mine) == len(theirs) or not is_whole), (path, pairs)
            compared += is_whole
    assert compared > 4, compared


@pytest.mark.parametrize("kind", ["ring_wrapped", "unknown_state", "whatif_estimate", "frees_at_request"])
def test_an_exported_run_says_what_its_recording_lacks(tmp_path, kind):
    """A buffer that was full is said as such; what else a recording lacks, or what an estimate is made of, makes an estimate."""
    data = copy.deepcopy(honest())
    dict(CORRUPTIONS)[kind](data)
    (tmp_path / "recorded.pickle").write_bytes(WRITERS["c-4"].write(data))
    file = tmp_path / "exported.pickle"
    file.write_bytes(written(tmp_path / "recorded.pickle", 0, "set="))
    (device,) = json.loads(cli.run("report", "--json", file).out)["devices"]
    kinds = {finding["kind"] for finding in device["trust"]["findings"]}
    is_equal = ask(tmp_path / "recorded.pickle", 0)["check"]["is_equal"]
    assert kinds == {"whatif", *(["ring_wrapped"] if kind == "ring_wrapped" else []),
                     *(["whatif_estimate"] if kind in ("unknown_state", "whatif_estimate") or not is_equal else [])}


def test_the_snapshot_takes_what_whatif_takes(paths):
    methods = json.loads(cli.run("query", paths[0], "methods").out)["methods"]
    taken = {method["name"]: {parameter["name"] for parameter in method["params"]} for method in methods}
    assert taken["whatif_snapshot"] - {"format"} == taken["whatif"] - {"steps", "unit"}


def test_every_format_of_an_exported_run_holds_the_same(paths, tmp_path):
    path, device, _ = cases(paths)[0]
    data = {}
    for form in ("pickle", "json", "vram"):
        (tmp_path / f"run.{form}").write_bytes(written(path, device, *RUNS[0], form=form))
        done = cli.run("export", tmp_path / f"run.{form}", "json")
        assert done.code == 0
        data[form] = json.loads(done.out)
    assert data["pickle"] == data["json"] == data["vram"]


@pytest.mark.parametrize(("pairs", "sentence"), [
    (["scale=train.py"], "has to be FILTER=FACTOR"), (["scale=train.py=0"], "has to be FILTER=FACTOR"),
    (["scale=train.py=1e9"], "has to be FILTER=FACTOR"), (["cards=H1000"], "cards: "), (["cards=64MiB:1"], "cards: "),
    (["checkpoint=stepp_1"], "did you mean 'step_1'?"), (["checkpoint=train.py:0"], "no Python function 'train.py:0'"),
    (["set=expandable_segment:True"], "settings: "), (["without=sizes>1"], "did you mean"), (['set=[1]'], "has to be text, a list of texts")])
def test_what_makes_no_sense_is_refused(paths, pairs, sentence):
    done = cli.run("query", paths[0], "whatif", *pairs)
    assert done.code == 2 and sentence in done.err.decode() and done.out == b"", done
