"""vramscope diff: planted edits of a small program, with the rows that have to come out; its texts; what it refuses."""

import copy
import json
import re

import pytest

import conftest as make

USAGE, NOT_READ = 2, 3
MiB = make.MiB


def edited(stack, change):
    return [change(dict(one)) for one in copy.deepcopy(stack)]


def program(change=lambda frame: frame, layers=2, size=24):
    """The snapshot of a training whose stacks are changed as an edit of its source would."""
    device = make.Device()
    for _ in range(4):
        device.alloc(16 * MiB, edited(make.WEIGHTS, change))
    for stack, bytes_ in ((make.FORWARD, size * MiB), (make.ATTENTION, 8 * MiB)):
        for _ in range(layers):
            device.alloc(bytes_, edited(stack, change))
    device.alloc(3 * MiB, make.BACKWARD)
    return make.snapshot(device)


def lower(frame):
    """A line was inserted at the top of model.py."""
    return {**frame, "line": frame["line"] + 1} if frame["filename"].endswith("/model.py") else frame


def renamed(frame):
    """The function of attention.py is called otherwise."""
    return {**frame, "name": "normalize"} if frame["name"] == "softmax" else frame


def moved(frame):
    """Another checkout, another environment, and attention.py in a folder of its own."""
    name = frame["filename"].replace("/home/me/job/", "/builds/4711/").replace("/usr/lib/python3.11/site-packages", "/opt/venv/lib/site-packages")
    return {**frame, "filename": name.replace("/attention.py", "/layers/attention.py")}


def all_of_it(frame):
    return moved(renamed(lower(frame)))


@pytest.fixture
def compare(vramscope, folder):
    """compare(new program, "--by", "file") -> the reply, of a difference to the unchanged program."""

    def run(new, *options):
        make.write(folder / "old.pickle", program())
        make.write(folder / "new.pickle", new)
        done = vramscope("diff", "old.pickle", "new.pickle", "--json", *options)
        assert done.code == 0 and done.err == "", done.err
        return json.loads(done.out)

    return run


def changes(reply):
    return [(row["owner"], row["status"], row["delta_bytes"]) for row in reply["rows"] if row["status"] != "same"]


@pytest.mark.parametrize("change", [lambda frame: frame, lower, renamed, moved, all_of_it])
@pytest.mark.parametrize("by", ["line", "function", "file", "stack", "operation", "size"])
def test_an_edit_that_needs_no_memory_is_no_difference(compare, change, by):
    reply = compare(program(change), "--by", by)
    assert changes(reply) == [] and reply["delta_bytes"] == 0
    assert reply["matched_bytes"] == reply["a"]["bytes"] == (4 * 16 + 2 * 24 + 2 * 8 + 3) * MiB


@pytest.mark.parametrize("change, places", [
    (lower, {"model.py": ["12", "31", "33"]}), (renamed, {"attention.py": ["9"]}), (moved, {"layers/attention.py": ["9"]}),
])
def test_what_moved_is_told(compare, change, places):
    rows = compare(program(change))["rows"]
    (name, lines), = places.items()
    told = [row for row in rows if row["moved"]]
    assert {row["file"] for row in told} == {name}
    assert {str(row["before"]["line"]) for row in told} <= set(lines)
    if change is renamed:
        assert [(row["function"], row["before"]["function"]) for row in told] == [("normalize", "softmax")]


def test_an_added_layer(compare):
    reply = compare(program(all_of_it, layers=3))
    assert changes(reply) == [("model.py:32 forward", "changed", 24 * MiB), ("attention.py:9 normalize", "changed", 8 * MiB)]
    first = reply["rows"][0]
    assert (first["before"]["count"], first["before"]["bytes"], first["before"]["each_bytes"]) == (2, 48 * MiB, 24 * MiB)
    assert (first["after"]["count"], first["after"]["bytes"], first["file"], first["line"], first["function"]) == (
        3, 72 * MiB, "model.py", 32, "forward")
    assert reply["delta_bytes"] == 32 * MiB and reply["matched_bytes"] == reply["a"]["bytes"]


