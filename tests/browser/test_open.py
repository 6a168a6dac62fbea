"""Every file opens, and the page says what `report --json` says."""

import gzip
import re
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))

from conftest import real_snapshots  # noqa: E402
from page import report  # noqa: E402
from shapes import AGES, build  # noqa: E402
from simulate import sample_run  # noqa: E402
from writers import WRITERS  # noqa: E402


def busiest(answer):
    """The device that a page shows first: one that ran out of memory, else the one with the highest peak reserved."""
    devices = answer["devices"] or ([answer["host"]] if answer["host"] else [])
    failed = [device for device in devices if device["ooms"]]
    if failed:
        return min(failed, key=lambda device: device["ooms"][0]["time_us"] or float("inf"))
    return max(devices, key=lambda device: device["peak_reserved"]["reserved_bytes"], default=None)


def assert_same_figures(page, path):
    device = busiest(report(path))
    if device is None:
        assert page.tab.get_by_text("no device").count() > 0
        return
    page.wait_for_picture()
    page.tab.wait_for_selector("[data-figure=peak][data-bytes]")
    trace = device["trace"]
    has_history = trace["allocs"] + trace["frees"] + trace["frees_completed"] > 0
    assert page.figure("peak") == device["peak"]["allocated_bytes" if has_history else "requested_bytes"]
    if has_history:  # else the end is all there is: said once, as what is requested
        assert page.figure("end") == device["end"]["allocated_bytes"]
    assert page.figure("reserved") == device["end"]["reserved_bytes"]
    oom = device["ooms"][0] if device["ooms"] else None
    assert page.figure("oom") == (oom["requested_bytes"] if oom else None)


@pytest.fixture(scope="module")
def run():
    return sample_run()


@pytest.mark.parametrize("path", real_snapshots(), ids=lambda path: path.name[:24])
def test_real_snapshots(open_page, path):
    assert_same_figures(open_page().choose(path), path)


@pytest.mark.parametrize("age", AGES)
def test_every_age(open_page, run, tmp_path, age):
    path = tmp_path / f"age-{age}.pickle"
    path.write_bytes(WRITERS["c-4"].write(build(run, AGES[age])))
    assert_same_figures(open_page().choose(path), path)


@pytest.mark.parametrize("writer", ["c-0", "c-2", "c-5", "python-3", "memoless-2", "cpp", "json", "json.gz", "c-4.gz"])
def test_every_writer(open_page, run, tmp_path, writer):
    path = tmp_path / f"written.{writer}"
    path.write_bytes(WRITERS[writer].write(build(run, AGES["2.15"])))
    assert_same_figures(open_page().choose(path), path)


def test_the_menu_tells_gpus_apart(open_page, run, tmp_path):
    """Which of them ran out of memory, and how much each reserved at most."""
    path = tmp_path / "several.pickle"
    path.write_bytes(WRITERS["c-4"].write(build(run, AGES["2.15"])))
    page = open_page().choose(path)
    page.wait_for_picture()
    answer = report(path)
    assert len(answer["devices"]) > 1 and any(device["ooms"] for device in answer["devices"])
    menu = page.tab.locator("select[aria-label=Device]")
    options = menu.locator("option").all_text_contents()
    for device in answer["devices"]:
        (text,) = [option for option in options if option.startswith(f"GPU {device['device']}: ")]
        assert text.endswith(", out of memory") == bool(device["ooms"])
    assert menu.input_value() == str(busiest(answer)["device"])


def test_recordings(open_page, demo, tmp_path):
    """As the program writes it, compacted, and gzipped on top of it."""
    import subprocess

    from page import PROGRAM

    compacted, packed = tmp_path / "small.vram", tmp_path / "small.vram.gz"
    subprocess.run([PROGRAM, "compact", demo, "-o", compacted], check=True, capture_output=True)
    packed.write_bytes(gzip.compress(compacted.read_bytes()))
    for path in (demo, compacted, packed):
        assert_same_figures(open_page().choose(path), path)


