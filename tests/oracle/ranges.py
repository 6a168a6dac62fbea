"""Sets of address ranges as sorted lists of (start, end), end excluded."""


def without_range(ranges, cut):
    """The parts of `ranges` outside `cut`."""
    kept = []
    for start, end in ranges:
        if start < min(end, cut[0]):
            kept.append((start, min(end, cut[0])))
        if max(start, cut[1]) < end:
            kept.append((max(start, cut[1]), end))
    return kept


def joined(ranges):
    """Sorted, with touching and overlapping ranges made one."""
    result = []
    for start, end in sorted(r for r in ranges if r[0] < r[1]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def covers(ranges, start, end):
    """Whether one range holds all of [start, end)."""
    return any(a <= start and end <= b for a, b in ranges)
