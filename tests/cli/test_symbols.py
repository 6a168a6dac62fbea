"""Native frames of a recording get their names from the files of this machine, if they are the very ones.

RECORD_STACKS (tests/programs/record_stacks.c) records itself: 1 MB in train > layer, 2 MB in train > bias, which is inlined.
"""

import json
import os
import platform
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
