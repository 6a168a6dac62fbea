"""The C unit tests of the pure modules, compiled to WebAssembly, in the browser that the page runs in."""

import http.server
import os
import threading
from functools import partial
from pathlib import Path

WASM = Path(__file__).resolve().parents[1] / "wasm" / "unit"
PROGRAMS = Path(os.environ["VRAMSCOPE_WASM_UNIT"])


class Folders(http.server.SimpleHTTPRequestHandler):
    """The runner's modules, and below programs/ the programs."""

    def translate_path(self, path):
        folder, _, name = path.strip("/").rpartition("/")
        return str((PROGRAMS if folder == "programs" else WASM) / Path(name).name)

    def log_message(self, *_):
        pass


Folders.extensions_map = {**Folders.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}


def test_pure_modules(browser):
    names = sorted(path.name for path in PROGRAMS.glob("*.wasm"))
    assert len(names) > 60
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Folders))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = browser.new_page()
    tab.set_default_timeout(120_000)
    try:
        tab.goto(f"http://127.0.0.1:{server.server_port}/unit_runner.mjs")
        results, listed = tab.evaluate(
            """async (names) => {
              const { fetchAndRun } = await import("/unit_runner.mjs");
              const { SKIPPED } = await import("/skipped.mjs");
              return [await fetchAndRun("/programs/", names), Object.keys(SKIPPED)];
            }""", names)
    finally:
        tab.close()
        server.shutdown()
    failed = [f"{result['program']}: {one['name']}: {one['text']}" for result in results for one in result["failed"]]
    assert not failed, "\n".join(failed)
    skipped = [f"{result['program'].removesuffix('.wasm')}: {name}" for result in results for name in result["skipped"]]
    assert sorted(skipped) == sorted(listed)
    assert sum(len(result["passed"]) for result in results) > 400
