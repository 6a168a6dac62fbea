"""check_floors sees each kind of offence, names its place, and lets the lawful through."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Lawful: one file of each kind of module, and the public headers between them.
FLOORS = """\
0  pure  base        :
      statuses
1        os          : base
      files
1  pure  codec       : base
      formats
1  pure  event       : base
      what happens
2  pure  device      : base
      what a GPU is
3  pure  device/sim  : base
      a GPU
3        record      : event
      the recorder
3        device/gpu  : device
      a driver
4  pure  analyze     : device/sim
      questions
6  pure  faces/web   :
      a module
6        faces/server :
      a server
7        faces/cli   :
      a program
7        faces/gpu/* : base os
      one library each
public  metric  : device
hosted  base/mem.h  : string.h
links   record      : zlib.h
loads   device/gpu  : zlib.h
"""
TREE = {
    "src/FLOORS": FLOORS,
    "docs/architecture.md": "# Floors\n\n| floor | module | pure | what it is |\n\n# More\n",
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
    "src/record/record.c": "#include <stdatomic.h>\n#include <zlib.h>\n#include <vramscope/event.h>\n",
    "src/device/gpu/load.c": '#include "device/telemetry.h"\n#include <zlib.h>\n',
    "src/analyze/leaks.c": "#include <vramscope/sim.h>\n",
    "src/faces/cli/main.c": "#include <unistd.h>\n#include <zlib.h>\n",
    "src/faces/web/web.c": "#include <stdint.h>\n",
    "src/faces/server/main.c": "#include <sys/socket.h>\n",
    "src/faces/gpu/blas/face.c": '#include "base/mem.h"\n',
    "src/faces/gpu/fft/face.c": '#include "os/file.h"\n',
    "src/faces/gpu/fft/face.h": "",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def check(root, *options):
    return subprocess.run([sys.executable, ROOT / "tools" / "check_floors", *options, root], capture_output=True, text=True)


def test_a_lawful_tree_passes_in_silence(tree):
    done = check(tree)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("file, line, says", [
    # file, line planted at its end, what the message must say
    ("src/codec/json.c", "#include <vramscope/analyze.h>", "only descend"),
    ("src/codec/json.c", '#include "os/file.h"', "siblings never meet"),
    ("src/codec/json.c", "#include <vramscope/event.h>", "siblings never meet"),
    ("src/record/record.c", '#include "codec/json.h"', "record may include only: event"),
    ("include/vramscope/event.h", "#include <vramscope/analyze.h>", "only descend"),
    ("include/vramscope/metric.h", "#include <vramscope/snapshot.h>", "belongs to no module"),
    ("src/codec/json.c", "#include <vramscope/metric.h>", "only descend"),
    ("src/codec/json.c", '#include "../base/mem.h"', "path from src/"),
    ("src/codec/json.c", '#include "json.h"', "path from src/"),
    ("src/codec/json.c", "#include <vramscope/vramscope.h>", "for users"),
    ("src/codec/json.c", "#include JSON_HEADER", "does not expand"),
    ("src/codec/json.c", "#  include <string.h>", "codec is pure"),
    ("src/codec/json.c", "#if !VS_FREESTANDING\n#include <string.h>\n#endif", "codec is pure"),
    ("src/base/mem.h", "#include <string.h>", "base is pure"),
    ("src/base/mem.h", "#if !VS_FREESTANDING\n#else\n#include <string.h>\n#endif", "base is pure"),
    ("include/vramscope/base.h", "#include <stdio.h>", "base is pure"),
    ("src/faces/web/web.c", "#include <stdlib.h>", "faces/web is pure"),
    ("src/faces/web/web.c", '#include "faces/server/main.h"', "siblings never meet"),
    ("src/faces/gpu/blas/face.c", '#include "faces/gpu/fft/face.h"', "siblings never meet"),
    ("src/faces/gpu/blas/face.c", '#include "codec/json.h"', "faces/gpu/blas may include only: base os"),
    ("src/record/record.c", "#include <pthread.h>", "header of the operating system"),
    ("src/record/record.c", "#include <sqlite3.h>", "needs a row `links`"),
    ("src/device/gpu/load.c", "#include <sqlite3.h>", "needs a row `links` or `loads`"),
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


@pytest.mark.parametrize("rows, says", [
    ("6 faces/preload :\n  a library", "no folder src/faces/preload has a C file"),
    ("6 faces/old/* :\n  libraries", "no folder src/faces/old/* has a C file"),
    ("3 record : base event\n  the recorder", "record may include base, and none of its files does"),
    ("7 faces/gpu/* : base codec os\n  libraries", "faces/gpu/* may include codec, and none of its files does"),
])
def test_a_row_that_says_more_than_there_is_fails(tree, rows, says):
    (tree / "src" / "FLOORS").write_text(FLOORS + rows + "\n")
    done = check(tree)
    assert done.returncode == 1
    assert f"src/FLOORS:{FLOORS.count(chr(10)) + 1}: {says}" in done.stderr
    assert "Instead: remove" in done.stderr


# Files of src/record, and the circle that the message names; None: there is none.
CIRCLES = {
    "calls": ({"a.c": "int vs_a(void) {\n  return vs_b();\n}\n", "b.c": "int vs_b(void) { return vs_a(); }\n"},
              "a.c:2 uses vs_b (b.c:1), b.c:1 uses vs_a (a.c:1)"),
    "three files": ({"a.c": "void vs_a(int x,\n    int y) { vs_b(); }\n", "b.c": "\nvoid vs_b(void) { vs_c(); }\n",
                     "c.c": "void vs_c(void) { vs_a(1, 2); }\n"},
                    "a.c:2 uses vs_b (b.c:2), b.c:2 uses vs_c (c.c:1), c.c:1 uses vs_a (a.c:1)"),
    "a longer way too": ({"a.c": "void vs_a(void) { vs_b(); vs_c(); }\n", "b.c": "void vs_b(void) { vs_a(); }\n",
                          "c.c": "void vs_c(void) { vs_b(); }\n"}, "; in more circles with these: c.c"),
    "an object, a callback": ({"a.c": "const int vs_a[2] = {1, 2};\nvoid vs_f(void) { vs_each(vs_b); }\n",
                               "b.c": "int vs_b(int x) { return vs_a[x]; }\n"},
                              "a.c:2 uses vs_b (b.c:1), b.c:1 uses vs_a (a.c:1)"),
    "a table of a list": ({"a.c": '#define VS_PART(name, text) [1] = vs_part_##name,\nstatic int (*const parts[])(void) = {\n'
                                  '#include "record/parts.def"\n};\nint vs_a(void) { return parts[0](); }\n',
                           "parts.def": 'VS_PART(b, "a, \\"b\\"")\n',
                           "b.c": "int vs_part_b(void) { return vs_a(); }\n"}, "a.c:3 uses vs_part_b (b.c:1)"),
    "macros of a header": ({"a.h": "#define CALL(x) RETURN(vs_##x)\n#define RETURN(y) \\\n  return y()\n",
                            "a.c": '#include "record/a.h"\nint vs_a(void) {\n  CALL(\n    b\n  );\n}\n',
                            "b.c": "int vs_b(void) { return vs_a(); }\n"}, "a.c:3 uses vs_b (b.c:1), b.c:1 uses vs_a (a.c:2)"),
    "a definition by a macro": ({"a.c": "#define MAKE(x) int vs_##x(void) { return vs_b(); }\nMAKE(a)\n",
                                 "b.c": "int vs_b(void) { return vs_a(); }\n"}, "a.c:2 uses vs_b (b.c:1)"),
    "an inline function": ({"a.h": "static inline __attribute__((always_inline)) int vs_in(void) {\n  return vs_b();\n}\n",
                            "a.c": '#include "record/a.h"\nint vs_a(void) { return vs_in(); }\n',
                            "b.c": "int vs_b(void) { return vs_a(); }\n"}, "a.c:2 uses vs_b (b.c:1)"),
    "either branch": ({"a.c": "#if A\nint vs_a(void) { return 0; }\n#else\nint vs_a(void) { return vs_b(); }\n#endif\n",
                       "b.c": "int vs_b(void) { return vs_a(); }\n"}, "uses vs_b (b.c:1)"),
    "none: static": ({"a.c": "static int f(void) { return vs_b(); }\nint vs_a(void) { return f(); }\n",
                      "b.c": "static int f(void) { return 1; }\nint vs_b(void) { return f(); }\n"}, None),
    "none: its own": ({"a.c": "int vs_a(void) { return vs_b(); }\nint f(void) { return 0; }\n",
                       "b.c": "static int f(void) { return 1; }\nint vs_b(void) { return f(); }\n"}, None),
    "none: words": ({"a.c": 'int vs_a(void) { return vs_b(); }\n',
                     "b.c": '/* vs_a */ int vs_b(void) { return s.vs_a + p->vs_a + f("vs_a"); } // vs_a\n'}, None),
    "none: types": ({"a.c": "int vs_a(void) { return vs_b(); }\n",
                     "b.c": "struct vs_a { int x; };\nstruct vs_c;\nint vs_d(void);\nint vs_b(void) { struct vs_c *c; }\n"},
                    None),
    "none: another folder": ({"a.c": "int vs_a(void) { return vs_b(); }\n", "../os/b.c": "int vs_b(void) { return vs_a(); }\n"},
                             None),
}


