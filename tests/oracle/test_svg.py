"""The still picture (`export svg`): its figures are those of `report`, and each of its columns has the values of a naive model."""

import json
import pickle
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import cli
import truth
from normal import HOST
from simulate import random_run, sample_run
from test_exports import Source, of_run

pytestmark = pytest.mark.binary

ROOT = Path(__file__).parents[2]
COLUMNS, LINES, QUARTERS, LEFT = 384, 8, 1024, 80
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60}
DEFINED = (ROOT / "src" / "query" / "page_colours.def").read_text()


class Picture:
    def __init__(self, raw):
        self.raw = raw
        self.root = ET.fromstring(raw)
        self.tags = [self.local(e) for e in self.root.iter()]
        self.texts = ["".join(e.itertext()) for e in self.all("text")]

    @staticmethod
    def local(element):
        return element.tag.removeprefix("{http://www.w3.org/2000/svg}")

    def all(self, name, within=None):
        return [e for e in (self.root if within is None else within).iter() if self.local(e) == name]

    def stack(self):
        (group,) = [g for g in self.all("g") if "scale(2 .25)" in g.get("transform", "")]
        return group

    @staticmethod
    def tip(element):
        """(label, bytes) of a title "LABEL: 1.50 GiB (1,610,612,736 B)"."""
        title = next(e for e in element if e.tag.endswith("title")).text
        label, number = re.fullmatch(r"(.*): [0-9.,]+ [KMGTPE]?i?B \(([0-9,]+) B\)", title, re.S).groups()
        return label, int(number.replace(",", ""))

    def bands(self):
        """From the bottom up: (label, bytes at the moment, fill, heights in quarters of a pixel of it and what is below)."""
        paths = [p for p in self.all("path", self.stack()) if len(p)]
        return [(*self.tip(p), p.get("fill"), heights(p.get("d"))) for p in reversed(paths)]

    def legend(self):
        """The rows of bands: (label, bytes at the moment, cells)."""
        rows = [g for g in self.all("g") if "transform" not in g.attrib and len(g) and self.local(g[0]) == "rect"]
        return [(*self.tip(g), self.all("text", g)) for g in rows]

    def line(self, name):
        found = [e for e in self.root.iter() if e.get("id") == name]
        return found[0].get("d") if found else None


def heights(outline):
    """The height of each column under a path of the stack."""
    steps = re.findall(r"([Mhvz])([-0-9 ]*)", outline)
    assert steps[0] == ("M", f"0 {QUARTERS}") and steps[-1] == ("z", "")
    found, level = [], 0
    for step, number in steps[1:-1]:
        if step == "v":
            level -= int(number)
        else:
            found += [level] * int(number)
    return found + [level] * (COLUMNS - len(found))


