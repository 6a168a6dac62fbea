"""What the commands say about small snapshots, word for word."""

import json
import re

import pytest

import conftest as make

REPORTS = (
    "training",
    "out_of_memory",
    "in_pieces",
    "late",
    "end_only",
    "stackless",
    "two_gpus",
    "one_of_three_fails",
    "nothing",
    "hostile_names",
)


@pytest.fixture
def snapshots(folder):
    for name, build in make.SNAPSHOTS.items():
        make.write(folder / f"{name}.pickle", build())
    return folder


def is_next(line):
    """A command to type next, which is as long as it is."""
    return line.startswith(("Next:", "      vramscope "))


@pytest.mark.parametrize("name", REPORTS)
def test_report(vramscope, snapshots, golden, name):
    done = vramscope("report", f"{name}.pickle")
    assert done.code == 0 and done.err == ""
    golden(f"report_{name}", done.out)
    lines = done.out.splitlines()
    assert len(lines) <= 24, "a report fits on a screen"
    assert all(len(line) <= 80 or is_next(line) for line in lines)


@pytest.mark.parametrize("name", ("out_of_memory", "in_pieces", "one_of_three_fails", "training", "end_only"))
def test_oom(vramscope, snapshots, golden, name):
    done = vramscope("oom", f"{name}.pickle")
    assert done.code == 0 and done.err == ""
    golden(f"oom_{name}", done.out)
    lines = done.out.splitlines()
    assert len(lines) <= 40, "a post-mortem fits on a screen"
    assert all(len(line) <= 80 or is_next(line) for line in lines)


def test_oom_commands_run(vramscope, snapshots):
    import shlex

    commands = [line.removeprefix("Next: ").strip() for line in vramscope("oom", "out_of_memory.pickle").out.splitlines() if is_next(line)]
    assert len(commands) >= 2
    for command in commands:
        if " view " not in command:
            assert vramscope(*shlex.split(command, comments=True)[1:]).code == 0


@pytest.mark.parametrize(
    "name, args",
    (
        ("tree", ["tree", "training.pickle"]),
        ("tree_end", ["tree", "--at", "end", "training.pickle"]),
        ("tree_filter", ["tree", "--filter", "attention", "training.pickle"]),
        ("tree_top", ["tree", "--top", "3", "training.pickle"]),
        ("blocks", ["blocks", "--top", "6", "training.pickle"]),
        ("blocks_no_trace", ["blocks", "--top", "3", "stackless.pickle"]),
        ("blocks_by_line", ["blocks", "--at", "peak", "--by", "line", "training.pickle"]),
        ("blocks_by_stack", ["blocks", "--at", "peak", "--by", "stack", "--top", "3", "training.pickle"]),
        ("blocks_by_size", ["blocks", "--at", "peak", "--by", "size", "training.pickle"]),
        ("events", ["events", "--top", "12", "training.pickle"]),
        ("events_peak", ["events", "--at", "peak", "--top", "8", "training.pickle"]),
        ("events_filter", ["events", "--filter", "action=alloc size<4MiB", "training.pickle"]),
        ("events_no_trace", ["events", "end_only.pickle"]),
        ("stats", ["stats", "training.pickle"]),
        ("report_host", ["report", "--device", "host", "two_gpus.pickle"]),
        ("report_bytes", ["report", "--bytes", "training.pickle"]),
        ("report_si", ["report", "--si", "--quiet", "training.pickle"]),
        ("report_colours", ["report", "--color", "always", "out_of_memory.pickle"]),
    ),
)
def test_answer(vramscope, snapshots, golden, name, args):
    done = vramscope(*args)
    assert done.code == 0 and done.err == ""
    golden(name, done.out)
    assert not [line for line in done.out.splitlines() if line.endswith(" ")]


def test_plain_terminals_get_ascii(vramscope, snapshots, golden):
    out = "".join(vramscope(*args, env={"LC_ALL": "C"}).out for args in (["report", "training.pickle"], ["tree", "training.pickle"]))
    assert out.isascii()
    golden("ascii", out)


@pytest.mark.parametrize("columns", (40, 60, 100, 160))
def test_width(vramscope, snapshots, columns):
    for args in (["report"], ["tree"], ["blocks", "--by", "line"]):
        out = vramscope(*args, "training.pickle", env={"COLUMNS": str(columns)}).out
        wide = [line for line in out.splitlines() if len(line) > max(columns, 64) and not is_next(line)]
        assert not wide


# Names out of a file must not reach the terminal as they are.


@pytest.mark.parametrize("command", (["report"], ["tree"], ["blocks"], ["blocks", "--by", "stack"], ["events"], ["stats"]))
def test_hostile_names_are_shown_escaped(vramscope, snapshots, command):
    out = vramscope(*command, "hostile_names.pickle").out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out)
    assert not any(0xDC80 <= ord(char) <= 0xDCFF for char in out)


def test_next_command_can_be_typed(vramscope, folder):
    name = "it's a file; rm -rf.pickle"
    make.write(folder / name, make.training())
    line, view = vramscope("report", name).out.splitlines()[-2:]
    assert line.startswith("Next: vramscope tree --at end 'it'\\''s a file; rm -rf.pickle'")
    assert view.startswith("      vramscope view 'it'\\''s a file; rm -rf.pickle'")


