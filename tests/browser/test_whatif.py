"""What if: the table is the engine's answer, a row is drawn over the recording and opens the State that it would have had; the page
answers while it searches."""

import re

import pytest
from page import ask, ask_all

ROWS = "[data-part=whatif] .whatif-table tbody tr"
BEST = "expandable_segments:True"


def searched(page):
    page.tab.click("#tab-whatif")
    page.tab.wait_for_selector(".whatif-progress[data-done=true]", state="attached")
    page.tab.wait_for_selector(ROWS)
    return page


def choose(page, settings):
    page.tab.click(f"{ROWS}[data-settings='{settings}'] button")
    page.tab.wait_for_selector(f"{ROWS}.is-chosen[data-settings='{settings}']")
    return page.settle("whatif")


def cells(page):
    return page.tab.eval_on_selector_all(ROWS, "(rows) => rows.map((row) => [row.dataset.settings, ...[...row.cells].map((c) => c.textContent)])")


def test_the_table_is_the_engines(open_page, demo):
    """Best first, the recorded settings behind it; each with its result, its peak and its price."""
    reply = ask(demo, "whatif")
    page = searched(open_page().choose(demo).wait_for_picture())
    runs = [reply["runs"][at] for at in reply["ranking"]]
    runs = [runs[0], reply["recorded"], *runs[1:]]
    shown = cells(page)
    assert [row[0] for row in shown] == ["recorded" if run["asked"] is None else run["asked"] for run in runs]
    for row, run in zip(shown, runs, strict=True):
        assert ("passes" in row[2]) == run["passes"] and ("fails" in row[2]) == (not run["passes"])
        assert float(re.match(r"[\d.]+", row[3])[0]) == pytest.approx(run["reserved_peak_bytes"] / (1 << 30), abs=0.006)
        assert row[6].startswith(str(run["device_allocs"])) and row[7] == str(run["retries"])
    answer = page.tab.inner_text(".whatif-answer")
    assert all(line["text"] in answer and line["label"] in answer for line in reply["lines"])


def test_steps_do_not_depend_on_each_other(demo):
    """Of one engine: the same answer to the same question, whatever was asked before."""
    first, whole, again = ask_all(demo, "whatif", [{"steps": 5}, {"steps": 0}, {"steps": 5}])
    assert first == again == ask(demo, "whatif", steps=5) and whole == ask(demo, "whatif")
    assert len(first["runs"]) == 5 and whole["steps"]["done"] == whole["steps"]["all"]


def requests_of(page):
    """Makes the page note each request to its engine, and when it was sent and answered. A step of a search takes 150 ms longer, so that
    it goes on for seconds on any machine."""
    page.tab.add_init_script("""
      const { Worker: Real } = globalThis;
      globalThis.noted = [];
      globalThis.Worker = class extends Real {
        constructor(...all) {
          super(...all);
          this.addEventListener("message", ({ data }) => {
            const one = noted.find((each) => each.number === data.number && data.kind === "done");
            if (one) one.done = performance.now();
          });
        }
        postMessage(message, ...more) {
          if (message.kind === "request") {
            const asked = JSON.parse(new TextDecoder().decode(message.bytes));
            noted.push({ number: message.number, method: asked.method, steps: asked.params?.steps, sent: performance.now() });
            if (asked.method === "whatif") return setTimeout(() => super.postMessage(message, ...more), 150);
          }
          return super.postMessage(message, ...more);
        }
      };""")
    page.tab.reload()
    return page


def test_the_page_answers_while_it_searches(open_page, trace):
    """The search is many requests, so that a picture waits for one of them at most; left, it stops, and it goes on when it is back."""
    page = requests_of(open_page())
    page.choose(trace(100_000)).wait_for_picture().settle()
    page.tab.click("#tab-whatif")
    page.tab.wait_for_function("() => noted.filter((one) => one.method === 'whatif' && one.done).length >= 2")
    page.tab.click("#tab-timeline")
    page.go(x0=20_000, x1=30_000).settle()
    noted = page.tab.evaluate("() => noted")
    steps = [one["steps"] for one in noted if one["method"] == "whatif"]
    assert steps[0] == 1 and steps == sorted(set(steps)) and len(steps) >= 2
    assert steps[-1] < ask(trace(100_000), "whatif", steps=1)["steps"]["all"], "the search was over before it could be left"
    page.settle()
    assert page.tab.evaluate("() => noted.filter((one) => one.method === 'whatif').length") == len(steps)
    page.tab.click("#tab-whatif")
    page.tab.wait_for_function(f"() => noted.filter((one) => one.method === 'whatif').length > {len(steps)}")
    again = [one["steps"] for one in page.tab.evaluate("() => noted") if one["method"] == "whatif"]
    assert again[len(steps)] > 1


