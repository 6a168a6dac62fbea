"""The other questions, asked with --json, against the truth: what was live, the tree, the events, the end state split up.

And docs/formats/query.md names every key that a reply has.
"""

import functools
import itertools
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import cli
import closed_unpickler
import shapes
import truth
from conftest import IS_SANITIZED, real_snapshots
from failing import FAILING as FAILING_BY_HAND
from frames import WHYS, without_folders
from normal import HOST, normalise
from simulate import random_run, sample_run
from writers import WRITERS

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import reply_types

pytestmark = pytest.mark.binary

DOCUMENT = Path(__file__).parents[2] / "docs" / "formats" / "query.md"
NO_METHODS = {"Request", "Replies", "Shapes", "Changes"}  # sections of the document
LINES = Path(__file__).parents[2] / "src" / "query" / "lines.def"
SEEDS = range(3000, 3008)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    runs = {"sample": sample_run(), "late": sample_run().recorded(60)}
    runs["at_request"] = sample_run().recorded(60, ("free_completed",))
    runs |= {f"random{seed}": random_run(seed)[0] for seed in SEEDS}
    made, ages = [], ("2.15", "2.1", "1.13")
    for i, (name, run) in enumerate(runs.items()):
        for age in ages if name == "sample" or not IS_SANITIZED else [ages[i % 3]]:  # under a sanitizer each age, but not with each run
            made.append(folder / f"{name}-{age}.pickle")
            made[-1].write_bytes(WRITERS["c-4"].write(shapes.build(run, age)))
    return made + real_snapshots()


@functools.cache  # several tests look at one answer
def ask(command, path, *options):
    return cli.run(command, path, "--json", *options).report()


@functools.cache
def memories(path):
    snapshot = normalise(closed_unpickler.read_file(path).data)
    return {**snapshot.devices, **({HOST: snapshot.host} if snapshot.host else {})}


def device_option(device):
    return ("--device", "host" if device == HOST else str(device))


