"""Recordings: what `vramscope` writes is read by the document alone (vram_reader.py), and comes back through it."""

import json

import pytest
import xxhash

import cli
import closed_unpickler
import shapes
import vram_reader
from conftest import NO_SNAPSHOTS, real_snapshots
from simulate import random_run, sample_run
from test_roundtrip import assert_equal_data, export, figures
from writers import WRITERS

pytestmark = pytest.mark.binary


@pytest.fixture(scope="module")
def sample():
    return sample_run()


@pytest.fixture(scope="module")
def long_run():
    """Enough for several frames."""
    return shapes.build(sample_run(steps=10000), "2.15")


def compacted(path, target):
    outcome = cli.run("compact", path, "-o", target, "--json")
    assert outcome.code == 0 and outcome.err == b"", outcome.err
    return target, json.loads(outcome.out)


def entries_of(recording, device):
    return [vram_reader.trace_entry(event) for event in recording.events if event.context.device == device]


def assert_says(recording, data):
    """All that the snapshot `data` has is in the recording."""
    for device, trace in enumerate(data["device_traces"]):
        assert_equal_data(trace, entries_of(recording, device), f"trace {device}")
    host = data.get("host_traces", [])
    flat = [entry for part in host for entry in part] if host and isinstance(host[0], list) else host
    assert_equal_data(flat, entries_of(recording, -1), "host trace")
    segments = vram_reader.segments(recording)
    on_device = [segment for segment in segments if segment["device"] >= 0]
    assert_equal_data(data["segments"], on_device, "segments")
    assert len(segments) - len(on_device) == len(data.get("host_segments", []))
    assert_equal_data(data.get("external_annotations", []), recording.annotations, "annotations")
    settings = {key: value for key, kind, depth, value in recording.settings if depth == 0 and kind != 5}
    for key, value in data.get("allocator_settings", {}).items():
        if not isinstance(value, dict):
            assert_equal_data(value, settings[key], f"settings.{key}")


def check(source, data, tmp_path):
    """There and back, as it is and compacted."""
    raw = export(source, "vram", tmp_path / "raw.vram")
    recording = vram_reader.read(raw)
    assert recording.skipped_bytes == 0 and recording.lost == 0
    assert_says(recording, data)
    path, figures_of = compacted(tmp_path / "raw.vram", tmp_path / "packed.vram")
    packed = path.read_bytes()
    again = vram_reader.read(packed)
    assert again.events == recording.events and again.states == recording.states
    assert figures_of["bytes_before"] == len(raw) and figures_of["bytes_after"] == len(packed)
    assert figures_of["frames"] == len(recording.frames)
    assert figures_of["events"] == sum(event.action != "free_completed" for event in recording.events)
    straight = export(source, "pickle", tmp_path / "straight.pickle")
    for name in ("raw", "packed"):
        back = export(tmp_path / f"{name}.vram", "pickle", tmp_path / f"{name}.pickle")
        assert_equal_data(closed_unpickler.unpickle(straight), closed_unpickler.unpickle(back), name)
        assert figures(cli.report_of(tmp_path / f"{name}.vram")) == figures(cli.report_of(tmp_path / "straight.pickle"))


@pytest.mark.parametrize("age", shapes.ROUND_TRIP_AGES)
def test_snapshots_of_each_age(age, sample, snapshot_file, tmp_path):
    data = shapes.build(sample, age)
    check(snapshot_file(WRITERS["c-4"].write(data)), data, tmp_path)


@pytest.mark.parametrize("seed", range(2000, 2004))
def test_random_runs(seed, snapshot_file, tmp_path):
    data = shapes.build(random_run(seed)[0], "2.15")
    check(snapshot_file(WRITERS["c-4"].write(data)), data, tmp_path)


def test_many_frames(long_run, snapshot_file, tmp_path):
    check(snapshot_file(WRITERS["c-4"].write(long_run)), long_run, tmp_path)
    assert len(vram_reader.read((tmp_path / "raw.vram").read_bytes()).frames) > 2


def test_the_command_line_says_the_same_events(sample, snapshot_file, tmp_path):
    data = shapes.build(sample, "2.15")
    export(snapshot_file(WRITERS["c-4"].write(data)), "vram", tmp_path / "a.vram")
    recording = vram_reader.read((tmp_path / "a.vram").read_bytes())
    for device in range(len(data["device_traces"])):
        reply = json.loads(cli.run("events", "--json", "--top", "0", "--device", device, tmp_path / "a.vram").out)
        shown = [(e["action"], e["device_free_bytes"] if e["action"] == "oom" else e["address"], e["size_bytes"], e["time_us"])
                 for e in reply["events"]]
        told = [(e.action, e.address, e.size, e.time_us) for e in recording.events if e.context.device == device]
        assert shown == told


@pytest.mark.parametrize("path", real_snapshots() or [None], ids=lambda p: p.name if p else "none")
def test_real_snapshots(path, tmp_path):
    if path is None:
        pytest.skip(NO_SNAPSHOTS)
    original = closed_unpickler.read_file(path).data
    straight = export(path, "pickle", tmp_path / "straight.pickle")
    export(path, "vram", tmp_path / "a.vram")
    compacted(tmp_path / "a.vram", tmp_path / "b.vram")
    back = export(tmp_path / "b.vram", "pickle", tmp_path / "back.pickle")
    assert back == straight or closed_unpickler.unpickle(back) == closed_unpickler.unpickle(straight)
    if "external_annotations" in original:
        assert_equal_data(original, closed_unpickler.unpickle(back), path.name)


