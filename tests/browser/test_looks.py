"""What can be said of looks by a program: contrast, nothing cut off, at every width, in both themes. The pictures are kept
(VRAMSCOPE_LOOKS) for people to look at."""

import pytest

from conftest import LOOKS

PARTS = ("timeline", "state", "owners", "fragmentation", "whatif", "settings")

CONTRAST = """() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a),
    a: 1,
  });
  const luminance = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const opacity = (element) => {
    let value = 1;
    for (let at = element; at; at = at.parentElement) value *= Number(getComputedStyle(at).opacity);
    return value;
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName) || element.closest("[disabled], [aria-disabled=true]")) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const style = getComputedStyle(element);
    const behind = background(element);
    const colour = parse(style.color);
    const ink = over({ ...colour, a: colour.a * opacity(element) }, behind);
    const [high, low] = [luminance(ink), luminance(behind)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) poor.push(`${ratio.toFixed(2)}: ${text.slice(0, 40)} <${element.className}>`);
  }
  return poor;
}"""

NAMELESS = """() => [...document.querySelectorAll("button, a, input, select, canvas[tabindex], [role=tab], [role=slider]")]
  .filter((element) => element.checkVisibility() && !element.closest("[aria-hidden=true]"))
  .filter((element) => !(element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") || element.title
    || element.innerText || element.labels?.length || element.placeholder))
  .map((element) => element.outerHTML.slice(0, 100))"""


def show(page, part):
    page.tab.click(f"#tab-{part}")
    page.tab.wait_for_selector(f"[data-part={part}]")
    page.tab.wait_for_function(
        "(part) => [...document.querySelectorAll(`[data-part=${part}] [data-settled]`)]"
        ".every((canvas) => canvas.dataset.settled === 'true')", arg=part)
    page.tab.wait_for_timeout(150)


def keep(page, name):
    LOOKS.mkdir(parents=True, exist_ok=True)
    page.tab.screenshot(path=LOOKS / f"{name}.png")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(1280, 720), (1600, 1000), (420, 800)])
def test_every_part(open_page, trace, theme, width, height):
    page = open_page(theme=theme, width=width, height=height).choose(trace(10_000)).wait_for_picture().settle()
    for part in PARTS:
        show(page, part)
        keep(page, f"{part}-{width}-{theme}")
        assert page.tab.evaluate(CONTRAST) == [], part
        assert page.tab.evaluate(NAMELESS) == [], part
        assert page.tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), f"{part} is too wide"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_goes_wrong_looks_right_too(open_page, demo, tmp_path, theme):
    page = open_page(theme=theme)
    keep(page, f"empty-{theme}")
    assert page.tab.evaluate(CONTRAST) == []
    torn = tmp_path / "torn.pickle"
    torn.write_bytes(b"\x80\x04}")
    page.choose(torn).error()
    keep(page, f"error-{theme}")
    assert page.tab.evaluate(CONTRAST) == []
    page.choose(demo).wait_for_picture().settle()
    page.key("o").settle()
    keep(page, f"oom-{theme}")
    assert page.tab.evaluate(CONTRAST) == []
    page.key("?")
    keep(page, f"help-{theme}")
    assert page.tab.evaluate(CONTRAST) == []
