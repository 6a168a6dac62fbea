"""Every figure of `report --json`, computed from plain data the slow and obvious way.

Nothing here is shared with the program under test: a curve is a list with one number per entry, a set of live blocks
is a dict that is walked backwards entry by entry. Time and memory do not matter, being right does.

Words: the *requested curve* counts a block from its alloc to its free_completed, or, in a trace that has frees but no
free_completed at all, to its free_requested. Both curves are rebuilt backwards from the end state, so `curve[0]` is
the state before the first entry and `curve[i + 1]` the state after entry i.
"""

from collections import Counter, defaultdict

from findings import INFORMATIONAL, trust
from frames import WHYS, without_folders
from ooms import LOOKED_AT, diagnosis
from normal import GROWS, SHRINKS, end_sums, normalise
from ranges import joined, without_range


def frees_at_request(memory):
    """True where free_completed was not recorded: there are frees, but none is ever completed."""
    actions = {entry.action for entry in memory.entries}
    return "free_requested" in actions and "free_completed" not in actions


def closing_action(memory):
    """The action that ends a block's life on the requested curve."""
    return "free_requested" if frees_at_request(memory) else "free_completed"


def end_state(memory):
    return {**end_sums(memory.blocks), "segments": len(memory.segments)}


def counted_at_end(memory):
    """Blocks the requested curve ends with. Where a free counts at its request, a block that waits for another
    stream is free already."""
    if frees_at_request(memory):
        return [b for b in memory.blocks if b.state == "active_allocated"]
    return [b for b in memory.blocks if b.active]


def backwards(end, deltas):
    """The curve that ends at `end` and whose step i is deltas[i]."""
    curve = [end]
    for delta in reversed(deltas):
        curve.append(curve[-1] - delta)
    return curve[::-1]


def requested_curve(memory):
    closing = closing_action(memory)
    deltas = [e.size if e.action == "alloc" else -e.size if e.action == closing else 0 for e in memory.entries]
    return backwards(sum(b.requested for b in counted_at_end(memory)), deltas)


def reserved_curve(memory):
    deltas = [e.size if e.action in GROWS else -e.size if e.action in SHRINKS else 0 for e in memory.entries]
    return backwards(sum(b.size for b in memory.blocks), deltas)


def highest(curve):
    """(value, entry): the first entry after which the curve is highest, -1 for the state before them all."""
    top = max(curve)
    return top, curve.index(top) - 1


def peaks(memory):
    requested, event = highest(requested_curve(memory))
    reserved, reserved_event = highest(reserved_curve(memory))
    return {
        "peak": {
            "requested_bytes": requested,
            "event": event,
            "time_us": memory.entries[event].time if event >= 0 else None,
        },
        "peak_reserved": {"reserved_bytes": reserved, "event": reserved_event},
    }


def default_memory(snapshot):
    """The one that a question without a device is about: the GPU whose first failure comes earliest (a failure without a time
    after those that have one), else the one with the highest reserved curve; of equals the lowest number. Without a GPU the
    host, None without that."""
    gpus = [snapshot.devices[number] for number in sorted(snapshot.devices)]
    failed = [(next(e for e in m.entries if e.action == "oom").time, m) for m in gpus if ooms(m)]
    if failed:
        return min(failed, key=lambda f: float("inf") if f[0] is None else f[0])[1]
    return max(gpus, key=lambda m: max(reserved_curve(m)), default=snapshot.host)


def trace_figures(memory):
    actions = [entry.action for entry in memory.entries]
    return {
        "events": len(actions),
        "allocs": actions.count("alloc"),
        "frees": actions.count("free_requested"),
        "baseline_requested_bytes": requested_curve(memory)[0],
    }


def ooms(memory):
    return [
        {"event": i, "requested_bytes": e.size, "device_free_bytes": e.device_free}
        for i, e in enumerate(memory.entries)
        if e.action == "oom"
    ]


def owners_at(memory, event):
    """Of what was alive: bytes, blocks and the size of each where all are equal, by label; most bytes first."""
    sizes = defaultdict(list)
    for _, size, stack in live_at(memory, event):
        sizes[memory.frames.owner_label(stack)].append(size)
    rows = [(sum(s), len(s), s[0] if len(set(s)) == 1 and s[0] else None, label) for label, s in sizes.items()]
    return sorted(rows, key=lambda row: (-row[0], -row[1], row[3]))


def innermost_rows(memory, live):
    """Bytes, blocks and the size of each by the innermost line."""
    sizes = defaultdict(list)
    for _, size, stack in live:
        sizes[memory.frames.innermost_place(stack)].append(size)
    return [(sum(s), len(s), s[0] if len(set(s)) == 1 and s[0] else None, label) for (label, _), s in sizes.items()]


def parts_at(memory, event):
    """The innermost lines of the owner of more than half of what was alive, where it has several."""
    owner, live = owners_at(memory, event)[:1], live_at(memory, event)
    if not owner or owner[0][3] in WHYS or owner[0][0] <= sum(size for _, size, _ in live) // 2:
        return []
    rows = innermost_rows(memory, [block for block in live if memory.frames.owner_label(block[2]) == owner[0][3]])
    return rows if len(rows) > 1 else []


