"""Any bytes: an answer or one clear refusal. Never a crash, a hang, much memory, or code that is not ours."""

import pickletools
import random
import re

import pytest

import cli
import hostile
from corruptions import honest
from writers import WRITERS, json_text

pytestmark = pytest.mark.binary

FLIPS_PER_WRITER = 150
TOGETHER = 64  # files that one process reads, one after the other


@pytest.fixture
def trap(tmp_path):
    """A shell command that creates a file, and the check that it was not executed."""
    marker = tmp_path / "executed"
    yield f"touch '{marker}'"
    assert not marker.exists(), "the file was obeyed"


@pytest.mark.parametrize("index", range(13))
def test_opcodes_that_call_are_refused_by_name(index, trap, snapshot_file):
    opcode, raw, offset, asked = list(hostile.callers(trap))[index]
    assert any(op.name == opcode and at == offset for op, _, at in pickletools.genops(raw))
    outcome = cli.run("report", "--json", snapshot_file(raw))
    cli.assert_refused(outcome, opcode)
    line = outcome.err.decode()
    assert re.search(rf"\b{opcode}\b", line), line
    for name in asked:
        assert name in line, line
    assert re.search(rf"\b{offset}\b", line), f"byte offset {offset} is not in: {line}"


def test_real_exploits_are_refused(trap, snapshot_file):
    for i, (protocol, raw) in enumerate(hostile.exploits(trap)):
        cli.assert_refused(cli.run("report", "--json", snapshot_file(raw), anew=True), f"exploit {i}, protocol {protocol}")


def test_names_from_the_file_are_escaped_and_cut(snapshot_file):
    for name in (b"evil\x1b[2J\x07\x7f", b"\xff\xfe\x80", b"long" * 10_000, "schön\u202e".encode()):
        raw = hostile.P2 + b"c" + name + b"\n" + name + b"\n)Rs."
        outcome = cli.run("report", "--json", snapshot_file(raw))
        cli.assert_refused(outcome, repr(name[:20]))
        assert b"GLOBAL" in outcome.err


REFUSED = dict(hostile.refused_bytes())
SURVIVED = dict(hostile.survived_bytes())


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_snapshot_is_refused(name, snapshot_file):
    outcome = cli.run("report", "--json", snapshot_file(REFUSED[name]))
    cli.assert_refused(outcome, name)
    cli.assert_frugal(outcome, name)


@pytest.mark.parametrize("name", SURVIVED)
def test_strange_data_does_no_harm(name, snapshot_file):
    outcome = cli.run("report", "--json", snapshot_file(SURVIVED[name]))
    cli.assert_survived(outcome, name)
    cli.assert_frugal(outcome, name)


def small_snapshot():
    """The honest trace with short stacks: a file of about two kilobytes."""
    data = honest()
    for entry in data["device_traces"][0]:
        entry.pop("frames", None)
    for segment in data["segments"]:
        segment["frames"] = []
        for block in segment["blocks"]:
            block["frames"] = []
    return data


@pytest.fixture
def outcomes(snapshot_file):
    """Yields (what, the outcome of a report) for many (what, bytes). The first of each group has a process of its own, too, and
    the same outcome there."""

    def run(files):
        files = list(files)
        for at in range(0, len(files), TOGETHER):
            group = files[at : at + TOGETHER]
            paths = [snapshot_file(raw, f"snapshot{i}.bin") for i, (_, raw) in enumerate(group)]
            found = cli.run_each("report", "--json", paths=paths)
            alone = cli.run("report", "--json", paths[0])
            assert (alone.code, alone.out, alone.err) == (found[0].code, found[0].out, found[0].err), group[0][0]
            yield from zip((what for what, _ in group), found, strict=True)

    return run


@pytest.mark.parametrize(("writer", "step"), [("c-4", 1), ("c-0", 7), ("cpp", 7), ("json", 7), ("c-4.gz", 3)])
def test_every_truncation_is_refused(writer, step, outcomes):
    raw = WRITERS[writer].write(small_snapshot())
    lengths = range(0, len(raw), step)
    for what, outcome in outcomes((f"{writer} cut to {length} of {len(raw)} bytes", raw[:length]) for length in lengths):
        cli.assert_refused(outcome, what)


@pytest.mark.parametrize("writer", ["c-4", "c-2", "c-0", "cpp", "json"])
def test_flipped_bytes_do_no_harm(writer, outcomes):
    raw = WRITERS[writer].write(small_snapshot())
    rng = random.Random(writer)

    def damaged():
        flipped = bytearray(raw)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            flipped[rng.randrange(len(raw))] = rng.randrange(256)
        return f"{writer}, {bytes(flipped)!r}", bytes(flipped)

    for what, outcome in outcomes(damaged() for _ in range(FLIPS_PER_WRITER)):
        cli.assert_survived(outcome, what)


def test_a_refusal_names_a_byte_offset(snapshot_file):
    raw = WRITERS["c-4"].write(small_snapshot())
    for damaged in (raw[: len(raw) // 2], json_text(small_snapshot())[:500], raw[:100] + b"\x99" + raw[101:]):
        outcome = cli.run("report", "--json", snapshot_file(damaged))
        cli.assert_survived(outcome)
        if outcome.code:
            assert re.search(rb"\d", outcome.err.split(b": ", 1)[-1]), outcome.err


def test_usage_and_missing_files(tmp_path):
    """Each of these loads the program for itself, as a shell does."""
    assert cli.run("report", "--json", anew=True).code == 2
    assert cli.run("report", "--no-such-option", "-", anew=True).code == 2
    assert cli.run("no-such-command", anew=True).code == 2
    cli.assert_refused(cli.run("report", "--json", tmp_path / "absent.pickle", anew=True), "missing file")
    cli.assert_refused(cli.run("report", "--json", tmp_path / "a\x1b[1m\nb", anew=True), "a missing file with a rude name")
    cli.assert_refused(cli.run("report", "--json", tmp_path / ("long/" * 300), anew=True), "a path of 1500 bytes")
    cli.assert_refused(cli.run("report", "--json", tmp_path, anew=True), "a folder")
