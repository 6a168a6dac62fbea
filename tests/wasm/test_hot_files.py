"""The files that read each byte of a snapshot and make its rows are compiled for speed in the page's engine. All others are compiled for size, so an
option of a module that comes last, or a list in cmake/Wasm.cmake that no longer has a file, makes the page read half as fast and changes
no result."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINES = [Path(os.environ["VRAMSCOPE_ENGINE_OF_PAGE"]), Path(os.environ["VRAMSCOPE_WASM"]).parent]
HOT = ["base/mem.c", "base/sort.c", "event/kinds.c", "event/stacks.c", "snapshot/model.c",
       *(f"codec/pickle{part}.c" for part in ("", "_dicts", "_lists", "_machine", "_stack")),
       *(f"snapshot/builder{part}.c" for part in ("", "_finish", "_rows"))]


def levels(engine):
    """{file below src/: the options -O... of its command, the last of which counts}"""
    said = subprocess.run(["ninja", "-C", engine, "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    commands = json.loads(said[said.index("["):])
    source = ROOT / "src"
    found = {}
    for entry in commands:
        path = Path(entry["directory"], entry["file"])
        if path.suffix == ".c" and path.is_relative_to(source):
            found[str(path.relative_to(source))] = re.findall(r"(?<=\s)-O\S*", entry["command"])
    return found


@pytest.mark.parametrize("engine", ENGINES, ids=["page", "tests"])
def test_hot_files_are_compiled_for_speed(engine):
    if not (engine / "build.ninja").exists():
        pytest.skip("a build without the page's engine")
    found = levels(engine)
    assert {file: found[file][-1:] for file in HOT} == {file: ["-O2"] for file in HOT}
    assert found["query/request.c"][-1:] == found["analyze/report.c"][-1:] == ["-Oz"]
