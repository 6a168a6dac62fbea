"""Everything without a mouse."""

from page import ask


def test_from_the_keyboard_only(open_page, trace):
    path = trace(2000)
    page = open_page().choose(path).wait_for_picture().settle()
    marks = ask(path, "marks")
    page.key("p").wait_for_address(f"cursor={marks['peak']['event']}").settle()
    before = page.picture()
    page.key("+", "+").settle()
    after = page.picture()
    assert after["x1"] - after["x0"] < before["x1"] - before["x0"]
    page.key("ArrowRight").settle()
    assert page.picture()["x0"] > after["x0"]
    page.key("0").settle()
    assert page.picture()["x1"] - page.picture()["x0"] >= marks["event_count"]
    for number, part in enumerate(("timeline", "state", "owners", "fragmentation", "whatif", "settings"), 1):
        page.key(str(number))
        page.tab.wait_for_selector(f"[data-part={part}]")
        assert page.tab.get_attribute(f"#tab-{part}", "aria-selected") == "true"
    page.key("1").settle()
    page.key("?")
    page.tab.wait_for_selector("dialog[open], [role=dialog]:visible")
    page.key("Escape")
    page.tab.wait_for_selector("dialog[open], [role=dialog]:visible", state="detached")
    page.key("/")
    page.tab.keyboard.type("size>8MiB")
    page.key("Enter")
    page.settle()
    page.wait_for_address("search=")


def test_focus_is_visible_wherever_it_goes(open_page, trace):
    """Forty presses of Tab: each focuses a visible element that shows the focus."""
    page = open_page().choose(trace(2000)).wait_for_picture().settle()
    seen = set()
    for _ in range(40):
        page.key("Tab")
        place = page.tab.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === document.body) return null;
              const box = at.getBoundingClientRect();
              const style = getComputedStyle(at);
              const shows = style.outlineStyle !== "none" || style.boxShadow !== "none";
              return { what: at.outerHTML.slice(0, 80), shows, visible: box.width > 0 && box.height > 0 };
            }""")
        if place is None:
            continue
        assert place["visible"] and place["shows"], place["what"]
        seen.add(place["what"])
    assert len(seen) > 10


def test_pinning_without_a_mouse(open_page, trace):
    """The crosshair: selects and pins an allocation with keys only."""
    page = open_page().choose(trace(2000)).wait_for_picture().settle()
    page.tab.focus("[data-part=timeline] .timeline-stage")
    page.key("p").settle()
    page.key("Alt+ArrowUp", "Alt+ArrowUp", "Enter")
    page.tab.wait_for_selector("#details [data-row]")