def line_heights(path):
    """Likewise of the line of reserved memory, in quarters of a pixel."""
    level = QUARTERS - int(re.match(r"M0 ([0-9]+)", path)[1])
    found = []
    for step, number in re.findall(r"([hv])([-0-9]+)", path):
        if step == "v":
            level -= int(number)
        else:
            found += [level] * (int(number) // 8)
    assert len(found) == COLUMNS
    return found


def shown(count, column):
    """The moments of a column by events: those that begin in it, and the one that covers its left edge."""
    width = (count + 1) / COLUMNS
    left, right = -1 + width * column, -1 + width * (column + 1)
    return [m for m in range(-1, count) if left <= m < right or m <= left < m + 1]


def moments(curve, count):
    """For each column the first moment with the highest value."""
    return [max(shown(count, c), key=lambda m: (curve[m + 1], -m)) for c in range(COLUMNS)]


def scaled(value, top):
    return (value * QUARTERS * 2 + top) // (2 * top)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    made = [of_run(sample_run(), folder, "sample"), of_run(sample_run().recorded(60), folder, "late")]
    return made + [of_run(random_run(seed)[0], folder, f"random{seed}") for seed in range(2000, 2004)]


def reported(source, device):
    report = json.loads(cli.run("report", "--json", source.path, "--top", "0").out)
    return report["host"] if device == HOST else next(d for d in report["devices"] if d["device"] == device)


def number_of(source):
    return next(n for n, m in source.memories.items() if m is source.default())


def human(text):
    number, unit = text.split(" ")
    return float(number) * UNITS[unit]


def is_about(text, number):
    return abs(human(text) - number) <= max(0.5, number * 0.005)


def test_figures_are_those_of_the_report(sources):
    for source in sources:
        picture = Picture(source.export("svg"))
        report = reported(source, number_of(source))
        peak = report["peak"]
        owners = [(o["label"], o["bytes"]) for o in peak["owners"] if o["bytes"]]
        rest = peak["requested_bytes"] - sum(b for _, b in owners[:LINES])
        expected = owners[:LINES]
        found = [(label, number) for label, number, _ in picture.legend()]
        assert found[:len(expected)] == expected, source.path.name
        assert found[len(expected):] in ([], [("other lines", rest)]) and (rest == 0 or len(found) > len(expected))
        for _, number, texts in picture.legend():
            assert is_about("".join(texts[0].itertext()), number)
        assert sorted(picture.bands()[i][:2] for i in range(len(found))) == sorted(found)
        allocated, requested, reserved = re.search(
            "Peak ≈?(.+) allocated, (.+) requested, (.+) reserved; ", "\n".join(picture.texts)).groups()
        assert is_about(allocated, peak["allocated_bytes"]) and is_about(requested, peak["requested_bytes"])
        assert is_about(reserved, report["peak_reserved"]["reserved_bytes"])
        assert [t for t in picture.texts if t.startswith("peak: ")] == [f"peak: {requested}"]


def test_columns_are_those_of_a_naive_model(sources):
    """Each column has the values of the moment at which most was allocated in it: so also the peak."""
    for source in sources:
        memory = source.default()
        picture = Picture(source.export("svg", "--axis", "event"))
        requested, reserved = truth.requested_curve(memory), truth.reserved_curve(memory)
        count = len(memory.entries)
        chosen = moments(requested, count)
        assert max(requested[m + 1] for m in chosen) == max(requested)
        high = max(requested + reserved)
        free = [o["device_free_bytes"] for o in truth.ooms(memory)]
        failed = [i for i, e in enumerate(memory.entries) if e.action == "oom"]
        if failed and free[-1] is not None and (capacity := reserved[failed[-1] + 1] + free[-1]) // 3 <= high:
            high = max(high, capacity)
            assert picture.line("capacity")
        top = high + high // 32
        bands = picture.bands()
        labels = [label for label, *_ in bands]
        for column in range(0, COLUMNS, 7):
            owners = {label: number for number, _, _, label in truth.owners_at(memory, chosen[column])}
            below = 0
            for label, _, _, found in bands:
                below += owners.pop(label, 0) if label != "other lines" else sum(n for o, n in owners.items() if o not in labels)
                assert abs(found[column] - scaled(below, top)) <= 1, (source.path.name, column, label)
        found = line_heights(picture.line("reserved"))
        for column in range(COLUMNS):
            highest = max(reserved[m + 1] for m in shown(count, column))
            assert abs(found[column] - scaled(highest, top)) <= 1, (source.path.name, column)


def test_the_mark_is_at_the_moment(sources):
    source = sources[0]
    memory = source.default()
    for at, event in (("peak", source.peak(memory)), ("end", len(memory.entries) - 1), ("100", 100)):
        picture = Picture(source.export("svg", "--axis", "event", "--at", at))
        x = int(re.match(r"M([0-9]+) ", picture.line("mark"))[1])
        assert event in shown(len(memory.entries), (x - LEFT - 1) // 2), at
        owners = [(label, number) for number, _, _, label in truth.owners_at(memory, event)]
        found = [(label, number) for label, number, _ in picture.legend()]
        assert {f for f in found if f[0] != "other lines"} <= set(owners)
        assert sum(n for _, n in found) == sum(n for _, n in owners)
        name = at if at != "100" else "event 100"
        assert [t for t in picture.texts if t.startswith(f"{name}: ")]
    assert "event" in picture.texts and "time" in Picture(source.export("svg")).texts


def test_a_filter_keeps_its_blocks(sources):
    source = sources[0]
    memory = source.default()
    picture = Picture(source.export("svg", "--axis", "event", "--filter", "size>100000"))
    live = truth.live_at(memory, source.peak(memory))
    assert sum(n for _, n, _ in picture.legend()) == sum(size for _, size, _ in live if size > 100_000) > 0
    assert picture.line("reserved") is None and "Only what the filter keeps: size>100000" in picture.texts


def test_one_device(sources):
    seen = 0
    for source in sources:
        for device in source.memories:
            picture = Picture(source.export("svg", "--device", "host" if device == HOST else str(device)))
            assert (f"GPU {device}" if device != HOST else "pinned host memory") in picture.texts
            assert sum(n for _, n, _ in picture.legend()) == reported(source, device)["peak"]["requested_bytes"]
            seen += device != number_of(source)
    assert seen


def test_failed_requests_have_marks(sources):
    seen = 0
    for source in sources:
        memory = source.default()
        failed = [i for i, e in enumerate(memory.entries) if e.action == "oom"]
        picture = Picture(source.export("svg", "--axis", "event"))
        labelled = picture.line("oom")
        places = [re.match(r"M([0-9]+) ", e.get("d"))[1] for e in picture.root.iter() if e.get("class", "").startswith("oom")]
        places += [re.match(r"M([0-9]+) ", labelled)[1]] if labelled else []
        columns = {next(c for c in range(COLUMNS) if event in shown(len(memory.entries), c)) for event in failed}
        assert {(int(x) - LEFT - 1) // 2 for x in places} == columns
        if failed:
            (text,) = [t for t in picture.texts if t.startswith("out of memory: ") and t.endswith(" more")]
            assert is_about(text[len("out of memory: "):-len(" more")], memory.entries[failed[-1]].size)
            seen += 1
    assert seen


def test_equal_files_give_equal_bytes_of_bounded_size(sources, tmp_path):
    for source in sources:
        raw = source.export("svg")
        assert raw == source.export("svg", target=tmp_path / "again.svg")
        assert len(raw) < 40_000


def test_colours_are_those_of_the_page(sources):
    palette = (ROOT / "viewer" / "shared" / "palette.js").read_text()
    light, dark = (re.findall("#[0-9a-f]{6}", re.search(rf"GROUPS_{name} = \[(.*?)\]", palette, re.S)[1]) for name in ("LIGHT", "DARK"))
    assert re.findall(r'VS_GROUP_COLOUR\("(.*)", "(.*)"\)', DEFINED) == list(zip(light, dark, strict=True))
    style = (ROOT / "viewer" / "page" / "base.css").read_text()
    tokens = re.findall(r'VS_TOKEN_COLOUR\((\w+), "(.*)", "(.*)"\)', DEFINED)
    assert tokens and tokens == [(name, *re.findall(rf"--{name}: (#[0-9a-f]{{6}});", style)) for name, _, _ in tokens]
    for source in sources:  # and each line has the one that the page gives it
        groups = json.loads(cli.run("query", source.path, "groups", "top=0").out)["groups"]
        for label, _, fill, _ in Picture(source.export("svg")).bands():
            place = [g["index"] for g in groups if g["label"] == label]
            if label != "other lines" and place[0] < len(light):
                assert fill == light[place[0]], label


HOSTILE = '</text><script>alert</script>&amp;"\'\x1b[31m\u202e\udc80\x00]]>'


def test_hostile_names(tmp_path):
    """Nothing of a name becomes an element, an attribute or a direction of text."""
    source = of_run(sample_run(), tmp_path, "plain")
    frames = {id(f): f for trace in source.data["device_traces"] for entry in trace for f in entry.get("frames", ())}
    for frame in frames.values():
        frame["name"] = HOSTILE + frame["name"]
        frame["filename"] = f"{frame['filename']}'<i onload=\"x\">&.py"
    path = tmp_path / "<b>&.pickle"
    path.write_bytes(pickle.dumps(source.data))
    picture = Picture(Source(path).export("svg", target=tmp_path / "hostile.svg"))
    plain = Picture(source.export("svg"))
    assert sorted(set(picture.tags)) == sorted(set(plain.tags)) == ["circle", "g", "path", "rect", "style", "svg", "text", "title"]
    assert "<b>&.pickle" in picture.texts
    labels = [label for label, *_ in picture.legend()]
    shown_as = "<i onload=\"x\">&.py:", " </text><script>alert</script>&amp;\"'\ufffd[31m\ufffd\ufffd\ufffd]]>"
    assert sum(all(part in label for part in shown_as) for label in labels) >= LINES - 1, labels
    assert any(text.endswith("…") for text in picture.texts)
    whole = picture.raw.decode()
    assert not any(c in whole for c in "\x1b\u202e\x00") and "href" not in whole and "url(" not in whole and "<script" not in whole
    assert not any(name.startswith("on") for e in picture.root.iter() for name in e.attrib)