def test_dropped(open_page, trace):
    """A file that is dropped on the page is a file that was chosen."""
    path = trace(2000)
    page = open_page()
    page.tab.get_by_role("button", name=re.compile("^Choose")).first.wait_for()  # the page unpacks itself after it was loaded
    page.tab.evaluate(
        """async (bytes) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], "dropped.pickle"));
          for (const type of ["dragenter", "dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""", __import__("base64").b64encode(path.read_bytes()).decode())
    assert_same_figures(page, path)


def test_the_first_picture_takes_four_requests(open_page, trace):
    """The exact picture is asked together with the small one, from what `info` says, and not a second time."""
    page = open_page()
    page.tab.get_by_role("button", name=re.compile("^Choose")).first.wait_for()
    page.tab.evaluate(
        """() => {
          const { postMessage } = Worker.prototype;
          window.asked = [];
          window.settledAt = [];
          window.workers = new Set();
          const frame = window.requestAnimationFrame;
          const held = [];
          window.requestAnimationFrame = (drawn) => held.push(drawn);
          window.goOn = () => {
            window.requestAnimationFrame = frame;
            held.forEach((drawn) => frame(drawn));
          };
          Worker.prototype.postMessage = function (message, ...rest) {
            window.workers.add(this);
            if (message.kind !== "request") return postMessage.call(this, message, ...rest);
            window.asked.push(JSON.parse(new TextDecoder().decode(message.bytes)));
            window.settledAt.push(document.querySelector("canvas[data-settled]")?.dataset.settled);
            return postMessage.call(this, message, ...rest);
          };
        }""")
    page.choose(trace(20000))
    # the first four of them without a frame
    page.tab.wait_for_function("() => window.asked.length === 4", polling=20)
    page.tab.evaluate("() => window.goOn()")
    page.wait_for_picture()
    asked = page.tab.evaluate("() => window.asked")
    until = [request["method"] for request in asked].index("report")
    assert [request["method"] for request in asked[:until]] == ["info", "marks", "picture", "picture", "groups"]
    settled = page.tab.evaluate("() => window.settledAt")
    assert settled[:4].count("true") == 0 and settled[until - 1:until + 1] == ["true", "true"]  # groups and report: when it is drawn
    small, exact = (request["params"] for request in asked if request["method"] == "picture")
    assert small["rows"] < exact["rows"] and small["y1"] is None
    shown = page.settle().picture()
    assert (exact["x0"], exact["x1"], exact["y1"], exact["rows"]) == (shown["x0"], shown["x1"], shown["y1"], shown["rows"])


HELD_EXERCISE = """
  const Real = Worker;
  window.started = 0;
  window.Worker = class extends Real {
    constructor(...given) { super(...given); window.started++; }
    postMessage(message, ...rest) {
      if (message.kind === "train") window.exercise = () => super.postMessage(message, ...rest);
      else super.postMessage(message, ...rest);
    }
  };
"""


def wait_for_workers(page, count):
    deadline = time.monotonic() + 60
    while len(page.tab.workers) != count and time.monotonic() < deadline:
        page.tab.wait_for_timeout(20)
    assert len(page.tab.workers) == count


def test_workers_wait_for_the_file(open_page, trace):
    """An empty page has its two workers before a file is chosen, and a third that exercises the engine and ends; it starts no others for
    the file."""
    page = open_page(script=HELD_EXERCISE)
    wait_for_workers(page, 3)
    page.tab.evaluate("() => window.exercise()")
    wait_for_workers(page, 2)
    path = trace(2000)
    assert_same_figures(page.choose(path), path)
    assert page.tab.evaluate("() => window.started") == 3


def test_a_file_ends_the_exercise_of_the_engine(open_page, trace):
    """A file that is chosen meanwhile has the processors for itself."""
    page = open_page(script=HELD_EXERCISE)
    wait_for_workers(page, 3)
    path = trace(2000)
    assert_same_figures(page.choose(path), path)
    wait_for_workers(page, 1)


def test_served(open_page, served, trace, demo):
    for path in (trace(2000), demo):
        with served(path) as address:
            assert_same_figures(open_page(address), path)


