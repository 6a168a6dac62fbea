"""A file that cannot be read: the page shows the sentence of the command line, with the byte."""

import pickle
import subprocess

import pytest

from page import PROGRAM


def broken_files(trace):
    good = trace(2000).read_bytes()
    middle = len(good) // 2

    class Strange:
        def __reduce__(self):
            return (print, ("run",))

    yield "torn", good[:middle]
    yield "class", pickle.dumps({"segments": [Strange()], "device_traces": []}, protocol=4)
    yield "nothing", b""
    yield "text", b"hello, this is no snapshot\n"
    yield "json", b'{"segments": [, "device_traces": []}'
    yield "flipped", good[:middle] + bytes(64) + good[middle + 64 :]
    yield "future", b"\x80\x63" + good[2:]


def native_sentence(path):
    """The error of the command line, with the file's name instead of its path."""
    result = subprocess.run([PROGRAM, "report", "--json", path], capture_output=True, text=True)
    assert result.returncode != 0
    said = result.stderr.strip().removeprefix("vramscope: ").replace(str(path), path.name)
    return said.replace("(at byte ", "(byte ")


@pytest.mark.parametrize("name", ["torn", "class", "nothing", "text", "json", "flipped", "future"])
def test_broken_file(open_page, trace, tmp_path, name):
    path = tmp_path / f"{name}.pickle"
    path.write_bytes(dict(broken_files(trace))[name])
    assert open_page().choose(path).error() == native_sentence(path)


def test_a_good_file_after_a_broken_one(open_page, trace, tmp_path):
    path = tmp_path / "torn.pickle"
    path.write_bytes(trace(2000).read_bytes()[:5000])
    page = open_page().choose(path)
    page.error()
    page.choose(trace(2000)).wait_for_picture()


def test_hostile_names_are_text(open_page, trace, tmp_path):
    """Text from a file is shown as text, and never executed or parsed as markup."""
    data = pickle.loads(trace(2000).read_bytes())
    for event in data["device_traces"][0]:
        for frame in event.get("frames") or []:
            frame["name"] = "<img src=x onerror=alert(1)><script>alert(2)</script>"
            frame["filename"] = "/home/\u202e<b>x</b>.py"
    path = tmp_path / "<svg onload=alert(3)>.pickle"
    path.write_bytes(pickle.dumps(data, protocol=4))
    page = open_page()
    page.tab.on("dialog", lambda dialog: pytest.fail("a script of the file ran"))
    page.choose(path).wait_for_picture()
    for part in ("state", "owners", "fragmentation", "settings", "timeline"):
        page.tab.click(f"#tab-{part}")
        page.tab.wait_for_timeout(300)
    assert page.tab.locator("img, b, svg[onload]").count() == 0
