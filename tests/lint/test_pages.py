"""Each block of code on a page of the documentation, and each command in one, is run by one test or is named with the reason why it is not
(tests/support/pages.py)."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import pages  # noqa: E402

SITE = (ROOT / "docs" / "site" / "mkdocs.yml").read_text()


def test_these_are_the_pages_of_the_site():
    listed = {
        page.replace("index.md", "README.md")
        for page in re.findall(r"(\S+\.md)$", SITE, re.M)
        if not page.startswith("reference/")
    }
    assert listed == set(pages.pages())


def unaccounted(blocks):
    """The parts of blocks that are neither run nor excepted, or both, each as "page:line  why"."""
    found = []
    for block in blocks:
        runs = block.language in pages.RUNS.get(block.page, {})
        for part in pages.parts(block):
            rows = pages.exceptions(block, part)
            ring = block.page == pages.PROGRAMS
            if len(rows) > 1 or (ring and rows):
                found.append(f"{block.place}  more than one row of NOT_RUN is about: {part}")
            if not (rows or runs or ring):
                found.append(f"{block.place}  no test runs it and NOT_RUN does not name it: {part}")
    return found


def test_every_block_is_run_or_named():
    assert not unaccounted([block for page in pages.pages() for block in pages.read(page)])


def test_a_block_that_nobody_runs_is_found():
    blocks = pages.parse("docs/faq.md", "```console\n$ vramscope demo\n```\n\n```sh\nvramscope top\n```\n\n```\na -> b\n```\n")
    assert [place.split("  ")[0] for place in unaccounted(blocks)] == ["docs/faq.md:2", "docs/faq.md:10"]


def test_every_row_is_about_something():
    """A row of RUNS or NOT_RUN whose block is gone is a mistake, as is one that names a file that is gone."""
    parts = {page: [(block, part) for block in pages.read(page) for part in pages.parts(block)] for page in pages.pages()}
    idle = [row for row in pages.NOT_RUN if not any(row in pages.exceptions(block, part) for block, part in parts[row.page])]
    assert not idle
    assert all(row.why and (not row.instead or (ROOT / row.instead).exists()) for row in pages.NOT_RUN)
    for page, tests in pages.RUNS.items():
        for language, test in tests.items():
            mine = [(block, part) for block, part in parts[page] if block.language == language]
            assert any(not pages.exceptions(block, part) for block, part in mine), (page, language)
            assert re.search(r"\bpages\.(blocks_of|read)\(", (ROOT / test).read_text()), test


def test_figures_of_a_ring_that_are_shown_twice_are_the_same():
    """README.md has lines of a block of the guide, which the ring of fits makes."""

    def shown(page):
        (text,) = [
            text
            for block in pages.read(page)
            if block.language == "console"
            for command, text in pages.commands(block)
            if "-o fit.json" in command
        ]
        return [line for line in text.splitlines() if line != "..."]

    assert set(shown("README.md")) <= set(shown("docs/guide/fit.md"))
