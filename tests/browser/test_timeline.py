"""The picture equals the engine's values: heights, places, names; every allocation can be reached."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))

from page import ask, ask_all  # noqa: E402

EVENTS = 100_000


def picture_asked(path, shown, **more):
    """The native engine's picture of what the page shows."""
    return ask(path, "picture", x0=shown["x0"], x1=shown["x1"], y0=shown["y0"], y1=shown["y1"],
               columns=int(shown["columns"]), rows=int(shown["rows"]), **more)


def heights_of(picture):
    """For each pixel column: the total at its moment."""
    columns = picture["columns"]
    starts, totals = columns["sample_column"], columns["sample_bytes"]
    return [total for i, total in enumerate(totals) for _ in range(starts[i], starts[i + 1])]


def assert_heights(page, path, seed, **more):
    """50 random pixel columns: as many filled pixels as have their centre below the total."""
    shown = page.picture()
    totals = heights_of(picture_asked(path, shown, **more))
    rows, pixel = int(shown["rows"]), (shown["y1"] - shown["y0"]) / shown["rows"]
    chosen = sorted(random.Random(seed).sample(range(int(shown["columns"])), 50))
    for column, filled in zip(chosen, page.heights(chosen)):
        expected = min(rows, max(0, round((totals[column] - shown["y0"]) / pixel)))
        assert abs(filled - expected) <= 1, f"column {column}: {filled} pixels for {totals[column]} bytes"


def test_heights(open_page, trace):
    path = trace(EVENTS)
    page = open_page(ratio=2).choose(path).wait_for_picture().settle()
    assert_heights(page, path, 1)
    page.go(x0=40_000, x1=41_000).settle()
    assert_heights(page, path, 2)
    page.go(x0=40_100.25, x1=40_104.75).settle()
    assert_heights(page, path, 3)
    page.go(x0=None, x1=None, axis="time").settle()
    assert_heights(page, path, 4, axis="time")
    page.go(axis=None, what="segments").settle()
    assert_heights(page, path, 5, what="segments")
    page.go(what=None, filter="size>8MiB").settle()
    assert_heights(page, path, 6, filter="size>8MiB")