@functools.cache
def moments(path, device):
    """(option of --at, event, what was live then)"""
    memory = memories(path)[device]
    last = len(memory.entries) - 1
    middle = [(str(last // 2), last // 2)] if last >= 0 else []
    places = [("start", -1), ("peak", truth.peaks(memory)["peak"]["event"]), ("end", last), *middle]
    return [(at, event, truth.live_at(memory, event)) for at, event in places]


def cases(paths):
    for path in paths:
        for device, memory in memories(path).items():
            yield path, device, memory


def test_what_was_live(paths):
    for path, device, memory in cases(paths):
        for at, event, live in moments(path, device):
            where = (*device_option(device), "--at", at, "--top", "0")
            reply = ask("blocks", path, *where)
            assert reply["at"]["event"] == event
            found = Counter((b["address"], b["requested_bytes"]) for b in reply["blocks"])
            assert found == Counter((a, size) for a, size, _ in live), f"{path.name}, device {device}, {at}"
            assert (reply["count"], reply["bytes"]) == (len(live), sum(size for _, size, _ in live))
            groups = ask("blocks", path, *where, "--by", "stack")["groups"]
            expected = truth.groups_by_stack(live)
            assert Counter((g["bytes"], g["count"]) for g in groups) == Counter(g[:2] for g in expected)
            assert [g["bytes"] for g in groups] == sorted((g["bytes"] for g in groups), reverse=True)
            if at == "peak":
                found = ask("blocks", path, *where, "--by", "innermost")["groups"]
                expected = [(size, count, label) for size, count, _, label in truth.innermost_rows(memory, live)]
                assert Counter((g["bytes"], g["count"], without_folders(g["label"])) for g in found) == Counter(expected)


def rows_of(owners):
    """[(depth, bytes)] of the rows that show owners."""
    rows = []
    for owner in owners:
        parts = [part["bytes"] for part in owner["parts"]]
        parts = parts if len(parts) <= 6 else [*parts[:5], sum(parts[5:])]
        rows += [(0, owner["bytes"]), *((1, part) for part in parts)]
    return rows


def checked_causes(path):
    """The causes in the report, after all its figures about failed requests were compared."""
    causes = Counter()
    snapshot = normalise(closed_unpickler.read_file(path).data)
    for device in ask("report", path, "--top", "0")["devices"]:
        memory = snapshot.devices[device["device"]]
        truths = truth.diagnoses(memory, snapshot.settings)
        assert [oom["event"] for oom in device["ooms"] if oom["owners"] is not None] == list(truths)
        for oom in device["ooms"]:
            expected = truths.get(oom["event"])
            if expected is None:
                assert oom["cause"] == "unknown" and oom["cached_bytes"] is None and oom["short_bytes"] is None
                continue
            where = f"{path.name}, device {device['device']}, event {oom['event']}"
            assert {key: oom[key] for key in expected} == expected, where
            causes[oom["cause"]] += 1
            owners = truth.owners_at(memory, oom["event"])
            found = Counter((o["bytes"], o["count"], o["each_bytes"], o["label"]) for o in oom["owners"])
            assert found == Counter(owners) and oom["owner_count"] == len(owners), where
            truth.check_parts(oom["owners"], memory, oom["event"], where)
            for part in oom["owners"][0]["parts"][:2] if oom["owners"] else []:
                kept = ask("blocks", path, "--device", str(device["device"]), "--at", str(oom["event"]), "--filter", part["filter"])
                assert (kept["count"], kept["bytes"]) == (part["count"], part["bytes"]), (where, part["filter"])
            rows = [(row["depth"], row["bytes"]) for line in oom["lines"] if line["about"] == "oom_owners" for row in line["rows"]]
            assert rows == (rows_of(oom["owners"]) if sum(o[0] for o in owners) else []), where
    return causes


def test_why_requests_failed(paths):
    """The cause, what was cached and usable, how much was missing, and the owners at that moment."""
    causes = sum((checked_causes(path) for path in paths), Counter())
    assert len(causes) > 2, causes


FAILING = (3010, 3015, 3020, 3034, 3042, 3059)  # seeds of runs whose requests fail


def without_free_bytes(data):
    for entry in itertools.chain(*data["device_traces"]):
        entry.pop("device_free", None)


def with_most(data):
    data["allocator_settings"]["max_split_size"] = 24 << 20


def test_every_cause(tmp_path):
    """Also where the driver's free bytes are not recorded, and where large blocks are kept from small requests."""
    causes = Counter()
    for seed, change in itertools.product(FAILING, (None, without_free_bytes, with_most)):
        data = shapes.build(random_run(seed)[0], "2.15")
        if change:
            change(data)
        path = tmp_path / f"{seed}-{change and change.__name__}.pickle"
        path.write_bytes(WRITERS["c-4"].write(data))
        causes += checked_causes(path)
    assert set(causes) == {"limit", "fragmented", "elsewhere", "full", "unknown"}, causes


def paths_of(nodes):
    """{path: [bytes, count]} of the nodes of a tree."""
    paths, sums = [()], {(): [nodes[0]["bytes"], nodes[0]["count"]]}
    for node in nodes[1:]:
        call = (node["function"] if node["file"] is not None else node["name"], node["file"] or "", node["line"])
        paths.append((*paths[node["parent"]], call))
        assert paths[-1] not in sums, "equal calls are one node"
        sums[paths[-1]] = [node["bytes"], node["count"]]
    return sums


def test_the_tree_adds_up(paths):
    for path, device, memory in cases(paths):
        for at, _, live in moments(path, device):
            reply = ask("tree", path, *device_option(device), "--at", at, "--top", "0")
            nodes = reply["nodes"]
            assert nodes[0]["bytes"] == reply["bytes"] == sum(size for _, size, _ in live)
            assert nodes[0]["count"] == len(live) and len(nodes) == reply["node_count"] and reply["frames"] == "calls"
            rest = [n["bytes"] - n["self_bytes"] for n in nodes]
            before = {}
            for i, node in enumerate(nodes[1:], 1):
                assert node["parent"] < i
                rest[node["parent"]] -= node["bytes"]
                assert node["bytes"] <= before.get(node["parent"], node["bytes"]), "siblings stand biggest first"
                before[node["parent"]] = node["bytes"]
            assert not any(rest), "a node is what ends in it and its children"
            assert paths_of(nodes) == memory.frames.tree(live, "calls", False), f"{path.name}, {at}"


def test_labels(paths):
    """Who each block is attributed to, in words, but for the folders that tell files apart."""
    for path, device, memory in cases(paths):
        for at, _, live in moments(path, device):
            expected = Counter()
            for _, size, stack in live:
                place = None if stack[0][0] in WHYS else memory.frames.owner_place(stack)
                expected[size, memory.frames.owner_label(stack), place] += 1
            blocks = ask("blocks", path, *device_option(device), "--at", at, "--top", "0")["blocks"]
            for label in ("label", "long_label"):
                short = [re.sub(r"^(backward pass of )?\S*[/\\](?=[^\s/\\]+:\d+( |$))", r"\1", b[label]) for b in blocks]
                labels = Counter((b["requested_bytes"], name, b["owner_frame"]) for b, name in zip(blocks, short, strict=True))
                assert labels == expected, f"{path.name}, {at}"
            for block in blocks:
                frame = block["stack"][block["owner_frame"]] if block["owner_frame"] is not None else None
                if frame and frame["place"] and frame["kind"] != "backward":
                    assert block["long_label"].startswith(f"{frame['file']}:{frame['line']}"), block


def test_events_and_curves(paths):
    for path, device, memory in cases(paths):
        reply = ask("events", path, *device_option(device), "--top", "0")
        events = reply["events"]
        assert reply["count"] == len(events) == len(memory.entries)
        assert [e["action"] for e in events] == [e.action for e in memory.entries]
        assert [e["size_bytes"] for e in events] == [e.size for e in memory.entries]
        assert [e["address"] for e in events] == [e.address for e in memory.entries]
        assert [e["time_us"] for e in events] == [e.time for e in memory.entries]
        assert [e["requested_after_bytes"] for e in events] == truth.requested_curve(memory)[1:]
        assert [e["reserved_after_bytes"] for e in events] == truth.reserved_curve(memory)[1:]


def test_the_end_state_split_up(paths):
    for path, device, memory in cases(paths):
        reply = ask("stats", path, *device_option(device))
        for rows, key in (("streams", "stream"), ("pools", "pool")):
            found = {tuple(r[key]) if isinstance(r[key], list) else r[key]: r for r in reply[rows]}
            expected = truth.end_by(memory, key)
            assert found.keys() == expected.keys()
            for value, figures in expected.items():
                assert {k: found[value][k] for k in figures} == figures, f"{path.name}, {key} {value}"


# ---- docs/formats/query.md names every method and every key


def keys(value, where=""):
    """The keys of a reply; those of mappings with free keys are left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield where, key
            if not isinstance(item, dict) or key not in ("settings", "stacks"):
                yield from keys(item, f"{where}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from keys(item, where)


def methods():
    return json.loads(cli.run("query", "methods").out)["methods"]


def sections():
    """The text below each heading of the document, by its first word."""
    parts = re.split(r"^## (.*)\n", DOCUMENT.read_text(), flags=re.MULTILINE)
    return {title.split()[0]: text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def words_about(method, text):
    """What the document says of a method's reply: its section, those that it refers to, and the shapes that all share."""
    named = [text["Shapes"], text["Replies"], text[method], *(text[name] for name in re.findall(r"`(\w+)`", text[method]) if name in text)]
    return set(re.findall(r"\w+", "".join(named))) | {"schema", "method"}


def variants(method):
    """The request as it is, and with each other value that a parameter could have."""
    yield []
    for parameter in method["params"]:
        name, kind = parameter["name"], parameter["type"]
        values = [choice["name"] for choice in parameter["choices"] or []]
        values += {"flag": ["true"], "count": ["0"] if name == "top" else [], "device": ["host"], "filter": ["size>0"],
                   "moment": ["oom", "12"], "text": ["expandable_segments:True"]}.get(kind, [])
        yield from ([f"{name}={value}"] for value in values)
    if method["name"] == "whatif":
        yield from (["set=expandable_segments:True"], ['set=["","max_split_size_mb:64"]', "cards=8GiB"], ["without=size>1MiB"],
                    ["scale=size>1MiB=0.5"], ["free_early=size>1MiB"], ["free=size>1MiB", "empty_cache=true"], ["steps=2"],
                    ["checkpoint=step_1"])
    if method["name"] in ("replay", "course"):
        yield ["card=16777216"]  # too small: it runs out


def replies(method, paths):
    """Of the first two files with each value of a parameter, of the others as it is. The first file is a long one: `whatif` and `oom` run it
    a hundred times, and the hostile build checks all blocks at each request."""
    paths = paths[1:] if method["name"] in ("whatif", "oom") or IS_SANITIZED else paths
    for i, path in enumerate(paths if method["needs_file"] else [None]):
        for pairs in variants(method) if i < 2 else [[]]:
            outcome = cli.run("query", *([path] if path else []), method["name"], *pairs)
            if outcome.code == 0:
                yield json.loads(header_of(outcome.out))


def header_of(reply):
    """The JSON of a reply; for a reply of columns its header."""
    if reply[:4] != b"VSC1":
        return reply
    return reply[8:8 + int.from_bytes(reply[4:8], "little")]


def growing():
    """Two lines that grow each step, a block that waits for its free while more is allocated, a lie and an unknown key."""
    entries, blocks, marks, address = [], [], [], 0x1000_0000

    def event(action, where, size, line):
        frames = [{"filename": "train.py", "line": line, "name": "step"}]
        entries.append({"action": action, "addr": where, "size": size, "stream": 0, "time_us": 1000 + len(entries), "frames": frames})

    event("segment_alloc", address, 1 << 20, 1)
    for step in range(8):
        marks.append({"stage": "START", "name": f"ProfilerStep#{step}", "device": 0, "time_us": 1000 + len(entries)})
        event("alloc", address + (1 << 19), 4096, 1)
        event("free_requested", address + (1 << 19), 4096, 1)
        for line in (2, 3):
            where = address + (2 * step + line) * 1024
            event("alloc", where, 1024, line)
            blocks.append({"address": where, "size": 1024, "requested_size": 1024, "state": "active_allocated", "frames": []})
        event("free_completed", address + (1 << 19), 4096, 1)
    segment = {"device": 0, "address": address, "total_size": 1 << 20, "stream": 0, "segment_type": "large", "blocks": blocks}
    return {"segments": [{**segment, "key_of_tomorrow": 1}], "device_traces": [entries], "external_annotations": marks}


@pytest.fixture(scope="module")
def rich(paths, tmp_path_factory):
    """Files with errors, annotations, growth, pinned memory, a recording with all facts about itself, and an empty file."""
    folder = tmp_path_factory.mktemp("rich")
    made = [folder / "sample.vram", folder / "demo.vram"]
    cli.run("export", paths[0], "vram", "-o", made[0])
    cli.run("demo", "--steps", "16", "--keep", made[1])
    end_only = {**growing(), "device_traces": [[]]}
    for name, data in (("empty", {"segments": [], "device_traces": []}), ("growing", growing()), ("end", end_only)):
        made.append(folder / f"{name}.pickle")
        made[-1].write_bytes(WRITERS["c-4"].write(data))
    return [made[1], paths[0], made[0], *made[2:], paths[3]]


def test_every_method_has_its_section():
    assert {method["name"] for method in methods()} == set(sections()) - NO_METHODS
    types = set(re.findall(r"\w+", sections()["Request"]))
    assert {parameter["type"] for method in methods() for parameter in method["params"]} <= types


@pytest.mark.parametrize("name", sorted(set(sections()) - NO_METHODS - {"export", "whatif_snapshot"}))
def test_every_key_is_documented_and_every_reply_has_its_type(name, rich):
    """Of every method: `methods` has no more of them than there are sections (above). The types are those of
    src/query/replies.d.ts, which the viewer and the Python package have them from: the same keys, values of these types."""
    types = reply_types.read()
    (method,) = [method for method in methods() if method["name"] == name]
    seen, wrong = set(), set()
    for reply in replies(method, rich):
        seen |= set(keys(reply))
        wrong |= set(reply_types.problems(types, f"{name.capitalize()}Reply", reply))
    known = words_about(name, sections())
    missing = sorted({f"{where}.{key}" for where, key in seen if key not in known})
    assert seen and not missing, missing
    assert not wrong, sorted(wrong)[:20]


def test_a_reply_of_another_type_is_seen():
    """What the test above would say: a key too many, one too few, a wrong value."""
    reply = {"schema": 1, "method": "find", "device": 0, "event": "12", "ordinal": None, "counts": 3}
    assert reply_types.problems(reply_types.read(), "FindReply", reply) == [
        "reply.counts is not in the list", 'reply.event is "12", not a whole number',
        "reply.count is in the list and not in the reply"]


def test_every_line_is_told_and_documented(rich, tmp_path):
    """Each row of lines.def comes out of some file."""
    rows = set(re.findall(r"^VS_LINE\((\w+)", LINES.read_text(), re.MULTILINE))
    told = {line["about"] for path in rich for reply in [ask("report", path)]
            for lines in [reply["lines"], *(d["lines"] for d in reply["devices"])] for line in lines}
    late = tmp_path / "late.pickle"
    late.write_bytes(WRITERS["c-4"].write(shapes.build(sample_run().recorded(200), "2.15")))
    for path, options in ((rich[1], []), (rich[1], ["--checkpoint", "step_1"]), (late, [])):
        told |= {line["about"] for line in ask("whatif", path, *options)["lines"]}
    for name, make in FAILING_BY_HAND.items():
        path = tmp_path / f"{name}.pickle"
        path.write_bytes(WRITERS["c-4"].write(make()))
        told |= {line["about"] for line in ask("oom", path)["lines"]}
    assert told | {"remedy_cache"} == rows, rows ^ told  # PyTorch empties its cache before it fails, but in a capture


def test_numbers_are_numbers(paths):
    """Bytes and microseconds are whole numbers or null, as their keys promise."""

    def check(value):
        if isinstance(value, dict):
            for key, item in value.items():
                if key.endswith(("_bytes", "_us")) and not isinstance(item, list):
                    assert item is None or type(item) is int, (key, item)
                if key == "share" and item is not None:
                    assert 0 <= item <= 1, item
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)

    for path in paths:
        check(json.loads(json.dumps(ask("report", path))))