def check_parts(owners, memory, event, where):
    """Whether one of a reply's owners has parts, after they were compared."""
    first, *others = owners or [{"parts": [], "part_count": 0}]
    found = [(part["bytes"], part["count"], part["each_bytes"], without_folders(part["label"])) for part in first["parts"]]
    assert Counter(found) == Counter(parts_at(memory, event)), where
    assert [row[0] for row in found] == sorted((row[0] for row in found), reverse=True) and first["part_count"] == len(found), where
    assert not any(owner["parts"] or owner["part_count"] for owner in others), where
    return len(found) != 0


def diagnoses(memory, settings):
    """{entry: what the report says about it} for the failed requests that the report analyses."""
    events = [oom["event"] for oom in ooms(memory)]
    counted, closing = counted_at_end(memory), closing_action(memory)
    looked_at = {*events[:1], *events[1 - LOOKED_AT :]}
    return {event: diagnosis(memory, settings, event, counted, closing) for event in sorted(looked_at)}


def device_report(memory, ring_wrapped, settings):
    found = trust(
        memory,
        ring_wrapped=ring_wrapped,
        curves=(requested_curve(memory), reserved_curve(memory)),
        mapped_before=mapped_at(memory, -1),
        at_request=frees_at_request(memory),
        settings=settings,
    )
    return {
        "device": memory.device,
        "end": end_state(memory),
        "trace": trace_figures(memory),
        **peaks(memory),
        "ooms": ooms(memory),
        "trust": {
            "complete": all(finding["kind"] in INFORMATIONAL for finding in found),
            "findings": found,
        },
    }


def report(file):
    """The whole report of a closed_unpickler.SnapshotFile."""
    return {"file": file.as_report(), **report_of_data(file.data)}


def report_of_data(data):
    snapshot = normalise(data)
    default, settings = default_memory(snapshot), snapshot.settings
    return {
        "busiest": default.device if snapshot.devices else None,
        "devices": [device_report(memory, snapshot.ring_wrapped, settings) for memory in snapshot.devices.values()],
        "host": device_report(snapshot.host, False, settings) if snapshot.host else None,
    }


def frees_tell_alloc(memory):
    """False if the trace has an allocation and its free with two stacks: then frees say where memory was freed."""
    closing, opened, requested = closing_action(memory), {}, {}
    for entry in memory.entries:
        if entry.action == "alloc":
            opened[entry.address] = entry
            requested.pop(entry.address, None)
        elif entry.action == "free_requested" and entry.address in opened:
            requested[entry.address] = entry
        if entry.action == closing and entry.address in opened:
            requested.pop(entry.address, None)
            alloc = opened.pop(entry.address)
            if (alloc.has_stack, alloc.stack) != (entry.has_stack, entry.stack):
                return False
    pairs = [(opened[address], free) for address, free in requested.items()]
    return all((a.has_stack, a.stack) == (f.has_stack, f.stack) for a, f in pairs)


# Questions about a moment: what was alive and mapped after entry `event` (-1: before the first).


def live_at(memory, event):
    """[(address, size, stack)] in address order: the blocks the requested curve counts at that moment. Without a stack, a
    single frame says why."""
    closing = closing_action(memory)
    live = {b.address: (b.requested, b) for b in counted_at_end(memory)}
    for entry in reversed(memory.entries[event + 1 :]):
        if entry.action == "alloc":
            live.pop(entry.address, None)
        elif entry.action == closing:
            live[entry.address] = (entry.size, entry)
    older, tell = set(live), frees_tell_alloc(memory)
    for entry in memory.entries[: event + 1]:  # an alloc in the trace knows the stack best
        if entry.action == "alloc" and entry.address in live:
            live[entry.address] = (live[entry.address][0], entry)
            older.discard(entry.address)

    def stack(address, source):
        is_free = getattr(source, "action", None) == closing
        recorded = source.stack if source.has_stack and (tell or not is_free) else None
        return recorded or ((memory.frames.why(recorded, address in older), "", 0),)

    return sorted((address, size, stack(address, source)) for address, (size, source) in live.items())


def mapped_at(memory, event):
    """[(start, end)] of reserved ranges in address order, touching ones joined."""
    ranges = [(s.address, s.end) for s in memory.segments]
    for entry in reversed(memory.entries[event + 1 :]):
        span = (entry.address, (entry.address or 0) + entry.size)
        if entry.action in GROWS:
            ranges = without_range(ranges, span)
        elif entry.action in SHRINKS:
            ranges = without_range(ranges, span) + [span]
    return joined(ranges)


def groups_by_stack(live):
    """Largest first: (bytes, blocks, stack)."""
    sums = defaultdict(lambda: [0, 0])
    for _, size, stack in live:
        sums[stack][0] += size
        sums[stack][1] += 1
    return sorted(((size, count, stack) for stack, (size, count) in sums.items()), key=lambda g: (-g[0], -g[1], g[2]))


def end_by(memory, key):
    """The end state split by `key` of a segment: "stream" or "pool"."""
    split = defaultdict(list)
    for segment in memory.segments:
        split[getattr(segment, key)].append(segment)
    return {
        value: {**end_sums([b for s in segments for b in s.blocks]), "segments": len(segments)}
        for value, segments in split.items()
    }
