"""Programs that run out of memory for real, recorded once; and every line of `vramscope oom` that says what would have let the
request pass, run for real: PyTorch's allocator under those settings, with those blocks freed, that batch, that much memory.
"""

import itertools
import json
from pathlib import Path

import pytest
from answers import ask
from conftest import PROGRAMS, command, environment, finish

GRANULE = 2 << 20
CAUSES = {"full": "full", "fragmented": "fragmented", "limited": "limit", "other_pool": "elsewhere", "other_stream": "elsewhere",
          "growing": "full", "caught": "full", "training": "full", "captured": "elsewhere"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """(folder, {program: its failed request, and the lines of what it holds}, {program: the reply})"""
    folder = tmp_path_factory.mktemp("oom")
    told = finish(command("oom.py", ["--record", folder]), environment(gpu="4GiB"), folder).result
    return folder, told, {name: ask(folder / f"{name}.pickle", "oom", top=0) for name in told}


def tried(folder, changes, gpu):
    return finish(command("oom.py", ["--try", json.dumps(changes)]), environment(gpu=gpu), folder).result


def numbers_of(path, oom, lines, parts):
    """{tag: [which of them]}: the blocks that a remedy frees, among those of the tag that are live at the failed request."""
    found = {}
    freed = {row for part in parts for row in part["rows"]}
    for tag, line in lines.items():
        label = f'line="{PROGRAMS / "oom.py"}:{line}"'
        live = sorted(row["row"] for row in ask(path, "allocations", at=oom["event"], filter=label, top=0)["rows"])
        numbers = [i for i, row in enumerate(live) if row in freed]
        if numbers:
            found[tag] = numbers
    return found


def change_of(path, oom, told, remedy):
    """What the program has to change; None: more memory, which another test gives it."""
    kind = remedy["kind"]
    if kind == "settings":
        return {"settings": remedy["settings"]}
    if kind == "empty_cache":
        return {"empty": True}
    if kind == "activations":
        return {"batch": 1 - remedy["percent"] / 100}
    if kind == "shrink":
        (part,) = remedy["parts"]
        (tag,) = [tag for tag, line in told["lines"].items() if part["filter"] == f'line="{PROGRAMS / "oom.py"}:{line}"']
        return {"shrink": {tag: 1 - remedy["percent"] / 100}}
    if kind in ("growth", "owner"):
        return {"free": numbers_of(path, oom, told["lines"], remedy["parts"])}
    assert kind in ("card", "limit"), remedy
    return None


def choices(told, path, oom, remedy, change):
    """Each of the blocks, where any one of a line is said to be enough."""
    if not remedy["is_any"]:
        return [change]
    (tag,) = change["free"]
    return [{"free": {tag: [i]}} for i in range(remedy["parts"][0]["of_blocks"])]


def test_each_cause_is_told(recorded):
    _, told, replies = recorded
    assert {name: reply["ooms"][0]["cause"] for name, reply in replies.items()} == CAUSES
    assert all(each["at"] is not None for each in told.values()), told
    for name, reply in replies.items():
        assert reply["check"]["is_equal"], (name, reply["check"])
        assert reply["ooms"][0]["replayed_as"] == ("least" if name == "limited" else "recorded")
        assert reply["failures"] == (2 if name == "caught" else 1)


def test_every_remedy_passes_for_real(recorded):
    folder, told, replies = recorded
    changes, about = [], []
    for name, reply in replies.items():
        (oom,) = reply["ooms"]
        path = folder / f"{name}.pickle"
        for remedy in oom["remedies"]:
            assert remedy["passes"]
            change = change_of(path, oom, told[name], remedy)
            for choice in choices(told[name], path, oom, remedy, change) if change else []:
                assert sum(map(len, choice.get("free", {}).values())) == sum(part["blocks"] for part in remedy["parts"] if part["rows"])
                changes.append({"name": name, "at": told[name]["at"], **choice})
                about.append((name, remedy["kind"], remedy["owner"] or remedy["settings"], choice))
    kinds = {(name, kind) for name, kind, *_ in about}
    for expected in (("fragmented", "settings"), ("other_stream", "settings"), ("full", "owner"), ("limited", "owner"),
                     ("full", "shrink"), ("caught", "shrink"), ("growing", "owner"), ("training", "activations"), ("training", "owner"),
                     ("fragmented", "owner")):
        assert expected in kinds, kinds
    assert ("fragmented", "shrink") not in kinds
    assert len(changes) > 100
    passed = tried(folder, changes, "4GiB")
    assert [what for what, passes in zip(about, passed, strict=True) if not passes] == []


def test_without_a_remedy_they_fail_again(recorded):
    folder, told, _ = recorded
    changes = [{"name": name, "at": each["at"]} for name, each in told.items()]
    assert tried(folder, changes, "4GiB") == [False] * len(changes)


def test_a_setting_that_is_no_remedy_does_not_help(recorded):
    """Of the settings alone: those that the reply does not have fail for real."""
    folder, told, replies = recorded
    alone = ["expandable_segments:True", "max_split_size_mb:64", "max_split_size_mb:256", "roundup_power2_divisions:4", "large_segment_size_mb:128"]
    changes, expected = [], []
    for (name, reply), settings in itertools.product(replies.items(), alone):
        changes.append({"name": name, "at": told[name]["at"], "settings": settings})
        expected.append(settings in [r["settings"] for r in reply["ooms"][0]["remedies"]])
    assert tried(folder, changes, "4GiB") == expected
    assert True in expected and False in expected


def test_the_capacity_of_a_larger_gpu_is_exact(recorded):
    """With that much the request passes; with 2 MiB less it does not."""
    folder, told, replies = recorded
    changes = []
    for name, reply in replies.items():
        (more,) = [r for r in reply["ooms"][0]["remedies"] if r["kind"] in ("card", "limit")]
        assert more["kind"] == ("limit" if name == "limited" else "card")
        for limit in (more["capacity_bytes"], more["capacity_bytes"] - GRANULE):
            changes.append({"name": name, "at": told[name]["at"], "limit": limit})
        if more["card"]:
            assert more["card"]["room_bytes"] >= more["capacity_bytes"]
    assert tried(folder, changes, "16GiB") == [True, False] * len(replies)


def test_whatif_says_the_same(recorded):
    """The replay that a reply names, asked of `whatif`."""
    folder, _, replies = recorded
    asked = 0
    for name, reply in replies.items():
        for remedy in reply["ooms"][0]["remedies"]:
            if not remedy["whatif"] or (remedy["kind"] == "settings" and asked > 20):
                continue
            asked += 1
            run = ask(folder / f"{name}.pickle", "whatif", **remedy["whatif"])["runs"][0]
            if name != "caught":
                assert run["passes"], (name, remedy)
                assert run["reserved_peak_bytes"] >= remedy["reserved_peak_bytes"]
            else:  # its first failure may stay one
                assert run["ran_out"] is None and run["refused_ooms"] <= 1
    assert asked > 20


def test_whatif_alone(recorded):
    """On a truly full card no setting helps, and it says so; on a fragmented one it finds what `oom` says first."""
    folder, _, replies = recorded
    full, fragmented = (ask(folder / f"{name}.pickle", "whatif") for name in ("full", "fragmented"))
    (result,) = [line for line in full["lines"] if line["about"] == "result"]
    assert full["is_search"] and full["best"] is None and result["value"] == "no setting helps"
    first = next(r for r in replies["fragmented"]["ooms"][0]["remedies"] if r["kind"] == "settings")
    assert fragmented["runs"][fragmented["best"]]["asked"] == first["settings"]


def test_what_pytorch_says_of_the_error(recorded):
    """The figures of the failed request are PyTorch's: free bytes, and the bytes requested from the driver."""
    folder, _, replies = recorded
    for name, reply in replies.items():
        (oom,) = reply["ooms"]
        assert oom["capacity_bytes"] == oom["reserved_bytes"] + oom["free_bytes"], name
        assert oom["allocated_bytes"] + oom["cached_bytes"] == oom["reserved_bytes"], name
        assert Path(folder / f"{name}.pickle").exists()
