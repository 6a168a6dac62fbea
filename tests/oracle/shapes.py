"""The plain data of every age of PyTorch, from one run.

An age is a row of features. `build(run, age)` writes the dicts and lists the way that age's recorder does: same keys in
the same order, one list per captured traceback, one dict per distinct frame, file names and function names as string
objects of their own. `profiler_derived(run)` is the one shape that no recorder writes: a torch.profiler timeline turned
into a snapshot.
"""

from dataclasses import dataclass

SIZE_CLASSES = [str(1 << i) for i in range(16)]


@dataclass(frozen=True)
class Age:
    name: str
    bare_list: bool = False
    stream_on_segments: bool = True
    history: bool = False  # stacks and sizes in the blocks' history, not in the blocks
    cpp_frames: bool = False
    requested: bool = True  # requested_size on blocks and segments
    placed: bool = True  # address and frames on blocks, frames, pool and is_expandable on segments
    times: bool = True  # time_us, allocator_settings, external_annotations
    contexts: bool = True  # compile_context and user_metadata
    event_pools: bool = True  # pool_id on events
    forward: bool = True
    counter: bool = False  # registration_counter on segments
    host: bool = False
    annotates: bool = False
    split_order: bool = False  # `frames` before or after `blocks`, by whether the segment has a stack
    stacks: bool = True
    wrapped: object = None  # trace_alloc_overflowed, from producers that say it
    conf_key: str = "PYTORCH_CUDA_ALLOC_CONF"


def _old(name, **features):
    plain = dict(contexts=False, event_pools=False, forward=False)
    return Age(name, **{**plain, **features})


AGES = {
    age.name: age
    for age in (
        _old("1.10", bare_list=True, stream_on_segments=False, requested=False, placed=False, times=False),
        _old("1.12", bare_list=True, requested=False, placed=False, times=False),
        _old("1.13", history=True, requested=False, placed=False, times=False),
        _old("1.13-cpp", history=True, cpp_frames=True, requested=False, placed=False, times=False),
        _old("2.0", history=True, placed=False, times=False),
        _old("2.1", times=False),
        _old("2.3"),
        Age("2.9", event_pools=False, forward=False),
        Age("2.9-other-backend", event_pools=False, forward=False, conf_key="PYTORCH_NPU_ALLOC_CONF"),
        Age("2.12", counter=True),
        Age("2.12-overflowed", counter=True, wrapped=True),
        Age("2.15", host=True, annotates=True, split_order=True),
        Age("2.15-stackless", host=True, annotates=True, split_order=True, stacks=False),
    )
}

ROUND_TRIP_AGES = ("2.3", "2.9", "2.12", "2.12-overflowed", "2.15", "2.15-stackless")  # modern, known keys only


class Sharing:
    """Returns one list per captured traceback and one dict per distinct frame."""

    def __init__(self):
        self.lists = {}
        self.dicts = {}

    def frame(self, frame, keys=("name", "filename", "line")):
        if (frame, keys) not in self.dicts:
            name, filename, line = frame
            own = {"name": (name + " ")[:-1], "filename": (filename + " ")[:-1], "line": line}
            self.dicts[frame, keys] = {key: own[key] for key in keys}
        return self.dicts[frame, keys]

    def frames(self, stack):
        if stack is None:
            return []
        if id(stack) not in self.lists:
            self.lists[id(stack)] = (stack, [self.frame(f) for f in stack.frames])  # keeps the id taken
        return self.lists[id(stack)][1]