def test_the_served_page_asks_before_the_file_is_read(open_page, served, trace):
    """`info` of the first file is requested at once, and the server answers it when it has read the file; the others are looked at."""
    with served(trace(2000), trace(20000)) as address:
        page = open_page(address, script="""
          const { fetch } = window;
          window.asked = [];
          window.fetch = (at, options) => {
            const { body } = options;
            const text = typeof body === "string" ? body : new TextDecoder().decode(body);
            window.asked.push([at, body === undefined ? null : JSON.parse(text).method]);
            return fetch(at, options);
          };
        """)
        page.wait_for_picture()
        asked = page.tab.evaluate("() => window.asked")
        assert [method for at, method in asked if at == "api/0"][0] == "info"
        assert [method for at, method in asked if at == "api/1"][0] is None
        assert [method for at, method in asked if at == "api/0"].count("info") == 1


def test_the_served_page_asks_before_its_script_is_there(open_page, served, trace):
    with served(trace(2000)) as address:
        page = open_page(address, script="""
          const { fetch } = window;
          window.asked = [];
          window.fetch = (at, options) => {
            window.asked.push([at, options.body]);
            return fetch(at, options);
          };
          delete window.DecompressionStream;  // then the script cannot be unpacked
        """)
        page.tab.wait_for_function("() => document.querySelector('#page').textContent.includes('needs a newer browser')")
        assert page.tab.evaluate("() => window.asked") == [["api/0", '{"method":"info"}']]


def test_mailed_with_data(open_page, trace, demo, tmp_path):
    """A page that contains its data, opened from the disk with networking off."""
    import subprocess

    from page import PROGRAM

    for path in (trace(2000), demo):
        mailed = tmp_path / f"{path.stem}.html"
        subprocess.run([PROGRAM, "view", path, "--html", mailed], check=True, capture_output=True)
        assert_same_figures(open_page(mailed.as_uri()), path)


def test_sentences(open_page, demo):
    """The strip and what unfolds below it show the engine's lines, and no others."""
    page = open_page().choose(demo)
    assert_same_figures(page, demo)
    page.tab.wait_for_selector("[data-figure=short]")
    device = busiest(report(demo))
    lines, (oom,) = device["lines"], device["ooms"]
    cells = page.tab.eval_on_selector_all(
        ".cell", "(cells) => cells.map((cell) => [...cell.children].map((part) => part.textContent))")
    told = [[line["label"], line["value"], line["brief"]] for line in lines if line["label"] and line["value"]]
    (why,) = [line["text"] for line in lines if line["about"] == "oom_cause"]
    short = told[0][2].split("short by ")[1]
    assert told[0][0] == "Out of memory"
    assert cells == [[*told[0][:2], oom["label"]], ["Short by", short, why], *told[1:]]
    page.tab.keyboard.press("s")
    answer = page.tab.text_content("#summary-answer")
    for line in lines:
        assert line["label"] in answer and line["text"] in answer
        assert all(row["label"] in answer and row["size"] in answer for row in line["rows"][:10])


def test_several_files(open_page, trace, demo):
    """Both are there, and each says its own figures."""
    page = open_page().choose(trace(2000), demo)
    assert_same_figures(page, trace(2000))
    page.go(file=1)
    page.tab.wait_for_function(
        "(bytes) => document.querySelector('[data-figure=peak]')?.dataset.bytes === String(bytes)",
        arg=busiest(report(demo))["peak"]["allocated_bytes"])
    assert_same_figures(page, demo)


def test_policy(open_page, served, trace):
    """A page from the disk sends no requests; a served one only to its own server."""
    policy = """() => document.querySelector("meta[http-equiv='Content-Security-Policy']").content"""
    mailed = open_page().tab.evaluate(policy)
    assert "default-src 'none'" in mailed and "unsafe-inline" not in mailed and "'unsafe-eval'" not in mailed
    assert "http" not in mailed and "*" not in mailed
    with served(trace(2000)) as address:
        tab = open_page(address).tab
        answer = tab.context.request.get(address)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "*" not in answer.headers["content-security-policy"]
