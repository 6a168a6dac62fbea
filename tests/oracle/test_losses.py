"""Recordings that lost events: what is before a gap and after the state that follows it is as if nothing were missing, what is
missing is reported, and damaged files of this kind do no harm."""

import json
import os
import random

import pytest

import cli
import losses
import shapes
import truth
import vram_reader
from compare import DEVICE_FIGURES, figure_lines
from vram_reader import HEADER
from vram_writer import seal

pytestmark = pytest.mark.binary

RUNS = int(os.environ.get("VRAMSCOPE_PROPERTY_RUNS", "150")) // 5
BLOCK_EVENTS = {"alloc", "free_requested", "free_completed"}


def write(path, raw):
    path.write_bytes(raw)
    return path


def told(path, device):
    reply = json.loads(cli.run("events", "--json", "--top", "0", "--device", device, path).out)
    return [(e["action"], e["device_free_bytes"] if e["action"] == "oom" else e["address"], e["size_bytes"], e["time_us"])
            for e in reply["events"]]


def in_order(events):
    """Segments that changed in a gap may come in any order: they are sorted here."""
    result, run = [], []
    for event in [*events, None]:
        if event is not None and event[0].startswith("segment") and (not run or run[-1][3] == event[3]):
            run.append(event)
            continue
        result += sorted(run, key=lambda e: (e[0] in ("segment_alloc", "segment_map"), e))
        run = []
        if event is not None and event[0].startswith("segment"):
            run = [event]
        elif event is not None:
            result.append(event)
    return result


def findings_of(device):
    return {finding["kind"]: finding for finding in device["trust"]["findings"]}


@pytest.mark.parametrize("seed", range(RUNS))
def test_before_and_after_a_gap_nothing_is_missing(seed, tmp_path):
    run = losses.lossy_run(seed)
    path = write(tmp_path / "a.vram", losses.write(run))
    made, before = losses.expected(run)
    read = vram_reader.read(path.read_bytes())
    assert len(read.events) == len(run.log) - run.lost and read.lost == run.lost  # the writer and the document agree
    report = cli.report_of(path)
    wanted = truth.report_of_data(shapes.build(made, "2.15"))
    assert report["busiest"] == wanted["busiest"]
    for device, expected in zip(report["devices"], wanted["devices"], strict=True):
        number = device["device"]
        events = [(e.action, e.address, e.size, e.time) for e in made.devices[number].events]
        assert in_order(told(path, number)) == in_order(events)
        lines = [line for key in DEVICE_FIGURES for line in figure_lines(key, expected[key], device[key])]
        assert not lines, "\n".join(lines)
        check_trust(run, device, expected, before[number])
    gaps = report["file"]["recording"]["gaps"]
    assert [(gap["cause"], gap["events"], gap["from_us"], gap["to_us"]) for gap in gaps] == [
        ("unrecorded", gap.end - gap.first, run.log[gap.first][1].time, gap.time) for gap in run.gaps]


def check_trust(run, device, expected, before):
    found = findings_of(device)
    wanted = {finding["kind"] for finding in expected["trust"]["findings"]} - {"no_trace"}
    if not run.gaps:
        assert device["trust"]["complete"] is expected["trust"]["complete"]
        return
    assert device["trust"]["complete"] is False
    assert found.keys() - {"no_trace"} == wanted | {"unrecorded_events"}
    loss = found["unrecorded_events"]
    events = device["trace"]["events"]
    assert loss["count"] == run.lost and loss["first_event"] == (min(before, events - 1) if events else None)
    assert f"{run.lost:,} event" in loss["sentence"] and "could not keep up; the rest is exact" in loss["sentence"]