def test_a_row_is_drawn_over_the_recording(open_page, demo):
    """In the part and in the timeline, until it is taken away; the address has it."""
    page = choose(searched(open_page().choose(demo).wait_for_picture()), BEST)
    capacity = ask(demo, "whatif", steps=1)["capacity_bytes"]
    page.wait_for_address(f"whatif={BEST}").wait_for_address(f"card={capacity}")
    assert BEST in page.tab.get_attribute(".whatif-canvas", "data-course")
    page.tab.get_by_role("button", name="Show on the timeline").click()
    page.settle()
    page.tab.wait_for_function("() => document.querySelector('.timeline-lines').dataset.course !== ''")
    shown = page.picture()
    asked = page.tab.evaluate("() => JSON.parse(document.querySelector('.timeline-lines').dataset.course)")
    course = ask(demo, "course", settings=BEST, card=capacity, x0=shown["x0"], x1=shown["x1"], columns=int(shown["columns"]))
    assert (asked["settings"], asked["card"], asked["columns"]) == (BEST, capacity, course["columns_count"])
    column = int(shown["columns"]) // 2
    place, box = page.place(), page.tab.locator(".timeline-lines").first.bounding_box()
    y = place["y"] - box["y"] + place["height"] * (1 - course["columns"]["reserved_high"][column] / shown["y1"])
    assert blue_at(page, place["x"] - box["x"] + column, y), "the dashes of the curve"
    page.tab.get_by_role("button", name=f"What if: {BEST}").first.click()
    page.tab.wait_for_function("() => !location.hash.includes('whatif=') && document.querySelector('.timeline-lines').dataset.course === ''")
    page.settle()
    assert not blue_at(page, place["x"] - box["x"] + column, y)


def blue_at(page, x, y):
    """Whether some pixel near there is of the accent's colour: a dash is six pixels, a gap three."""
    return page.tab.eval_on_selector(
        ".timeline-lines", """(canvas, [x, y]) => {
          const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          const { data } = context.getImageData(Math.round(x) - 6, Math.round(y) - 2, 12, 4);
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] > 128 && data[at + 2] > 180 && data[at + 2] - data[at] > 120) return true;
          return false;
        }""", [x, y])


def test_the_state_that_it_would_have_had(open_page, demo):
    """At any moment: reserved bytes of the replay, and a free block that is large enough for what failed."""
    reply = ask(demo, "whatif", steps=1)
    page = choose(searched(open_page().choose(demo).wait_for_picture()), BEST)
    page.tab.get_by_role("button", name="State at the failed request").click()
    for event in (reply["capacity_event"], 5000):
        page.go(cursor=event)
        page.tab.wait_for_selector(f".state-part[data-at='{event}'][data-replayed=true]")
        expected = ask(demo, "map", at=event, settings=BEST, card=reply["capacity_bytes"])
        shown = int(page.tab.get_attribute(".state-figures [data-key=reserved] dd", "data-bytes"))
        assert shown == expected["reserved_bytes"] != ask(demo, "map", at=event)["reserved_bytes"]
        assert page.tab.inner_text(".state-exact") == "replayed"
    page.tab.click("[data-part=state] .whatif-chip")
    page.tab.wait_for_selector(".state-part[data-replayed=false]")


def outlined(page):
    """How many pixels of the map's outlines are drawn: without the pointer that is where the moment's event happened."""
    return page.settle("state").tab.eval_on_selector(
        ".map-over", """(canvas) => {
          const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          const { data } = context.getImageData(0, 0, copy.width, copy.height);
          return data.filter((value, at) => at % 4 === 3 && value > 0).length;
        }""")


def test_the_state_of_a_replay_has_no_recorded_places(open_page, demo):
    """The event is marked at its address, which the replay's blocks do not have; its segments are no rows of the file."""
    page = choose(searched(open_page().choose(demo).wait_for_picture()), BEST)
    page.go(part="state", cursor=5000)
    page.tab.wait_for_selector(".state-part[data-at='5000'][data-replayed=true]")
    assert outlined(page) == 0
    box = page.tab.locator("[data-part=state] .map-stage").bounding_box()
    for column in range(1, 12):
        for row in range(1, 6):
            page.tab.mouse.click(box["x"] + box["width"] * column / 12, box["y"] + box["height"] * row / 6)
    page.settle("state")
    assert page.tab.locator(".details [data-what=segments]").count() == 0
    page.tab.click("[data-part=state] .whatif-chip")
    page.tab.wait_for_selector(".state-part[data-replayed=false]")
    page.tab.mouse.move(0, 0)
    assert outlined(page) > 0


def test_a_click_on_the_curve_opens_its_moment(open_page, demo):
    page = choose(searched(open_page().choose(demo).wait_for_picture()), BEST)
    box = page.tab.locator(".whatif-canvas").bounding_box()
    page.tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.tab.wait_for_function(f"() => document.querySelector('.whatif-tip').textContent.includes('{BEST}')")
    event = int(re.search(r"event ([\d,]+)", page.tab.inner_text(".whatif-tip"))[1].replace(",", ""))
    page.tab.mouse.down()
    page.tab.mouse.up()
    page.tab.wait_for_selector(f".state-part[data-at='{event}'][data-replayed=true]")


def test_without_a_history(open_page, tmp_path):
    import pickle
    path = tmp_path / "bare.pickle"
    segment = {"device": 0, "address": 0x7F0000000000, "total_size": 1 << 21, "allocated_size": 512, "active_size": 512,
               "stream": 0, "segment_type": "small", "blocks": [{"size": 512, "state": "active_allocated"}]}
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [[]]}))
    page = open_page().choose(path).wait_for_picture()
    page.tab.click("#tab-whatif")
    page.tab.wait_for_selector(".whatif-empty")
    assert "_record_memory_history()" in page.tab.inner_text(".whatif-empty")
    assert page.tab.locator(ROWS).count() == 0 and not page.tab.locator(".whatif-chart").is_visible()
