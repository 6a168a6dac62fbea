"""Why a request failed, the slow and obvious way: the free blocks of that moment one by one, and the rules of PyTorch's
allocator about which of them the request may use.

What the report calls cached is a list here: [(free bytes, segment, is it the last of its segment)].
"""

from dataclasses import dataclass, replace

from caching_allocator import LARGE_SEGMENT, MIN_BLOCK, MIN_LARGE_ALLOC, ROUND_LARGE, SMALL_BUFFER, SMALL_SIZE, round_up
from normal import GROWS, SHRINKS

LOOKED_AT = 4  # at most: the first and the last ones


@dataclass
class Piece:
    """Mapped bytes that came and went together."""

    start: int
    end: int
    stream: int
    pool: object
    kind: str
    expandable: bool
    origin: object  # the segment of the end state, or the entry that took it

    @property
    def at_end(self):
        return not isinstance(self.origin, int)


def kind_of_size(size, is_page):
    if is_page:
        return "large" if size % LARGE_SEGMENT == 0 else "small"
    return "small" if size <= SMALL_BUFFER else "large"


def segments_at(memory, event):
    """Mapped runs after an entry: the end state without what came later, with what went later."""
    pieces = []
    for number, s in enumerate(memory.segments):
        kind = s.kind or kind_of_size(s.end - s.address, False)
        pieces.append(Piece(s.address, s.end, s.stream, s.pool, kind, bool(s.expandable), (number,)))
    for i in range(len(memory.entries) - 1, event, -1):
        entry = memory.entries[i]
        if entry.action not in GROWS | SHRINKS:
            continue
        start, end = entry.address, entry.address + entry.size
        left = [replace(p, end=min(p.end, start)) for p in pieces] + [replace(p, start=max(p.start, end)) for p in pieces]
        pieces = [p for p in left if p.start < p.end]
        if entry.action in SHRINKS:
            is_page = entry.action == "segment_unmap"
            pieces.append(Piece(start, end, entry.stream, entry.pool, kind_of_size(entry.size, is_page), is_page, i))
    runs = []
    for piece in sorted(pieces, key=lambda p: p.start):
        if runs and are_one(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [joined(run) for run in runs]


def are_one(low, high):
    if low.end != high.start:
        return False
    if low.origin == high.origin:
        return True
    both_at_end = low.at_end and high.at_end
    same_place = low.stream == high.stream and (low.pool == high.pool or None in (low.pool, high.pool))
    return low.expandable and high.expandable and same_place and not both_at_end


def joined(run):
    """The kind of segment is taken from the end state if it is there."""
    best = next((p for p in run if p.at_end), run[0])
    pool = next((p.pool for p in run if p.pool is not None), None)
    return replace(run[0], end=run[-1].end, kind=best.kind, pool=pool)


def blocks_at(memory, event, counted, closing):
    """{address: rounded size} of what was alive after an entry; exact for what is alive at the end."""
    if event == len(memory.entries) - 1:
        return {b.address: b.size for b in memory.blocks if b.active}
    live = {b.address: b.size for b in counted}
    for entry in reversed(memory.entries[event + 1 :]):
        if entry.action == "alloc":
            live.pop(entry.address, None)
        elif entry.action == closing:
            live[entry.address] = max(MIN_BLOCK, round_up(entry.size, MIN_BLOCK))
    return live


def free_runs(segments, live):
    """(bytes, segment, is it the last of its segment) between the live blocks."""
    for segment in segments:
        mine = sorted(a for a in live if segment.start <= a < segment.end)
        at = segment.start
        for address, behind in zip([*mine, segment.end], [*mine[1:], segment.end, segment.end]):
            if address > at:
                yield address - at, segment, address == segment.end
            at = min(address + live.get(address, 0), behind) if address < segment.end else segment.end


def diagnosis(memory, settings, event, counted, closing):
    """What `report` says of the failed request of that entry."""
    request = memory.entries[event]
    size, free = request.size, request.device_free
    segments = segments_at(memory, event)
    is_exact = event == len(memory.entries) - 1
    expands = bool(settings.get("expandable_segments")) or any(s.expandable for s in segments)
    pages = SMALL_BUFFER if size <= SMALL_SIZE else LARGE_SEGMENT
    most = settings.get("max_split_size", -1)
    pools = {p for p in [*(s.pool for s in memory.segments), *(e.pool for e in memory.entries)] if p is not None}
    pool = request.pool or ((0, 0) if (0, 0) in pools else None)

    def is_free_block(length, segment):
        """What is not split off is part of the block before it."""
        return is_exact or expands or segment.kind != "large" or segment.expandable or length > SMALL_SIZE

    def is_usable(length, segment):
        if segment.kind not in ("small" if size <= SMALL_SIZE else "large", "other") or segment.stream != request.stream:
            return False
        if None not in (segment.pool, pool) and segment.pool != pool:
            return False
        if most <= 0 or size >= most:
            return most <= 0 or length < size + LARGE_SEGMENT
        return length < most

    blocks = [b for b in free_runs(segments, blocks_at(memory, event, counted, closing)) if is_free_block(*b[:2])]
    usable = [b for b in blocks if is_usable(*b[:2])]
    cached, fit = sum(b[0] for b in blocks), sum(b[0] for b in usable)
    largest = max((b[0] for b in usable), default=0)
    new = None
    if free is not None:
        tails = [length for length, segment, is_last in usable if is_last and segment.expandable]
        if expands:
            new = max(tails, default=0) + free // pages * pages
        elif size >= MIN_LARGE_ALLOC:
            new = free // ROUND_LARGE * ROUND_LARGE
        else:
            new = size if free >= pages else 0
    also = free if expands and free is not None else 0
    if new is not None and new >= size:
        cause = "limit"
    elif largest >= size:
        cause = "unknown"
    elif fit + also >= size:
        cause = "fragmented"
    elif cached + also >= size:
        cause = "elsewhere"
    else:
        cause = "unknown" if free is None else "full"
    had = max(largest, new or 0)
    return {
        "cause": cause,
        "cached_bytes": cached,
        "active_bytes": sum(s.end - s.start for s in segments) - cached,
        "cached_usable_bytes": fit,
        "largest_hole_for_it_bytes": largest,
        "short_bytes": size - had if new is not None and had < size else None,
    }