def test_sentences_about_one(compare):
    """One line that is the same, one that moved."""

    def only(frame):
        return {**frame, "line": 10} if frame["name"] == "softmax" else frame

    reply = compare(program(only, layers=3))
    says = {line["label"]: line["text"] for line in reply["lines"]}
    assert says["Moved"].startswith("1 of the lines that both have is at another place or has another name; for example, attention.py:9")
    assert says["The same"].startswith("67.00 MiB in 2 lines: ")
    says = {line["label"]: line["text"] for line in compare(program(layers=3), "--by", "file")["lines"]}
    assert says["The same"].startswith("3.00 MiB in 1 file: ")


def test_another_dtype(compare):
    reply = compare(program(size=12))
    assert changes(reply) == [("model.py:31 forward", "changed", -24 * MiB)]
    row = reply["rows"][0]
    assert (row["before"]["each_bytes"], row["after"]["each_bytes"], row["moved"]) == (24 * MiB, 12 * MiB, False)
    by_size = changes(compare(program(size=12), "--by", "size"))
    assert by_size == [(f"{24 * MiB:,} B", "gone", -48 * MiB), (f"{12 * MiB:,} B", "new", 24 * MiB)]


def test_a_new_line(compare):
    device = make.Device()
    recorded = program()
    device.alloc(5 * MiB, make.LOSSES)
    extra = make.snapshot(device)
    for key in ("segments", "device_traces"):
        shift = 0x10_0000_0000
        for one in extra["segments"] if key == "segments" else []:
            one["address"] += shift
            one["blocks"][0]["address"] += shift
    for event in extra["device_traces"][0]:
        event["addr"] += 0x10_0000_0000
        event["time_us"] += 1_000_000
    recorded["segments"] += extra["segments"]
    recorded["device_traces"][0] += extra["device_traces"][0]
    reply = compare(recorded)
    assert changes(reply) == [("metrics.py:19 update", "new", 5 * MiB)]
    assert reply["rows"][0]["before"] == {"count": 0, "bytes": 0, "each_bytes": None}


def test_differences_of_the_allocator_are_told_apart(compare):
    """The same requests, the last of them in a larger segment."""
    data = program()
    last = data["segments"][-1]
    last["blocks"].append({"address": last["address"] + 3 * MiB, "size": 2 * MiB, "requested_size": 0, "state": "inactive", "frames": []})
    last["total_size"] += 2 * MiB
    next(e for e in data["device_traces"][0] if e["action"] == "segment_alloc" and e["addr"] == last["address"])["size"] += 2 * MiB
    reply = compare(data)
    assert changes(reply) == [] and reply["b"]["peak_reserved_bytes"] - reply["a"]["peak_reserved_bytes"] == 2 * MiB
    assert {"requests", "allocator"} <= {line["about"] for line in reply["lines"]}
    assert "allocator" not in {line["about"] for line in compare(program())["lines"]}


def test_texts(vramscope, folder, golden):
    make.write(folder / "old.pickle", program())
    make.write(folder / "new.pickle", program(all_of_it, layers=3))
    golden("diff", vramscope("diff", "old.pickle", "new.pickle").out)
    golden("diff_markdown", vramscope("diff", "--markdown", "--top", "1", "old.pickle", "new.pickle").out)
    golden("diff_same", vramscope("diff", "old.pickle", "old.pickle").out)
    golden("diff_ascii", vramscope("diff", "--by", "stack", "old.pickle", "new.pickle", env={"LC_ALL": "C"}).out)


def test_moments(vramscope, folder):
    done = json.loads(vramscope("diff", "--at", "start,peak", "--json", "snapshot.pickle", "snapshot.pickle").out)
    assert done["a"]["bytes"] == 0 and done["b"]["bytes"] == done["b"]["peak_requested_bytes"]
    end = json.loads(vramscope("diff", "--at", "end", "--json", "snapshot.pickle", "snapshot.pickle").out)
    assert end["a"] == end["b"] and end["a"]["at"] != done["b"]["at"]


