"""Two snapshots of one program, compared event for event: addresses by segment and offset, streams and pools by order of appearance."""

NAMED = ("action", "addr", "size", "stream", "pool_id", "device_free")


class Names:
    """Names for the addresses, streams and pools of one trace, which are equal in every run that makes the same decisions.

    A segment is named by its number in the trace. So are the reserved addresses of expandable segments, for as long as a page of them
    is mapped; `reserves` has these by stream, pool and size of pages: [first address, mapped bytes]."""

    def __init__(self):
        self.streams, self.pools, self.reserves, self.bases, self.count = {0: 0}, {}, {}, {}, 0

    def stream(self, handle):
        return self.streams.setdefault(handle, len(self.streams))

    def pool(self, pool):
        return self.pools.setdefault(tuple(pool), len(self.pools)) if any(pool) else None

    def base(self, address):
        return max((base for base in self.bases if base <= address), default=None)

    def place(self, address):
        base = self.base(address)
        return ("nowhere", address) if base is None else (self.bases[base], address - base)

    def begin(self, address):
        self.bases[address] = self.count
        self.count += 1

    def map(self, key, address, size):
        if key not in self.reserves:
            self.reserves[key] = [address, 0]
            self.begin(address)
        self.reserves[key][1] += size

    def unmap(self, address, size):
        base = self.base(address)
        for key, reserve in list(self.reserves.items()):
            if reserve[0] != base:
                continue
            reserve[1] -= size
            if reserve[1] == 0:
                del self.reserves[key], self.bases[base]

    def event(self, entry):
        action, address, size = entry["action"], entry.get("addr", 0), entry["size"]
        stream, pool = self.stream(entry["stream"]), self.pool(entry.get("pool_id", (0, 0)))
        if action == "segment_alloc":
            self.begin(address)
        if action == "segment_map":
            self.map((stream, pool, size == 2 << 20), address, size)
        place = None if action in ("oom", "snapshot") else self.place(address)
        if action == "segment_unmap":
            self.unmap(address, size)
        if action == "segment_free":
            del self.bases[address]
        return action, place, size, stream, pool, rest(entry, (*NAMED, "time_us"))

    def segment(self, segment):
        blocks = [rest(block, ("address",)) for block in segment["blocks"]]
        return (self.place(segment["address"]), self.stream(segment["stream"]), self.pool(segment["segment_pool_id"]),
                rest(segment, ("address", "stream", "segment_pool_id", "blocks")), blocks)


def rest(mapping, without):
    """The other members, in their order."""
    return [(key, value) for key, value in mapping.items() if key not in without]


def without_callers(snapshot, callers):
    """The snapshot, less the frames of these functions: those of the program that ran it."""
    lists = [entry for trace in snapshot["device_traces"] for entry in trace]
    lists += [block for segment in snapshot["segments"] for block in (segment, *segment["blocks"])]
    for entry in lists:
        if "frames" in entry:
            entry["frames"] = [frame for frame in entry["frames"] if frame["name"] not in callers]
    return snapshot


def described(snapshot):
    """(events, segments) of the first GPU."""
    names = Names()
    events = [names.event(entry) for entry in snapshot["device_traces"][0]]
    return events, sorted(map(names.segment, snapshot["segments"]), key=repr)


def first_difference(left, right):
    """None, or (what differs, at which index, in the left one, in the right one)."""
    for what, a, b in zip(("event", "segment"), described(left), described(right), strict=True):
        for i in range(max(len(a), len(b))):
            mine, other = (rows[i] if i < len(rows) else None for rows in (a, b))
            if mine != other:
                return what, i, mine, other
    return None
