"""`oom` and `diff` of many ranks against naive computations: which ranks ran out of memory and which first, the median rank, what a rank
had more than it, the pairs of two folders, and which of them changed alike. The ranks are made by hand (failing.py); what was live at a
moment is counted by truth.py.
"""

import csv
import functools
import io
import json
import random
import re
import shutil
from collections import Counter, defaultdict

import pytest

import cli
import closed_unpickler
import truth
from conftest import IS_SANITIZED
from failing import Recording
from frames import WHYS
from normal import normalise
from writers import WRITERS

pytestmark = pytest.mark.binary

SEEDS = range(2 if IS_SANITIZED else 6)
CARD = 400  # MiB


def rank(rng, last, late_us=0, has_times=True, extra=()):
    """Weights at random lines, steps whose blocks are freed, and one request of `last` MiB, which may fail."""
    made = Recording(CARD)
    for line, size in [*((line, 20 + line) for line in range(1, 4)), *extra]:
        made.alloc(size, line)
    for _ in range(rng.randrange(1, 4)):
        blocks = [made.alloc(20, rng.randrange(0, 9)) for _ in range(rng.randrange(1, 6))]
        for block in blocks[rng.randrange(0, 2):]:
            made.free(block, 9)
    made.alloc(last, 9)
    data = made.snapshot()
    for event in data["device_traces"][0]:
        event["time_us"] += late_us
        if not has_times:
            del event["time_us"]
    return data


def job(seed, folder):
    """Paths of the ranks, in the order of their numbers."""
    rng = random.Random(seed)
    has_times = seed % 2 == 0
    shapes = [rng.randrange(1000) for _ in range(3)]
    paths = []
    for number in range(rng.randrange(1, 14)):
        is_odd = rng.random() < 0.3
        data = rank(random.Random(rng.choice(shapes)), rng.choice((30, 30, 300, 350)), rng.choice((0, 500, 70_000_000)),
                    has_times or rng.random() < 0.5, extra=[(11, rng.randrange(20, 80))] if is_odd else [])
        paths.append(folder / f"rank{number}_memory_snapshot.pickle")
        paths[-1].write_bytes(WRITERS["c-4"].write(data))
    return paths


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    root = tmp_path_factory.mktemp("ranks")
    made = {}
    for seed in SEEDS:
        (root / f"job{seed}").mkdir()
        made[root / f"job{seed}"] = job(seed, root / f"job{seed}")
    return made


@functools.cache
def memory_of(path):
    return normalise(closed_unpickler.read_file(path).data).devices[0]


@functools.cache
def alone(path):
    return next(d for d in cli.report_of(path)["devices"] if d["device"] == 0)


def moment(memory):
    failed = truth.ooms(memory)
    return failed[-1]["event"] if failed else truth.peaks(memory)["peak"]["event"]


def owners(memory, event):
    """{line: Counter of sizes} of what was live."""
    rows = defaultdict(Counter)
    for _, size, stack in truth.live_at(memory, event):
        label = memory.frames.owner_label(stack)
        rows[label if stack[0][0] in WHYS else (label, memory.frames.owner(stack))][size] += 1
    return rows


def changes(before, after):
    """[(bytes before, count before, bytes after, count after)] of the rows that are not the same."""
    sums = []
    for key in before.keys() | after.keys():
        old, new = before.get(key, Counter()), after.get(key, Counter())
        if old != new:
            sums.append((sum(s * n for s, n in old.items()), old.total(), sum(s * n for s, n in new.items()), new.total()))
    return Counter(sums)


def rows_of(rows):
    return Counter((row["before"]["bytes"], row["before"]["count"], row["after"]["bytes"], row["after"]["count"]) for row in rows)


