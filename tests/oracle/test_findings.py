"""A reader must notice every kind of contradiction, and none in an honest trace."""

import copy
import re
from pathlib import Path

import pytest

import cli
import shapes
import truth
from compare import DEVICE_FIGURES, assert_same_report, figure_lines, finding_number_lines
from corruptions import CORRUPTIONS, honest
from findings import INFORMATIONAL
from simulate import sample_run
from test_vram import LOSSES
from writers import WRITERS

NAMES = [f"{kind}-{i}" for i, (kind, _) in enumerate(CORRUPTIONS)]


FINDINGS = Path(__file__).parents[2] / "src" / "analyze" / "findings.def"
PLANTED_ELSEWHERE = {"unknown_keys", *(kind for _, kinds in LOSSES.values() for kind in kinds)}  # below; test_vram.py


ACCOUNTS = {"no_segments", "no_rounding", "no_stacks", "left_out", "unknown_kinds", "other_processes"}  # of other programs' files: tests/unit/analyze/test_trust.c


def test_every_finding_is_planted():
    rows = set(re.findall(r'^VS_FINDING\(\w+, "(\w+)"', FINDINGS.read_text(), re.MULTILINE))
    assert rows == {kind for kind, _ in CORRUPTIONS} | PLANTED_ELSEWHERE | ACCOUNTS


def planted(kind, lie):
    """Damaged data, the finding that must be in its report, and the report by the oracle."""
    data = copy.deepcopy(honest())
    count, first_event = lie(data)
    return data, {"kind": kind, "count": count, "first_event": first_event}, truth.report_of_data(data)


def the_device(report):
    (device,) = report["devices"]
    return device


def assert_found(wanted, device, exactly):
    found = [f for f in device["trust"]["findings"] if f["kind"] == wanted["kind"]]
    assert len(found) == 1, f"expected {wanted}, got {device['trust']['findings']}"
    lines = finding_number_lines("trust", wanted, found[0]) if exactly else []
    assert not lines, "\n".join(lines)
    assert device["trust"]["complete"] is (wanted["kind"] in INFORMATIONAL), device["trust"]


def test_the_honest_trace_has_no_finding():
    device = the_device(truth.report_of_data(honest()))
    assert device["trust"] == {"complete": True, "findings": []}


@pytest.mark.parametrize(("kind", "lie"), CORRUPTIONS, ids=NAMES)
def test_the_oracle_notices(kind, lie):
    _, wanted, report = planted(kind, lie)
    assert_found(wanted, the_device(report), exactly=True)


@pytest.mark.binary
def test_the_program_believes_the_honest_trace(snapshot_file):
    data = honest()
    path = snapshot_file(WRITERS["c-4"].write(data))
    assert_same_report(truth.report_of_data(data), cli.report_of(path), "honest")


@pytest.mark.binary
@pytest.mark.parametrize(("kind", "lie"), CORRUPTIONS, ids=NAMES)
def test_the_program_notices(kind, lie, snapshot_file):
    """The planted finding must be there, and every figure as the rules say. What else follows from one lie (a range
    mapped twice also makes a curve negative) is left to the reader."""
    data, wanted, expected = planted(kind, lie)
    device = the_device(cli.report_of(snapshot_file(WRITERS["c-4"].write(data))))
    assert_found(wanted, device, exactly=True)
    lines = [
        line
        for key in DEVICE_FIGURES
        for line in figure_lines(key, the_device(expected)[key], device.get(key, "no such key"))
    ]
    assert not lines, "\n".join(lines)


@pytest.mark.binary
def test_unknown_keys_are_skipped_and_said(snapshot_file):
    data = honest()
    expected = truth.report_of_data(data)
    surprise = [{"nested": ({}, [], None, True, 1.5, "text", 2**70)}]
    for place in (data, data["segments"][0], data["segments"][0]["blocks"][0], data["device_traces"][0][0],
                  data["allocator_settings"]):
        place["key_of_tomorrow"] = surprise
    report = cli.report_of(snapshot_file(WRITERS["c-4"].write(data)))
    assert_same_report(expected, report, "unknown keys")
    assert '"unknown_keys"' in repr(report).replace("'", '"')


@pytest.mark.binary
def test_a_ring_that_wrapped_is_said_of_each_device_but_not_of_the_host(snapshot_file):
    data = shapes.build(sample_run(), "2.15")
    data["allocator_settings"]["trace_alloc_overflowed"] = True
    report = cli.report_of(snapshot_file(WRITERS["c-4"].write(data)))
    assert_same_report(truth.report_of_data(data), report, "ring wrapped")
