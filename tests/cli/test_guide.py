"""The guide shows real output: every console block of docs/guide/cli.md is run again, on the demo's snapshot."""

import os
import re
import subprocess
import sys
from pathlib import Path

import conftest as make
import pages
import pytest

ROOT = Path(__file__).parents[2]
PAGE = "docs/guide/cli.md"
GUIDE = ROOT / PAGE
PACKED = re.compile(r"(?<=: recording, )[0-9.]+ [KM]iB")  # builds for tests have smaller tables and pack less closely


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    subprocess.run([sys.executable, ROOT / "tools" / "make_demo_snapshot", folder / "simulated_training.pickle"], check=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "vramscope").symlink_to(Path(make.BINARY).resolve())
    return folder


def output(demo, command):
    path = f"{demo / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command], cwd=demo, env=make.environment(PATH=path), capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(not make.BINARY, reason="VRAMSCOPE does not name the program")
def test_guide(demo):
    def again(block):
        return "".join(f"$ {command}\n{output(demo, command)}" for command, _ in pages.commands(block))

    real = pages.again(PAGE, again, "console")
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GUIDE.write_text(real)
    assert PACKED.sub("", GUIDE.read_text()) == PACKED.sub("", real)
    assert len(pages.blocks_of(__file__)[PAGE]) >= 6
