"""A real browser. Every test fails on a console message, an error of the page, or a request
to anywhere but where the page came from."""

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from page import Page

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["VRAMSCOPE"])
PAGE = Path(os.environ["VRAMSCOPE_PAGE"])
LOOKS = Path(os.environ.get("VRAMSCOPE_LOOKS", PAGE.parent / "looks"))  # where pictures are kept for people
SNAPSHOTS = os.environ.get("VRAMSCOPE_SNAPSHOTS", "")
NO_SNAPSHOTS = "VRAMSCOPE_SNAPSHOTS is not a folder of real snapshots: NO REAL FILE IS OPENED IN THE BROWSER"


def real_snapshots():
    folder = Path(SNAPSHOTS)
    return sorted(folder.glob("*.pickle")) if SNAPSHOTS and folder.is_dir() else []


def pytest_terminal_summary(terminalreporter):
    if not real_snapshots():
        terminalreporter.write_line(f"*** {NO_SNAPSHOTS} ***", red=True, bold=True)


@pytest.fixture(scope="session")
def browser():
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell")
    assert chromium, "no chromium-headless-shell: tools/setup test installs it"
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Watch:
    """The console messages and requests of a page."""

    def __init__(self, page, allowed):
        self.allowed, self.said, self.asked = allowed, [], []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def problems(self):
        strange = [url for url in self.asked if not url.startswith(("blob:", "data:", self.allowed))]
        return [*self.said, *(f"asked for {url}" for url in strange)]


@pytest.fixture
def open_page(browser):
    """open_page(address, width=1280, height=720, theme="light", ratio=1) -> Page. `script` runs before those of the page."""
    contexts, watches = [], []

    def open_(address=PAGE.as_uri(), width=1280, height=720, theme="light", ratio=1, touch=False, script=None):
        from_disk = address.startswith("file:")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, offline=from_disk,
                                      device_scale_factor=ratio, has_touch=touch, reduced_motion="reduce")
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        if script is not None:
            tab.add_init_script(script)
        watches.append(Watch(tab, address.split("#")[0]))
        tab.goto(address)
        return Page(tab)

    yield open_
    problems = [problem for watch in watches for problem in watch.problems()]
    for context in contexts:
        context.close()
    assert not problems, "the page was not quiet"


@contextmanager
def serving(*files):
    """The address of `vramscope view FILES`."""
    process = subprocess.Popen([PROGRAM, "view", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (match := re.search(r"http://\S+", line := process.stdout.readline())):
            assert line, process.stderr.read()
        yield match.group(0)
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture
def served():
    return serving


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demo's recording: leaks, runs out of memory."""
    path = tmp_path_factory.mktemp("demo") / "demo.vram"
    subprocess.run([PROGRAM, "demo", "-q", "--keep", path], check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def trace(tmp_path_factory):
    """trace(events) -> a generated snapshot of that many events."""
    folder, made = tmp_path_factory.mktemp("traces"), {}

    def make(events):
        if events not in made:
            path = folder / f"trace-{events}.pickle"
            subprocess.run(["python3", ROOT / "bench" / "generate_snapshot.py", "--events", str(events), "--seed", "3", "-o",
                            path], check=True, capture_output=True)
            made[events] = path
        return made[events]

    return make
