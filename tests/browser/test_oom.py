"""A file that ran out of memory: what the picture, the strip and the banner say of it; labels, panels and empty places."""

import json
import pickle
import re

import pytest
from page import ask, report
from test_owners import saved

LINES = "[data-part=timeline] canvas.timeline-lines"
FILE, LINE = "modeling_of_a_transformer_with_a_long_name.py", 174
MIB = 1 << 20


def frame(function, line=LINE):
    return {"filename": f"/home/me/project/{FILE}", "line": line, "name": function}


def device_trace(sizes, oom=None, start=1_000_000):
    """A segment for each size, the allocations in them, and at the end a request of `oom` MiB with 8 MiB free on the GPU."""
    events, address, clock = [], 0x7F00_0000_0000, start
    for i, size in enumerate(sizes):
        common = {"addr": address, "size": size * MIB, "stream": 0, "frames": [frame(f"of_a_long_name_{i}", LINE + i)]}
        events += [{**common, "action": "segment_alloc", "time_us": clock}, {**common, "action": "alloc", "time_us": clock + 10}]
        address += size * MIB
        clock += 1000
    if oom:
        events.append({"action": "oom", "addr": 0, "size": oom * MIB, "stream": 0, "device_free": 8 * MIB, "time_us": clock,
                       "frames": [frame("the_request_that_failed", 900)]})
    return events


def end_state(events, device):
    blocks = [{**event, "action": None} for event in events if event["action"] == "alloc"]
    return [{"device": device, "address": block["addr"], "total_size": block["size"], "allocated_size": block["size"],
             "active_size": block["size"], "requested_size": block["size"], "stream": 0, "segment_type": "large",
             "segment_pool_id": (0, 0), "is_expandable": False, "frames": block["frames"],
             "blocks": [{"address": block["addr"], "size": block["size"], "requested_size": block["size"],
                         "state": "active_allocated", "frames": block["frames"]}]} for block in blocks]


@pytest.fixture
def snapshot(tmp_path):
    """snapshot(name, trace of GPU 0, trace of GPU 1 ...) -> a file."""

    def write(name, *traces):
        path = tmp_path / name
        segments = [segment for device, events in enumerate(traces) for segment in end_state(events, device)]
        path.write_bytes(pickle.dumps({"segments": segments, "device_traces": list(traces)}))
        return path

    return write


def drawn(page):
    """The failed requests that the page has drawn, after the report has said what they were short of."""
    page.tab.wait_for_selector("[data-figure=short]")
    page.settle()
    return json.loads(page.tab.get_attribute(LINES, "data-failures"))


def pixels(page, points):
    """[red, green, blue, alpha] of the canvas of lines, at places in CSS pixels."""
    return page.tab.eval_on_selector(
        LINES, """(canvas, points) => {
          const ratio = canvas.width / canvas.getBoundingClientRect().width;
          const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          return points.map(([x, y]) => [...context.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data]);
        }""", points)


def is_red(pixel):
    red, green, blue, alpha = pixel
    return alpha > 128 and red > 180 and red - max(green, blue) > 80


def figure_of(page, key):
    return page.tab.locator(f"[data-figure={key}]")


# ---- the picture


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_failed_request_stands_on_the_curve(open_page, demo, theme):
    """The block ends above the capacity by what the request was short of; figures and pixels are the engine's."""
    page = open_page(theme=theme).choose(demo).wait_for_picture()
    (block,) = drawn(page)
    (mark,) = ask(demo, "marks")["ooms"]
    (oom,) = report(demo)["devices"][0]["ooms"]
    assert mark["capacity_bytes"] == oom["reserved_bytes"] + oom["device_free_bytes"]
    assert page.tab.get_attribute(LINES, "data-capacity") == str(mark["capacity_bytes"])
    assert (block["event"], block["to"] - block["from"]) == (oom["event"], oom["requested_bytes"])
    assert block["to"] == mark["capacity_bytes"] + oom["short_bytes"]
    shown, place = page.picture(), page.place()
    stage = page.tab.locator(LINES).bounding_box()
    perByte = place["height"] / (shown["y1"] - shown["y0"])
    line = place["y"] - stage["y"] + place["height"] - mark["capacity_bytes"] * perByte
    assert abs(block["over"] - line) < 1 and abs(block["top"] - (line - oom["short_bytes"] * perByte)) < 3
    middle = block["left"] + block["width"] / 2
    across = place["x"] - stage["x"] + place["width"] / 2
    over, above, *capacity = pixels(page, [(middle, (block["top"] + block["over"]) / 2), (middle, block["top"] - 3),
                                           *((across, line + y) for y in (-1, 0, 1))])
    assert is_red(over) and not is_red(above) and any(map(is_red, capacity))
    assert not any(map(is_red, pixels(page, [(across, line - 5), (across, line + 5)])))


