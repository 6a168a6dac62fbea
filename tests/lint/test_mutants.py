"""The list of mutants (tools/mutants.list) fits the code: every row is found in it, else the test names the row."""
import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "tools" / "mutants"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    sys.modules["mutants"] = module
    loader.exec_module(module)
    return module


mutants = load()


def test_the_list_is_that_of_the_code():
    done = subprocess.run([ROOT / "tools" / "mutants", "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


ROW = """
room base: unit.base.text
base/text.c:{tests}
    Something is broken.
  - {old}
  + broken
"""


@pytest.mark.parametrize("tests, old, said", [
    ("", "no such code", "not found in base/text.c"),
    ("", "return", "times in base/text.c"),
    (" unit.base.nothing", "return", "no test is called unit.base.nothing"),
])
def test_mistakes_are_seen(tmp_path, tests, old, said):
    path = tmp_path / "mutants.list"
    path.write_text(ROW.format(tests=tests, old=old))
    with pytest.raises(mutants.Wrong, match=said):
        mutants.read_list(path)


def test_a_row_without_its_parts(tmp_path):
    path = tmp_path / "mutants.list"
    path.write_text("room base: unit.base.text\nbase/text.c:\n    Something is broken.\n  - return\n")
    with pytest.raises(mutants.Wrong, match="a row has a sentence"):
        mutants.read_list(path)


def test_indentation_does_not_count(tmp_path):
    row = mutants.Mutant(1, 1, "base", "base/text.c", "", ["a(", "b);"], ["c();"], [], 0, "")
    assert row.pattern.sub("c();", "x\n    a(\n          b);\n") == "x\n    c();\n"