def places_of(path, rows):
    """For each allocation: a moment in the middle of its life, and all about it, with where it lies in the stack then."""
    moments = []
    for found in ask_all(path, "allocation", [{"row": row} for row in rows]):
        start = -1 if found["start_event"] is None else found["start_event"]
        end = EVENTS if found["end_event"] is None else found["end_event"]
        moments.append((start + end) // 2)
    return list(zip(moments, ask_all(path, "allocation", [{"row": row, "at": at} for row, at in zip(rows, moments)])))


def go_to(page, moment, found):
    """A window of seven events and five times its size, with the allocation in the middle."""
    size, offset = found["size_bytes"], found["offset_bytes"]
    page.go(x0=moment - 3, x1=moment + 4, y0=max(0, offset - 2 * size), y1=offset + 3 * size).settle()
    shown = page.picture()
    x = (moment + 0.5 - shown["x0"]) / (shown["x1"] - shown["x0"])
    return x, (offset + size / 2 - shown["y0"]) / (shown["y1"] - shown["y0"])


def test_every_allocation_is_reached(open_page, trace):
    """100 of them, small and large: go to where it is by calculation, point there, and it is that one."""
    path = trace(EVENTS)
    rows = random.Random(5).sample(range(ask(path, "allocations", top=1)["count"]), 100)
    page = open_page().choose(path).wait_for_picture()
    for moment, found in places_of(path, rows):
        page.hover(*go_to(page, moment, found))
        tip = page.tab.wait_for_selector(f"[data-row='{found['row']}']")
        assert tip.get_attribute("data-name") == found["name"]


def painted_over(page, x):
    """The heights at which the overlay has pixels, at a fraction of the width: as fractions from the bottom."""
    place = page.place()
    rows = page.tab.evaluate("""({ x, y, height }) => {
      const canvas = document.querySelector("[data-part=timeline] canvas.timeline-over");
      const box = canvas.getBoundingClientRect();
      const scale = canvas.height / box.height;
      const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const top = Math.round((y - box.top) * scale), rows = Math.round(height * scale);
      const { data } = context.getImageData(Math.round((x - box.left) * scale), top, 1, rows);
      return Array.from({ length: rows }, (_, row) => data[4 * row + 3] !== 0 ? 1 - (row + 0.5) / rows : null);
    }""", {"x": place["x"] + x * place["width"], "y": place["y"], "height": place["height"]})
    return [row for row in rows if row is not None]


def test_the_allocation_under_the_pointer_is_outlined(open_page, trace):
    """Beside the pointer's line: strokes at the upper and the lower edge of the allocation, and nothing else."""
    path = trace(EVENTS)
    rows = random.Random(6).sample(range(ask(path, "allocations", top=1)["count"]), 12)
    page = open_page().choose(path).wait_for_picture()
    for moment, found in places_of(path, rows):
        x, y = go_to(page, moment, found)
        page.hover(x, y)
        page.tab.wait_for_selector(f"[data-row='{found['row']}']")
        page.settle()
        shown = page.picture()
        edges = [(bytes_ - shown["y0"]) / (shown["y1"] - shown["y0"])
                 for bytes_ in (found["offset_bytes"], found["offset_bytes"] + found["size_bytes"])]
        near = 5 / page.place()["height"]
        painted = painted_over(page, x + 0.03)
        for edge in edges:
            assert any(abs(at - edge) < near for at in painted), (found["name"], edges, painted)
        assert all(min(abs(at - edge) for edge in edges) < near for at in painted), (found["name"], edges, painted)


def single_rows(path, shown):
    """How many allocations of the picture are drawn for themselves, and whether all are."""
    columns = picture_asked(path, shown)["columns"]
    single = {row for row, flags in zip(columns["run_row"], columns["run_flags"]) if not flags & 1}
    return len(single), not any(flags & 1 for flags in columns["run_flags"])


def test_wheel_brings_single_ones_back(open_page, trace):
    """From the whole run: turns of the wheel at one place, along and (with Alt) upwards, until all are drawn for themselves."""
    path = trace(EVENTS)
    page = open_page().choose(path).wait_for_picture().settle()
    assert not single_rows(path, page.picture())[1]
    page.hover(0.4, 0.5)
    for _ in range(15):
        page.tab.mouse.wheel(0, -300)
        page.settle()
    page.tab.keyboard.down("Alt")
    for _ in range(20):
        page.tab.mouse.wheel(0, -300)
        page.settle()
    page.tab.keyboard.up("Alt")
    shown = page.picture()
    assert shown["x1"] - shown["x0"] < 1000
    count, are_all = single_rows(path, shown)
    assert count > 0 and are_all
    assert_heights(page, path, 7)


def test_pinned_allocation_has_its_stack(open_page, trace):
    path = trace(EVENTS)
    moment, found = next(place for place in places_of(path, range(1000, 2500)) if ".py:" in place[1]["label"])
    page = open_page().choose(path).wait_for_picture()
    page.hover(*go_to(page, moment, found))
    page.tab.mouse.down()
    page.tab.mouse.up()
    text = page.tab.wait_for_selector(f"#details [data-row='{found['row']}']").inner_text()
    assert found["name"] in text and found["label"].split()[-1] in text
    page.wait_for_address(f"row={found['row']}")


def test_an_address_restores_the_view(open_page, served, trace):
    path = trace(2000)
    with served(path) as address:
        page = open_page(f"{address}#part=timeline&x0=100&x1=200&by=size&row=50").wait_for_picture().settle()
        shown = page.picture()
        assert (shown["x0"], shown["x1"]) == (100, 200)
        page.tab.wait_for_selector("#details [data-row='50']")
        page.tab.reload()
        page.wait_for_picture().settle()
        assert page.picture()["x0"] == 100


def test_devices_with_two_pixels_a_point(open_page, trace):
    path = trace(2000)
    page = open_page(ratio=2, width=1600, height=1000).choose(path).wait_for_picture().settle()
    shown = page.picture()
    assert shown["columns"] > 1600
    assert_heights(page, path, 8)


NOTE_NEW_CANVASES = """() => {
  const { setTransform } = CanvasRenderingContext2D.prototype;
  const seen = new Set();
  window.newCanvases = {};
  CanvasRenderingContext2D.prototype.setTransform = function (...matrix) {
    if (this.canvas.isConnected && !seen.has(this.canvas)) {
      seen.add(this.canvas);
      (window.newCanvases[document.timeline.currentTime] ??= []).push(this.canvas.className);
    }
    return setTransform.apply(this, matrix);
  };
}"""


def test_new_canvases_are_drawn_in_several_frames(open_page, trace):
    """The browser needs milliseconds for each one. That which follows the pointer is not made before there is one."""
    page = open_page()
    page.tab.evaluate(NOTE_NEW_CANVASES)
    page.choose(trace(EVENTS)).wait_for_picture().settle()
    frames = list(page.tab.evaluate("() => window.newCanvases").values())
    made = [name for names in frames for name in names]
    parts = ("timeline-picture", "timeline-lines", "minimap")
    of_frames = [[part for part in parts for name in names if part in name] for names in frames]
    assert sorted(part for names in of_frames for part in names) == sorted(parts), frames
    assert max(map(len, of_frames)) == 1, frames
    assert not any("timeline-over" in name for name in made), frames
    assert max(map(len, frames)) <= 2, frames