# ---- compact


@pytest.fixture
def recording_file(long_run, snapshot_file, tmp_path):
    export(snapshot_file(WRITERS["c-4"].write(long_run)), "vram", tmp_path / "a.vram")
    return tmp_path / "a.vram"


def test_compact_in_place(recording_file):
    before = recording_file.read_bytes()
    outcome = cli.run("compact", recording_file)
    after = recording_file.read_bytes()
    assert outcome.code == 0 and len(after) < len(before) * 2 / 3
    assert outcome.out.decode().startswith(f"{recording_file}: ")
    assert "bytes each before" in outcome.out.decode()
    assert vram_reader.read(after).events == vram_reader.read(before).events
    again = cli.run("compact", recording_file, "--json")
    assert json.loads(again.out)["bytes_before"] == len(after) and recording_file.read_bytes() == after


def test_compact_refuses_what_is_no_recording(snapshot_file):
    path = snapshot_file(b"\x80\x04}.")
    cli.assert_refused(cli.run("compact", path))
    assert path.read_bytes() == b"\x80\x04}."


def test_compact_does_not_replace_another_file_unasked(recording_file, tmp_path):
    (tmp_path / "b.vram").write_bytes(b"mine")
    outcome = cli.run("compact", recording_file, "-o", tmp_path / "b.vram")
    assert outcome.code != 0 and (tmp_path / "b.vram").read_bytes() == b"mine"
    assert cli.run("compact", recording_file, "-f", "-o", tmp_path / "b.vram").code == 0


def test_damage_is_told_and_left_out(recording_file, tmp_path):
    raw = bytearray(recording_file.read_bytes())
    frames = vram_reader.read(bytes(raw)).frames
    at = sum(frame.size for frame in frames[:len(frames) // 2]) + 200
    raw[at] ^= 0x10
    recording_file.write_bytes(raw)
    path, told = compacted(recording_file, tmp_path / "b.vram")
    damaged = frames[len(frames) // 2]
    assert told["lost_frames"] == 1 and told["lost_bytes"] == damaged.size
    again = vram_reader.read(path.read_bytes())
    assert again.skipped_bytes == 0 and len(again.frames) == len(frames) - 1
    assert cli.run("report", path).code == 0


# ---- missing events are reported: these files never count as complete


def frame_offsets(raw):
    """Where each frame begins, and the end."""
    offsets = [0]
    for header in vram_reader.read(bytes(raw)).frames:
        offsets.append(offsets[-1] + header.size)
    return offsets


def with_record(raw, record):
    """`raw` with one more record at the end of its last frame."""
    at = frame_offsets(raw)[-2]
    fields = list(vram_reader.HEADER.unpack_from(raw, at))
    records = raw[at + vram_reader.HEADER.size:][:fields[6]] + record
    fields[5:8] = vram_reader.HEADER.size + len(records), len(records), len(records)
    frame = vram_reader.HEADER.pack(*fields) + records
    checksum = xxhash.xxh3_64_intdigest(frame[16:]) or 1
    return raw[:at] + frame[:8] + checksum.to_bytes(8, "little") + frame[16:]


def changed_byte(raw):
    offsets = frame_offsets(raw)
    raw = bytearray(raw)
    raw[offsets[len(offsets) // 2] + 200] ^= 0x10
    return bytes(raw)


LOSSES = {
    "unrecorded": (lambda raw: with_record(raw, b"\x10\x01\x07"), {"unrecorded_events"}),  # the record LOST: 7 events
    "stopped": (lambda raw: with_record(raw, b"\x15\x02\x01\x00"), {"stopped"}),  # the record STOPPED, without a reason
    "frame": (changed_byte, {"damaged_file"}),
    "torn": (lambda raw: raw[:-100], {"damaged_file", "not_ended"}),
    "tail": (lambda raw: raw[:frame_offsets(raw)[-2]], {"not_ended"}),
    "head": (lambda raw: raw[frame_offsets(raw)[2]:], {"ring_wrapped"}),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_missing_is_said(loss, recording_file):
    whole = cli.report_of(recording_file)
    assert all(device["trust"]["complete"] for device in whole["devices"]) and whole["file"]["recording"]["ended"]
    lose, wanted = LOSSES[loss]
    recording_file.write_bytes(lose(recording_file.read_bytes()))
    report = cli.report_of(recording_file)
    for device in [*report["devices"], *([report["host"]] if report["host"] else [])]:
        kinds = {finding["kind"] for finding in device["trust"]["findings"]}
        assert wanted <= kinds and device["trust"]["complete"] is False, device["trust"]
    assert "complete" not in cli.run("report", recording_file).out.decode()
    compacted(recording_file, recording_file.with_suffix(".packed"))
    packed = cli.report_of(recording_file.with_suffix(".packed"))
    assert not any(device["trust"]["complete"] for device in packed["devices"])


@pytest.mark.parametrize("says_so", [True, False])
def test_a_ring_of_pytorch_that_wrapped_is_not_complete(says_so, snapshot_file):
    data = shapes.build(sample_run(), "2.15")
    if says_so:
        data["allocator_settings"]["trace_alloc_overflowed"] = True
    else:
        data["device_traces"] = [trace[len(trace) // 2:] for trace in data["device_traces"]]
    path = snapshot_file(WRITERS["c-4"].write(data))
    assert not any(device["trust"]["complete"] for device in cli.report_of(path)["devices"])
    assert "complete" not in cli.run("report", path).out.decode()
