"""check_wasm lets a module import what its host gives, and nothing else."""
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_wasm"

FUNCTION = b"\0" + b"\0"          # kind, type index
MEMORY = b"\2" + b"\1\x01\x90\1"  # kind, limits with a maximum in two LEB128 bytes
GLOBAL = b"\3" + b"\x7f\0"        # kind, i32, constant


def name(text):
    return bytes([len(text)]) + text.encode()


def section(number, body):
    return bytes([number, len(body)]) + body


def wasm(*imports):
    """A module with a type section, these imports (module, name, description), and a custom section."""
    entries = b"".join(name(module) + name(field) + description for module, field, description in imports)
    return (b"\0asm\1\0\0\0" + section(1, b"\1\x60\0\0") + section(2, bytes([len(imports)]) + entries)
            + section(0, name("name")))


def check(tmp_path, data, *allowed):
    path = tmp_path / "module.wasm"
    path.write_bytes(data)
    return subprocess.run([sys.executable, TOOL, path, *allowed], capture_output=True, text=True)


@pytest.mark.parametrize("data", [
    wasm(),
    wasm(("vs_host", "reply", FUNCTION)),
    wasm(("vs_host", "log", FUNCTION), ("vs_host", "reply", FUNCTION)),
])
def test_what_the_host_gives_passes(tmp_path, data):
    done = check(tmp_path, data, "reply", "log")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("foreign", [
    ("env", "malloc", FUNCTION),
    ("env", "reply", FUNCTION),
    ("vs_host", "clock", FUNCTION),
    ("env", "memory", MEMORY),
    ("env", "__stack_pointer", GLOBAL),
])
def test_another_import_fails_and_is_named(tmp_path, foreign):
    done = check(tmp_path, wasm(foreign, ("vs_host", "reply", FUNCTION)), "reply", "log")
    assert done.returncode == 1
    assert f"{foreign[0]}.{foreign[1]}" in done.stderr
    assert "vs_host.reply:" not in done.stderr


def test_a_pure_module_imports_nothing_at_all(tmp_path):
    assert check(tmp_path, wasm(("vs_host", "reply", FUNCTION))).returncode == 1


@pytest.mark.parametrize("data", [b"", b"\0asm\2\0\0\0", wasm(("vs_host", "reply", FUNCTION))[:20]])
def test_what_is_no_module_fails(tmp_path, data):
    done = check(tmp_path, data, "reply")
    assert done.returncode == 1
    assert "check_wasm: " in done.stderr
