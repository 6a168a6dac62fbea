"""Whether a device's trace can be trusted: each doubt, how often, and where it first shows.

Two passes. The first matches allocations with frees by address alone. The second watches address ranges: which are
mapped, which blocks are live in them. Both only read the trace forwards; what was there before the first entry is
taken from the end state and from frees without an allocation.
"""

from normal import GROWS, KNOWN_STATES, SHRINKS, end_sums
from ranges import covers, joined, without_range

KNOWN_ACTIONS = {
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
    "annotate",
}
INFORMATIONAL = {"frees_at_request", "unknown_streams", "native_stacks", "missing_annotations", "unknown_keys", "unknown_action", "whatif"}
RECORDER = ("rounded_requests", "inferred_segments", "unknown_streams", "native_stacks",
            "missing_annotations")  # what the recorder of `vramscope run` could not see


class Findings:
    """Kinds in order of discovery, each with a count and the first entry it was seen at."""

    def __init__(self):
        self.by_kind = {}

    def add(self, kind, event=None, count=1):
        if count > 0:
            found = self.by_kind.setdefault(kind, {"kind": kind, "count": 0, "first_event": event})
            found["count"] += count

    def as_list(self):
        return list(self.by_kind.values())


class Life:
    """A block as the trace shows it. `born` is None for one older than the trace."""

    def __init__(self, address, size, born):
        self.address, self.size, self.born = address, size, born
        self.requested_at = None  # entry of its free_requested
        self.ended_at = None  # entry after which its memory is free again
        self.mismatched = False  # a free told another size

    def freed(self, size, event, findings):
        """A free of `size` bytes, requested or completed; a difference counts once."""
        if size != self.size and not self.mismatched:
            findings.add("size_mismatch", event)
            self.mismatched = True

    def is_block(self, block):
        """Whether `block`, which is active at the end, is this one: still open, or waiting since its free."""
        waits = block.state == "active_pending_free"
        return self.ended_at is None or (waits and self.ended_at == self.requested_at)

    def overlaps(self, start, end):
        return self.address < end and start < self.address + max(self.size, 1)


def match_lives(memory, at_request, findings):
    """First pass: every block the trace mentions, in order of first mention."""
    lives, current = [], {}  # current: address -> the Life now or last at it

    def older(entry):
        life = Life(entry.address, entry.size, None)
        lives.append(life)
        current[entry.address] = life
        return life

    for i, entry in enumerate(memory.entries):
        life = current.get(entry.address)
        if entry.action == "alloc":
            if life is not None and life.ended_at is None:
                findings.add("double_alloc", i)
                life.ended_at = i
            life = Life(entry.address, entry.size, i)
            lives.append(life)
            current[entry.address] = life
        elif entry.action == "free_requested":
            waiting = life is not None and life.requested_at is not None and (at_request or life.ended_at is None)
            if waiting:
                findings.add("double_free", i)
                continue
            if life is None or life.ended_at is not None:
                findings.add("free_without_alloc", i)
                life = older(entry)
            life.requested_at = i
            life.freed(entry.size, i, findings)
            if at_request:
                life.ended_at = i
        elif entry.action == "free_completed":
            if life is None or life.ended_at is not None:
                findings.add("free_without_alloc", i)
                life = older(entry)
            life.freed(entry.size, i, findings)
            life.ended_at = i
    return lives, current


def compare_with_end(memory, lives, current, findings):
    """Live blocks of the end state against open blocks of the trace.

    Returns the lives that are older than the trace: those it frees, and those it never mentions.
    """
    at_end = {block.address: block for block in memory.blocks if block.active}
    older = [life for life in lives if life.born is None]
    for address, block in at_end.items():
        life = current.get(address)
        if life is None or not life.is_block(block):
            findings.add("live_without_alloc")
            older.append(Life(address, block.requested, None))
        elif life.born is None:
            findings.add("live_without_alloc")
    for life in lives:
        never_freed = life.ended_at is None and life.requested_at is None
        if life.born is not None and never_freed and life.address not in at_end:
            findings.add("alloc_not_at_end", life.born)
    return older


def watch_ranges(memory, mapped, older, lives, findings):
    """Second pass: mapped ranges (`mapped`: before the first entry) and the blocks in them."""
    births = {life.born: life for life in lives}
    ends = {life.ended_at: life for life in lives if life.ended_at is not None}
    live = set(older)
    judged = any(entry.action in GROWS | SHRINKS for entry in memory.entries)
    for i, entry in enumerate(memory.entries):
        if entry.address is None:
            continue
        start, end = entry.address, entry.address + entry.size
        if entry.action in GROWS:
            if without_range(mapped, (start, end)) != mapped:
                findings.add("double_map", i)
            mapped = joined(mapped + [(start, end)])
        elif entry.action in SHRINKS:
            if not covers(mapped, start, end):
                findings.add("unmap_unknown", i)
            elif any(life.overlaps(start, end) for life in live):
                findings.add("unmap_live", i)
            mapped = without_range(mapped, (start, end))
        elif entry.action == "alloc":
            if judged and not covers(mapped, start, end):
                findings.add("outside_segment", i)
            if any(life.address != start and life.overlaps(start, max(end, start + 1)) for life in live):
                findings.add("overlap", i)
            live.add(births[i])
        live.discard(ends.get(i))


def check_segments(memory, findings):
    """What the end state says of itself."""
    for segment in memory.segments:
        sums = end_sums(segment.blocks)
        if any(sums[name] != claim for name, claim in segment.claims.items()):
            findings.add("segment_sums")
        running = segment.address
        for block in segment.blocks:
            if block.address != running:
                findings.add("block_layout")
                break
            running += block.size
        for block in segment.blocks:
            if block.state not in KNOWN_STATES:
                findings.add("unknown_state")
    spans = sorted((s.address, s.end) for s in memory.segments)
    for (_, first_end), (second_start, _) in zip(spans, spans[1:]):
        if second_start < first_end:
            findings.add("segment_overlap")


def check_entries(memory, findings):
    """What single entries say."""
    last = None
    for i, entry in enumerate(memory.entries):
        if entry.action not in KNOWN_ACTIONS:
            findings.add("unknown_action", i)
        if entry.time is not None:
            if last is not None and entry.time < last:
                findings.add("time_backwards", i)
            last = entry.time


def check_curves(curves, findings):
    for curve in curves:
        below = [i for i, value in enumerate(curve) if value < 0]
        findings.add("negative_curve", below[0] - 1 if below else None, len(below))


def trust(memory, ring_wrapped, curves, mapped_before, at_request, settings):
    """The findings of one device, as the report lists them. `curves`: requested, reserved. `settings` have the marks of a simulated run, and
    of the recorder."""
    findings = Findings()
    for kind in RECORDER:
        if f"vramscope_{kind}" in settings:
            findings.add(kind)
    whatif = settings.get("vramscope_whatif")
    if whatif is not None:
        findings.add("whatif")
        if whatif["is_estimate"]:
            findings.add("whatif_estimate")
    if ring_wrapped and memory.entries:
        findings.add("ring_wrapped")
    check_segments(memory, findings)
    if not memory.entries:
        findings.add("no_trace")
        return findings.as_list()
    if at_request:
        findings.add("frees_at_request")
    check_entries(memory, findings)
    check_curves(curves, findings)

    lives, current = match_lives(memory, at_request, findings)
    older = compare_with_end(memory, lives, current, findings)
    if older or curves[1][0] > 0:
        findings.add("began_late", -1, max(len(older), 1))
    watch_ranges(memory, mapped_before, older, lives, findings)
    return findings.as_list()
