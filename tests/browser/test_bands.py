"""Below the tensors: the bands are the engine's, and a click shows the ledger of that moment as `vramscope where` has it, to the byte."""

import json
import os
import subprocess

import pytest
from conftest import PROGRAM
from page import ask

CANVAS = ".bands-canvas"


def where(path, event):
    told = json.loads(subprocess.run([PROGRAM, "where", "--json", "--at", str(event), path], capture_output=True, check=True).stdout)
    return [(row["kind"], row["bytes"]) for row in every(told["devices"][0]) if row["is_shown"]]


def every(row):
    yield row
    for below in row["rows"]:
        if below["is_shown"]:
            yield from every(below)


def unfolded(page):
    page.settle()
    assert page.tab.get_attribute(".bands-head button", "aria-expanded") == "false" and page.tab.is_hidden(CANVAS)
    page.tab.click(".bands-head button")
    page.tab.wait_for_selector(f"{CANVAS}[data-points]:not([data-points='0'])")
    return page.wait_for_address("bands=true").settle()


def place_of(page, point, count):
    """Near the ground of the bands of a point."""
    box, left = page.tab.locator(CANVAS).bounding_box(), page.place()["x"]
    return left + (point + 0.5) / count * (box["x"] + box["width"] - left), box["y"] + box["height"] - 8


def ledger_of(page, event):
    page.tab.wait_for_selector(f"#details .details[data-row='{event}'][data-what=ledger][aria-busy=false] .ledger")
    rows = page.tab.eval_on_selector_all("#details .ledger tr", "(rows) => rows.map((row) => [row.dataset.kind, row.dataset.bytes])")
    return [(kind, int(size) if size else None) for kind, size in rows]


def colours(page, points, count):
    """Of each point the colours from the ground up, in which its bands are drawn."""
    return page.tab.evaluate("""({ points, count, gutter }) => {
      const canvas = document.querySelector(".bands-canvas");
      const context = canvas.getContext("2d", { willReadFrequently: true });
      return points.map((point) => {
        const x = Math.floor(gutter + ((point + 0.5) / count) * (canvas.width - gutter));
        const { data } = context.getImageData(x, 0, 1, canvas.height);
        const seen = [];
        for (let y = canvas.height - 6; y >= 0; y--) {
          const colour = [...data.slice(4 * y, 4 * y + 3)].join(" ") + (data[4 * y + 3] === 255 ? "" : " edge");
          if (seen.at(-1)?.colour === colour) seen.at(-1).pixels += 1;
          else seen.push({ colour, pixels: 1 });
        }
        return seen;
      });
    }""", {"points": points, "count": count, "gutter": page.place()["x"]})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_click_shows_the_ledger_of_the_moment(open_page, demo, theme):
    page = unfolded(open_page(theme=theme).choose(demo).wait_for_picture())
    legend = page.tab.inner_text(".bands-legend")
    assert "releasable" in legend and "other libraries: unknown, a snapshot or recording has PyTorch's memory alone" in legend
    count = int(page.tab.get_attribute(CANVAS, "data-points"))
    columns = ask(demo, "bands", points=count)["columns"]
    point = int(0.55 * count)
    event = columns["point_event"][point]
    x, y = place_of(page, point, count)
    page.tab.mouse.move(x, y)
    tip = page.tab.inner_text(".bands .tip")
    assert f"event {event:,}" in tip and f"{int(columns['known'][point]):,} bytes" in tip and "PyTorch, estimated" in tip
    assert "releasable" in tip and f"{int(columns['bytes'][point]):,} bytes" in tip
    (seen,) = colours(page, [point - 3], count)
    high = max(sum(columns["bytes"][band * count + at] for band in range(5)) for at in range(count)) * 1.06
    assert seen[0]["pixels"] == pytest.approx(columns["bytes"][point - 3] / high * 122 - 1, abs=2)
    page.tab.mouse.click(x, y)
    assert ledger_of(page, event) == where(demo, event)
    page.wait_for_address("rowWhat=ledger").key("Escape")
    page.tab.wait_for_selector("#details", state="hidden")


def test_bands_by_keys(open_page, demo):
    """From moment to moment, what is there is read out, and Enter shows the ledger."""
    page = unfolded(open_page().choose(demo).wait_for_picture())
    count = int(page.tab.get_attribute(CANVAS, "data-points"))
    events = ask(demo, "bands", points=count)["columns"]["point_event"]
    page.tab.focus(CANVAS)
    page.key("ArrowRight", "ArrowRight")
    event = events[count // 2 + 1]
    page.tab.wait_for_function("(text) => document.body.textContent.includes(text)", arg=f"event {event:,}, ")
    page.key("Enter")
    assert ledger_of(page, event) == where(demo, event)


LIBRARIES = """
import ctypes, torch
runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
kept = torch.ones(64, 64, device="cuda")
product = kept @ kept
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(48 << 20)) == 0
tensors = [torch.empty((10 + i) << 20, dtype=torch.uint8, device="cuda") for i in range(20)]
assert runtime.cudaFree(memory) == 0
del tensors[::2]
tensors += [torch.empty(5 << 20, dtype=torch.uint8, device="cuda") for i in range(10)]
"""


def test_other_libraries(open_page, tmp_path):
    """A recording has what they took: a band for each, and a row of the ledger. The one that gave it back has none at the end."""
    (tmp_path / "program.py").write_text(LIBRARIES)
    argv = [PROGRAM, "run", "-q", "--gpu", "24GiB", "-o", "run.vram", "--", os.environ["VRAMSCOPE_SIM_PYTHON"], "program.py"]
    subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    recording = tmp_path / "run.vram"
    page = unfolded(open_page().choose(recording).wait_for_picture())
    legend = page.tab.inner_text(".bands-legend")
    assert "cuBLAS" in legend and "libffi.so" in legend and "unknown" not in legend
    count = int(page.tab.get_attribute(CANVAS, "data-points"))
    events = ask(recording, "bands", points=count)["columns"]["point_event"]
    for point, libraries in ((count // 4, 2), (count - 2, 1)):
        page.tab.mouse.click(*place_of(page, point, count))
        told = where(recording, events[point])
        assert [kind for kind, _ in told].count("library") == libraries and ledger_of(page, events[point]) == told
        page.key("Escape")