def test_steps(vramscope, folder):
    """The peak of each step of the training: what metrics.py keeps is 3 MiB and the number of the step larger each time."""
    peaks = [json.loads(vramscope("query", "snapshot.pickle", "inventory", f"at=step{n}").out)["bytes"] for n in (1, 2, 3)]
    assert peaks[1] - peaks[0] in (3 * MiB + 1, 3 * MiB + 2) and peaks[2] - peaks[1] == peaks[1] - peaks[0] + 1
    done = json.loads(vramscope("diff", "--at", "step1,step3", "--json", "snapshot.pickle", "snapshot.pickle").out)
    assert changes(done) == [("metrics.py:19 update", "changed", peaks[2] - peaks[0])]


def test_an_inventory_is_a_file_to_compare_with(vramscope, folder):
    whole = vramscope("diff", "--json", "snapshot.pickle", "snapshot.pickle").out
    kept = vramscope("query", "snapshot.pickle", "inventory", "-o", "main.json")
    assert kept.code == 0
    assert vramscope("diff", "--json", "main.json", "snapshot.pickle").out == whole
    (folder / "pretty.json").write_text(json.dumps(json.loads((folder / "main.json").read_text()), indent=2))
    assert vramscope("diff", "--json", "pretty.json", "snapshot.pickle").out == whole
    reply = json.loads((folder / "main.json").read_text())
    (folder / "dry.json").write_text(json.dumps({"schema": 1, "method": "dryrun", "inventories": [
        {"peak_driver_bytes": 7, **reply, "device": 3, "peak_reserved_bytes": 1}, {"peak_driver_bytes": 9, **reply, "device": 5}]}))
    assert json.loads(vramscope("diff", "--json", "dry.json", "main.json").out)["a"]["peak_driver_bytes"] == 9
    assert json.loads(vramscope("diff", "--json", "--device", "3", "dry.json", "dry.json").out)["a"]["peak_driver_bytes"] == 7
    assert "peak of the driver" in vramscope("diff", "dry.json", "snapshot.pickle").out


def test_a_page_with_both(vramscope, folder):
    make.write(folder / "old.pickle", program())
    done = vramscope("diff", "--html", "both.html", "old.pickle", "snapshot.pickle")
    if done.code == NOT_READ and "cannot read files by itself" in done.err:
        pytest.skip("this build's page has no engine")
    assert done.code == 0, done.err
    page = (folder / "both.html").read_text()
    assert '"old.pickle"' in page and '"snapshot.pickle"' in page and re.search('id="data-1"', page)


@pytest.mark.parametrize("words, code, said", [
    (["snapshot.pickle"], USAGE, "diff needs a second file"),
    ([], USAGE, "diff needs two files"),
    (["a", "b", "c"], USAGE, 'unexpected argument "c"'),
    (["--by", "pool", "snapshot.pickle", "snapshot.pickle"], USAGE, "--by takes line|function|file|stack|operation|size"),
    (["--at", "noon", "snapshot.pickle", "snapshot.pickle"], USAGE, "unknown moment 'noon'"),
    (["--at", "end,step9", "snapshot.pickle", "snapshot.pickle"], USAGE, "there is no step 9"),
    (["snapshot.pickle", "missing.pickle"], NOT_READ, "missing.pickle"),
    (["empty.json", "snapshot.pickle"], USAGE, "without an inventory"),
    (["broken.json", "snapshot.pickle"], NOT_READ, "broken.json"),
    (["wrong.json", "snapshot.pickle"], NOT_READ, "not an inventory of vramscope"),
    (["--at", "end", "main.json", "snapshot.pickle"], USAGE, "--at cannot choose another one"),
    (["--device", "4", "main.json", "snapshot.pickle"], USAGE, "no inventory of that GPU"),
    (["--device", "host", "main.json", "snapshot.pickle"], USAGE, "--device takes a number"),
])
def test_what_is_refused(vramscope, folder, words, code, said):
    (folder / "empty.json").write_text('{"schema":1,"method":"dryrun","inventories":[]}')
    (folder / "broken.json").write_text('{"schema":1,"method":"inv')
    (folder / "wrong.json").write_text('{"schema":1,"method":"inventory","frames":[],"stacks":[{"frames":[3],"sizes":[[1,1]]}]}')
    vramscope("query", "snapshot.pickle", "inventory", "-o", "main.json", "-f")
    done = vramscope("diff", *words)
    assert (done.code, done.out) == (code, "") and said in done.err and done.err.count("\n") == 1, done.err
