"""Native frames of a recording get their names from the files of this machine, if they are the very ones.

RECORD_STACKS (tests/programs/record_stacks.c) records itself: 1 MB in train > layer, 2 MB in train > bias, which is inlined.
"""

import json
import os
import platform
import random
import re
import shutil
import subprocess

import pytest

SOURCE = "tests/programs/record_stacks.c"
pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no native stacks on this machine")


@pytest.fixture
def program(folder):
    """A copy of the program that a test may change."""
    if "RECORD_STACKS" not in os.environ:
        pytest.skip("RECORD_STACKS does not name the program")
    return shutil.copy(os.environ["RECORD_STACKS"], folder / "program")


@pytest.fixture
def elfutils(build):
    if build["elfutils"] is None:
        pytest.skip("built without elfutils")


def record(program, folder):
    subprocess.run([program, folder / "own.vram"], check=True, timeout=60)
    return "own.vram"


def stacks(vramscope, recording):
    """The stack of each allocation: [(function, file, line)], by requested bytes."""
    done = vramscope("events", recording, "--json")
    assert done.code == 0, done.err
    events = [event for event in json.loads(done.out)["events"] if event["action"] == "alloc"]
    return {
        event["size_bytes"]: [(frame["function"], frame["file"], frame["line"]) for frame in event["stack"]] for event in events
    }


def line_of(text):
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, SOURCE), encoding="utf-8") as source:
        return [number for number, line in enumerate(source, 1) if text in line]


def test_functions_files_and_lines(elfutils, vramscope, program, folder):
    one, two = stacks(vramscope, record(program, folder)).values()
    assert [frame[0] for frame in one[:4]] == ["torch::allocate(long)", "layer", "train", "main"]
    assert all(frame[1].endswith(SOURCE) for frame in one[:4])
    assert one[1][2] in line_of("1000000);")
    assert one[2][2] in line_of("  layer(recorder, stacks);")
    assert one[3][2] in line_of("  train(recorder, stacks);")
    names = [frame[0] for frame in two[:4]]
    if "bias" in names:  # debug information of the lowest level does not tell what was inlined
        assert names == ["torch::allocate(long)", "bias", "train", "main"]
        assert two[2][2] in line_of("  bias(recorder, stacks);")
    assert two[1][2] in line_of("2000000);")


def test_without_debug_information_there_are_still_names(elfutils, vramscope, program, folder):
    recording = record(program, folder)
    subprocess.run(["strip", "--strip-debug", program], check=True)
    one = stacks(vramscope, recording)[1000000]
    assert [frame[0] for frame in one[:4]] == ["torch::allocate(long)", "layer", "train", "main"]
    assert all(frame[2] is None for frame in one[:4])


def test_another_file_of_that_name_is_not_asked(vramscope, program, folder):
    recording = record(program, folder)
    os.replace(shutil.copy("/bin/true", folder / "another"), program)
    for frame in stacks(vramscope, recording)[1000000][:4]:
        assert frame[0].startswith("program+0x") and frame[2] is None


def test_a_file_that_is_gone(vramscope, program, folder):
    recording = record(program, folder)
    os.remove(program)
    for frame in stacks(vramscope, recording)[1000000][:4]:
        assert frame[0].startswith("program+0x") and frame[2] is None


def test_a_pipe_of_that_name_is_not_opened(vramscope, program, folder):
    recording = record(program, folder)
    os.remove(program)
    os.mkfifo(program)
    assert stacks(vramscope, recording)[1000000][0][0].startswith("program+0x")


def test_a_programs_own_lines_in_every_format(elfutils, vramscope, program, folder):
    """The functions of a program without Python count as user code, in the recording and in its exports."""
    recording = record(program, folder)
    trees = []
    for form in ("vram", "pickle", "json"):
        if form != "vram":
            assert vramscope("export", recording, form, "-o", f"own.{form}").code == 0
        trees.append(json.loads(vramscope("tree", "--at", "end", "--json", f"own.{form}").out)["nodes"])
    words = [[(node["kind"], node["place"], node["name"], node["bytes"]) for node in nodes] for nodes in trees]
    assert words[0] == words[1] == words[2]
    own = {name: place for kind, place, name, _ in words[0] if kind == "user"}
    assert {"main", "train", "layer"} <= own.keys() and own["layer"] == f"record_stacks.c:{line_of('1000000);')[0]}"
    assert not {"clone3", "_start", "__libc_start_main"} & own.keys()


# what has no debug information is named by the symbol tables


def functions_of(library, table):
    """[(start, end, names)] as binutils' nm has them; without a size `end` is `start`."""
    rows = {}
    done = subprocess.run(["nm", "--print-size", *table, library], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"([0-9a-f]+) (?:([0-9a-f]+) )?[tTwWi] ([^@]+)(@.*)?", line)
        if found:
            start = int(found[1], 16)
            rows.setdefault((start, start + int(found[2] or "0", 16)), set()).add(found[3])
    return [(start, end, names) for (start, end), names in rows.items()]


def names_at(functions, place):
    """The names of the function that contains the place, or of what begins nearest below it, if the table does not say where that ends."""
    containing = [row for row in functions if row[0] <= place < row[1]]
    nearest = max((row[0] for row in containing or functions if row[0] <= place), default=None)
    return set().union(*(row[2] for row in containing or functions if row[0] == nearest and (containing or row[1] == nearest)))


def build_id_of(library):
    notes = subprocess.run(["readelf", "--notes", library], capture_output=True, text=True, check=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", notes)[1]


@pytest.mark.parametrize(("strips", "table"), [("--strip-debug", ()), ("--strip-all", ("--dynamic",))])
def test_symbol_tables_name_what_nm_names(elfutils, folder, strips, table):
    """At the first, the last and some byte of each function of a library, and right behind its end."""
    if "NAME_PLACES" not in os.environ:
        pytest.skip("NAME_PLACES does not name the program")
    library = shutil.copy(os.path.join(os.path.dirname(os.environ["VRAMSCOPE"]), "libvramscope.so"), folder / "library.so")
    subprocess.run(["strip", strips, library], check=True)
    functions = functions_of(library, table)
    assert len(functions) > 100
    rng = random.Random(1)
    places = {place for start, end, _ in functions if end > start for place in (start, end - 1, end, rng.randrange(start, end))}
    asked = rng.sample(sorted(places), min(len(places), 4000))
    argv = [os.environ["NAME_PLACES"], library, build_id_of(library)]
    done = subprocess.run(argv, input="".join(f"{place + 1:x}\n" for place in asked), capture_output=True, text=True, check=True, timeout=60)
    for place, name in zip(asked, done.stdout.splitlines(), strict=True):
        assert name in (names_at(functions, place) or {""}), hex(place)
