"""bundle_viewer makes one page that sends no requests, and refuses syntax that it does not understand, with file and line."""
import base64
import gzip
import hashlib
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "bundle_viewer"
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<link rel="stylesheet" href="base.css">
<link rel="stylesheet" href="more.css">
</head>
<body>
<div id="page"></div>
<script type="application/json" id="boot">{"mode":"empty"}</script>
<script type="module" src="main.js"></script>
</body>
</html>
"""
FILES = {
    "index.html": INDEX,
    "base.css": "body { color: red; } /* a comment */\n",
    "more.css": "p {\n  margin: 0;\n}\n",
    "main.js": 'import { double, TEXT } from "./tools.js";\nimport { deep } from "./deep.js";\n\nglobalThis.result = [double(4), TEXT, deep()];\n',
    "tools.js": "// A comment.\nexport const TEXT = `a ${`b // ${1 + 1}`}\n  c`; /* another */\nexport function double(x) { return 2 * x; }\n",
    "deep.js": 'import {\n  double,\n} from "./tools.js";\n\nexport function deep() {\n  return "/* " + double(1) / 2 + /[/"]\\/\\//.source;\n}\n',
    "worker.js": 'import { double } from "./tools.js";\n\nself.onmessage = () => self.postMessage(double(2));\n',
}


class Viewer:
    def __init__(self, folder):
        self.folder = folder / "viewer"
        self.page = folder / "page.html"
        self.folder.mkdir()
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def bundle(self, *arguments, path=None):
        environment = {**os.environ, "PATH": str(path)} if path else None
        return subprocess.run([sys.executable, TOOL, self.folder, self.page, *arguments], env=environment, capture_output=True, text=True)

    def made(self, *arguments):
        done = self.bundle(*arguments)
        assert done.returncode == 0, done.stderr
        return Page(self.page.read_text())

    def refused(self, name, text):
        self.write(name, text)
        done = self.bundle()
        assert done.returncode == 1 and not self.page.exists()
        return done.stderr.strip()


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~',/:[]"


def unpacked(text):
    """Each pair of digits is 13 bits."""
    values = [DIGITS.index(text[i]) * 91 + DIGITS.index(text[i + 1]) for i in range(0, len(text), 2)]
    bits = "".join(f"{value:013b}" for value in values)
    data = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))
    return gzip.decompress(data[4:4 + int.from_bytes(data[:4], "big")])


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.text, self.attributes, self.policy, self.inline, self.elements, self.open = text, [], None, [], {}, None
        self.feed(text)
        self.parts = json.loads(unpacked(self.elements["program"]))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.attributes += attributes.items()
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        self.open = attributes if tag == "script" else None

    def handle_data(self, data):
        if self.open is not None and "id" in self.open:
            self.elements[self.open["id"]] = data
        elif self.open == {}:
            self.inline.append(data)

    def handle_endtag(self, tag):
        self.open = None

    def part(self, kind, **members):
        found = [p["textContent"] for k, p in self.parts if k == kind and members.items() <= p.items()
                 and ("id" in p) == ("id" in members)]
        assert len(found) == 1
        return found[0]


@pytest.fixture
def viewer(tmp_path):
    return Viewer(tmp_path)


def run(script, tail):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    return json.loads(subprocess.check_output(["node", "-e", script + tail], text=True))


def test_the_modules_run_as_one_script(viewer):
    page = viewer.made()
    assert run(page.part("script"), "console.log(JSON.stringify(result));") == [8, "a b // 2\n  c", '/* 1[/"]\\/\\/']
    assert "comment" not in page.part("script")
    worker = page.part("script", id="worker", type="text/plain")
    assert run("var self = { postMessage: (x) => console.log(x) };" + worker, "self.onmessage();") == 4


def test_a_page_made_without_zopfli_holds_the_same(viewer, tmp_path):
    page = viewer.made()
    assert viewer.bundle(path=tmp_path).returncode == 0
    plain = Page(viewer.page.read_text())
    assert plain.parts == page.parts and plain.policy == page.policy
    assert shutil.which("zopfli") is None or len(page.elements["program"]) < len(plain.elements["program"])


def test_only_these_scripts_and_styles_are_allowed_and_no_request(viewer):
    page = viewer.made()

    def hashed(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert len(page.inline) == 1
    assert rules["script-src"].split() == [hashed(page.inline[0]), hashed(page.part("script")), "'wasm-unsafe-eval'"]
    assert rules["style-src"] == hashed(page.part("style"))
    assert page.part("style") == "body { color: red; }\np {\nmargin: 0;\n}\n"
    assert page.text.count("connect-src 'none'") == 1 and page.text.count('{"mode":"empty"}') == 1
    assert not [a for a in page.attributes if a[0] in ("src", "href")]


@pytest.mark.parametrize("size", [4000, 4001, 4002, 4003])
def test_what_is_packed_is_unpacked(viewer, tmp_path, size):
    engine = bytes(i * i % 251 for i in range(size))
    (tmp_path / "engine.wasm").write_bytes(engine)
    page = viewer.made("--engine", tmp_path / "engine.wasm")
    script = "const document = { getElementById: (id) => ({ textContent: (" + json.dumps(page.elements) + ")[id] }) };"
    script += page.inline[0].split("(async () =>")[0]
    tail = "unpackElement('engine').arrayBuffer().then((b) => console.log(JSON.stringify([...new Uint8Array(b)])));"
    assert bytes(run(script, tail)) == engine


def test_the_engine_is_packed(viewer, tmp_path):
    (tmp_path / "engine.wasm").write_bytes(b"\0asm" * 1000)
    page = viewer.made("--engine", tmp_path / "engine.wasm")
    assert unpacked(page.elements["engine"]) == b"\0asm" * 1000
    assert "engine" not in viewer.made().elements


def test_a_page_that_is_too_long_is_refused(viewer):
    done = viewer.bundle("--most", "1000")
    assert done.returncode == 1 and "more than 1000" in done.stderr and not viewer.page.exists()


@pytest.mark.parametrize("name, text, where, what", [
    ("main.js", 'import tools from "./tools.js";\n', "main.js:1:", "an import that is not"),
    ("main.js", 'import { double as twice } from "./tools.js";\n', "main.js:1:", "under another name"),
    ("main.js", 'import { triple } from "./tools.js";\n', "main.js:1:", "tools.js exports no triple"),
    ("main.js", '\nimport { a } from "./nothing.js";\n', "main.js:2:", "there is no nothing.js"),
    ("main.js", 'const a = import("./tools.js");\n', "main.js:1:", "a dynamic import"),
    ("main.js", "await 1;\n", "main.js:1:", "await outside"),
    ("tools.js", "export default 1;\n", "tools.js:1:", "of another kind"),
    ("tools.js", "const a = 1;\nexport { a };\n", "tools.js:2:", "of another kind"),
    ("tools.js", "/* a\n b */\nsetUp();\n", "tools.js:3:", "runs when the module is imported"),
    ("tools.js", FILES["tools.js"] + "const deep = 1;\n", "deep.js:5:", "deep is also declared in tools.js"),
    ("tools.js", FILES["tools.js"] + 'import { deep } from "./deep.js";\n', "deep.js:1:", "in a circle"),
    ("tools.js", FILES["tools.js"] + "function put(e) {\n  e.innerHTML = 1;\n}\n", "tools.js:6:", "HTML made of text"),
    ("tools.js", FILES["tools.js"] + 'const a = eval("1");\n', "tools.js:5:", "code made of text"),
    ("tools.js", FILES["tools.js"] + 'const PLACE = "https://example.org/x";\n', "main.js:", "an address: https://example.org/x"),
    ("base.css", "\n@import 'x.css';\n", "base.css:2:", "@import"),
    ("base.css", "p { background: url(x.png); }\n", "base.css:1:", "url("),
    ("index.html", INDEX.replace("<div", '<div onclick="x()"'), "index.html:9:", "onclick="),
    ("index.html", INDEX.replace("<div", '<div style="color: red"'), "index.html:9:", "style="),
    ("index.html", INDEX.replace("<div", '<img src="x.png"><div'), "index.html:1:", 'src="x.png"'),
])
def test_what_breaks_the_rules_is_refused(viewer, name, text, where, what):
    sentence = viewer.refused(name, text)
    assert where in sentence and what in sentence


def test_the_viewer_itself_keeps_the_rules(tmp_path):
    done = subprocess.run([TOOL, ROOT / "viewer", tmp_path / "page.html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"(?:https?:)?//(?!www\.w3\.org)[a-z]+\.[a-z]", Page(text).part("script"))


def test_floors(tmp_path):
    """Where FLOORS says so, rooms know only those below them."""
    viewer = Viewer(tmp_path)
    for room in ("low", "left", "right"):
        (viewer.folder / room).mkdir()
    viewer.write("FLOORS", "# from below\nlow\nleft right\n")
    viewer.write("low/a.js", "export const A = 1;\n")
    viewer.write("left/b.js", 'import { A } from "../low/a.js";\n\nexport const B = A;\n')
    viewer.write("right/c.js", "export const C = 2;\n")
    viewer.write("main.js", 'import { B } from "./left/b.js";\n\nglobalThis.result = B;\n')
    viewer.made()
    viewer.page.unlink()
    sideways = viewer.refused("left/b.js", 'import { C } from "../right/c.js";\n\nexport const B = C;\n')
    assert "left/b.js:1: ../right/c.js is no module of a lower floor" in sideways
    viewer.write("main.js", 'import { A } from "./low/a.js";\n\nglobalThis.result = A;\n')
    upwards = viewer.refused("low/a.js", 'import { C } from "../right/c.js";\n\nexport const A = C;\n')
    assert "low/a.js:1: ../right/c.js is no module of a lower floor" in upwards