def median_of(paths):
    """The lower one in the middle, of equal ones the first."""
    peaks = [alone(path)["peak"]["allocated_bytes"] for path in paths]
    return peaks.index(sorted(peaks)[(len(peaks) - 1) // 2])


def order_of(paths):
    """(the ranks that ran out of memory, which first; whether that is known)"""
    failed = {n: truth.ooms(memory_of(path))[-1] for n, path in enumerate(paths) if truth.ooms(memory_of(path))}
    times = {n: memory_of(paths[n]).entries[oom["event"]].time for n, oom in failed.items()}
    if all(time is not None for time in times.values()):
        return sorted(failed, key=lambda n: (times[n], n)), True
    short = {n: truth.diagnoses(memory_of(paths[n]), {})[oom["event"]]["short_bytes"] for n, oom in failed.items()}
    return sorted(failed, key=lambda n: (-short[n], n)), len(failed) == 1


def test_which_ranks_ran_out_of_memory(jobs):
    known = unknown = 0
    for folder, paths in jobs.items():
        reply = cli.run("oom", "--json", folder).report()
        failed, is_known = order_of(paths)
        assert (reply["failed"], reply["median"]) == (failed, median_of(paths)), folder.name
        assert reply["first"] == (failed[0] if failed and is_known else None)
        assert reply["shown"] == (failed[0] if failed else None)
        reserved = [truth.peaks(memory_of(path))["peak_reserved"]["reserved_bytes"] for path in paths]
        assert reply["rest"] == sorted(set(range(len(paths))) - set(failed), key=lambda n: (-reserved[n], n))
        capacities = [CARD << 20 for _ in failed]
        assert reply["capacity_bytes"] == (min(capacities) if failed else None)
        for number, (path, file) in enumerate(zip(paths, reply["files"], strict=True)):
            assert (file["name"], file["rank"], file["error"]) == (str(path), number, None)
            assert file["outcome"] == ("oom" if number in failed else "none")
            assert file["peak_reserved_bytes"] == reserved[number]
            assert file["headroom_bytes"] == (None if not failed or number in failed else (CARD << 20) - reserved[number])
        known, unknown = known + (is_known and len(failed) > 1), unknown + (not is_known)
    assert known and (unknown or IS_SANITIZED)


def test_the_failed_request_of_each(jobs):
    for folder, paths in jobs.items():
        reply = cli.run("oom", "--json", folder).report()
        failed, is_known = order_of(paths)
        for number in failed:
            memory, file = memory_of(paths[number]), reply["files"][number]
            last = truth.ooms(memory)[-1]
            expected = truth.diagnoses(memory, {})[last["event"]]
            (oom,) = file["ooms"]
            assert (oom["event"], oom["requested_bytes"], oom["short_bytes"], oom["cause"]) == (
                last["event"], last["requested_bytes"], expected["short_bytes"], expected["cause"])
            assert oom["label"] == "train.py:9 step" and oom["time_us"] == memory.entries[last["event"]].time
            first = memory_of(paths[failed[0]])
            assert file["after_us"] == (oom["time_us"] - first.entries[truth.ooms(first)[-1]["event"]].time
                                        if is_known and oom["time_us"] is not None else None)
        if failed:
            whole = cli.run("oom", "--json", paths[failed[0]]).report()
            assert reply["post_mortem"] == whole
        else:
            assert reply["post_mortem"] is None


def test_what_each_had_more_than_the_median_rank(jobs):
    differing = 0
    for folder, paths in jobs.items():
        reply = cli.run("oom", "--json", folder).report()
        median = memory_of(paths[median_of(paths)])
        for path, file in zip(paths, reply["files"], strict=True):
            memory = memory_of(path)
            rows = changes(owners(median, moment(median)), owners(memory, moment(memory)))
            assert rows_of(file["rows"]) == rows, path
            deltas = [(after - before) * n for (before, _, after, _), n in rows.items()]
            assert file["more_bytes"] == sum(d for d in deltas if d > 0) and file["less_bytes"] == -sum(d for d in deltas if d < 0)
            assert file["differing_bytes"] == file["more_bytes"] + file["less_bytes"]
            assert file["at"] == ("oom" if truth.ooms(memory) else "peak")
            assert file["bytes"] == sum(size for _, size, _ in truth.live_at(memory, moment(memory)))
            differing += bool(rows)
    assert differing


def test_csv_has_all_rows(jobs):
    for folder in jobs:
        reply = cli.run("oom", "--json", folder).report()
        rows = list(csv.DictReader(io.StringIO(cli.run("oom", "--csv", folder).out.decode())))
        for row, file in zip(rows, reply["files"], strict=True):
            oom = file["ooms"][0] if file["ooms"] else {}
            expected = {"file": file["name"], **{key: file.get(key, oom.get(key)) for key in row if key != "file"}}
            assert row == {key: "" if value is None else str(value) for key, value in expected.items()}


def test_the_text_has_each_rank_once(jobs):
    for folder, paths in jobs.items():
        done = cli.run("oom", "-q", folder)
        failed, _ = order_of(paths)
        lines = done.out.decode().splitlines()
        assert done.code == 0
        for number in range(len(paths)):
            rows = [line for line in lines if re.match(rf" +{number} +0 ", line)]
            assert len(rows) == 1 and (("train.py:9 step" in rows[0]) == (number in failed)), (folder.name, number, lines)


def test_one_engine_is_read_again_or_kept(jobs, tmp_path):
    """A pipe cannot be read twice: its post-mortem is of what was read."""
    path = next(path for paths in jobs.values() for path in paths if truth.ooms(memory_of(path)))
    passing = next(path for paths in jobs.values() for path in paths if not truth.ooms(memory_of(path)))
    named, piped = (cli.run("oom", "--json", name, passing, **more).report() for name, more in
                    ((path, {}), ("-", {"stdin": path.read_bytes()})))
    assert piped["files"][0].pop("name") == "-" and named["files"][0].pop("name") == str(path)
    assert piped["files"][0].pop("rank") is None and named["files"][0].pop("rank") is not None
    assert piped["post_mortem"] and piped["files"] == named["files"] and piped["post_mortem"] == named["post_mortem"]


# diff of two folders


@pytest.fixture(scope="module")
def pairs_of_jobs(tmp_path_factory):
    """{(folder before, folder after): {number: (path before, path after)}}: names of two kinds, numbers that only one of them has, and files
    without a number."""
    made = {}
    for seed in SEEDS:
        rng = random.Random(100 + seed)
        root = tmp_path_factory.mktemp(f"pairs{seed}")
        shapes = [rng.randrange(1000) for _ in range(2)]
        sides = []
        for side, name in enumerate(("rank{}_memory_snapshot.pickle", rng.choice(("rank{}_memory_snapshot.pickle", "snapshot_{}.pickle")))):
            folder = root / "ab"[side]
            folder.mkdir()
            sides.append({})
            for number in range(rng.randrange(3, 12)):
                if number and rng.random() < 0.15:
                    continue
                grown = [(12, 40)] if side and (rng.random() < 0.7 or number == 0) else [(13, 25)] if side and rng.random() < 0.5 else []
                data = rank(random.Random(shapes[number % 2]), 300 if rng.random() < 0.2 else 30, extra=[(11, 20 + number), *grown])
                sides[side][number] = folder / name.format(number)
                sides[side][number].write_bytes(WRITERS["c-4"].write(data))
        made[root / "a", root / "b"] = sides
    return made


def at_peak(path):
    memory = memory_of(path)
    return owners(memory, truth.peaks(memory)["peak"]["event"])


def changed_by(before, after):
    """What is alike: {owner: change in bytes} of the rows that are not the same."""
    return {key: sum(s * n for s, n in after[key].items()) - sum(s * n for s, n in before[key].items())
            for key in before.keys() | after.keys() if before[key] != after[key]}


def test_the_pairs_of_two_folders(pairs_of_jobs):
    jobs_with_a_shared_change = jobs_with_several_changes = 0
    for (old, new), (a, b) in pairs_of_jobs.items():
        reply = cli.run("diff", "--json", old, new).report()
        both = sorted(a.keys() & b.keys())
        assert [pair["rank"] for pair in reply["pairs"]] == both
        assert [pair["files"] for pair in reply["pairs"]] == [[str(a[n]), str(b[n])] for n in both]
        assert reply["only_a"] == [str(a[n]) for n in sorted(a.keys() - b.keys())]
        assert reply["only_b"] == [str(b[n]) for n in sorted(b.keys() - a.keys())]
        alike, differing = defaultdict(list), []
        for index, (number, pair) in enumerate(zip(both, reply["pairs"], strict=True)):
            before, after = at_peak(a[number]), at_peak(b[number])
            assert rows_of(pair["rows"]) == changes(before, after), (old, number)
            change = changed_by(before, after)
            alike[frozenset(change.items())].append(index)
            differing.append((sum(map(abs, change.values())), bool(change)))
            peaks = [alone(path)["peak"]["allocated_bytes"] for path in (a[number], b[number])]
            assert pair["peak_allocated_delta_bytes"] == peaks[1] - peaks[0] and pair["differing_bytes"] == differing[-1][0]
            assert (pair["a"]["ooms"], pair["b"]["ooms"]) == tuple(len(truth.ooms(memory_of(path))) for path in (a[number], b[number]))
        expected = sorted(alike.values(), key=lambda group: (-len(group), group))
        assert reply["groups"] == expected, (old, new)
        assert [pair["same_as"] for pair in reply["pairs"]] == [next(g[0] for g in expected if n in g) for n in range(len(both))]
        most = [n for n, (size, has) in enumerate(differing) if has and size == max(s for s, h in differing if h)]
        assert reply["most"] == (most[0] if most else None)
        jobs_with_a_shared_change += len(expected[0]) > 1
        jobs_with_several_changes += len(expected) > 1
    assert jobs_with_a_shared_change and jobs_with_several_changes


def csv_of(reply):
    """The lines of `--csv`, as its `--json` has them."""
    pairs = reply.get("pairs") or [{"rank": None, "files": [reply[side]["file"]["name"] for side in "ab"], "rows": reply["rows"], "error": None}]
    for pair in pairs:
        of_pair = {"rank": pair["rank"], "a": pair["files"][0], "b": pair["files"][1]}
        for row in pair.get("rows", []):
            sides = {f"{side}_{key}": row[side][key] for side in ("before", "after") for key in ("count", "bytes")}
            yield {**of_pair, **{key: row[key] for key in ("status", "owner", "file", "function", "line", "delta_bytes")}, **sides, "error": None}
        if pair.get("error") is not None:
            yield {**of_pair, "error": pair["error"]}


def test_csv_of_differences_has_all_rows(pairs_of_jobs, tmp_path):
    (before, after), sides = next(iter(pairs_of_jobs.items()))
    bad = tmp_path / "bad"
    shutil.copytree(after, bad)
    number = max(sides[0].keys() & sides[1].keys())
    (bad / sides[1][number].name).write_bytes(b"no snapshot")
    files = [side[min(sides[0].keys() & sides[1].keys())] for side in sides]
    for one, other in ((before, after), (before, bad), files):
        answers = [cli.run("diff", how, one, other) for how in ("--json", "--csv")]
        assert answers[0].code == answers[1].code == (cli.CANNOT_READ if other == bad else 0)
        rows, expected = list(csv.DictReader(io.StringIO(answers[1].out.decode()))), list(csv_of(json.loads(answers[0].out)))
        assert len(rows) == len(expected) > 1
        for row, wanted in zip(rows, expected, strict=True):
            assert row == {key: "" if wanted.get(key) is None else str(wanted[key]) for key in row}


def test_the_other_way_round(pairs_of_jobs):
    """diff(B, A) has the same groups and the opposite changes."""
    for old, new in pairs_of_jobs:
        there, back = (cli.run("diff", "--json", *folders).report() for folders in ((old, new), (new, old)))
        assert there["groups"] == back["groups"] and (there["only_a"], there["only_b"]) == (back["only_b"], back["only_a"])
        for one, other in zip(there["pairs"], back["pairs"], strict=True):
            assert (one["rank"], one["delta_bytes"], one["differing_bytes"]) == (other["rank"], -other["delta_bytes"], other["differing_bytes"])
