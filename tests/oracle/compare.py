"""The readable difference between the report that should be and the one that is.

Figures must be equal. Findings must be of the same kinds; how far their numbers must agree is in the tables below:
where a contradiction can be counted in several honest ways, only its presence, or its first place, is compared.
"""

COUNT_AND_PLACE = {
    "free_without_alloc",
    "alloc_not_at_end",
    "double_free",
    "double_alloc",
    "size_mismatch",
    "time_backwards",
    "unknown_action",
}
COUNT = {"live_without_alloc", "began_late", "segment_sums", "unknown_state"}
PLACE = {"overlap", "outside_segment", "double_map", "unmap_unknown", "unmap_live"}
PRESENCE = {"ring_wrapped", "no_trace", "frees_at_request", "negative_curve", "block_layout", "segment_overlap"}
NOT_COMPARED = {"unknown_keys"}  # the oracle knows no list of keys
IMPLIED_BY_NO_TRACE = {"began_late", "live_without_alloc"}  # may or may not be said again

DEVICE_FIGURES = ("device", "end", "trace", "peak", "peak_reserved", "ooms")


def differences(expected, actual):
    """Lines, empty if the reports agree. Keys that only the actual report has are its own business."""
    lines = []
    if "file" in expected:
        lines += figure_lines("file", expected["file"], actual.get("file"))
    if not isinstance(actual.get("schema"), int):
        lines.append(f"schema: expected a number, got {actual.get('schema')!r}")
    numbers = [d.get("device") for d in actual.get("devices", [])]
    wanted = [d["device"] for d in expected["devices"]]
    if numbers != wanted:
        lines.append(f"devices: expected {wanted}, got {numbers}")
        return lines
    lines += figure_lines("busiest", expected["busiest"], actual.get("busiest", "no such key"))
    for device, got in zip(expected["devices"], actual["devices"]):
        lines += device_lines(f"device {device['device']}", device, got)
    if expected["host"] is None or actual.get("host") is None:
        lines += figure_lines("host", expected["host"], actual.get("host", "no such key"))
    else:
        lines += device_lines("host", expected["host"], actual["host"])
    return lines


def device_lines(where, expected, actual):
    lines = []
    for key in DEVICE_FIGURES:
        lines += figure_lines(f"{where}.{key}", expected[key], actual.get(key, "no such key"))
    trust, got = expected["trust"], actual.get("trust", {})
    lines += figure_lines(f"{where}.trust.complete", trust["complete"], got.get("complete"))
    return lines + finding_lines(f"{where}.trust", trust["findings"], got.get("findings", []))


def figure_lines(where, expected, actual):
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            line
            for key, value in expected.items()
            for line in figure_lines(f"{where}.{key}", value, actual.get(key, "no such key"))
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [
            line for i, pair in enumerate(zip(expected, actual)) for line in figure_lines(f"{where}[{i}]", *pair)
        ]
    same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return [] if same else [f"{where}: expected {expected!r}, got {actual!r}"]


def place(finding):
    """First event, with one value for "no event at all"."""
    event = finding.get("first_event")
    return None if event in (None, -1) else event


def finding_lines(where, expected, actual):
    kinds = {f["kind"]: f for f in expected}
    got = {f["kind"]: f for f in actual}
    ignored = NOT_COMPARED | (IMPLIED_BY_NO_TRACE if "no_trace" in kinds else set())
    lines = []
    if len(got) != len(actual):
        lines.append(f"{where}: a kind is listed twice: {[f['kind'] for f in actual]}")
    for kind in sorted((kinds.keys() | got.keys()) - ignored):
        if kind not in got:
            lines.append(f"{where}: missing {kinds[kind]}")
        elif kind not in kinds:
            lines.append(f"{where}: unexpected {got[kind]}")
        else:
            lines += finding_number_lines(where, kinds[kind], got[kind])
    return lines


def finding_number_lines(where, expected, actual):
    kind, lines = expected["kind"], []
    if kind in COUNT_AND_PLACE | COUNT and expected["count"] != actual.get("count"):
        lines.append(f"{where}.{kind}: expected count {expected['count']}, got {actual.get('count')}")
    if kind in COUNT_AND_PLACE | PLACE and place(expected) != place(actual):
        lines.append(f"{where}.{kind}: expected first_event {place(expected)}, got {place(actual)}")
    if not isinstance(actual.get("count"), int) or actual["count"] < 1:
        lines.append(f"{where}.{kind}: a finding has a count of at least 1, got {actual.get('count')!r}")
    return lines


def assert_same_report(expected, actual, what=""):
    lines = differences(expected, actual)
    assert not lines, "\n".join([f"{what}: the report differs from the truth", *lines])
