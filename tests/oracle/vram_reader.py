"""Recordings (.vram), read by what docs/formats/vram.md says and by nothing else.

`read(data)` gives a Recording: what was in the file, in plain values. It is strict: what the document does not allow is an
Error, except damage, which is skipped as it tells.
"""

import struct
import zlib
from dataclasses import dataclass, field

import xxhash

MAGIC = b"\x89VRAM\r\n\x1a"
HEADER = struct.Struct("<8sQHBBIIIIIQQqQQ")
MASK = (1 << 64) - 1
KINDS = ["alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom",
         "snapshot", "annotate"]
ALLOC, FREE_REQUESTED, FREE_COMPLETED, OOM, SNAPSHOT, NAMED = 0, 1, 2, 7, 8, 10


class Error(Exception):
    pass


@dataclass
class Header:
    checksum: int
    version: int
    packing: int
    size: int
    stored: int
    plain: int
    process: int
    flags: int
    sequence: int
    events_before: int
    base_time: int
    base_address: int
    events: int


@dataclass
class Context:
    device: int
    stream: int
    pool: tuple | None
    thread: int
    compile_context: str | None
    user_metadata: str | None
    category: str | None
    forward_frames: list | None


@dataclass
class Event:
    action: str
    address: int | None
    size: int
    rounded: int
    time_us: int | None
    stack: list | None
    context: Context