def test_the_rest_of_a_recording_equals_the_recording_without_losses(tmp_path):
    """From the last state on, figures of the two are equal, moment by moment."""
    compared = 0
    for seed in range(100, 112):
        run = losses.lossy_run(seed, gaps=1)
        whole = losses.Lossy(run.log, run.devices, [], run.end)
        lossy, complete = (write(tmp_path / name, losses.write(r)) for name, r in (("a.vram", run), ("b.vram", whole)))
        for device in range(run.devices):
            mine, theirs = told(lossy, device), told(complete, device)
            rest = sum(entry[0] == device for entry in run.log[run.gaps[0].end:]) if run.gaps else len(mine)
            assert mine[len(mine) - rest:] == theirs[len(theirs) - rest:]
            for back in sorted({0, rest // 2, rest - 1}) if rest else ():
                at = [cli.run("blocks", "--json", "--top", "0", "--device", device, "--at", str(len(e) - 1 - back), path)
                      for e, path in ((mine, lossy), (theirs, complete))]
                rows = [[(b["address"], b["size_bytes"]) for b in json.loads(a.out)["blocks"]] for a in at]
                assert sorted(rows[0]) == sorted(rows[1])
                compared += len(rows[0])
    assert compared > 100


def test_a_process_that_was_killed_within_a_gap(tmp_path):
    run = losses.lossy_run(7, gaps=1)
    path = write(tmp_path / "a.vram", losses.write(run, states=False))
    traces, before = losses.expected(run, states=False)
    report = cli.report_of(path)
    for device in report["devices"]:
        number = device["device"]
        assert told(path, number) == [(e.action, e.address, e.size, e.time) for e in traces[number]]
        found = findings_of(device)
        assert found["unrecorded_events"]["count"] == run.lost and not device["trust"]["complete"]
        assert "the rest is exact" not in found["unrecorded_events"]["sentence"]
        assert " on: the recorder could not keep up" in found["unrecorded_events"]["sentence"]
        assert "not_ended" in found


def test_a_full_disk(tmp_path):
    run = losses.lossy_run(5, gaps=1)
    w = losses.Writer()
    for entry in run.log[:50]:
        w.event(*entry)
    w.stopped("No space left on device", run.log[50][1].time)
    w.lost(1234, run.log[50][1].time)
    path = write(tmp_path / "a.vram", w.finish())
    report = cli.report_of(path)
    assert report["file"]["recording"]["stopped"] == "No space left on device"
    for device in report["devices"]:
        found = findings_of(device)
        assert found["stopped"]["count"] == 1234 and "unrecorded_events" not in found and "not_ended" not in found
        sentence = found["stopped"]["sentence"]
        assert "No space left on device; at least 1,234 later events are missing" in sentence
    shown = " ".join(cli.run("report", path).out.decode().split())
    assert "partial: the recorder stopped after" in shown


def lost_of(path):
    """What is said of losses, which is the same of each device."""
    done = cli.run("query", path, "report")
    assert done.code == 0, done.err
    devices = json.loads(done.out)["devices"]
    kinds = ("damaged_file", "unrecorded_events", "stopped", "not_ended", "ring_wrapped")
    (said,) = {tuple((kind, found["count"]) for kind, found in findings_of(device).items() if kind in kinds) for device in devices}
    assert devices and not any(device["trust"]["complete"] for device in devices)
    return said


@pytest.mark.parametrize("form", ("pickle", "json", "vram"))
def test_an_export_says_what_the_recording_lost(tmp_path, form):
    """Also an export of the export."""
    for seed in (3, 8):
        path = write(tmp_path / "a.vram", losses.write(losses.lossy_run(seed)))
        said = lost_of(path)
        assert said
        for generation in range(2):
            copy = tmp_path / f"{seed}{generation}.{form}"
            done = cli.run("export", path, form, "-o", copy)
            assert done.code == 0, done.err
            assert lost_of(copy) == said
            path = copy


def test_compacting_keeps_what_is_said_of_losses(tmp_path):
    for seed in range(4):
        path = write(tmp_path / "a.vram", losses.write(losses.lossy_run(seed)))
        before = cli.report_of(path)
        assert cli.run("compact", path).code == 0
        after = cli.report_of(path)
        assert after["devices"] == before["devices"]
        assert after["file"]["recording"]["gaps"] == before["file"]["recording"]["gaps"]


# ---- damage


def frames_of(raw):
    at, frames = 0, []
    for header in vram_reader.read(raw).frames:
        frames.append((at, HEADER.unpack_from(raw, at), raw[at + HEADER.size:at + header.size]))
        at += header.size
    return frames


def shares(value):
    """All shares of a reply, wherever they are."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.startswith("share") and isinstance(inner, (int, float)):
                yield inner
            elif key == "percent" and isinstance(inner, str) and inner:
                yield float(inner.strip("<>%≈ ")) / 100
            else:
                yield from shares(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from shares(inner)


def check_damaged(raws, tmp_path, is_incomplete):
    paths = [write(tmp_path / f"{i}.vram", raw) for i, raw in enumerate(raws)]
    for command in (["report", "--json"], ["blocks", "--json"]):
        for path, outcome in zip(paths, cli.run_each(*command, paths=paths), strict=True):
            cli.assert_survived(outcome, path.name)
            if outcome.code != 0:
                continue
            reply = json.loads(outcome.out)
            assert all(0 <= share <= 1 for share in shares(reply)), path.name
            for device in reply.get("devices", ()):
                assert not is_incomplete or device["trust"]["complete"] is False, path.name


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_with_losses(seed, tmp_path):
    """Cut anywhere, or with changed bytes that the checksums find: never complete."""
    rng, raw = random.Random(seed), losses.write(losses.lossy_run(40 + seed, steps=60))
    raws = [raw[:rng.randrange(200, len(raw))] for _ in range(20)]
    for _ in range(30):
        changed = bytearray(raw)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        raws.append(bytes(changed))
    check_damaged(raws, tmp_path, is_incomplete=True)


@pytest.mark.parametrize("seed", range(3))
def test_lies_with_right_checksums(seed, tmp_path):
    """Records that were changed before they were summed: states that overlap, losses that shrink, blocks without segments."""
    rng, raw, raws = random.Random(100 + seed), losses.write(losses.lossy_run(60 + seed, steps=60)), []
    frames = frames_of(raw)
    for _ in range(60):
        number = rng.randrange(len(frames))
        changed = bytearray(frames[number][2])
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(changed))
            changed[at] = rng.choice((rng.randrange(256), changed[at] ^ 1 << rng.randrange(8), 0x80, 17, 20, 16))
        frame = seal(frames[number][1], bytes(changed))
        raws.append(b"".join(frame if i == number else raw[f[0]:f[0] + f[1][5]] for i, f in enumerate(frames)))
    check_damaged(raws, tmp_path, is_incomplete=False)
