"""A Perfetto trace as tracks, read by Perfetto's own generated classes (PyPI: perfetto)."""

from collections import defaultdict
from dataclasses import dataclass, field

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

Event = proto.TrackEvent


@dataclass
class Track:
    name: str
    process: str
    is_counter: bool
    samples: list = field(default_factory=list)  # (ns, value)
    slices: list = field(default_factory=list)  # (name, begin, end or None)
    instants: list = field(default_factory=list)  # (ns, name, {annotation: value})


def read(raw):
    """[Track]. Checks what a trace has to keep for its events to be shown where they belong."""
    trace = proto.Trace.FromString(raw)
    before = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == before, "fields nobody knows"
    processes, tracks, open_slices, last = {}, {}, defaultdict(list), {}
    assert trace.packet[0].sequence_flags & proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == trace.packet[0].trusted_packet_sequence_id != 0
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.uuid not in processes and descriptor.uuid not in tracks
            if descriptor.HasField("process"):
                assert descriptor.process.pid > 0
                processes[descriptor.uuid] = descriptor.process.process_name
            else:
                is_counter = descriptor.HasField("counter")
                assert not is_counter or descriptor.counter.unit == proto.CounterDescriptor.UNIT_SIZE_BYTES
                tracks[descriptor.uuid] = Track(descriptor.name, processes[descriptor.parent_uuid], is_counter)
        elif packet.HasField("track_event"):
            event, track, now = packet.track_event, tracks[packet.track_event.track_uuid], packet.timestamp
            assert now >= last.get(event.track_uuid, 0), "a track goes back in time"
            last[event.track_uuid] = now
            assert (event.type == Event.TYPE_COUNTER) == track.is_counter
            if event.type == Event.TYPE_COUNTER:
                track.samples.append((now, event.counter_value))
            elif event.type == Event.TYPE_SLICE_BEGIN:
                open_slices[event.track_uuid].append((event.name, now))
            elif event.type == Event.TYPE_SLICE_END:
                name, begin = open_slices[event.track_uuid].pop()
                track.slices.append((name, begin, now))
            else:
                assert event.type == Event.TYPE_INSTANT
                values = {a.name: a.uint_value for a in event.debug_annotations}
                track.instants.append((now, event.name, values))
    for uuid, rest in open_slices.items():
        tracks[uuid].slices += [(name, begin, None) for name, begin in rest]
    return list(tracks.values())


def find(tracks, process, name):
    """The tracks of a process whose name begins so."""
    return [track for track in tracks if track.process == process and track.name.startswith(name)]
