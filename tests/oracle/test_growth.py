"""Steps and growth of `report` against growth.py: of all files of this ring, and of programs that run a loop."""

from collections import Counter

import pytest

import cli
import closed_unpickler
import shapes
from growth import growth, steps
from loops import loop_run
from normal import normalise
from test_figures import expect, without_folders
from test_queries import ask, memories, paths  # noqa: F401  (paths is a fixture)
from writers import WRITERS

pytestmark = pytest.mark.binary

LOOPS_PER_TEST = 20
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


def check_file(path):
    file = closed_unpickler.read_file(path)
    annotations = file.data.get("external_annotations", []) if isinstance(file.data, dict) else []
    report = ask("report", path, "--top", "0")
    for device in [*report["devices"], *([report["host"]] if report["host"] else [])]:
        yield check_device(device, memories(path)[device["device"]], annotations, f"{path.name}, device {device['device']}")


def test_steps_and_growth(paths):
    for path in paths:
        list(check_file(path))


told = Counter()


@pytest.mark.parametrize("first", range(0, 200, LOOPS_PER_TEST))
def test_steps_and_growth_of_loops(first, tmp_path):
    for seed in range(first, first + LOOPS_PER_TEST):
        path = tmp_path / f"loop{seed}.pickle"
        path.write_bytes(WRITERS["c-4"].write(shapes.build(loop_run(seed), "2.15")))
        for source, kinds in check_file(path):
            told.update([source, *kinds])


def test_loops_show_everything():
    """The test above is about something: every source of steps, and everything that can become of growth."""
    assert set(told) >= {"annotations", "rounds", "pattern", None, *ORDER}, told


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
