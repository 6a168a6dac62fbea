"""Steps and growth, the slow and obvious way: steps from annotations, else from an allocation that comes back; what each line
has at the boundaries of steps, as a list for each boundary.
"""

from collections import Counter, defaultdict

import truth
from figures import lives_of, only_completion
from frames import BORDER
from normal import HOST

ROUNDS = 8
RISES = 3


# ---- steps


def from_annotations(memory, annotations, is_step):
    starts = sorted(a["time_us"] for a in annotations if a["stage"] == "START" and is_step(a["name"])
                    and (memory.device == HOST or a["device"] == memory.device))
    boundaries, event = [], 0
    for start in starts:
        while event < len(memory.entries) and (memory.entries[event].time is None or memory.entries[event].time < start):
            event += 1
        if event == len(memory.entries):
            break
        if not boundaries or boundaries[-1] < event:
            boundaries.append(event)
    return boundaries if len(boundaries) >= 2 else []


def returns_of(memory):
    """{(stack, size): events of its allocations}, in order of the first of each."""
    returns = defaultdict(list)
    for i, entry in enumerate(memory.entries):
        if entry.action == "alloc":
            returns[(entry.has_stack, entry.stack), entry.size].append(i)
    return returns


def token(entry):
    return entry.action, entry.has_stack, entry.stack, entry.size


def behind(memory):
    """{(allocation or free before it, its stack, its size): events of allocations}, in order of the first of each."""
    returns, before = defaultdict(list), None
    for i, entry in enumerate(memory.entries):
        if entry.action == "alloc":
            returns[before, (entry.has_stack, entry.stack), entry.size].append(i)
        if entry.action in ("alloc", "free_requested"):
            before = token(entry)
    return returns


def rounds(memory, returns, actions=("alloc",)):
    allocs = [i for i, e in enumerate(memory.entries) if e.action == "alloc"]
    noted = [i for i, e in enumerate(memory.entries) if e.action in actions]
    best = None
    for signature, at in returns.items():
        if len(at) <= ROUNDS or (best is not None and len(at) <= len(returns[best])):
            continue
        contents = [Counter(token(memory.entries[i]) for i in noted if low < i <= high) for low, high in zip(at, at[1:])]
        pairs = list(zip(contents, contents[1:]))
        differ = sum(one != other for one, other in pairs)
        covered = sum(at[0] < i <= at[-1] for i in allocs)
        if differ <= 2 + len(pairs) // 8 and at[-1] - at[0] >= len(memory.entries) // 2 and covered >= len(allocs) // 2:
            best = signature
    return best


