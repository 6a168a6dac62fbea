"""What `import vramscope` costs and promises: nothing is loaded before it is used, every name is there, the stubs tell
the truth."""

import ast
import os
import re
import subprocess
import sys

import pytest
from conftest import BINARY, PACKAGE, ROOT, plain_environment

sys.path.insert(0, str(PACKAGE))

SOURCE = ROOT / "python" / "vramscope"


def test_importing_it_loads_nothing_else(plain):
    """No other module, above all no torch, no extension, nothing of CUDA."""
    result = plain("""
        import __future__, importlib, json, sys
        before = set(sys.modules)
        import vramscope
        more = sorted(set(sys.modules) - before)
        import vramscope.query, vramscope.devices, vramscope.errors
        heavy = sorted({"torch", "numpy", "IPython", "pytest", "ctypes"} & set(sys.modules))
        with open("/proc/self/maps") as maps:
            cuda = sorted({line.split("/")[-1].strip() for line in maps if "libcud" in line or "nvidia" in line})
        print(json.dumps([more, heavy, cuda]))
        """).result
    assert result == [["vramscope"], [], []]


def test_dir_and_attributes():
    import vramscope

    assert {"open", "report", "query", "errors", "__version__"} <= set(dir(vramscope))
    assert vramscope.__version__ == subprocess.check_output([BINARY, "--version"], text=True).split()[1]
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        vramscope.nothing_of_the_kind  # noqa: B018


def test_a_star_import_leaves_open_alone():
    names = {}
    exec("from vramscope import *", names)
    assert "report" in names and "open" not in names and "Any" not in names


def test_the_list_of_names_is_sorted_and_each_has_a_home():
    """Names of modules that import torch are looked up in the source: this interpreter has none."""
    import vramscope

    assert list(vramscope._HOME) == sorted(vramscope._HOME)
    for name, home in vramscope._HOME.items():
        tree = ast.parse((SOURCE / f"{home}.py").read_text())
        defined = {getattr(node, "name", None) for node in tree.body}
        defined |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
                    if isinstance(target, ast.Name)}
        assert name in defined or home == "query", f"{home}.py does not define {name}"


def test_public_functions_and_classes_say_what_they_do():
    import vramscope

    for name, home in vramscope._HOME.items():
        tree = ast.parse((SOURCE / f"{home}.py").read_text())
        for node in tree.body:
            if getattr(node, "name", None) == name:
                assert ast.get_docstring(node), f"{home}.{name} has no docstring"


def test_stubs_that_the_build_made_have_all_names():
    import vramscope
    from vramscope import query

    def names(stub):
        tree = ast.parse((PACKAGE / "vramscope" / stub).read_text())
        return {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}, {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef)}

    imported, _ = names("__init__.pyi")
    assert set(vramscope._HOME) | set(vramscope._MODULES) <= imported
    _, functions = names("query.pyi")
    assert {method["name"] for method in query._SCHEMA["methods"]} | {"open"} == functions


def test_stub_of_the_extension_has_all_its_names():
    from vramscope import _native

    tree = ast.parse((SOURCE / "_native.pyi").read_text())
    stubbed = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stubbed[node.name] = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            stubbed[node.name] = set()
        elif isinstance(node, ast.AnnAssign):
            stubbed[node.target.id] = set()
    public = {name for name in dir(_native) if not name.startswith("__")}
    assert set(stubbed) == public
    for name in public:
        value = getattr(_native, name)
        if isinstance(value, type):
            methods = {each for each in vars(value) if not each.startswith("__")}
            assert methods == {each for each in stubbed[name] if not each.startswith("__")}, name


def test_python_m_vramscope_is_the_command(tmp_path):
    """Its output, its exit code, and its signals, because it becomes the command."""
    env = plain_environment()

    def run(*words):
        return subprocess.run([*words], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    for words in (["--version"], ["help"], ["report", "missing.pickle"], ["nonsense"]):
        ours, theirs = run(sys.executable, "-m", "vramscope", *words), run(BINARY, *words)
        assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_a_tree_without_a_build_says_so(tmp_path):
    package = tmp_path / "vramscope"
    package.mkdir()
    for name in ("__init__.py", "_command.py", "__main__.py"):
        os.symlink(SOURCE / name, package / name)
    done = subprocess.run([sys.executable, "-m", "vramscope"], env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "was not built" in done.stderr


def test_errors_are_pythons_own_kinds_too():
    from vramscope import errors

    kinds = {"BAD_ARGUMENT": ValueError, "NOT_FOUND": LookupError, "BAD_FORMAT": ValueError, "TRUNCATED": ValueError,
             "REFUSED": ValueError, "UNSUPPORTED": NotImplementedError, "IO": OSError, "NO_MEMORY": MemoryError,
             "DEVICE_MEMORY": RuntimeError, "DEVICE": RuntimeError, "LIMIT": errors.Error, "CANCELLED": errors.Error}
    statuses = set(re.findall(r"^VS_STATUS\((\w+)", (ROOT / "include/vramscope/status.def").read_text(), re.MULTILINE))
    assert set(kinds) == statuses - {"OK"}
    for status, kind in kinds.items():
        error = errors.from_status(status, "a sentence", 7)
        assert isinstance(error, kind) and isinstance(error, errors.Error)
        assert (error.status, error.offset, str(error)) == (status, 7, "a sentence (at byte 7)")
    assert str(errors.from_status("LIMIT", "a sentence")) == "a sentence"
