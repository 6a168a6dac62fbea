"""check_exports sees a name that leaks from either library, and one that is promised and not there."""
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_exports"
API = '#define VS_API __attribute__((visibility("default")))\n'
HEADER = """
VS_API int vs_thing_open(int (*callback)(void *ctx));
VS_API
const char *vs_thing_name(int thing,
                          int other);
int vs_thing__internal(void); /* VS_API only in prose */
"""
SOURCE = """
int vs_thing_open(int (*callback)(void *ctx)) { return callback(0); }
const char *vs_thing_name(int thing, int other) { return thing == other ? "a" : "b"; }
int vs_thing__internal(void) { return 1; }
"""


class Library:
    """thing.h and thing.c, made into both libraries as the build does it."""

    def __init__(self, folder):
        self.folder, self.header, self.source, self.version_script = folder, HEADER, SOURCE, True

    def tool(self, *arguments):
        return subprocess.run([sys.executable, TOOL, *arguments], cwd=self.folder, capture_output=True, text=True)

    def check(self):
        (self.folder / "thing.h").write_text(API + self.header)
        (self.folder / "thing.c").write_text('#include "thing.h"\n' + self.source)
        names = self.tool("map", ".", "THING_0.1")
        assert names.returncode == 0
        (self.folder / "thing.map").write_text(names.stdout)
        script = ["-Wl,--version-script=thing.map"] if self.version_script else []
        for command in (["cc", "-c", "-fPIC", "-fvisibility=hidden", "thing.c"],
                        ["ar", "rcs", "libthing.a", "thing.o"],
                        ["cc", "-shared", *script, "-o", "libthing.so", "thing.o"]):
            subprocess.run(command, cwd=self.folder, check=True)
        return self.tool("check", ".", "libthing.so", "libthing.a")


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path)


def test_a_clean_library_passes_in_silence(library):
    done = library.check()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_version_script_lists_the_declarations(library):
    library.check()
    assert (library.folder / "thing.map").read_text() == (
        "THING_0.1 {\n  global:\n    vs_thing_name;\n    vs_thing_open;\n  local:\n    *;\n};\n")


def test_an_internal_name_that_leaks_from_the_shared_library_fails(library):
    library.version_script = False
    library.source += 'VS_API int vs_thing_leaked(void);\nVS_API int vs_thing_leaked(void) { return 2; }\n'
    done = library.check()
    assert done.returncode == 1
    assert "libthing.so exports vs_thing_leaked" in done.stderr


def test_a_name_without_our_prefix_in_the_archive_fails(library):
    library.source += "int helper(void);\nint helper(void) { return 3; }\n"
    done = library.check()
    assert done.returncode == 1
    assert "libthing.a[thing.o] has the global name helper" in done.stderr


def test_a_declared_name_that_nobody_defines_fails(library):
    library.header += "VS_API void vs_thing_close(int thing);\n"
    done = library.check()
    assert done.returncode == 1
    assert "lacks vs_thing_close, which thing.h declares" in done.stderr


def test_an_export_that_is_no_function_is_refused(library):
    (library.folder / "thing.h").write_text("VS_API extern int vs_thing_count;\n")
    done = library.tool("map", ".", "THING_0.1")
    assert done.returncode == 1
    assert "only functions are exported" in done.stderr
