"""Files of other programs, served: the page shows their figures, and says what it cannot show."""

from pathlib import Path

import pytest
from page import report

FILES = Path(__file__).parents[1] / "corpus" / "accounts"
NO_SEGMENTS = "the file lists no segments: reserved and cached memory are unknown"


@pytest.mark.parametrize("name", ("kineto", "rmm", "pprof", "nsys"))
def test_figures(open_page, served, name):
    with served(FILES / name) as address:
        page = open_page(address)
        page.wait_for_picture()
        devices = report(FILES / name)["devices"]
        device = next((one for one in devices if one["ooms"]), max(devices, key=lambda one: one["peak"]["requested_bytes"]))  # the one that is shown
        page.tab.wait_for_selector("[data-figure=peak][data-bytes]")
        assert page.figure("peak") in (device["peak"]["allocated_bytes"], device["peak"]["requested_bytes"])
        shown = page.tab.query_selector("[data-figure=reserved]")
        assert shown is None or shown.get_attribute("data-bytes") == "", "a figure that the file does not have"


@pytest.mark.parametrize("part", ("owners", "state", "fragmentation", "whatif"))
def test_parts(open_page, served, part):
    with served(FILES / "kineto") as address:
        page = open_page(address)
        page.wait_for_picture()
        page.go(part=part)
        page.tab.wait_for_selector(f"[data-part={part}]")
        if part in ("state", "fragmentation"):
            page.tab.get_by_text(NO_SEGMENTS).first.wait_for()
        page.tab.wait_for_timeout(500)
