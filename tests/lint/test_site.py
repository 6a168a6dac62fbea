"""The documentation as a site (tools/site): it is made without a warning, so each link and anchor exists and each page has a place; it loads nothing from
elsewhere; and a link that leads nowhere is found. The commands of docs/faq.md exist, with their options."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAQ = ROOT / "docs" / "faq.md"
SITE = ROOT / "build" / "site" / "site"


def make(source):
    done = subprocess.run([sys.executable, source / "tools" / "site"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site():
    code, said = make(ROOT)
    assert code == 0, said
    return SITE


def test_all_pages_are_there(site):
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    sources = {path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sources | {"index", "CHANGELOG", "CONTRIBUTING", "reference/commands", "reference/python", "reference/c"} <= pages
    commands = (site / "reference" / "commands.html").read_text()
    assert "vramscope exporter" in commands and "vramscope fit" in commands
    assert 'id="vramscope.Tracker"' in (site / "reference" / "python.html").read_text()
    assert "vs_devices_pick" in re.sub("<[^>]*>", "", (site / "reference" / "c.html").read_text())


def headings_of(page):
    """The headings of a page's source: lines that begin with #, outside of blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return len(re.findall(r"^#{1,6} ", text, re.M))


def test_blocks_of_code_end_where_they_end(site):
    """A word behind a block's language, which says how a test runs it, is not read as text: each heading is one, and no comment is."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        made = (site / page.relative_to(ROOT).with_suffix(".html")).read_text()
        assert len(re.findall(r"<h[1-6] id=", made)) == headings_of(page), page.name


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*rel=["']?(?:stylesheet|preconnect|preload)[^>]*href=["']?(?:https?:)?//""")
    found = [path.name for path in site.rglob("*.html") if loads.search(path.read_text())]
    assert not found


def test_a_link_that_leads_nowhere_is_found(site, tmp_path):
    copy = tmp_path / "copy"
    for part in ("docs", "tools", "include"):
        shutil.copytree(ROOT / part, copy / part)
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / page, copy / page)
    (copy / "build").mkdir()
    for part in ("release", "sitevenv"):
        (copy / "build" / part).symlink_to(ROOT / "build" / part)
    with open(copy / "docs" / "faq.md", "a") as file:
        file.write("[nowhere](guide/nowhere.md) [no heading](guide/cli.md#no-heading)\n")
    code, said = make(copy)
    assert code != 0 and "guide/nowhere.md" in said and "no-heading" in said


def test_the_commands_of_the_questions_exist():
    program = os.environ.get("VRAMSCOPE") or ROOT / "build" / "release" / "vramscope"
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", FAQ.read_text(), re.M | re.S) for line in block.splitlines()]
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "vramscope"
        ours = words[1 : words.index("--")] if "--" in words else words[1:]
        helped = subprocess.run([program, "help", ours[0]], capture_output=True, text=True, check=False)
        assert helped.returncode == 0, line
        for option in (word for word in ours if word.startswith("-")):
            assert re.search(rf"^  (?:-\w, |    ){option}\b|^  {option}, ", helped.stdout, re.M), (line, option)
