"""Peak allocated, as torch.cuda.max_memory_allocated() counts, from a trace that has no rounded sizes.

At each alloc the free bytes from its address on are looked up in a list of segments and a list of blocks, and PyTorch's rule
says how many of them the block gets. Whether that is sure is decided by what each block contradicts; `is_exact` is then True.
"""

from dataclasses import dataclass

from caching_allocator import MIN_BLOCK, SMALL_SIZE, round_up
from findings import Findings, compare_with_end, match_lives
from normal import GROWS, HOST, SHRINKS
from ooms import Piece, are_one, joined, kind_of_size, segments_at


@dataclass
class Held:
    """A block in the list: an address, where it ends as far as the rule knows, and what it may have beyond that."""

    life: object
    end: int
    doubt: int = 0


def without(pieces, start, end):
    """Only segments that are unmapped as a whole, or cut, are left out."""
    kept = []
    for p in pieces:
        for low, high in ((p.start, min(p.end, start)), (max(p.start, end), p.end)):
            if low < high:
                kept.append(Piece(low, high, p.stream, p.pool, p.kind, p.expandable, p.origin))
    return kept


def merged(pieces):
    runs = []
    for piece in sorted(pieces, key=lambda p: p.start):
        if runs and are_one(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [joined(run) for run in runs]


class Book:
    def __init__(self, memory, settings):
        self.memory, self.is_exact = memory, True
        self.expands = bool(settings.get("expandable_segments")) and memory.device != HOST
        most = settings.get("max_split_size", -1)
        self.most = most if most > 0 else float("inf")
        self.pieces = segments_at(memory, -1)
        self.blocks = {}  # address -> Held
        self.left = {}  # (private pool, is it large) -> the last Held that left bytes free

    def segment(self, address):
        return next((p for p in self.pieces if p.start <= address < p.end), None)

    def room(self, segment, address):
        """Free bytes from there on."""
        return min([segment.end, *(a for a in self.blocks if a > address)]) - address

    def keeps(self, segment, size, rest):
        """Whether what is left behind a block of `size` bytes is not split off."""
        if self.memory.device == HOST:
            return True
        if size <= SMALL_SIZE or segment.expandable:
            return False
        return size >= self.most or rest <= SMALL_SIZE

    def private(self, segment):
        return segment.pool is not None and segment.pool != (0, 0)

    def shows_no_split(self, segment, size, i):
        """A new segment of a private pool, though a block left enough bytes of another one free."""
        held = self.left.get((segment.pool, size > SMALL_SIZE))
        if segment.origin != i - 1 or held is None or self.blocks.get(held.life.address) is not held:
            return False
        other = self.segment(held.life.address)
        return other.stream == segment.stream and other is not segment and held.life.address + self.room(other, held.life.address) - held.end >= size

    def begin(self, life):
        """A block of the trace."""
        size, segment = round_up(max(life.size, 1), MIN_BLOCK), self.segment(life.address)
        if segment is None:
            self.is_exact = False
            return size
        if life.address != segment.start:
            if not any(held.end == life.address for held in self.blocks.values()):
                self.is_exact = False
        if self.private(segment) and self.shows_no_split(segment, size, life.born):
            self.is_exact = False
        room = self.room(segment, life.address)
        if room < size:
            self.is_exact = False
            return size
        if self.keeps(segment, size, room - size):
            if room > size and self.expands:
                self.is_exact = False
            return room
        return size

    def put(self, life, size):
        held, segment = Held(life, life.address + size), self.segment(life.address)
        wanted = round_up(max(life.size, 1), MIN_BLOCK)
        if segment is not None and self.private(segment) and self.room(segment, life.address) > wanted:
            self.left[segment.pool, wanted > SMALL_SIZE] = held
        self.blocks[life.address] = held

    def older(self, held):
        """A block from before the trace that is freed in it."""
        size, segment = round_up(max(held.life.size, 1), MIN_BLOCK), self.segment(held.life.address)
        held.end = held.life.address + size
        if segment is None:
            self.is_exact = False
            return
        rest = self.room(segment, held.life.address) - size
        if rest < 0:
            self.is_exact = False
        elif size >= self.most:
            held.doubt = rest
        elif self.keeps(segment, size, 0):
            held.doubt = min(rest, SMALL_SIZE)


def pool_at_end(memory, i):
    """The pool of the end segment that the range of entry `i` is in until the end; None if it is not."""
    address = memory.entries[i].address
    later = memory.entries[i + 1 :]
    if any(e.action in SHRINKS and e.address <= address < e.address + e.size for e in later):
        return None
    return next((s.pool for s in memory.segments if s.address <= address < s.end), None)


def allocated(memory, settings, at_request, only_completion, is_wrong):
    """{"allocated_bytes", "allocated_is_exact", "allocated_event"} of the peak."""
    curve, is_exact = allocated_curve(memory, settings, at_request, only_completion)
    peak = max(curve)
    return {"allocated_bytes": peak, "allocated_is_exact": is_exact and not is_wrong, "allocated_event": curve.index(peak) - 1}


def allocated_curve(memory, settings, at_request, only_completion):
    """The bytes before the first event and after each, and whether they are exact."""
    findings = Findings()
    lives, current = match_lives(memory, at_request, findings)
    older = compare_with_end(memory, lives, current, findings)
    at_end = {b.address: b for b in memory.blocks if b.active}
    known = {id(life): b for a, b in at_end.items() for life in [current.get(a)] if life is not None and life.is_block(b)}
    known.update({id(life): at_end[life.address] for life in older if id(life) not in known and life.ended_at is None
                  and life.requested_at is None and life.address in at_end})
    book = Book(memory, settings)
    for life in older:
        book.blocks[life.address] = Held(life, life.address)
    for held in book.blocks.values():
        block = known.get(id(held.life))
        if block is None:
            book.older(held)
        else:
            held.end = held.life.address + block.size
    births = {life.born: life for life in lives if life.born is not None}
    requests = {life.requested_at: life for life in lives if life.requested_at is not None}
    ends = {life.ended_at: life for life in lives if life.ended_at is not None}
    doubt = sum(held.doubt for held in book.blocks.values())
    value, curve, upper = 0, [0], [doubt]
    for i, entry in enumerate(memory.entries):
        if entry.action in SHRINKS:
            book.pieces = without(book.pieces, entry.address, entry.address + entry.size)
        elif entry.action in GROWS:
            is_page = entry.action == "segment_map"
            piece = Piece(entry.address, entry.address + entry.size, entry.stream, entry.pool or pool_at_end(memory, i),
                          kind_of_size(entry.size, is_page), is_page, i)
            book.pieces = merged([*book.pieces, piece])
        if i in births:
            life = births[i]
            size, block = book.begin(life), known.get(id(life))
            if block is not None and block.size != size:
                book.is_exact, size = False, block.size
            book.put(life, size)
            value += size
        gone = ends.get(i) if only_completion and entry.action == "free_completed" else requests.get(i)
        if gone is not None and entry.action != "alloc":
            held = book.blocks.get(gone.address)
            if held is not None and held.life is gone:
                value -= held.end - gone.address
                doubt -= held.doubt
        if i in ends and book.blocks.get(ends[i].address) is not None and book.blocks[ends[i].address].life is ends[i]:
            del book.blocks[ends[i].address]
        curve.append(value)
        upper.append(value + doubt)
    end = sum(b.size for b in memory.blocks if b.state == "active_allocated")
    baseline = end - curve[-1]
    doubtful = at_request or only_completion or baseline < 0 or max(upper) > max(curve)
    return [value + baseline for value in curve], book.is_exact and not doubtful
