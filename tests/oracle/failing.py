"""Small recordings of programs that run out of memory, made by hand: PyTorch's caching allocator for requests of 20 MiB and more in
whole segments, on a card of a given size. Each allocation is named by the line that makes it; 0 is the backward pass."""

MiB = 1 << 20
START_US = 1_760_000_000_000_000


class Recording:
    def __init__(self, card, limit=None):
        self.card, self.limit = card, limit or card  # MiB
        self.segments = []  # [address, MiB, line or None, block]: in the order in which the driver gave them
        self.next, self.trace, self.marks = 0x7000_0000_0000, [], []

    def event(self, action, size, line, **more):
        frames = [{"filename": "train.py", "line": line, "name": "step"}] if line else []
        self.trace.append({"action": action, "size": size * MiB, "stream": 0, "time_us": START_US + 10 * len(self.trace), "frames": frames, **more})

    def reserved(self):
        return sum(size for _, size, _ in self.segments)

    def release(self, line):
        """What is cached goes back, as before a request fails."""
        for segment in [s for s in self.segments if s[2] is None]:
            self.event("segment_free", segment[1], line, addr=segment[0])
            self.segments.remove(segment)

    def alloc(self, size, line):
        """The segment, or None: out of memory."""
        found = [s for s in self.segments if s[2] is None and s[1] == size]
        assert not [s for s in self.segments if s[2] is None and s[1] > size], "it would be split"
        if not found and self.reserved() + size > self.limit:
            self.release(line)
        if not found and self.reserved() + size > self.limit:
            self.event("oom", size, line, device_free=(self.card - self.reserved()) * MiB)
            return None
        if not found:
            found = [[self.next, size, None]]
            self.event("segment_alloc", size, line, addr=self.next)
            self.segments += found
            self.next += size * MiB
        found[0][2] = line
        self.event("alloc", size, line, addr=found[0][0])
        return found[0]

    def free(self, segment, line):
        self.event("free_requested", segment[1], line, addr=segment[0])
        self.event("free_completed", segment[1], line, addr=segment[0])
        segment[2] = None

    def step(self, number):
        self.marks.append({"stage": "START", "name": f"ProfilerStep#{number}", "device": 0, "time_us": START_US + 10 * len(self.trace)})

    def snapshot(self):
        segments = []
        for address, size, line in self.segments:
            state = "inactive" if line is None else "active_allocated"
            block = {"address": address, "size": size * MiB, "requested_size": size * MiB, "state": state, "frames": []}
            segments.append({"device": 0, "address": address, "total_size": size * MiB, "stream": 0, "segment_type": "large", "blocks": [block]})
        return {"segments": segments, "device_traces": [self.trace], "external_annotations": self.marks}


def activations():
    """Two steps whose backward pass frees what the forward pass allocated, and a forward pass that needs more."""
    r = Recording(card=200)
    for size in (20, 20, 60):
        kept = [r.alloc(size, line) for line in (1, 2, 3)]
        extra = r.alloc(24, 4)
        if extra is None:
            break
        r.free(extra, 4)
        gradients = []
        for each in reversed(kept):
            gradients.append(r.alloc(30, 0))
            r.free(each, 0)
        gradients.append(r.alloc(30, 0))
        for each in gradients:
            r.free(each, 9)
        r.release(9)
    return r.snapshot()


def growing():
    """Each step keeps one more block."""
    r = Recording(card=230)
    for step in range(20):
        r.step(step)
        work = r.alloc(40, 1)
        if work is None or r.alloc(24, 2) is None:
            break
        r.free(work, 1)
        if step == 0:
            r.release(9)
    return r.snapshot()


def limited():
    """The card has room; the process may not have it."""
    r = Recording(card=2000, limit=100)
    for _ in range(4):
        r.alloc(24, 1)
    assert r.alloc(30, 2) is None
    return r.snapshot()


def full():
    """Nothing but a larger card or less of what is held helps."""
    r = Recording(card=200)
    for size in (24, 24, 24, 40, 60):
        r.alloc(size, 1 if size == 24 else 2)
    assert r.alloc(50, 3) is None
    return r.snapshot()


def fragmented():
    """Half of each segment is held, and no free half is large enough."""
    r = Recording(card=210)
    for _ in range(5):
        whole = r.alloc(40, 1)
        r.free(whole, 1)
        r.event("alloc", 20, 2, addr=whole[0])
        r.event("alloc", 20, 4, addr=whole[0] + 20 * MiB)
        whole[2] = 2
    for address, *_ in r.segments:
        r.event("free_requested", 20, 4, addr=address + 20 * MiB)
        r.event("free_completed", 20, 4, addr=address + 20 * MiB)
    assert r.alloc(30, 3) is None
    data = r.snapshot()
    for segment in data["segments"]:
        (block,) = segment["blocks"]
        half = {**block, "size": 20 * MiB, "requested_size": 20 * MiB}
        segment["blocks"] = [half, {**half, "address": half["address"] + 20 * MiB, "state": "inactive"}]
    return data


FAILING = {"activations": activations, "fragmented": fragmented, "growing": growing, "limited": limited, "full": full}
