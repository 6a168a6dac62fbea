"""Owners, Fragmentation, and what they save: figures are the engine's, a saved file is what was shown and harmless."""

import csv
import io
import pickle
import xml.dom.minidom

from page import ask

FIGURE = "[data-part=owners] .owners-figure"


def shown(page, part, **state):
    page.go(part=part, **state)
    page.tab.wait_for_selector(f"[data-part={part}]")
    return page.settle(part)


def figure(page, bytes_):
    """Waits until Owners shows these bytes; gives the number of allocations beside them."""
    page.tab.wait_for_selector(f"{FIGURE}[data-bytes='{bytes_}']")
    return int(page.tab.get_attribute(FIGURE, "data-count"))


def saved(page, part, kind):
    menu = page.tab.locator(f"[data-part={part}] .export")
    menu.locator(".export-button").click()
    with page.tab.expect_download() as download:
        menu.locator(f"[data-kind={kind}]").click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def table(page):
    """The table as a person saves it: rows of a CSV, names first."""
    return list(csv.reader(io.StringIO(saved(page, "owners", "csv")[1].decode())))


def test_figures_are_the_engines(open_page, demo):
    page = shown(open_page().choose(demo).wait_for_picture(), "owners")
    marks = ask(demo, "marks")
    live = ask(demo, "live", at="peak", top=0)
    assert figure(page, marks["peak"]["bytes"]) == live["count"]
    names, *rows = table(page)
    assert [(row[0], int(row[1]), int(row[3])) for row in rows] == [
        (group["label"], group["bytes"], group["count"]) for group in live["groups"]]
    since, at = marks["event_count"] // 4, marks["event_count"] // 2
    for measure in ("grown", "freed", "allocated", "average"):
        page.go(cursor=at, cursor2=since, measure=measure)
        reply = ask(demo, "live", at=at, since=since, measure=measure, top=1)
        assert figure(page, reply["bytes"]) == reply["count"], measure


def test_search_and_filter(open_page, trace):
    path = trace(2000)
    page = shown(open_page().choose(path).wait_for_picture(), "owners")
    whole = ask(path, "live", top=1)["bytes"]
    figure(page, whole)
    page.key("/")
    page.tab.keyboard.type("size>1MiB")
    found = ask(path, "live", filter="size>1MiB", top=1)["bytes"]
    page.tab.wait_for_function("(share) => document.querySelector('.owners-found').textContent.includes(share)",
                               arg=f"{found / whole * 100:.1f}%")
    page.go(filter="size>1MiB")
    figure(page, found)


def test_the_graph_by_keys(open_page, trace):
    """Moves down to the largest call, zooms in and out again; every step is announced."""
    page = shown(open_page().choose(trace(2000)).wait_for_picture(), "owners")
    page.tab.focus("[data-part=owners] .flame-scroll")
    page.key("ArrowDown", "ArrowDown", "ArrowDown")
    page.tab.wait_for_function(
        "() => [...document.querySelectorAll('[aria-live]')].some((node) => /\\d%/.test(node.textContent))")
    page.key("Enter").wait_for_address("focus=")
    assert page.tab.locator(".flame-crumbs button").count() > 1
    page.key("Escape")
    page.tab.wait_for_function("() => !location.hash.includes('focus=')")


def test_a_row_opens(open_page, trace):
    path = trace(2000)
    page = shown(open_page().choose(path).wait_for_picture(), "owners")
    page.tab.focus("[data-part=owners] .table-row")
    page.key("ArrowDown", "Enter")
    page.tab.wait_for_selector(".owners-member")
    group = ask(path, "live", top=2, frames=1)["groups"][1]
    rows = ask(path, "allocations", at="peak", filter=group["filter"], top=1, frames=1)["rows"]
    assert rows[0]["name"] in page.tab.inner_text(".owners-member >> nth=0")
    page.tab.click(".owners-member >> nth=0")
    page.tab.wait_for_selector(f"#details [data-row='{rows[0]['row']}']")


def test_fragmentation(open_page, demo):
    page = shown(open_page().choose(demo).wait_for_picture(), "fragmentation")
    holes = ask(demo, "holes", points=1200)
    name, text = saved(page, "fragmentation", "csv")
    assert name == "demo-fragmentation.csv"
    names, *rows = csv.reader(io.StringIO(text.decode()))
    reply = ask(demo, "holes", points=len(rows))["columns"]
    for column in ("reserved", "active", "pinned", "releasable", "largest_hole"):
        at = names.index(f"{column}_bytes")
        assert [float(row[at]) for row in rows] == list(reply[column])
    bands = [sum(map(float, row[names.index("holes") + 1:])) for row in rows]
    assert bands == list(reply["free"]), "each free byte lies in one band"
    assert max(holes["columns"]["reserved"]) > 0
    page.tab.focus(".frag-stage")
    page.key("ArrowRight", "End", "Enter").wait_for_address("cursor=")


def test_saved_pictures(open_page, trace):
    page = open_page().choose(trace(2000)).wait_for_picture()
    for part in ("owners", "fragmentation"):
        shown(page, part)
        name, text = saved(page, part, "svg")
        assert name == f"trace-2000-{part}.svg"
        drawing = xml.dom.minidom.parseString(text)
        assert drawing.getElementsByTagName("text") and not drawing.getElementsByTagName("script")
        assert saved(page, part, "png")[1].startswith(b"\x89PNG")


def test_hostile_names(open_page, tmp_path):
    """Text from a file stays text, on the page and in saved files: no formula, no element."""
    frame = {"filename": "=1+1.py", "line": 1, "name": "</text><script>x</script>\x01"}
    alloc = {"action": "alloc", "addr": 0x7F0000000000, "size": 1 << 20, "stream": 0, "time_us": 1, "frames": [frame]}
    path = tmp_path / "-- evil <b>.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [[alloc]]}))
    page = shown(open_page().choose(path).wait_for_picture(), "owners")
    figure(page, 1 << 20)
    assert table(page)[1][0].startswith("'=1+1.py:1 </text>")
    name, text = saved(page, "owners", "svg")
    assert name == "--_evil_b_-owners.svg"
    drawing = xml.dom.minidom.parseString(text)
    assert "</text>" in "".join(node.firstChild.data for node in drawing.getElementsByTagName("text"))
    assert not drawing.getElementsByTagName("script") and not page.tab.query_selector("main script")