class Builder:
    def __init__(self, age):
        self.age = age
        self.sharing = Sharing()

    def frames(self, stack):
        return self.sharing.frames(stack if self.age.stacks else None)

    # Traces

    def event(self, event):
        age = self.age
        place = "device_free" if event.action == "oom" else "addr"
        entry = {"action": event.action, place: event.address, "size": event.size, "stream": event.stream}
        if age.times:
            entry["time_us"] = event.time
        if age.contexts:
            entry["compile_context"] = event.context
            entry["user_metadata"] = event.metadata
        if age.event_pools:
            entry["pool_id"] = tuple(event.pool)
        if event.stack is not None and age.stacks:
            entry["frames"] = self.frames(event.stack)
            if age.cpp_frames:
                entry["cpp_frames"] = self.native_frames(event.stack)
            if age.forward and event.forward:
                entry["forward_frames"] = list(event.forward)
        return entry

    def trace(self, events):
        return [self.event(e) for e in events if e.action != "annotate" or self.age.annotates]

    def native_frames(self, stack):
        return [self.sharing.frame(f) for f in stack.frames if f[2] == 0]

    # End state

    def history(self, block):
        """Newest first. A free block may still remember several earlier users of its bytes."""
        entries = [{"addr": block.address, "real_size": block.requested}]
        if block.stack is not None:
            entries[0]["frames"] = self.frames(block.stack)
            if self.age.cpp_frames:
                entries[0]["cpp_frames"] = self.native_frames(block.stack)
        if block.state == "inactive" and block.size > 4096:
            entries.append({"addr": block.address + 2048, "real_size": 2048})
        return entries

    def block(self, block):
        age = self.age
        entry = {}
        if age.placed:
            entry["address"] = block.address
        entry["size"] = block.size
        if age.requested:
            entry["requested_size"] = block.requested
        entry["state"] = block.state
        if age.history and block.requested:
            entry["history"] = self.history(block)
        if age.placed:
            entry["frames"] = self.frames(block.stack)
            if age.forward and block.forward:
                entry["forward_frames"] = list(block.forward)
        return entry

    def segment(self, segment):
        age = self.age
        active = [b for b in segment.blocks if b.state != "inactive"]
        entry = {
            "device": segment.device,
            "address": segment.address,
            "total_size": segment.size,
            "allocated_size": sum(b.size for b in active if b.state == "active_allocated"),
            "active_size": sum(b.size for b in active),
        }
        if age.requested:
            entry["requested_size"] = sum(b.requested for b in active)
        if age.stream_on_segments:
            entry["stream"] = segment.stream
        entry["segment_type"] = segment.kind
        if age.placed:
            entry["segment_pool_id"] = tuple(segment.pool)
            entry["is_expandable"] = segment.expandable
        if age.counter:
            entry["registration_counter"] = segment.counter
        blocks = [self.block(b) for b in segment.blocks]
        if not age.placed:
            entry["blocks"] = blocks
        elif age.split_order and segment.stack is not None and age.stacks:
            entry["blocks"] = blocks
            entry["frames"] = self.frames(segment.stack)
        else:
            entry["frames"] = self.frames(segment.stack)
            entry["blocks"] = blocks
        if age.forward and segment.forward:
            entry["forward_frames"] = list(segment.forward)
        return entry

    def settings(self, run):
        age = self.age
        settings = {
            age.conf_key: run.conf,
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": any(s.expandable for d in run.devices for s in d.segments),
            "pinned_num_register_threads": 1,
            "release_lock_on_cudamalloc": False,
            "pinned_use_cuda_host_register": False,
        }
        if age.contexts:
            settings["graph_capture_record_stream_reuse"] = False
        if age.host:
            settings["max_round_threshold"] = -1
            settings["max_cached_size"] = -1
        settings["roundup_power2_divisions"] = {size: 0 for size in SIZE_CLASSES}
        if age.wrapped is not None:
            settings["trace_alloc_overflowed"] = age.wrapped
            settings["trace_alloc_max_entries"] = max((len(d.events) for d in run.devices), default=0)
        return {**settings, **run.extra_settings}

    def annotation(self, name, stage, device, time):
        return {"stage": stage, "name": name, "device": device, "time_us": time}

    def snapshot(self, run):
        age = self.age
        segments = [self.segment(s) for device in run.devices for s in device.segments]
        if age.bare_list:
            return segments
        top = {"segments": segments, "device_traces": [self.trace(device.events) for device in run.devices]}
        if age.times:
            top["allocator_settings"] = self.settings(run)
            top["external_annotations"] = [self.annotation(*a) for a in run.annotations]
        if age.host:
            top["host_segments"] = [self.segment(s) for s in run.host.segments]
            top["host_traces"] = self.trace(run.host.events)
        return top


def build(run, age):
    """The plain data that PyTorch of this age would have pickled for this run."""
    return Builder(AGES[age] if isinstance(age, str) else age).snapshot(run)


def profiler_derived(run):
    """A snapshot made from a profiler's timeline of tensors.

    One segment per device from its lowest to its highest tensor, one more device for the CPU, categories on the allocs,
    no times, every free both requested and completed at once, gaps between tensors as inactive blocks without further
    keys.
    """
    sharing = Sharing()
    keys = ("filename", "line", "name")

    def frames(stack):
        return [sharing.frame((name, "none", 0), keys) for name, _, _ in (stack.frames if stack else ())]

    traces, segments = [], []
    cpu = [("alloc", 0x5580_0000_0000, 4096, None, "input"), ("alloc", 0x5580_0001_0000, 100, None, "unknown")]
    for number, events in enumerate([device_tensors(d) for d in run.devices] + [cpu]):
        trace, live, touched = [], {}, []
        for action, address, size, stack, category in events:
            entry = {"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": frames(stack)}
            touched.append((address, address + size))
            if action == "alloc":
                live[address] = (size, entry["frames"])
                trace.append({**entry, "category": category or "unknown"})
                continue
            size, entry["frames"] = live.pop(address, (size, entry["frames"]))
            for name in ("free_requested", "free_completed"):
                trace.append({**entry, "action": name, "size": size})
        traces.append(trace)
        if live:
            segments.append(tensor_segment(number, live, touched))
    return {"device_traces": traces, "segments": segments}


def device_tensors(device):
    """(action, address, size, stack, category) of the tensors of a run."""
    names = {"alloc": "alloc", "free_completed": "free"}
    return [(names[e.action], e.address, e.size, e.stack, e.category) for e in device.events if e.action in names]


def tensor_segment(device, live, touched):
    start = min(low for low, _ in touched)
    end = max(high for _, high in touched)
    blocks, at = [], start
    for address in sorted(live):
        size, frames = live[address]
        if at < address:
            blocks.append({"size": address - at, "state": "inactive"})
        blocks.append({"size": size, "state": "active_allocated", "requested_size": size, "frames": frames})
        at = address + size
    if at < end:
        blocks.append({"size": end - at, "state": "inactive"})
    return {"device": device, "address": start, "total_size": end - start, "stream": 0, "blocks": blocks}