def test_without_free_bytes_there_is_no_capacity(open_page, snapshot):
    """A file that does not say what was free: the request stands on the reserved memory, and no line is drawn."""
    trace = device_trace([40, 60], oom=50)
    for key in ("device_free", "addr"):
        del trace[-1][key]
    path = snapshot("unknown.pickle", trace)
    page = open_page().choose(path).wait_for_picture()
    (block,) = drawn(page)
    assert ask(path, "marks")["ooms"][0]["capacity_bytes"] is None
    assert page.tab.get_attribute(LINES, "data-capacity") == ""
    assert (block["from"], block["to"]) == (100 * MIB, 150 * MIB)


def test_a_free_block_counts_as_what_could_be_allocated(open_page, snapshot):
    """The part above the capacity is what the request was short of, also if a free block was larger than the GPU's free memory."""
    path = snapshot("hole.pickle", device_trace([200], oom=180))
    data = pickle.loads(path.read_bytes())
    data["device_traces"][0][1]["size"] = 40 * MIB
    (segment,) = data["segments"]
    segment["blocks"] = [{**segment["blocks"][0], "size": 40 * MIB, "requested_size": 40 * MIB},
                         {"address": segment["address"] + 40 * MIB, "size": 160 * MIB, "requested_size": 0, "state": "inactive"}]
    segment["allocated_size"] = segment["active_size"] = segment["requested_size"] = 40 * MIB
    path.write_bytes(pickle.dumps(data))
    (oom,) = report(path)["devices"][0]["ooms"]
    assert oom["short_bytes"] == 20 * MIB
    page = open_page().choose(path).wait_for_picture()
    (block,) = drawn(page)
    assert (block["from"], block["to"]) == (48 * MIB, 228 * MIB)
    assert page.tab.get_attribute(LINES, "data-capacity") == str(208 * MIB)


def test_the_saved_picture_has_it(open_page, demo):
    page = open_page().choose(demo).wait_for_picture()
    assert len(drawn(page)) == 1
    _, text = saved(page, "timeline", "svg")
    text = text.decode()
    assert "capacity 7.60 GiB" in text and "failed to allocate 786.0 MiB, short by 40.00 MiB at train.py:50" in text


def test_a_filter_takes_the_request_away(open_page, demo):
    page = open_page().choose(demo).wait_for_picture()
    assert len(drawn(page)) == 1
    page.go(filter="size>1MiB").settle()
    assert drawn(page) == []
    page.go(filter=None, axis="time").settle()
    assert [block["event"] for block in drawn(page)] == [ask(demo, "marks")["ooms"][0]["event"]]


# ---- the strip


def test_the_strip_says_what_was_missing(open_page, demo, trace):
    page = open_page().choose(demo).wait_for_picture()
    figure_of(page, "short").wait_for()
    (oom,) = report(demo)["devices"][0]["ooms"]
    (why,) = [line["text"] for line in oom["lines"] if line["about"] == "oom_cause"]
    assert page.figure("short") == oom["short_bytes"]
    assert why in figure_of(page, "short").inner_text()
    assert oom["label"] in figure_of(page, "oom").text_content()
    assert figure_of(page, "rise").count() == 0
    page = open_page().choose(trace(2000)).wait_for_picture()
    figure_of(page, "rise").wait_for()
    assert figure_of(page, "short").count() == 0


def test_the_whole_answer_pushes_the_picture_down(open_page, demo):
    page = open_page(width=1400, height=850).choose(demo).wait_for_picture().settle()
    before = page.tab.locator("main").bounding_box()
    page.key("s")
    answer = page.tab.locator("#summary-answer").bounding_box()
    main = page.tab.locator("main").bounding_box()
    assert answer["y"] + answer["height"] <= main["y"] + 1 and main["y"] > before["y"] + 100
    assert main["height"] > 250 and main["y"] + main["height"] <= 850
    page.settle().key("s")
    assert page.tab.locator("main").bounding_box() == before


# ---- elsewhere


def test_another_gpu_ran_out(open_page, snapshot):
    path = snapshot("two.pickle", device_trace([500, 500]), device_trace([40, 60], oom=50))
    page = open_page().choose(path).wait_for_picture()
    assert page.tab.locator("select[aria-label=Device]").input_value() == "1"
    assert not page.tab.locator(".elsewhere").is_visible()
    page.go(device=0)
    banner = page.tab.locator(".elsewhere")
    banner.wait_for()
    assert "GPU 1 ran out of memory." in banner.inner_text()
    banner.get_by_role("button").click()
    page.wait_for_address("cursor=4")
    assert page.tab.locator("select[aria-label=Device]").input_value() == "1"
    banner.wait_for(state="hidden")


def test_another_rank_ran_out(open_page, snapshot):
    """The first to run out is named; where the shown one did, too, how much earlier."""
    fine = snapshot("rank0.pickle", device_trace([500, 500]))
    late = snapshot("rank1.pickle", device_trace([40, 60], oom=50, start=5_000_000))
    early = snapshot("rank2.pickle", device_trace([30, 30], oom=90, start=3_000_000))
    page = open_page().choose(fine, late, early).wait_for_picture()
    banner = page.tab.locator(".elsewhere")
    page.tab.wait_for_function("() => document.querySelector('.elsewhere').textContent.includes('and 1 other')")
    assert "rank2.pickle, and 1 other ran out of memory." in banner.inner_text()
    page.go(file=1)
    page.tab.wait_for_function("() => document.querySelector('.elsewhere').textContent.includes('earlier')")
    assert "rank2.pickle ran out of memory 2.00 s earlier." in banner.inner_text()
    banner.get_by_role("button").click()
    page.wait_for_address("file=2")
    page.tab.wait_for_function("() => document.querySelector('.elsewhere').textContent.includes('later')")
    assert "rank1.pickle ran out of memory, too, 2.00 s later." in banner.inner_text()


