"""The viewer's page as a person handles it: choose a file, look, point, type."""

import json
import os
import re
import struct
import subprocess
from array import array
from pathlib import Path

PROGRAM = Path(os.environ["VRAMSCOPE"])
ASK = PROGRAM.parent / "tests" / "example_ask"
TYPES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "f64": "d"}


def ask_all(path, method, several):
    """The native engine's answers to one method with different parameters; JSON, of one reading of the file."""
    requests = [json.dumps({"method": method, "params": params}) for params in several]
    rest = subprocess.run([ASK, path, *requests], capture_output=True, check=True, text=True).stdout
    answers, decoder = [], json.JSONDecoder()
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    return answers


def ask(path, method, **params):
    """The native engine's answer: the same bytes that the page gets, read independently of it."""
    request = json.dumps({"method": method, "params": params})
    reply = subprocess.run([ASK, path, request], capture_output=True, check=True).stdout
    if reply[:4] != b"VSC1":
        return json.loads(reply)
    (size,) = struct.unpack("<I", reply[4:8])
    header = json.loads(reply[8 : 8 + size])
    for name, column in header["columns"].items():
        code = TYPES[column["type"]]
        end = column["at"] + column["count"] * array(code).itemsize
        header["columns"][name] = array(code, reply[column["at"] : end])
    return header


def report(path):
    return json.loads(subprocess.run([PROGRAM, "report", "--json", "-q", path], capture_output=True, check=True).stdout)


class Page:
    def __init__(self, tab):
        self.tab = tab
        self.window = {}  # where it was sent

    # ---- files

    def choose(self, *paths):
        """Chooses files and waits for the first picture, or for the sentence that says why there is none."""
        with self.tab.expect_file_chooser() as chooser:
            self.tab.get_by_role("button", name=re.compile("^Choose")).first.click()
        chooser.value.set_files([str(path) for path in paths])
        return self

    def wait_for_picture(self):
        self.tab.wait_for_selector("[data-part=timeline] canvas[data-settled=true]", state="attached")
        return self

    def error(self):
        """The whole sentence about a file that could not be read, as the page keeps it; it is shown, too."""
        shown = self.tab.wait_for_selector("[data-error]")
        assert shown.inner_text().strip()
        return shown.get_attribute("data-error")

    # ---- state

    def go(self, **state):
        """Opens an address with a view, as a user who received it."""
        self.window = {key: float(state[key]) for key in ("x0", "x1") if state.get(key) is not None}
        self.tab.evaluate(
            """(patch) => {
              const state = new URLSearchParams(location.hash.slice(1));
              for (const [key, value] of Object.entries(patch))
                if (value === null) state.delete(key); else state.set(key, value);
              if (location.hash.slice(1) === state.toString()) return;
              const taken = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
              location.hash = state.toString();
              return taken;
            }""", {key: None if value is None else str(value) for key, value in state.items()})
        return self

    def key(self, *keys):
        for key in keys:
            self.tab.keyboard.press(key)
        return self

    def settle(self, part="timeline"):
        """Waits until the exact picture of the state has been shown for two frames."""
        settled = self.tab.evaluate(
            """async ({ part, expected }) => {
              const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
              const isThere = (canvas) => canvas.dataset.settled === "true" && Object.entries(expected).every(
                ([key, value]) => Number(canvas.dataset[key] ?? value) === value);
              const isSettled = () => {
                const all = [...document.querySelectorAll(`[data-part=${part}] [data-settled]`)];
                return all.length > 0 && all.every(isThere);
              };
              const deadline = performance.now() + 60000;
              for (let frames = 0; frames < 3; frames = isSettled() ? frames + 1 : 0) {
                if (performance.now() > deadline) return false;
                await frame();
              }
              return true;
            }""", {"part": part, "expected": self.window})
        assert settled, f"no settled picture of {part} {self.window}"
        self.window = {}
        return self

    def wait_for_address(self, text):
        """The address follows the view a little later."""
        self.tab.wait_for_function("(text) => location.hash.includes(text)", arg=text)
        return self

    # ---- what is there

    def figure(self, name):
        """Exact bytes of a figure of the summary; None where the page has no such figure."""
        found = self.tab.query_selector(f"[data-figure={name}][data-bytes]")
        return int(found.get_attribute("data-bytes")) if found else None

    def picture(self):
        """What the canvas says is on it: numbers as the page wrote them."""
        data = self.tab.eval_on_selector("[data-part=timeline] canvas[data-columns]", "(canvas) => ({ ...canvas.dataset })")
        return {key: float(data[key]) for key in ("x0", "x1", "y0", "y1", "columns", "rows", "left", "top")}

    def heights(self, columns):
        """Filled pixels of pixel columns of the picture: those that are not the background's colour."""
        return self.tab.evaluate(
            """(columns) => {
              const canvas = document.querySelector("[data-part=timeline] canvas[data-columns]");
              const { left, top, rows } = canvas.dataset;
              const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
              const context = copy.getContext("2d", { willReadFrequently: true });
              context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--canvas").trim();
              context.fillRect(0, 0, 1, 1);
              const background = context.getImageData(0, 0, 1, 1).data;
              context.clearRect(0, 0, 1, 1);
              context.drawImage(canvas, 0, 0);
              return columns.map((column) => {
                const { data } = context.getImageData(Number(left) + column, Number(top), 1, Number(rows));
                let filled = 0;
                for (let at = 0; at < data.length; at += 4)
                  filled += data[at + 3] !== 0 && [0, 1, 2].some((i) => data[at + i] !== background[i]);
                return filled;
              });
            }""", columns)

    def place(self):
        """The picture's rectangle on the page, CSS pixels."""
        picture = self.picture()
        box = self.tab.locator("[data-part=timeline] canvas[data-columns]").first.bounding_box()
        ratio = self.tab.evaluate("() => devicePixelRatio")
        return {"x": box["x"] + picture["left"] / ratio, "y": box["y"] + picture["top"] / ratio,
                "width": picture["columns"] / ratio, "height": picture["rows"] / ratio}

    def hover(self, x, y):
        """Points at a place of the picture, fractions from the left and from the bottom."""
        place = self.place()
        self.tab.mouse.move(place["x"] + 1, place["y"] + 1)
        self.tab.mouse.move(place["x"] + x * place["width"], place["y"] + (1 - y) * place["height"])
        return self
