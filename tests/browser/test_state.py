"""State: its figures, the list of events, each block on the map, the details; all against the engine's own answers."""

import random

import pytest
from page import ask

STAGE = "[data-part=state] .map-stage"
CHOSEN = "[data-part=state] .events-body [aria-selected=true]:not([hidden])"


def shown(page, **state):
    page.go(part="state", **state)
    page.tab.wait_for_selector("[data-part=state]")
    return page.settle("state")


def at_moment(page, event):
    page.go(cursor=event)
    page.tab.wait_for_selector(f".state-part[data-at='{event}']")
    return page.settle("state")


def figures(page):
    return page.tab.eval_on_selector_all(
        ".state-figures [data-key]", "(all) => Object.fromEntries(all.map((e) => [e.dataset.key, +e.lastChild.dataset.bytes]))")


def naive_figures(path, event):
    """The same computed from the columns, one free block after the other."""
    reply = ask(path, "map", at=event)
    column = reply["columns"]
    reserved = active = hole = 0
    for segment, size in enumerate(column["segment_size"]):
        end = 0
        reserved += size
        for i in range(column["segment_block"][segment], column["segment_block"][segment + 1]):
            hole = max(hole, column["block_offset"][i] - end)
            end = column["block_offset"][i] + column["block_size"][i]
            active += column["block_size"][i]
        hole = max(hole, size - end)
    pending = sum(size for size, flags in zip(column["block_size"], column["block_flags"]) if flags & 1)
    rounding = sum(column["block_size"]) - sum(column["block_requested"])
    return {"reserved": reserved, "allActive": active, "free": reserved - active, "largestHole": hole, "pending": pending,
            "rounding": rounding, "outside": reply["outside"]["bytes"]}


def event_rows(page):
    """What the list shows, by the event's number."""
    rows = page.tab.eval_on_selector_all(
        ".events-body .events-row:not([hidden])", "(all) => all.map((row) => [...row.children].map((cell) => cell.textContent))")
    return {int(row[0].replace(",", "")): row for row in rows}


