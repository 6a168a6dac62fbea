"""The figures of `report`, `stats` and `fragmentation` that truth.py does not have, each counted one by one.

A share is a fraction of what its key says: of free bytes, of allocated bytes, of the bytes of all groups.
"""

from collections import Counter, defaultdict

import truth
from caching_allocator import LARGE_SEGMENT, MIN_BLOCK, SMALL_BUFFER, SMALL_SIZE, round_up
from findings import Findings, compare_with_end, match_lives
from normal import GROWS, SHRINKS
from ooms import blocks_at, free_runs, segments_at

KINDS = ("small", "large", "other")
SHORT_LIFE = 64
ACTIONS = {
    "allocs": "alloc", "frees": "free_requested", "frees_completed": "free_completed", "ooms": "oom", "snapshots": "snapshot",
    "segment_allocs": "segment_alloc", "segment_frees": "segment_free", "segment_maps": "segment_map",
    "segment_unmaps": "segment_unmap",
}


def share(part, whole):
    return part / whole if whole else None


def only_completion(memory):
    actions = {entry.action for entry in memory.entries}
    return "free_completed" in actions and "free_requested" not in actions


def lives_of(memory):
    """Every block of the trace and of the end state as a findings.Life, and the end block of those that have one, by id."""
    findings = Findings()
    lives, current = match_lives(memory, truth.frees_at_request(memory), findings)
    older = compare_with_end(memory, lives, current, findings)
    everything = lives + [life for life in older if not any(life is one for one in lives)]
    return everything


# ---- sums of blocks


def sums(segments):
    blocks = [b for s in segments for b in s.blocks]
    allocated = [b for b in blocks if b.state == "active_allocated"]
    pending = [b for b in blocks if b.state == "active_pending_free"]
    inactive = [b for b in blocks if not b.active]
    return {
        "reserved_bytes": sum(b.size for b in blocks),
        "allocated_bytes": sum(b.size for b in allocated),
        "active_bytes": sum(b.size for b in allocated + pending),
        "requested_bytes": sum(b.requested for b in allocated + pending),
        "pending_bytes": sum(b.size for b in pending),
        "inactive_bytes": sum(b.size for b in inactive),
        "rounding_bytes": sum(max(b.size - b.requested, 0) for b in allocated),
        "segments": len(segments),
        "blocks": len(blocks),
        "allocated_blocks": len(allocated),
        "pending_blocks": len(pending),
        "inactive_blocks": len(inactive),
    }


def kind_of(segment):
    if segment.kind:
        return segment.kind if segment.kind in KINDS else "other"
    return "small" if segment.end - segment.address <= SMALL_BUFFER else "large"


def parts(memory, key):
    split = defaultdict(list)
    for segment in memory.segments:
        split[key(segment)].append(segment)
    return {value: sums(segments) for value, segments in split.items()}


# ---- curves


def held_curve(memory):
    """What the program did not free yet; a free without a request counts when it completes."""
    closing = "free_completed" if only_completion(memory) else "free_requested"
    deltas = [e.size if e.action == "alloc" else -e.size if e.action == closing else 0 for e in memory.entries]
    counted = [b for b in memory.blocks if (b.active if only_completion(memory) else b.state == "active_allocated")]
    return truth.backwards(sum(b.requested for b in counted), deltas)


def trace(memory):
    actions = Counter(entry.action for entry in memory.entries)
    times = [entry.time for entry in memory.entries if entry.time is not None]
    return {
        "events": len(memory.entries),
        **{key: actions[action] for key, action in ACTIONS.items()},
        "baseline_requested_bytes": truth.requested_curve(memory)[0],
        "baseline_held_bytes": held_curve(memory)[0],
        "baseline_reserved_bytes": truth.reserved_curve(memory)[0],
        "first_time_us": min(times, default=None),
        "last_time_us": max(times, default=None),
        "frees_at_request": truth.frees_at_request(memory),
    }


def peak(memory):
    curve, reserved, held = truth.requested_curve(memory), truth.reserved_curve(memory), held_curve(memory)
    bytes_, event = truth.highest(curve)
    most, held_at = truth.highest(held)
    live = truth.live_at(memory, event)
    rows = truth.owners_at(memory, event)
    return {
        "peak": {"requested_bytes": bytes_, "event": event, "count": len(live), "reserved_bytes": reserved[event + 1],
                 "owner_count": len(rows)},
        "peak_held": {"held_bytes": most, "event": held_at,
                      "time_us": memory.entries[held_at].time if held_at >= 0 else None},
    }


def pending_at(memory, event):
    """Requested bytes of what is live at that moment, though its free was requested."""
    if truth.frees_at_request(memory):
        return 0
    total = 0
    for life in lives_of(memory):
        block = next((b for b in memory.blocks if b.active and b.address == life.address), None)
        is_at_end = life.ended_at is None and block is not None
        begun = life.born is None or life.born <= event
        ended = life.ended_at is not None and life.ended_at <= event
        requested = life.requested_at is not None and life.requested_at <= event
        freed_before = life.born is None and life.requested_at is None and (
            life.ended_at is not None or (is_at_end and block.state == "active_pending_free"))
        if begun and not ended and (requested or (freed_before and not only_completion(memory))):
            total += life.size
    return total


