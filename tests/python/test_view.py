"""The viewer from Python: a notebook that a kernel ran, shown by Chromium as a notebook shows it; and the browser from scripts.

The notebook's output is put into pages as Jupyter and VS Code do it, with the policy that VS Code's notebooks have. Pictures of them stay in
<build>/looks.
"""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from contextlib import contextmanager
from functools import partial

import pytest
from conftest import BINARY, PACKAGE, command, plain_environment
from playwright.sync_api import sync_playwright

LOOKS = PACKAGE.parent / "looks"
HOSTILE = "<img src=x onerror=alert(1)>'\"&amp;</script></iframe>.pickle"
# What the page around the outputs of a notebook allows in VS Code (backLayerWebView.ts).
VSCODE = ("default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src https: http: data:; "
          "font-src https:; connect-src https:; child-src https: data:;")

NOTEBOOK = """
    import json, sys
    import nbformat
    from nbclient import NotebookClient

    cells = json.loads(sys.argv[1])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    outputs = []
    for cell in notebook.cells:
        text, page = "", ""
        for output in cell.outputs:
            data = output.get("data", {})
            text += output.get("text", "") + data.get("text/plain", "") + " ".join(output.get("traceback", []))
            page += data.get("text/html", "")
        outputs.append({"text": text, "html": page})
    print(json.dumps(outputs))
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recordings") / "demo.vram"
    subprocess.run([BINARY, "demo", "-q", "--keep", path], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def browser():
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell")
    assert chromium, "no chromium-headless-shell: tools/setup test installs it"
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def shown(browser, folder, html, policy=None, picture=None):
    """The frame of an output in a page of a server, as a notebook's page has it. Nothing may be written to the console, and nothing
    be asked for beside that page."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    (folder / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8>{meta}<title>n</title><body>{html}")
    said = []
    with served(folder) as address:
        tab = browser.new_page(viewport={"width": 1200, "height": 700})
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: (said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        tab.on("request", lambda request: request.url.startswith(("blob:", "data:", address)) or said.append(request.url))
        tab.goto(f"{address}/notebook.html")
        frame = tab.frames[1]
        frame.wait_for_selector("[data-part=timeline] canvas[data-settled=true]", state="attached")
        yield tab, frame
        if picture:
            LOOKS.mkdir(exist_ok=True)
            tab.screenshot(path=LOOKS / picture)
        tab.close()
    assert [line for line in said if "favicon" not in line] == []


def run(program, cells, **settings):
    return program(NOTEBOOK, json.dumps(cells), **settings).result


@pytest.mark.parametrize("policy", [None, VSCODE])
def test_a_cell_shows_the_viewer(plain, browser, recording, tmp_path, policy):
    of_file, of_snapshot = run(plain, [f"import vramscope\nvramscope.view({str(recording)!r})",
                                       f"vramscope.open({str(recording)!r}).view(height=300)"])
    assert of_file["text"].startswith("<vramscope.View of ") and "demo.vram" in of_file["text"]
    assert 'sandbox="allow-scripts allow-downloads"' in of_file["html"]
    assert "height:640px" in of_file["html"] and "height:300px" in of_snapshot["html"]
    with shown(browser, tmp_path, of_file["html"], policy, f"notebook-{'vscode' if policy else 'jupyter'}.png") as (tab, frame):
        assert "demo.vram" in frame.inner_text("body")
        frame.get_by_role("tab", name="Owners").click()
        frame.wait_for_function("location.hash.includes('part=owners')")
        frame.get_by_role("cell", name="train.py:46 train_step").or_(frame.locator("td, [role=row]", has_text="train.py:46 train_step")).first.wait_for()
        frame.get_by_role("tab", name="Timeline").click()
        frame.wait_for_function("location.hash === ''")
        # It cannot see the notebook, nor be seen by it.
        assert frame.evaluate("self.origin") == "null"
        assert tab.evaluate("document.querySelector('iframe').contentDocument") is None
    with shown(browser, tmp_path, of_snapshot["html"], policy):
        pass


def test_names_are_text(plain, browser, recording, tmp_path):
    (tmp_path / "files").mkdir()
    path = tmp_path / "files" / HOSTILE.replace("/", "_")
    shutil.copy(recording, path)
    of_file, of_bytes = run(plain, [
        f"import vramscope\nvramscope.view({str(path)!r})",
        f"vramscope.open(open({str(path)!r}, 'rb').read(), name={HOSTILE!r}).view()"])
    for cell, name in ((of_file, path.name), (of_bytes, HOSTILE.rpartition("/")[2])):
        assert cell["html"].count("<") == 2  # a frame and its end: nothing of the name is an element
        with shown(browser, tmp_path, cell["html"]) as (_, frame):
            assert name in frame.inner_text("body")


def test_sources_in_memory(plain, browser, tmp_path, recording):
    """PyTorch's dict, an open file, a closed snapshot; nothing stays in the folder for temporary files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    cells = ["import vramscope, pickle\n"
             "snapshot = {'segments': [], 'device_traces': [[{'action': 'alloc', 'addr': 4096, 'size': 512, 'stream': 0, 'frames': [], "
             "'time_us': 1}]]}\n"
             "vramscope.view(snapshot)", "vramscope.open(snapshot, name='mine').view()",
             f"vramscope.view(open({str(recording)!r}, 'rb'))",
             "one = vramscope.open(snapshot); one.close()\none.view()",
             f"vramscope.open(open({str(recording)!r}, 'rb')).view()",
             "vramscope.view(7)", "vramscope.view('no.pickle')", "vramscope.view(b'no snapshot')"]
    of_dict, named, of_file, closed, of_stream, number, missing, damaged = run(plain, cells, TMPDIR=temporary)
    with shown(browser, tmp_path, of_dict["html"]):
        pass
    assert "View of 'mine'" in named["text"] and "demo.vram" in of_file["text"]
    assert "it is closed" in closed["text"] and "it is closed, or was read from an open file" in of_stream["text"]
    assert "TypeError" in number["text"] and "not int" in number["text"]
    assert "FileNotFoundError" in missing["text"]
    assert "Error" in damaged["text"] and " snapshot: neither a pickle nor JSON" in damaged["text"]
    assert [name for name in os.listdir(temporary) if name.startswith("vramscope")] == []


def test_a_large_page_is_served(plain, recording):
    """Above the limit the cell shows the address of a local server, which ends with the kernel."""
    cells = [f"import vramscope, vramscope._view, urllib.request\nvramscope._view._MOST_PAGE_BYTES = 100_000\n"
             f"shown = vramscope.view({str(recording)!r})\nshown",
             "print(urllib.request.urlopen(shown.address).read().count(b'demo.vram'))", "print(shown.address)"]
    cell, read, address = run(plain, cells)
    assert "The page of " in cell["html"] and "; a cell takes up to 97.66 KiB." in cell["html"] and "<iframe" not in cell["html"]
    assert int(read["text"]) == 1
    with pytest.raises(OSError, match="refused"):
        for _ in range(100):  # the kernel's end is seen by a process of its own
            urllib.request.urlopen(address["text"].strip())
            time.sleep(0.1)


def opener(folder):
    """An xdg-open that writes down what it is asked to open."""
    program = folder / "xdg-open"
    program.write_text(f"#!/bin/sh\necho \"$1\" >>{folder}/opened\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_script_opens_the_browser_and_waits(recording, tmp_path):
    program = f"import vramscope\nvramscope.view({str(recording)!r})\nprint('after')\n"
    process = subprocess.Popen(command(program, []), env=plain_environment(PATH=opener(tmp_path)), stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    lines = iter(process.stdout.readline, "")
    address = next(found[0] for found in map(partial(re.search, r"http://\S+"), lines) if found)
    assert b"demo.vram" in urllib.request.urlopen(address).read()
    next(line for line in lines if "Ctrl-C" in line)
    opened = tmp_path / "opened"
    while not opened.exists() or not opened.read_text().endswith("\n"):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and rest.endswith("after\n")
    assert opened.read_text().strip() == address


def test_without_waiting(plain, recording, tmp_path):
    """The server ends with close, and with a process that is killed."""
    result = plain(f"""
        import json, os, subprocess, sys, time, urllib.request
        import vramscope

        def is_served(address):
            try:
                return b"demo.vram" in urllib.request.urlopen(address).read()
            except OSError:
                return False

        with vramscope.view({str(recording)!r}, block=False) as first:
            was_served = is_served(first.address)
        killed = subprocess.run([sys.executable, "-c", '''if True:
            import os, vramscope
            vramscope.view({str(recording)!r}, block=False)
            os.kill(os.getpid(), 9)
        '''], stdout=subprocess.PIPE, env={{**os.environ, "PYTHONUNBUFFERED": "1"}})
        address = killed.stdout.decode().split()[-1]
        while is_served(address):
            time.sleep(0.01)
        print(json.dumps([was_served, is_served(first.address), repr(first).endswith("closed>"), address[:17]]))
    """, PATH=opener(tmp_path)).result
    assert result == [True, False, True, "http://127.0.0.1:"]
