"""Writes recordings (.vram) as docs/formats/vram.md describes them: each event "as it is", nothing predicted.

    w = Writer()
    w.context(device, stream, pool); w.event("alloc", address, size, rounded, time, stack, context)
    w.lost(12, time); w.state(1, time, [SegmentState, ...]); w.finish()
"""

import xxhash

import vram_reader
from vram_reader import HEADER, KINDS, MAGIC, MASK

FRAME_RECORDS = 40_000
TAGS = {"base": 1, "string": 3, "frame": 6, "stack": 8, "context": 9, "process": 10, "lost": 16, "state_begin": 17,
        "segment": 18, "block": 19, "state_end": 20, "stopped": 21}
STATES = {"active_allocated": 0, "active_pending_free": 1, "inactive": 2}


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    return number((value << 1 ^ value >> 63) & MASK)


def numbers(*values):
    return b"".join(number(value) for value in values)


def seal(header, records):
    """A frame with these records and a checksum that fits."""
    fields = list(header)
    fields[5:8] = HEADER.size + len(records), len(records), len(records)
    frame = HEADER.pack(*fields) + records
    return frame[:8] + (xxhash.xxh3_64_intdigest(frame[16:]) or 1).to_bytes(8, "little") + frame[16:]


class Writer:
    def __init__(self):
        self.out, self.sequence, self.events_before = b"", 0, 0
        self.strings, self.frames, self.stacks = {}, {}, {}
        self.begin()
        self.record("process", numbers(7, 1, 0, 0, 0) + signed(1) + numbers(0, 1))

    # ---- frames

    def begin(self):
        self.records, self.events, self.last_time, self.last_address = bytearray(), 0, 0, 0
        self.contexts, self.sites, self.sizes = {}, {}, {}
        self.record("base", numbers(2 + len(self.strings), 2, 0, len(self.frames), 2 + len(self.stacks)))

    def end(self):
        header = (MAGIC, 0, 1, 0, 0, 0, 0, 0, 7, 0, self.sequence, self.events_before, 0, 0, self.events)
        self.out += seal(header, bytes(self.records))
        self.sequence += 1
        self.events_before += self.events

    def room(self):
        if len(self.records) > FRAME_RECORDS:
            self.end()
            self.begin()

    def finish(self):
        self.end()
        return self.out

    def record(self, tag, body):
        self.records += bytes([TAGS[tag]]) + number(len(body)) + body

    # ---- dictionaries

    def entry(self, table, first, key, tag, body):
        if key not in table:
            table[key] = first + len(table)
            self.record(tag, body)
        return table[key]

    def string(self, text):
        return 1 if text == "" else self.entry(self.strings, 2, text, "string", text.encode())

    def frame(self, name, file, line):
        body = numbers(self.string(name), self.string(file)) + signed(line)
        return self.entry(self.frames, 0, (name, file, line), "frame", body)

    def stack(self, stack):
        if stack is None or not stack.frames:
            return 0 if stack is None else 1
        ids = [self.frame(*frame) for frame in stack.frames]
        return self.entry(self.stacks, 2, stack.frames, "stack", numbers(0, len(ids), *ids))

    def context(self, device, stream, pool):
        body = signed(device) + numbers(stream, 1, *pool, 0, 0, 0, 0, 0)
        return self.entry(self.contexts, 0, (device, stream, pool), "context", body)

    # ---- events

    def event(self, device, event, rounded):
        self.room()
        stack, context = self.stack(event.stack), self.context(device, event.stream, event.pool)
        kind, site, size = KINDS.index(event.action), (stack, context), (event.size, rounded)
        body = bytes([0x20 + kind]) + number(3)
        body += self.reference(self.sites, site, numbers(stack, context))
        body += self.reference(self.sizes, size, numbers(event.size, 0) if not rounded else numbers(event.size, 2, rounded))
        body += signed(vram_reader.as_signed(event.time - self.last_time))
        self.last_time = event.time
        if event.action in ("oom", "snapshot"):
            body += number(event.address)
        else:
            distance = vram_reader.as_signed(event.address - self.last_address)
            body += number(1) + signed(distance)
            self.last_address = event.address
        self.records += body
        self.events += event.action != "free_completed"

    @staticmethod
    def reference(table, key, definition):
        if key in table:
            return number(table[key])
        table[key] = len(table)
        return number(table[key]) + definition

    # ---- losses and states

    def lost(self, total, since=None):
        self.record("lost", number(total) + (b"" if since is None else signed(since)))

    def stopped(self, reason, time):
        self.record("stopped", number(self.string(reason)) + signed(time))

    def state(self, moment, time, segments):
        self.record("state_begin", b"\x01" + signed(vram_reader.as_signed(time - self.last_time)) + number(moment))
        self.last_time = time
        for segment in segments:
            self.room()
            self.segment(segment)
            for block in segment.blocks:
                self.block(block)
        self.record("state_end", b"")

    def state_stack(self, stack):
        return self.stack(stack) or 1

    def segment(self, segment):
        kind, stack = self.string(segment.kind), self.state_stack(segment.stack)
        flags = 8 | 16 | 32 * segment.expandable
        body = signed(segment.device) + numbers(segment.address, segment.size, flags, 0, 0, 0, segment.stream, *segment.pool)
        self.record("segment", body + numbers(kind, stack, 0) + signed(0))

    def block(self, block):
        stack = self.state_stack(block.stack)
        self.record("block", numbers(STATES[block.state], block.address, block.size, block.requested, stack, 0, 0))