@pytest.mark.parametrize("kind", ["demo", "trace"])
def test_figures_are_the_engines(open_page, demo, trace, kind):
    path = demo if kind == "demo" else trace(2000)
    page = shown(open_page().choose(path).wait_for_picture())
    marks = ask(path, "marks")
    last = marks["event_count"] - 1
    for event in (marks["peak"]["event"], 0, last // 3, last):
        at_moment(page, event)
        assert figures(page) == naive_figures(path, event), event


def test_each_block_lies_where_it_is_drawn(open_page, trace):
    """Walked to by keys, and then met by the pointer at that place, near and far."""
    path = trace(2000)
    page = shown(open_page().choose(path).wait_for_picture())
    known = set(ask(path, "map", at="peak")["columns"]["block_row"])
    seen, dice = set(), random.Random(1)
    box = page.tab.locator(STAGE).bounding_box()
    for _ in range(12):
        page.tab.focus(STAGE)
        page.key("0", "Home", *["PageDown"] * dice.randrange(12), *["ArrowRight"] * dice.randrange(12), *["+"] * dice.choice([6, 14]))
        page.tab.wait_for_function("() => document.querySelector('.map-tip').dataset.row !== ''")
        row = page.tab.get_attribute(".map-tip", "data-row")
        x, y = map(float, page.tab.get_attribute(STAGE, "data-place").split(","))
        page.tab.mouse.move(box["x"] + x + 1, box["y"] - 20)
        page.tab.wait_for_selector(".map-tip", state="hidden")
        page.tab.mouse.move(box["x"] + x, box["y"] + y)
        page.tab.wait_for_function("(row) => document.querySelector('.map-tip').dataset.row === row", arg=row)
        seen.add(int(row))
    assert len(seen) > 7 and seen <= known
    page.tab.mouse.down()
    page.tab.mouse.up()
    page.tab.wait_for_selector(f".details[data-row='{row}'][data-name^=b]")


def test_list_is_the_trace(open_page, trace):
    path = trace(2000)
    page = shown(open_page().choose(path).wait_for_picture(), cursor=1000)
    folded = {event["event"]: event for event in ask(path, "events", folded=True, top=0, frames=1)["events"]}
    rows = event_rows(page)
    assert 1000 in rows or 999 in rows
    for event, cells in rows.items():
        assert cells[2] == (folded[event]["name"] or ""), event
    page.tab.focus("[data-part=state] .events-grid")
    page.key("End").settle("state")
    assert max(event_rows(page)) == max(folded)
    page.tab.get_by_role("button", name="Fold frees").click()
    page.tab.wait_for_function("() => document.querySelector('.events-count').textContent === '2,000 rows'")
    page.settle("state")
    assert max(event_rows(page)) == 1999
    page.tab.focus("[data-part=state] .events-grid")
    page.tab.keyboard.type("77")
    page.key("Enter").wait_for_address("cursor=77")
    assert 77 in event_rows(page.settle("state"))
    assert page.tab.locator(".events-body .events-row").count() <= 80


def test_filter_and_matches(open_page, trace):
    path, text = trace(2000), "size>1MiB action=alloc"
    page = shown(open_page().choose(path).wait_for_picture(), cursor=0)
    wanted = [event["event"] for event in ask(path, "events", filter=text, top=0, frames=1)["events"]]
    page.key("/")
    page.tab.keyboard.type(text)
    page.tab.wait_for_function(
        "(count) => document.querySelector('.events-count').textContent === `${count} matches`", arg=f"{len(wanted):,}")
    for event in [each for each in wanted if each > 0][:3]:
        page.key("Enter").wait_for_address(f"cursor={event}")
    page.tab.keyboard.type(" size>1XiB")
    page.tab.wait_for_selector(".events-wrong:not([hidden])")


def test_event_to_block_and_back(open_page, trace):
    """A row of the list, its block in the details, and from there the moments of its allocation and its free."""
    path = trace(2000)
    thing = next(row for row in ask(path, "allocations", sort="start", top=0)["rows"]
                 if row["start_event"] is not None and (row["end_event"] or 0) > row["start_event"] + 20)
    page = shown(open_page().choose(path).wait_for_picture(), cursor=thing["start_event"])
    page.tab.click(CHOSEN)
    page.tab.wait_for_selector(f".details[data-row='{thing['row']}'][data-name='{thing['name']}']")
    buttons = page.tab.locator(".details-facts button.link")
    buttons.nth(1).click()
    page.tab.wait_for_selector(f".state-part[data-at='{thing['end_event']}']")
    page.tab.wait_for_function("() => document.querySelector('.details-now').textContent.startsWith('Freed')")
    assert thing["row"] not in ask(path, "map", at=thing["end_event"])["columns"]["block_row"]
    buttons.nth(0).click()
    page.tab.wait_for_selector(f".state-part[data-at='{thing['start_event']}']")
    page.tab.wait_for_function("() => document.querySelector('.details-now').textContent.startsWith('Live')")
    page.tab.get_by_role("button", name="All of this line").click()
    page.wait_for_address("filter=line=")


def test_a_stack_reads_from_the_users_line(open_page, trace):
    path = trace(2000)
    page = shown(open_page().choose(path).wait_for_picture(), row=50)
    stack = ask(path, "allocation", row=50)["stack"]
    user = next(frame for frame in stack if frame["kind"] == "user")
    chief = page.tab.inner_text(".details-chief")
    assert user["function"] in chief and f"{user['file'].rsplit('/')[-1]}:{user['line']}" in chief
    assert page.tab.locator(".details-frame").count() < len(stack), "noise is folded"
    section = page.tab.locator(".details-body section").filter(has_text="Allocated by")
    while section.locator(".details-unfold").count():
        section.locator(".details-unfold").first.click()
    titles = section.locator(".details-frame").evaluate_all("(all) => all.map((frame) => frame.title)")
    assert [title.split(" ", 1)[1] for title in titles] == [frame["function"] for frame in stack]


def test_out_of_memory(open_page, demo):
    page = shown(open_page().choose(demo).wait_for_picture())
    (oom,) = ask(demo, "marks")["ooms"]
    page.go(row=oom["event"], rowWhat="event")
    page.tab.wait_for_function("() => document.querySelector('.details-body')?.textContent.includes('Largest free block')")
    words = page.tab.inner_text(".details-body")
    assert f"{oom['requested_bytes']:,}" in words and "Free on device" in words
