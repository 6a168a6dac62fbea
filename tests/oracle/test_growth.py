"""Steps and growth of `report` against growth.py: of all files of this ring, and of programs that run a loop."""

import json
from collections import Counter

import pytest

import cli
import closed_unpickler
import shapes
import truth
from allocated import allocated_curve
from figures import only_completion
from frames import without_folders
from growth import growth, steps
from loops import loop_run
from normal import normalise
from test_diff import name_of
from test_figures import expect
from test_queries import ask, memories, paths  # noqa: F401  (paths is a fixture)
from writers import WRITERS

pytestmark = pytest.mark.binary

LOOPS_PER_TEST = 20
asked = Counter()  # kinds of ranges
ORDER = ("allocated", "freed", "pending")


def check_device(device, memory, annotations, where):
    """Compares, and returns what was told."""
    source, boundaries, anchor = steps(memory, annotations)
    if source is None:
        assert device["steps"] is None, where
    else:
        expect(device["steps"], {"source": source, "count": len(boundaries) - 1, "first_event": boundaries[0],
                                 "last_event": boundaries[-1], "anchor_bytes": anchor[1] if anchor else None}, where)
    wanted = growth(memory, source, boundaries)
    keys = ("kind", "bytes", "blocks", "bytes_per_step", "steps", "rises", "first_step", "live_bytes", "pending_bytes", "end_bytes")

    def rows(growths):
        return Counter((without_folders(g["label"]), *(g[key] for key in keys)) for g in growths)

    assert rows(device["growth"]) == rows(wanted), where
    assert device["growth_count"] == len(wanted), where
    order = [(ORDER.index(g["kind"]), -g["bytes_per_step"]) for g in device["growth"]]
    assert order == sorted(order), where
    return source, [g["kind"] for g in wanted]


def check_ranges(path, device, memory, settings, boundaries, number):
    """The peaks within steps, in `inventory`, of one kind of range for each file; ranges that are not there."""
    count, last = len(boundaries) - 1, len(memory.entries) - 1
    step = 1 + number % count
    text, low, high = [(f"step {step}", boundaries[step - 1], boundaries[step] - 1), (f"steps {step}-{count}", boundaries[step - 1], boundaries[count] - 1),
                       (f"steps -{step}", -1, boundaries[step] - 1), (f"steps {step}-", boundaries[step - 1], last),
                       (f"steps {count + 1}-", boundaries[count], last)][number % 5]
    where = f"{path.name}, device {device['device']}, {text}"
    curves = truth.requested_curve(memory), truth.reserved_curve(memory)
    requested, reserved = (curve[low + 1 : high + 2] for curve in curves)  # a curve begins before the first event
    ask_at = cli.run("query", path, "inventory", f"device={name_of(device['device'])}", f"at={text}")
    found = json.loads(ask_at.out)
    within = found["within"]
    assert (within["first_event"], within["last_event"]) == (low, high), where
    assert (within["peak_requested_bytes"], within["peak_reserved_bytes"]) == (max(requested), max(reserved)), where
    assert found["at"]["event"] == low + requested.index(max(requested)), where
    curve, _ = allocated_curve(memory, settings, truth.frees_at_request(memory), only_completion(memory))
    assert within["peak_allocated_bytes"] == max(curve[low + 1 : high + 2]), where
    for absent in (f"step {count + 1}", f"steps {count + 2}-", f"steps 1-{count + 1}"):
        assert cli.run("query", path, "inventory", f"device={name_of(device['device'])}", f"at={absent}").code != 0
    asked.update([number % 5])


def check_file(path, number=0):
    file = closed_unpickler.read_file(path)
    annotations = file.data.get("external_annotations", []) if isinstance(file.data, dict) else []
    report = ask("report", path, "--top", "0")
    for device in [*report["devices"], *([report["host"]] if report["host"] else [])]:
        memory = memories(path)[device["device"]]
        source, boundaries, _ = steps(memory, annotations)
        if source is not None:
            check_ranges(path, device, memory, normalise(file.data).settings, boundaries, number)
        yield check_device(device, memory, annotations, f"{path.name}, device {device['device']}")


def test_steps_and_growth(paths):
    for path in paths:
        list(check_file(path))


told = Counter()


@pytest.mark.parametrize("first", range(0, 200, LOOPS_PER_TEST))
def test_steps_and_growth_of_loops(first, tmp_path):
    for seed in range(first, first + LOOPS_PER_TEST):
        path = tmp_path / f"loop{seed}.pickle"
        path.write_bytes(WRITERS["c-4"].write(shapes.build(loop_run(seed), "2.15")))
        for source, kinds in check_file(path, seed):
            told.update([source, *kinds])


def test_loops_show_everything():
    """The test above is about something: every source of steps, and everything that can become of growth."""
    assert set(told) >= {"annotations", "rounds", "pattern", None, *ORDER}, told
    assert set(asked) == set(range(5))


def test_forty_rounds_of_a_bare_loop(tmp_path):
    """No annotation, one line, one allocation a round, and a temporary in every other program."""
    from run import Run, Stack
    from simulate import EPOCH_US, SimulatedDevice
    import random

    for temporary in (False, True):
        sim = SimulatedDevice(0, random.Random(1), [EPOCH_US])
        stack = Stack([("<module>", "loop.py", 3)])
        for _ in range(40):
            if temporary:
                sim.allocator.free(sim.allocator.malloc(1 << 20, 0, (0, 0), stack))
            sim.allocator.malloc(3 << 20, 0, (0, 0), stack)
        path = tmp_path / f"bare{temporary}.pickle"
        path.write_bytes(WRITERS["c-4"].write(shapes.build(Run([sim.as_run()]), "2.15")))
        (device,) = cli.report_of(path)["devices"]
        assert (device["steps"]["source"], device["steps"]["count"]) == ("rounds", 39)
        (grown,) = device["growth"]
        assert (grown["kind"], grown["bytes_per_step"], grown["steps"]) == ("allocated", 3 << 20, 39)
        line = next(line for line in device["lines"] if line["about"] == "growth")
        assert "loop.py:3" in line["text"] and "likely a leak" not in line["text"], line