@pytest.mark.parametrize("files, says", CIRCLES.values(), ids=CIRCLES)
def test_files_that_use_each_other_in_a_circle_fail(tree, files, says):
    for name, text in files.items():
        (tree / "src" / "record" / name).write_text(text)
    done = check(tree)
    if says is None:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 1
    assert "src/record/a.c:" in done.stderr and "files use each other in a circle" in done.stderr
    assert says in done.stderr
    assert "Instead: decide which file stands on which" in done.stderr


@pytest.mark.parametrize("row, says", [
    ("1 pure codec : base analyze", "analyze is not on a lower floor"),
    ("1 pure codec : base event", "event is not on a lower floor"),
    ("4 pure query : base os", "os is not pure"),
    ("4 model : base colour", "colour has no row"),
    ("codec may include anything", "cannot read this row"),
    ("4 model : base", "model is not described"),
])
def test_a_law_that_contradicts_itself_fails(tree, row, says):
    (tree / "src" / "FLOORS").write_text(FLOORS + row + "\n")
    done = check(tree)
    assert done.returncode == 2
    assert says in done.stderr


def test_the_documentation_has_the_table_of_the_law(tree):
    page = tree / "docs" / "architecture.md"
    table = check(tree, "--table").stdout
    assert "| 1 | `codec` | pure | formats |\n" in table
    assert "| 7 | `faces/gpu/*` |  | one library each |\n" in table
    done = check(tree, "--check-docs")
    assert done.returncode == 1
    assert "docs/architecture.md:3: the table of floors" in done.stderr
    assert "run tools/check_floors --write-docs" in done.stderr
    assert check(tree, "--write-docs").returncode == 0
    assert page.read_text() == f"# Floors\n\n{table}\n# More\n"
    assert check(tree, "--check-docs").returncode == 0
    page.write_text("# Floors\n")
    assert "add this line" in check(tree, "--check-docs").stderr