# ---- the legend and labels


def test_the_legend_is_sorted_by_what_it_shows(open_page, demo):
    page = open_page().choose(demo).wait_for_picture().settle()
    page.tab.wait_for_selector(".legend-groups .legend-bytes")
    groups = ask(demo, "groups")["groups"]
    expected = [group["label"] for group in sorted(groups, key=lambda one: (-one["bytes_at_peak"], one["index"]))]
    shown = page.tab.locator(".legend-groups .legend-label").all_text_contents()
    assert shown == expected and expected != [group["label"] for group in groups]


def test_the_legend_splits_a_line_that_calls_a_package(open_page, snapshot):
    events = device_trace([40, 60, 30])
    for number, event in enumerate(events):
        event["frames"] = [{"filename": "/v/site-packages/layers.py", "line": 10 + number // 2, "name": "forward"},
                           {"filename": "/home/me/train.py", "line": 3, "name": "main"}]
    path = snapshot("package.pickle", events)
    page = open_page().choose(path).wait_for_picture().settle()
    assert page.tab.locator(".legend-groups .legend-label").all_text_contents() == ["train.py:3 main"]
    page.tab.click(".legend-split")
    page.tab.wait_for_function("() => document.querySelectorAll('.legend-groups .legend-bytes').length === 3")
    page.settle()
    assert page.tab.locator(".legend-groups .legend-label").all_text_contents() == [f"layers.py:{line} forward" for line in (11, 10, 12)]
    assert page.tab.locator(".legend-split").count() == 0
    page.wait_for_address("by=innermost")


def test_memory_without_stacks_is_not_split(open_page, snapshot):
    events = device_trace([40, 60, 30])
    for event in events:
        event["frames"] = []
    page = open_page().choose(snapshot("without.pickle", events)).wait_for_picture().settle()
    assert page.tab.locator(".legend-groups .legend-label").count() == 1
    assert page.tab.locator(".legend-split").count() == 0


CUT_LINES = """() => [...document.querySelectorAll(".place-line")].filter((line) => {
  if (!line.checkVisibility()) return false;
  const box = line.getBoundingClientRect();
  const outer = line.parentElement.getBoundingClientRect();
  return line.scrollWidth > line.clientWidth + 1 || box.right > outer.right + 1 || box.left < outer.left;
}).map((line) => line.parentElement.textContent)"""


@pytest.mark.parametrize("width", [1400, 700])
def test_labels_keep_the_number_of_the_line(open_page, snapshot, width):
    path = snapshot("long.pickle", device_trace([40, 60, 30], oom=50))
    page = open_page(width=width, height=850).choose(path).wait_for_picture().settle()
    figure_of(page, "short").wait_for()
    seen = 0
    for part in ("timeline", "owners", "state"):
        page.tab.click(f"#tab-{part}")
        page.tab.wait_for_selector(f"[data-part={part}] .place-line")
        assert page.tab.evaluate(CUT_LINES) == [], part
        texts = page.tab.locator(f"[data-part={part}] .place").all_text_contents()
        assert any(re.fullmatch(rf"{FILE}:{LINE}\s.*", text) for text in texts), texts
        seen += len(texts)
    assert seen > 6


# ---- nothing there


def test_empty_places_say_what_to_type(open_page, snapshot):
    path = snapshot("bare.pickle", [])
    data = pickle.loads(path.read_bytes())
    data["segments"] = end_state(device_trace([40]), 0)
    path.write_bytes(pickle.dumps(data))
    page = open_page().choose(path).wait_for_picture()
    page.tab.wait_for_selector(".timeline-empty")
    assert "torch.cuda.memory._record_memory_history()" in page.tab.locator(".timeline-empty").inner_text()
    page.tab.click("#tab-state")
    page.tab.wait_for_function("() => document.querySelector('[data-part=state]').textContent.includes('_record_memory_history()')")


def test_a_search_without_a_match_says_what_to_type(open_page, demo):
    page = open_page().choose(demo).wait_for_picture()
    assert not page.tab.locator(".timeline-empty").is_visible()
    page.go(search="nosuchthing").settle()
    page.tab.wait_for_function("() => document.querySelector('.search-count').textContent.includes('size>1MiB')")
    page.go(part="state", search=None)
    page.tab.fill("[data-part=state] input[type=text], [data-part=state] input[type=search]", "nosuchthing")
    page.tab.wait_for_function("() => document.querySelector('[data-part=state]').textContent.includes('action=oom')")
    page.go(part="owners", filter="nosuchthing")
    page.tab.wait_for_function("() => document.querySelector('[data-part=owners]').textContent.includes('size>1MiB or')")