@dataclass
class Recording:
    frames: list = field(default_factory=list)
    events: list = field(default_factory=list)
    settings: list = field(default_factory=list)
    annotations: list = field(default_factory=list)
    processes: list = field(default_factory=list)
    devices: list = field(default_factory=list)
    threads: list = field(default_factory=list)
    states: list = field(default_factory=list)  # (moment, time, [(segment, [block, ...]), ...])
    shape: tuple | None = None
    lost: int = 0
    losses: list = field(default_factory=list)  # (events before it, all lost so far, time of the first new one)
    stopped: tuple | None = None  # (events before it, reason, time)
    skipped_bytes: int = 0


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def byte(self):
        if self.at >= len(self.data):
            raise Error("a record ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count):
        if count > self.left():
            raise Error("a record ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > MASK:
                    raise Error("a number of more than 64 bits")
                return value
        raise Error("a number of more than 64 bits")

    def signed(self):
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def truth(self):
        value = self.number()
        if value > 1:
            raise Error("neither true nor false")
        return value == 1


def as_signed(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


class Reader:
    """One pass over the frames; the dictionaries last as long as the file, the model as long as a frame."""

    def __init__(self):
        self.recording = Recording()
        self.strings, self.texts = {0: None, 1: ""}, {0: None, 1: []}
        self.modules, self.frames, self.stacks = {}, {}, {0: None, 1: []}
        self.dictionaries = [self.strings, self.texts, self.modules, self.frames, self.stacks]
        self.next = [2, 2, 0, 0, 2]

    # ---- frames

    def read(self, data):
        at = 0
        while at < len(data):
            size = self.frame(data, at)
            if size is None:
                following = data.find(MAGIC, at + 1)
                end = following if following >= 0 else len(data)
                if following >= 0 or any(data[at:]):
                    self.recording.skipped_bytes += end - at
                size = end - at
            at += size
        return self.recording

    def frame(self, data, at):
        """The size of the frame at `at`, None if there is none."""
        if data[at:at + 8] != MAGIC or len(data) - at < HEADER.size:
            return None
        values = HEADER.unpack_from(data, at)
        header = Header(*values[1:4], *values[5:])
        if header.checksum == 0:
            records = data[at + HEADER.size:at + header.size]
        else:
            stored = data[at + HEADER.size:at + HEADER.size + header.stored]
            if len(stored) < header.stored or header.stored + HEADER.size > header.size:
                return None
            total = xxhash.xxh3_64_intdigest(data[at + 16:at + HEADER.size + header.stored])
            if (total or 1) != header.checksum:
                return None
            if header.version != 1:
                raise Error(f"version {header.version}")
            records = stored if header.packing == 0 else zlib.decompress(stored, -15)
            if len(records) != header.plain:
                raise Error("the frame does not inflate to what it says")
        self.recording.frames.append(header)
        counted = self.records(Bytes(records), header)
        if header.checksum and counted != header.events:
            raise Error(f"{counted} events in a frame of {header.events}")
        return header.size

    # ---- records

    def records(self, rest, header):
        self.time, self.address, self.end = header.base_time, header.base_address, header.base_address
        self.contexts, self.sites, self.sizes, self.blocks = [], [], [], []
        self.follows, self.site_sizes, self.freed = {}, {}, {}
        self.site, self.last_freed, self.freeing, self.counted = None, None, None, 0
        self.last_completed, self.free_sites = None, {}
        self.stack_before = []
        while rest.left() and rest.data[rest.at] != 0:
            first = rest.byte()
            if first >= 0x20:
                self.event(first, rest)
                continue
            body = Bytes(rest.take(rest.number()))
            self.freeing = None
            handler = self.HANDLERS.get(first)
            if handler is not None:
                handler(self, body)
        return self.counted

    def base(self, body):
        self.next = [body.number() for _ in range(5)]

    def checkpoint(self, body):
        self.next = [2, 2, 0, 0, 2]

    def entry(self, dictionary, value):
        number = self.next[dictionary]
        self.next[dictionary] += 1
        self.dictionaries[dictionary][number] = value

    def string_of(self, body):
        return self.strings.get(body.number())

    def string(self, body):
        self.entry(0, body.data.decode("utf-8", "surrogateescape") if not has_surrogates(body.data)
                   else body.data.decode("utf-8", "surrogatepass"))

    def list_of_texts(self, body):
        self.entry(1, [self.string_of(body) for _ in range(body.number())])

    def module(self, body):
        self.entry(2, (self.string_of(body), self.string_of(body), body.number(), body.number()))

    def named_frame(self, body):
        frame = {"name": self.string_of(body), "filename": self.string_of(body), "line": body.signed()}
        if body.left():
            for key in ("fx_node_op", "fx_node_name", "fx_node_target", "fx_original_trace"):
                text = self.string_of(body)
                if text is not None:
                    frame[key] = text
        self.entry(3, frame)

    def native_frame(self, body):
        module, offset = self.modules.get(body.number()), body.number()
        path = "" if module is None or module[0] is None else module[0]
        self.entry(3, {"name": f"{path.rsplit('/', 1)[-1]}+{offset:#x}", "filename": path, "line": offset})

    def stack(self, body):
        shared, count = body.number(), body.number()
        if shared > len(self.stack_before):
            raise Error("a stack shares more frames than there are")
        numbers = [body.number() for _ in range(count)] + self.stack_before[len(self.stack_before) - shared:]
        self.stack_before = numbers
        self.entry(4, [self.frames[number] for number in numbers if number in self.frames])

    def context(self, body):
        device, stream, has_pool, a, b = body.signed(), body.number(), body.truth(), body.number(), body.number()
        self.contexts.append(Context(device, stream, (a, b) if has_pool else None, body.number(), self.string_of(body),
                                     self.string_of(body), self.string_of(body), self.texts.get(body.number())))

    def process(self, body):
        self.recording.processes.append(
            {"pid": body.number(), "parent": body.number(), "host": self.string_of(body), "program": self.string_of(body),
             "writer": self.string_of(body), "wall_us": body.signed(), "monotonic_ns": body.number(),
             "simulated": body.truth()})

    def device(self, body):
        self.recording.devices.append((body.signed(), self.string_of(body), body.number()))

    def thread(self, body):
        self.recording.threads.append((body.number(), self.string_of(body)))

    def setting(self, body):
        key, kind, depth = self.string_of(body), body.number(), body.number()
        value = {0: body.number, 1: body.truth, 2: body.signed, 3: body.number, 4: lambda: self.string_of(body),
                 5: body.number}[kind]()
        if kind == 0:
            value = None
        if kind == 3:
            value = struct.unpack("<d", struct.pack("<Q", value))[0]
        self.recording.settings.append((key, kind, depth, value))

    def shape(self, body):
        self.recording.shape = (body.number(), body.number(), body.truth())

    def later(self, body):
        if not body.truth():
            return None
        self.time = as_signed(self.time + body.signed())
        return self.time

    def annotation(self, body):
        time, device, _, name, stage = (self.later(body), body.signed(), body.number(), self.string_of(body),
                                        self.string_of(body))
        self.recording.annotations.append({"name": name, "stage": stage, "device": device, "time_us": time})

    def lost(self, body):
        self.recording.lost = body.number()
        since = body.signed() if body.left() else None
        self.recording.losses.append((len(self.recording.events), self.recording.lost, since))

    def stopped(self, body):
        self.recording.stopped = (len(self.recording.events), self.string_of(body), body.signed())

    def state_begin(self, body):
        time = self.later(body)
        self.state = (body.number(), time, [])

    def segment(self, body):
        device, address, size, flags = body.signed(), body.number(), body.number(), body.number()
        sums, stream, a, b = [body.number() for _ in range(3)], body.number(), body.number(), body.number()
        segment = {"device": device, "address": address, "total_size": size, "stream": stream}
        for bit, key, value in zip((1, 2, 4), ("allocated_size", "active_size", "requested_size"), sums):
            if flags & bit:
                segment[key] = value
        if flags & 16:
            segment["segment_pool_id"] = (a, b)
        if flags & 8:
            segment["is_expandable"] = bool(flags & 32)
        segment["segment_type"] = self.string_of(body)
        segment["frames"] = self.stacks.get(body.number())
        segment["forward_frames"] = self.texts.get(body.number())
        counter = body.signed()
        if flags & 64:
            segment["registration_counter"] = counter
        self.state[2].append(({key: value for key, value in segment.items() if value is not None}, []))

    def block(self, body):
        flags = body.number()
        block = {"address": body.number(), "size": body.number(), "requested_size": body.number()}
        frames, forward, name = self.stacks.get(body.number()), self.texts.get(body.number()), self.string_of(body)
        block["state"] = ("active_allocated", "active_pending_free", "inactive", name)[flags & 3]
        block["frames"] = frames or []
        if forward is not None:
            block["forward_frames"] = forward
        self.state[2][-1][1].append(block)

    def state_end(self, body):
        self.recording.states.append(self.state)

    HANDLERS = {1: base, 2: checkpoint, 3: string, 4: list_of_texts, 5: module, 6: named_frame, 7: native_frame, 8: stack,
                9: context, 10: process, 11: device, 12: setting, 13: thread, 14: shape, 15: annotation, 16: lost,
                17: state_begin, 18: segment, 19: block, 20: state_end, 21: stopped}

    # ---- events

    def expected_site(self):
        return 0 if self.site is None else self.follows.get(self.site, self.site + 1)

    def take_site(self, number, rest):
        if number == len(self.sites):
            stack, context = self.stacks.get(rest.number()), rest.number()
            self.sites.append((stack, self.contexts[context]))
        if number >= len(self.sites):
            raise Error("a site that was never introduced")
        self.go_to(number)

    def go_to(self, site):
        if self.site is not None:
            self.follows[self.site] = site
        self.site = site

    def take_sizes(self, rest):
        number = rest.number()
        if number == len(self.sizes):
            requested, how = rest.number(), rest.number()
            rounded = {0: lambda: 0, 1: lambda: (requested + 511) // 512 * 512 & MASK, 2: rest.number}[how]()
            self.sizes.append((requested, rounded))
        if number >= len(self.sizes):
            raise Error("sizes that were never introduced")
        return number

    def take_address(self, rest):
        value = rest.number()
        if value == 1:
            return (self.address + rest.signed()) & MASK
        if value & 1:
            raise Error("no address")
        value >>= 1
        return (self.address + 512 * ((value >> 1) ^ -(value & 1))) & MASK

    def take_time(self, first, rest):
        distance = first & 3
        self.time = as_signed(self.time + (rest.number() if distance == 3 else distance))
        return self.time

    def give(self, kind, address, sizes, time, action=None):
        stack, context = self.sites[self.site]
        requested, rounded = self.sizes[sizes]
        self.counted += kind != FREE_COMPLETED
        event = Event(action or KINDS[kind], address, requested, rounded, time, stack, context)
        self.recording.events.append(event)
        self.freeing = event if kind == FREE_REQUESTED else None
        return event

    def complete(self, time):
        if self.freeing is None:
            raise Error("no free to complete")
        freed, self.freeing = self.freeing, None
        self.recording.events.append(Event("free_completed", freed.address, freed.size, freed.rounded, time, freed.stack,
                                           freed.context))

    def event(self, first, rest):
        if first >= 0x80:
            if first >> 4 == 0xB:
                self.late_completion(first, rest)
            else:
                self.free(first, rest)
        elif first >= 0x40:
            self.allocation(first, rest)
        elif first == 0x30:
            self.complete(self.take_time(3, rest))
        elif first <= 0x20 + NAMED:
            self.as_it_is(first - 0x20, rest)
        else:
            raise Error(f"an event that begins with {first:#x}")

    def allocation(self, first, rest):
        self.take_site(rest.number() if first & 0x20 else self.expected_site(), rest)
        sizes = self.take_sizes(rest) if first & 0x10 else self.site_sizes[self.site]
        self.site_sizes[self.site] = sizes
        place, freed = first >> 2 & 3, self.freed.setdefault(sizes, [])
        if place == 0:
            address = self.take_address(rest)
        elif place == 3:
            address = self.end
        else:
            address = freed[-1 - (rest.number() if place == 2 else 0)]
        for i in reversed(range(len(freed))):  # the newest one that it is
            if freed[i] == address:
                del freed[i]
                break
        time = self.take_time(first, rest)
        requested, rounded = self.sizes[sizes]
        self.blocks.append((address, self.site, sizes))
        self.address, self.end = address, (address + (rounded or (requested + 511) // 512 * 512)) & MASK
        self.give(ALLOC, address, sizes, time)

    def free(self, first, rest):
        where, which = first >> 4 & 3, first >> 2 & 3
        if where == 0:
            self.take_site(self.expected_site(), rest)
        elif where == 1:
            self.take_site(rest.number(), rest)
        if which == 0:
            sizes = self.take_sizes(rest)
            address = self.take_address(rest)
        else:
            number = self.last_freed = self.take_number(which, self.last_freed, rest)
            address, site, sizes = self.blocks[number]
            if where == 2:
                self.go_to(site)
            self.free_sites[number] = self.site
        time = self.take_time(first, rest)
        freed = self.freed.setdefault(sizes, [])
        freed.append(address)
        del freed[:-8]
        self.address = address
        self.give(FREE_REQUESTED, address, sizes, time)
        if first < 0xC0:
            self.complete(time)

    def take_number(self, which, last, rest):
        number = {1: lambda: len(self.blocks) - 1 - rest.number(), 2: lambda: last + rest.signed(), 3: lambda: last + 1}[which]()
        if not 0 <= number < len(self.blocks):
            raise Error("a block that was never allocated")
        return number

    def late_completion(self, first, rest):
        where = rest.number()
        if where:
            self.take_site(self.expected_site() if where == 1 else where - 2, rest)
        self.last_completed = self.take_number(first >> 2 & 3, self.last_completed, rest)
        if not where:
            self.go_to(self.free_sites[self.last_completed])
        address, _, sizes = self.blocks[self.last_completed]
        self.address = address
        self.give(FREE_COMPLETED, address, sizes, self.take_time(first, rest))

    def as_it_is(self, kind, rest):
        flags = rest.number()
        self.take_site(rest.number(), rest)
        sizes = self.take_sizes(rest)
        time, address = None, None
        if flags & 1:
            time = self.time = as_signed(self.time + rest.signed())
        if flags & 2:
            address = rest.number() if kind in (OOM, SNAPSHOT) else self.take_address(rest)
            if kind not in (OOM, SNAPSHOT):
                self.address = address
        action = self.string_of(rest) if kind == NAMED else None
        self.give(kind, address, sizes, time, action)


def has_surrogates(data):
    try:
        data.decode("utf-8")
        return False
    except UnicodeDecodeError:
        try:
            data.decode("utf-8", "surrogatepass")
            return True
        except UnicodeDecodeError:
            return False


def read(data):
    return Reader().read(data)


# ---- as PyTorch writes snapshots


def trace_entry(event):
    """The dict of a trace entry, without what the recording does not tell."""
    entry = {"action": event.action}
    if event.address is not None:
        entry["device_free" if event.action == "oom" else "addr"] = event.address
    entry |= {"size": event.size, "stream": event.context.stream}
    more = {"time_us": event.time_us, "compile_context": event.context.compile_context,
            "user_metadata": event.context.user_metadata, "pool_id": event.context.pool, "category": event.context.category,
            "frames": event.stack, "forward_frames": event.context.forward_frames}
    return entry | {key: value for key, value in more.items() if value is not None}


def segments(recording):
    """The segments of the last state, each with its blocks."""
    return [segment | {"blocks": blocks} for segment, blocks in recording.states[-1][2]] if recording.states else []
