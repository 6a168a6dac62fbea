"""A small caching allocator with PyTorch's rounding, pools, splitting and merging.

It decides like the real one where that shapes a snapshot: requests are rounded to 512 bytes; small (up to 1 MiB) and
large ones live in different segments of 2 MiB, 20 MiB or a multiple of 2 MiB; the smallest fitting free block of the
same stream wins, the lowest address among equals; a freed block merges with free neighbours, or waits if another
stream still uses it. Expandable segments only grow at their end, which is one of the layouts the real one produces.

Every step is told to `emit(action, address, size, stream, pool, stack, block)`, after the counters have changed.
"""

from bisect import bisect_left, insort

from run import DEFAULT_POOL

MIN_BLOCK = 512
SMALL_SIZE = 1 << 20
SMALL_BUFFER = 2 << 20
MIN_LARGE_ALLOC = 10 << 20
LARGE_SEGMENT = 20 << 20
ROUND_LARGE = 2 << 20
EXPANDABLE_RANGE = LARGE_SEGMENT << 16  # a multiple of both page sizes


def round_up(value, multiple):
    return (value + multiple - 1) // multiple * multiple


def driver_size(rounded):
    """Bytes asked of the driver for a request that no cached block can serve."""
    if rounded <= SMALL_SIZE:
        return SMALL_BUFFER
    if rounded < MIN_LARGE_ALLOC:
        return LARGE_SEGMENT
    return round_up(rounded, ROUND_LARGE)


class Block:
    """A piece of a segment. `arena` is (pool id, is small, stream): blocks never leave their arena."""

    __slots__ = ("address", "size", "requested", "arena", "prev", "next", "used", "waits", "streams", "stack",
                 "segment_stack", "expandable", "life")

    def __init__(self, address, size, arena, expandable=False, segment_stack=None):
        self.address, self.size, self.arena = address, size, arena
        self.requested = 0
        self.prev = self.next = None
        self.used = self.waits = False
        self.streams = set()
        self.stack, self.segment_stack = None, segment_stack
        self.expandable = expandable
        self.life = None

    @property
    def end(self):
        return self.address + self.size

    @property
    def free(self):
        return not self.used and not self.waits