@pytest.mark.parametrize("name", REPORTS)
def test_next_commands_run(vramscope, snapshots, name):
    import shlex

    for line in vramscope("report", f"{name}.pickle").out.splitlines():
        if line.startswith("Next: "):
            command = shlex.split(line.removeprefix("Next: "), comments=True)
            assert vramscope(*command[1:]).code == 0


# Colours


def test_colours(vramscope, snapshots):
    coloured = vramscope("report", "--color", "always", "training.pickle").out
    plain = vramscope("report", "training.pickle").out
    assert "\x1b[" in coloured and "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert vramscope("report", "--color", "never", "training.pickle").out == plain
    assert vramscope("report", "--color", "always", "training.pickle", env={"NO_COLOR": "1"}).out == coloured


# JSON: the engine's reply, as it is


@pytest.mark.parametrize(
    "args, method",
    (
        (["report"], "report"),
        (["stats"], "stats"),
        (["tree", "--at", "end"], "tree"),
        (["blocks"], "blocks"),
        (["blocks", "--by", "line"], "live"),
        (["events"], "events"),
        (["events", "--at", "peak"], "events"),
        (["doctor"], "doctor"),
    ),
)
def test_json(vramscope, snapshots, args, method):
    done = vramscope(*args, "--json", "two_gpus.pickle")
    assert done.code == 0 and done.err == "" and done.out.endswith("}\n") and done.out.count("\n") == 1
    reply = json.loads(done.out)
    assert reply["schema"] == 1 and reply["method"] == method


def test_json_takes_the_options(vramscope, snapshots):
    reply = json.loads(vramscope("report", "--json", "--device", "1", "--top", "1", "two_gpus.pickle").out)
    assert [device["device"] for device in reply["devices"]] == [1]
    reply = json.loads(vramscope("blocks", "--json", "--at", "peak", "--top", "2", "training.pickle").out)
    assert len(reply["blocks"]) == 2 and reply["count"] > 2
    reply = json.loads(vramscope("report", "--json", "--device", "host", "two_gpus.pickle").out)
    assert reply["devices"] == [] and reply["host"]["device"] == -1


def test_the_default_gpu_is_one(vramscope, snapshots):
    """Every command, and `--at oom`, shows the GPU that ran out of memory; without such a one that with the highest peak."""

    def device_of(name, command, *options):
        return json.loads(vramscope(command, "--json", *options, name).out)["device"]

    for command in ("tree", "blocks", "events", "stats"):
        assert device_of("one_of_three_fails.pickle", command) == 2
        assert device_of("two_gpus.pickle", command) == 0
    for command in ("tree", "blocks", "events"):
        assert device_of("one_of_three_fails.pickle", command, "--at", "oom") == 2
    assert json.loads(vramscope("report", "--json", "one_of_three_fails.pickle").out)["busiest"] == 2
    done = vramscope("tree", "--at", "oom", "--device", "0", "one_of_three_fails.pickle")
    assert done.code != 0 and "GPU 0 has no out-of-memory error; GPU 2 has one" in done.err


def test_events_around_a_moment(vramscope, snapshots):
    reply = json.loads(vramscope("events", "--json", "--at", "50", "--top", "7", "training.pickle").out)
    assert [event["event"] for event in reply["events"]] == list(range(47, 54))
    reply = json.loads(vramscope("events", "--json", "--at", "1", "--top", "4", "training.pickle").out)
    assert [event["event"] for event in reply["events"]] == [0, 1, 2, 3]


def test_seconds_of_events(vramscope, folder):
    """To the microsecond, with the zeros of the fraction."""
    device = make.Device()
    device.alloc(make.MiB, make.WEIGHTS)
    for event, after_us in zip(device.events, (0, 3_000_042), strict=True):
        event["time_us"] = make.START_US + after_us
    make.write(folder / "times.pickle", make.snapshot(device))
    rows = vramscope("events", "times.pickle").out.splitlines()
    assert any("0.000000" in row for row in rows) and any("3.000042" in row for row in rows), rows


def test_stats_blocks_of_a_pool(vramscope, folder):
    """The blocks of a pool are those that are allocated and those that wait for a stream."""
    device = make.Device()
    blocks = [device.alloc(2 * make.MiB, make.WEIGHTS) for _ in range(3)]
    blocks[1]["state"] = "active_pending_free"
    make.write(folder / "pending.pickle", make.snapshot(device))
    done = vramscope("stats", "pending.pickle")
    rows = [row.split() for row in done.out.splitlines() if row.split()[:1] == ["default"]]
    assert rows and all(row[-2:] == ["3", "3"] for row in rows), done.out


@pytest.mark.parametrize("command", ("blocks", "events", "tree"))
def test_top_0_is_all(vramscope, snapshots, command):
    everything, one = (vramscope(command, "training.pickle", "--top", top).out for top in ("0", "1"))
    assert len(everything.splitlines()) > len(one.splitlines())
    assert everything == vramscope(command, "training.pickle", "--top", "1000000").out


def test_doctor(vramscope, folder):
    done = vramscope("doctor", "snapshot.pickle")
    assert done.code == 0 and "this file" in done.out and "1 GPU" in done.out
    assert vramscope("doctor", "nowhere.pickle").code == 3