# ---- free blocks


def smallest_requests(memory):
    sizes = [e.size for e in memory.entries if e.action == "alloc"]
    small = min(sizes, default=None)
    large = min((s for s in sizes if s > SMALL_SIZE), default=None)
    rounded = {size: round_up(max(size, 1), MIN_BLOCK) for size in sizes}
    return {
        "small": rounded[small] if small is not None and small <= SMALL_SIZE else None,
        "large": rounded.get(large),
        "other": rounded.get(small),
    }


def pages_in(start, end, base, kind):
    """Bytes of whole pages between two addresses of an expandable segment."""
    page = SMALL_BUFFER if kind == "small" else LARGE_SEGMENT
    first, last = round_up(start - base, page), (end - base) // page * page
    return max(last - first, 0)


def free_blocks(memory, event):
    """[(segment, its live blocks, [(start, end)] of its free ones)] at a moment."""
    segments = segments_at(memory, event)
    live = blocks_at(memory, event, truth.counted_at_end(memory), truth.closing_action(memory))
    rows = []
    for segment in segments:
        mine = sorted(a for a in live if segment.start <= a < segment.end)
        at, holes = segment.start, []
        for address, behind in zip(mine, [*mine[1:], segment.end]):
            if address > at:
                holes.append((at, address))
            at = min(address + live[address], behind)
        if segment.end > at:
            holes.append((at, segment.end))
        rows.append((segment, mine, holes))
    return rows


def measure(rows, smallest):
    """The figures of a set of segments."""
    figures = {"reserved": 0, "active": 0, "free": 0, "pinned": 0, "releasable": 0, "largest_hole": 0, "hole_count": 0,
               "unusable": 0}
    for segment, live, holes in rows:
        free = sum(end - start for start, end in holes)
        back = free
        if live:
            back = sum(pages_in(*hole, segment.start, segment.kind) for hole in holes) if segment.expandable else 0
        figures["reserved"] += segment.end - segment.start
        figures["free"] += free
        figures["active"] += segment.end - segment.start - free
        figures["releasable"] += back
        figures["pinned"] += free - back
        figures["largest_hole"] = max([figures["largest_hole"], *(end - start for start, end in holes)])
        figures["hole_count"] += len(holes)
        least = smallest[segment.kind if segment.kind in KINDS else "other"]
        if holes and least is None:
            figures["unusable"] = None
        elif figures["unusable"] is not None:
            figures["unusable"] += sum(end - start for start, end in holes if end - start < (least or 0))
    return figures


def fragmentation(memory, event):
    """(`all`, {(pool, stream, kind): its figures and how many segments}, [(pinned, free, active, address, blocks)])"""
    rows, smallest = free_blocks(memory, event), smallest_requests(memory)
    areas = defaultdict(list)
    for row in rows:
        segment = row[0]
        areas[segment.pool, segment.stream, segment.kind if segment.kind in KINDS else "other"].append(row)
    split = {area: {**measure(some, smallest), "segments": len(some)} for area, some in areas.items()}
    pinned = []
    for row in rows:
        figures = measure([row], smallest)
        if figures["pinned"]:
            pinned.append((figures["pinned"], figures["free"], figures["active"], row[0].start, len(row[1])))
    pinned.sort(key=lambda p: (-p[0], -p[1], p[2], p[3]))
    return measure(rows, smallest), split, pinned


# ---- lifetimes and sizes


def power(value):
    return max(value.bit_length() - 1, 0)


def counted_by_power(values, names):
    counts = Counter(power(value) for value in values)
    return [{names[0]: 0 if n == 0 else 1 << n, names[1]: (2 << n) if n < 63 else None, "count": counts[n]}
            for n in sorted(counts)]


def lifetimes(memory):
    born = [life for life in lives_of(memory) if life.born is not None]
    ended = [life for life in born if life.ended_at is not None]
    short = [life for life in ended if life.ended_at - life.born < SHORT_LIFE]
    spans = [(memory.entries[life.born].time, memory.entries[life.ended_at].time) for life in ended]
    return {
        "count": len(born),
        "bytes": sum(life.size for life in born),
        "ended_count": len(ended),
        "ended_bytes": sum(life.size for life in ended),
        "short_events": SHORT_LIFE,
        "short_count": len(short),
        "short_bytes": sum(life.size for life in short),
        "by_us": counted_by_power([to - at for at, to in spans if None not in (at, to) and to >= at], ("from_us", "below_us")),
        "by_events": counted_by_power([life.ended_at - life.born for life in ended], ("from_events", "below_events")),
    }


def sizes(memory):
    born = [e.size for e in memory.entries if e.action == "alloc"]
    live = [size for _, size, _ in truth.live_at(memory, len(memory.entries) - 1)]
    rows = []
    for n in sorted({power(size) for size in born + live}):
        of_trace, at_end = [s for s in born if power(s) == n], [s for s in live if power(s) == n]
        rows.append({"from_bytes": 0 if n == 0 else 1 << n, "to_bytes": (2 << n) - 1, "allocs": len(of_trace),
                     "alloc_bytes": sum(of_trace), "live_count": len(at_end), "live_bytes": sum(at_end)})
    return rows
