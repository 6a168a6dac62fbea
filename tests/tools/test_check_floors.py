"""check_floors sees each kind of offence, names its place, and lets the lawful through."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Lawful: one file of each kind of module, and the public headers between them.
TREE = {
    "include/vramscope/base.h": "#include <stdint.h>\n#include <vramscope/status.def>\n",
    "include/vramscope/status.def": "VS_STATUS(OK)\n",
    "include/vramscope/event.h": "#include <vramscope/base.h>\n",
    "include/vramscope/sim.h": "#include <vramscope/base.h>\n",
    "include/vramscope/metric.h": "#include <vramscope/base.h>\n#include <vramscope/reasons.def>\n",
    "include/vramscope/reasons.def": "VS_REASON(LOST)\n",
    "src/device/telemetry.h": "#include <vramscope/metric.h>\n",
    "include/vramscope/vramscope.h": "#include <vramscope/base.h>\n#include <vramscope/event.h>\n",
    "src/base/mem.h": "#if !VS_FREESTANDING\n#include <string.h>\n#endif\n",
    "src/codec/json.c": '#include "codec/json.h"\n#include "base/mem.h"\n#include <vramscope/base.h>\n',
    "src/codec/json.h": "#include <stddef.h>\n",
    "src/os/file.c": '#include "base/mem.h"\n#include <sys/mman.h>\n',
    "src/record/record.c": "#include <stdatomic.h>\n#include <vramscope/event.h>\n",
    "src/analyze/leaks.c": "#include <vramscope/sim.h>\n",
    "src/faces/cli/main.c": "#include <unistd.h>\n#include <zlib.h>\n",
    "src/faces/web/web.c": "#include <stdint.h>\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(ROOT / "src" / "FLOORS", tmp_path / "src" / "FLOORS")
    return tmp_path


def check(root):
    return subprocess.run([sys.executable, ROOT / "tools" / "check_floors", root], capture_output=True, text=True)


def test_a_lawful_tree_passes_in_silence(tree):
    done = check(tree)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("file, line, says", [
    # file, line planted at its end, what the message must say
    ("src/codec/json.c", "#include <vramscope/analyze.h>", "only descend"),
    ("src/codec/json.c", '#include "os/file.h"', "siblings never meet"),
    ("src/codec/json.c", "#include <vramscope/event.h>", "siblings never meet"),
    ("src/record/record.c", '#include "codec/json.h"', "record may include only: base os event tracefile"),
    ("include/vramscope/event.h", "#include <vramscope/snapshot.h>", "only descend"),
    ("include/vramscope/metric.h", "#include <vramscope/devices.h>", "only descend"),
    ("src/codec/json.c", "#include <vramscope/metric.h>", "only descend"),
    ("src/codec/json.c", '#include "../base/mem.h"', "path from src/"),
    ("src/codec/json.c", '#include "json.h"', "path from src/"),
    ("src/codec/json.c", "#include <vramscope/vramscope.h>", "for users"),
    ("src/codec/json.c", "#include JSON_HEADER", "nobody can follow"),
    ("src/codec/json.c", "#  include <string.h>", "codec is pure"),
    ("src/codec/json.c", "#if !VS_FREESTANDING\n#include <string.h>\n#endif", "codec is pure"),
    ("src/base/mem.h", "#include <string.h>", "base is pure"),
    ("src/base/mem.h", "#if !VS_FREESTANDING\n#else\n#include <string.h>\n#endif", "base is pure"),
    ("include/vramscope/base.h", "#include <stdio.h>", "base is pure"),
    ("src/faces/web/web.c", "#include <stdlib.h>", "faces/web is pure"),
    ("src/faces/web/web.c", '#include "faces/server/main.h"', "siblings never meet"),
    ("src/record/record.c", "#include <pthread.h>", "header of the operating system"),
])
def test_a_planted_include_fails_at_its_line(tree, file, line, says):
    path = tree / file
    number = len(path.read_text().splitlines()) + 1 + [n for n, t in enumerate(line.split("\n")) if "include" in t][0]
    path.write_text(path.read_text() + line + "\n")
    done = check(tree)
    assert done.returncode == 1
    assert f"{file}:{number}: " in done.stderr
    assert says in done.stderr
    assert "Instead: " in done.stderr


def test_a_folder_without_a_row_fails(tree):
    (tree / "src" / "misc").mkdir()
    (tree / "src" / "misc" / "stuff.c").write_text("")
    done = check(tree)
    assert done.returncode == 1
    assert "src/misc/stuff.c:1: no row of src/FLOORS" in done.stderr


@pytest.mark.parametrize("row, says", [
    ("1 pure codec : base analyze", "analyze is not on a lower floor"),
    ("1 pure codec : base event", "event is not on a lower floor"),
    ("4 pure query : base os", "os is not pure"),
    ("4 model : base colour", "colour has no row"),
    ("codec may include anything", "cannot read this row"),
])
def test_a_law_that_contradicts_itself_fails(tree, row, says):
    with open(tree / "src" / "FLOORS", "a") as floors:
        floors.write(row + "\n")
    done = check(tree)
    assert done.returncode == 2
    assert says in done.stderr