def pattern(memory, returns):
    allocs = sum(e.action == "alloc" for e in memory.entries)

    def is_regular(at):
        distances = [high - low for low, high in zip(at[1:], at[2:])]
        return (min(distances) >= 6 and max(distances) <= min(distances) + min(distances) // 2
                and at[-1] - at[0] >= len(memory.entries) // 2)

    votes = defaultdict(lambda: [0, 0])
    for at in returns.values():
        if len(at) >= 4:
            votes[len(at)][0] += 1
            votes[len(at)][1] += is_regular(at)
    elected = [(-regular, count) for count, (every, regular) in votes.items() if regular > 0 and regular >= every - regular]
    if not elected:
        return None
    regular, count = min(elected)
    returning = sum(every for every, _ in votes.values())
    covered = sum(every * times for times, (every, _) in votes.items() if times + 1 >= count)
    if -regular < returning // 16 or covered < allocs // 8:
        return None
    return next(s for s, at in returns.items() if len(at) == count and is_regular(at))


def callers_of(memory, stack):
    """The Python frames of a stack, outermost first."""
    recorded = stack[: stack.index(BORDER)] if BORDER in stack else stack
    return [frame for frame in reversed(recorded) if memory.frames.kind(frame) in ("user", "library")][:64]


def is_of_model(frame):
    function, file, _ = frame
    parts = file.replace("\\", "/")
    return function == "__init__" or "torch/nn/modules/" in parts or "torch/optim/" in parts


def may_be_steps(memory, boundaries, source):
    if len(boundaries) < 2:
        return False
    middle = len(boundaries) // 2
    entries = memory.entries[boundaries[middle - 1] : boundaries[middle]]
    stacks = [callers_of(memory, e.stack) for e in entries if e.action == "alloc" and e.has_stack]
    stacks = [stack for stack in stacks if stack]
    common = []
    for frames in zip(*stacks):
        if len(set(frames)) > 1:
            break
        common.append(frames[0])
    if any(map(is_of_model, common)):
        return False
    if source == "pattern" or common:
        return True
    below = {(stack[0][0], stack[0][1]) for stack in stacks}
    return len(below) == 1


def steps(memory, annotations):
    """(source, boundaries, (stack, size) of the anchor)"""
    found = from_annotations(memory, annotations, lambda name: name.startswith("ProfilerStep#"))
    if found:
        return "annotations", found, None
    names = Counter()
    for a in annotations:
        mine = memory.device == HOST or a["device"] == memory.device
        if a["stage"] == "START" and mine and a["name"].startswith("Optimizer.step#"):
            names[a["name"]] += 1
    if names:
        most = next(name for name in names if names[name] == max(names.values()))
        found = from_annotations(memory, annotations, lambda name: name == most)
        if found:
            return "annotations", found, None
    returns = returns_of(memory)
    anchor = rounds(memory, returns)
    if anchor is not None:
        boundaries, finer = returns[anchor], behind(memory)
        other = rounds(memory, finer, ("alloc", "free_requested"))
        if other is not None and len(finer[other]) + 1 < len(boundaries):
            boundaries, anchor = finer[other], other[1:]
        if may_be_steps(memory, boundaries, "rounds"):
            return "rounds", boundaries, anchor
    anchor = pattern(memory, returns)
    if anchor is not None and may_be_steps(memory, returns[anchor], "pattern"):
        return "pattern", returns[anchor], anchor
    return None, [], None


# ---- growth


def is_pending(memory, life, event):
    """Of a block that is live then: whether the program had freed it."""
    if truth.frees_at_request(memory):
        return False
    if life.requested_at is not None:
        return life.requested_at <= event
    if life.born is not None or only_completion(memory):
        return False
    if life.ended_at is not None:
        return True
    return any(b.address == life.address and b.state == "active_pending_free" for b in memory.blocks)


def labels_of(memory, lives):
    """{id of a life: the label of its line}"""
    tell = truth.frees_tell_alloc(memory)
    at_end = {b.address: b for b in memory.blocks if b.active}
    labels = {}
    for life in lives:
        if life.born is not None:
            source = memory.entries[life.born]
        elif life.ended_at is None and life.address in at_end and at_end[life.address].has_stack:
            source = at_end[life.address]
        else:
            ended = life.ended_at if life.ended_at is not None else life.requested_at
            source = memory.entries[ended] if tell and ended is not None else None
        stack = source.stack if source is not None and source.has_stack else None
        labels[id(life)] = memory.frames.owner_label(stack) if stack else memory.frames.why(stack, life.born is None)
    return labels


def growth(memory, source, boundaries):
    """[{label, kind, bytes, blocks, steps, rises, first_step, live_bytes, pending_bytes, end_bytes}]"""
    if len(boundaries) < RISES + 1:
        return []
    lives, last = lives_of(memory), boundaries[-1]
    if source == "pattern":
        made = [life for life in lives if life.born is not None and boundaries[0] <= life.born < last]
        kept = sum(life.size for life in made if life.ended_at is None or life.ended_at >= last)
        if kept > sum(life.size for life in made) // 2:
            return []
    labels, rows = labels_of(memory, lives), defaultdict(list)
    for life in lives:
        seen = [n for n, at in enumerate(boundaries)
                if (life.born is None or life.born < at) and (life.ended_at is None or life.ended_at >= at)]
        if seen:
            rows[labels[id(life)]].append((life, seen[0], seen[-1] + 1))
    found = []
    for label, of_line in rows.items():
        changes = sum(1 + (gone < len(boundaries)) for _, _, gone in of_line)
        run = longest_run(of_line, len(boundaries), changes)
        if run is None:
            continue
        live = [life for life, _, gone in of_line if gone == len(boundaries)]
        run["label"] = label
        run["live_bytes"] = sum(life.size for life in live)
        run["pending_bytes"] = sum(life.size for life in live if is_pending(memory, life, last - 1))
        run["end_bytes"] = sum(life.size for life in lives if labels[id(life)] == label and life.ended_at is None
                               and not is_pending(memory, life, len(memory.entries) - 1))
        run["kind"] = ("pending" if run["pending_bytes"] > run["live_bytes"] // 2
                       else "freed" if run["end_bytes"] < run["bytes"] // 2 else "allocated")
        found.append(run)
    return found


def longest_run(of_line, boundaries, changes):
    """The longest run of steps, ending with the last, in which the line grows."""
    best = None
    if changes < RISES:
        return None
    for length in range(1, boundaries):
        steps_ = range(boundaries - length, boundaries)  # each by the boundary that ends it
        net, blocks_of = [], []
        came = went = passed = 0
        for end in steps_:
            plus = sum(life.size for life, seen, _ in of_line if seen == end)
            minus = sum(life.size for life, _, gone in of_line if gone == end)
            came, went = came + plus, went + minus
            passed += sum(life.size for life, seen, gone in of_line if gone == end and seen == end - 1 and life.born is not None and end >= 2)
            net.append(plus - minus)
            blocks_of.append(sum(seen == end for _, seen, _ in of_line) - sum(gone == end for _, _, gone in of_line))
        rises, blocks = sum(n > 0 for n in net), sum(blocks_of)
        if net[0] <= 0:
            continue
        more = rises >= RISES and length - rises <= length // 5 and blocks >= rises // 2 and went - passed <= (came - passed) // 4
        larger = not any(blocks_of) and rises == length and rises >= 2 * RISES
        if more or larger:
            best = {"bytes": came - went, "blocks": max(blocks, 0), "steps": length, "rises": rises,
                    "first_step": boundaries - 1 - length, "bytes_per_step": (came - went) // length}
    return best