class CachingAllocator:
    def __init__(self, emit, base=0x7F0000000000, limit=None, expandable=False):
        self.emit = emit
        self.limit = limit  # bytes of the pretend device
        self.expandable = expandable
        self.next_address = base
        self.returned = {}  # segment size -> addresses the driver can give again
        self.free_blocks = {}  # (pool id, is small) -> sorted [(stream, size, address, block)]
        self.heads = {}  # address -> first block of a mapped run
        self.last = {}  # arena -> last block of its expandable range, or None
        self.top = {}  # arena -> end of the mapped part of its range
        self.waiting = []  # freed, but another stream may still use them
        self.reserved = 0
        self.requested = 0  # until a free completes
        self.handed_out = 0  # requested bytes until a free is requested
        self.allocated = 0  # rounded bytes until a free is requested

    # Requests

    def malloc(self, size, stream=0, pool=DEFAULT_POOL, stack=None):
        """A block, or None after an out-of-memory event."""
        rounded = max(MIN_BLOCK, round_up(size, MIN_BLOCK))
        arena = (pool, rounded <= SMALL_SIZE, stream)
        block = self._best_fit(arena, rounded) or self._grow(arena, rounded, stack)
        if block is None:
            self.release_cached()
            block = self._grow(arena, rounded, stack)
        if block is None:
            self.emit("oom", self.limit - self.reserved, rounded, stream, pool, stack, None)
            return None
        rest = block.size - rounded
        if rest >= MIN_BLOCK if (arena[1] or block.expandable) else rest > SMALL_SIZE:
            self._split(block, rounded)
        block.used, block.requested, block.stack = True, size, stack
        self.requested += size
        self.handed_out += size
        self.allocated += block.size
        self.emit("alloc", block.address, size, stream, pool, stack, block)
        return block

    def record_stream(self, block, stream):
        if stream != block.arena[2]:
            block.streams.add(stream)

    def free(self, block, stack=None):
        stack = stack or block.stack
        pool, _, stream = block.arena
        block.used = False
        block.waits = bool(block.streams)
        self.handed_out -= block.requested
        self.allocated -= block.size
        self.emit("free_requested", block.address, block.requested, stream, pool, stack, block)
        if block.waits:
            self.waiting.append((block, stack))
        else:
            self._complete(block, stack)

    def process_waiting(self, count):
        """The oldest `count` waiting blocks are no longer used by other streams."""
        done, self.waiting = self.waiting[:count], self.waiting[count:]
        for block, stack in done:
            self._complete(block, stack)

    def release_cached(self, stack=None):
        """Release every segment without live blocks, and such pages of expandable segments."""
        self.process_waiting(len(self.waiting))
        for blocks in list(self.free_blocks.values()):
            for *_, block in list(blocks):
                if block.expandable:
                    self._unmap(block, stack)
                elif block.prev is None and block.next is None:
                    self._free_segment(block, stack)

    def runs(self):
        """Mapped runs of blocks in address order: what a snapshot calls segments."""
        for address in sorted(self.heads):
            run, block = [], self.heads[address]
            while block is not None:
                run.append(block)
                block = block.next
            yield run

    # Free blocks

    def _best_fit(self, arena, rounded):
        pool, small, stream = arena
        blocks = self.free_blocks.get((pool, small))
        if not blocks:
            return None
        at = bisect_left(blocks, (stream, rounded, 0))
        if at == len(blocks) or blocks[at][0] != stream:
            return None
        return blocks.pop(at)[3]

    def _insert_free(self, block):
        pool, small, stream = block.arena
        insort(self.free_blocks.setdefault((pool, small), []), (stream, block.size, block.address, block))

    def _remove_free(self, block):
        pool, small, stream = block.arena
        blocks = self.free_blocks[(pool, small)]
        blocks.pop(bisect_left(blocks, (stream, block.size, block.address)))

    def _split(self, block, size):
        """`block` keeps its first `size` bytes, the rest becomes a free block behind it."""
        rest = Block(block.address + size, block.size - size, block.arena, block.expandable)
        rest.requested = block.requested
        rest.prev, rest.next = block, block.next
        if block.next is not None:
            block.next.prev = rest
        block.next, block.size = rest, size
        if self.last.get(block.arena) is block:
            self.last[block.arena] = rest
        self._insert_free(rest)

    def _absorb_next(self, block):
        """`block` takes over the free block behind it."""
        gone = block.next
        block.size += gone.size
        block.next = gone.next
        if gone.next is not None:
            gone.next.prev = block
        if self.last.get(block.arena) is gone:
            self.last[block.arena] = block

    def _complete(self, block, stack):
        pool, _, stream = block.arena
        block.waits = False
        block.streams.clear()
        self.requested -= block.requested
        self.emit("free_completed", block.address, block.requested, stream, pool, stack, block)
        block.stack = block.life = None
        if block.next is not None and block.next.free:
            self._remove_free(block.next)
            self._absorb_next(block)
        if block.prev is not None and block.prev.free:
            block = block.prev
            self._remove_free(block)
            self._absorb_next(block)
        self._insert_free(block)

    # Driver memory

    def _grow(self, arena, rounded, stack):
        """A free block, in no set, of at least `rounded` bytes of new memory; None if the device is full."""
        if self.limit is not None and self.reserved + driver_size(rounded) > self.limit:
            return None
        if self.expandable:
            return self._map(arena, rounded, stack)
        size = driver_size(rounded)
        again = self.returned.get(size)
        if again:
            address = again.pop()
        else:
            address, self.next_address = self.next_address, self.next_address + round_up(size, ROUND_LARGE)
        block = Block(address, size, arena, segment_stack=stack)
        self.heads[address] = block
        self.reserved += size
        self.emit("segment_alloc", address, size, arena[2], arena[0], stack, None)
        return block

    def _free_segment(self, block, stack):
        self._remove_free(block)
        del self.heads[block.address]
        self.returned.setdefault(block.size, []).append(block.address)
        self.reserved -= block.size
        pool, _, stream = block.arena
        self.emit("segment_free", block.address, block.size, stream, pool, stack or block.segment_stack, None)

    def _map(self, arena, rounded, stack):
        page = SMALL_BUFFER if arena[1] else LARGE_SEGMENT
        if arena not in self.top:
            self.next_address = round_up(self.next_address, EXPANDABLE_RANGE)
            self.top[arena], self.last[arena] = self.next_address, None
            self.next_address += EXPANDABLE_RANGE
        top, last = self.top[arena], self.last[arena]
        grows = last is not None and last.free
        size = round_up(rounded - (last.size if grows else 0), page)
        self.top[arena] = top + size
        self.reserved += size
        self.emit("segment_map", top, size, arena[2], arena[0], stack, None)
        if grows:
            self._remove_free(last)
            last.size += size
            return last
        block = Block(top, size, arena, expandable=True, segment_stack=stack)
        self.last[arena] = block
        if last is None:
            self.heads[top] = block
        else:
            last.next, block.prev = block, last
        return block

    def _unmap(self, block, stack):
        """Unmap the pages that lie wholly inside a free block; what is left at either end stays free."""
        page = SMALL_BUFFER if block.arena[1] else LARGE_SEGMENT
        start, end = round_up(block.address, page), block.end // page * page
        if start >= end:
            return
        self._remove_free(block)
        pool, _, stream = block.arena
        self.reserved -= end - start
        self.emit("segment_unmap", start, end - start, stream, pool, stack or block.segment_stack, None)
        behind = block.next
        if end < block.end:
            rest = Block(end, block.end - end, block.arena, True)
            rest.requested, rest.next = block.requested, behind
            if behind is not None:
                behind.prev = rest
            behind = rest
            self._insert_free(rest)
        if behind is not None:
            behind.prev = None
            self.heads[behind.address] = behind
        if self.last[block.arena] is block:
            self.last[block.arena] = behind
        if start > block.address:
            block.size, block.next = start - block.address, None
            self._insert_free(block)
        elif block.prev is not None:
            block.prev.next = None
        else:
            del self.heads[block.address]
