"""docs/guide/c.md: every program in it is compiled against the installed library and does what the guide shows.

    ```c file=peak.c    is put into that file
    ```console          each line that begins with "$ " is a command; the others are its output

UPDATE_GOLDEN=1 writes the real output into the guide.
"""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import pages  # noqa: E402

ROOT = Path(__file__).parents[2]
BUILD = os.environ["VRAMSCOPE_BUILD"]
PAGE = "docs/guide/c.md"
GUIDE = ROOT / PAGE
STRICT = "-std=c17 -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror"
MOST_LINES = 20  # of the program that prints peak and owners


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The installed tree, a compiler with warnings as errors, and a snapshot."""
    folder = tmp_path_factory.mktemp("guide")
    tree = folder / "tree"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tree], check=True, capture_output=True)
    (folder / "bin").mkdir()
    (folder / "bin/cc").write_text(f'#!/bin/sh\nexec /usr/bin/cc {STRICT} "$@"\n')
    (folder / "bin/cc").chmod(0o755)
    (folder / "work").mkdir()
    snapshot = folder / "training.pickle"
    subprocess.run([sys.executable, ROOT / "tools/make_demo_snapshot", snapshot], check=True)
    (folder / "work/training.pickle.gz").write_bytes(gzip.compress(snapshot.read_bytes()))
    return folder


def environment(folder):
    tree = folder / "tree"
    package = next(tree.rglob("vramscope.pc")).parent
    return {**os.environ, "PATH": f"{folder / 'bin'}:{tree / 'bin'}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(package),
            "LD_LIBRARY_PATH": str(package.parent)}


def run(folder, command):
    """What a reader sees: output and errors. A command may fail where the guide shows an error."""
    done = subprocess.run(["sh", "-c", command], cwd=folder / "work", env=environment(folder), text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode in (0, 1), f"$ {command}\n{done.stdout}"
    if command.startswith("cc "):
        assert (done.returncode, done.stdout) == (0, ""), f"$ {command}\n{done.stdout}"
    assert not done.stdout or done.stdout.endswith("\n"), f"$ {command}\n{done.stdout}"
    return done.stdout


def replay(folder):
    """The guide with what its commands print in truth."""
    compiled = set()
    for block in pages.blocks_of(__file__)[PAGE]:
        if name := re.fullmatch(r"file=(\S+)", block.how):
            (folder / "work" / name[1]).write_text(block.source)

    def block_again(block):
        real = ""
        for command, _ in pages.commands(block):
            if command.startswith("cc "):
                compiled.add(command.split()[1])
            real += f"$ {command}\n{run(folder, command)}"
        return real

    return pages.again(PAGE, block_again, "console"), compiled


def test_every_program_does_what_the_guide_shows(folder):
    real, compiled = replay(folder)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GUIDE.write_text(real)
    assert GUIDE.read_text() == real
    programs = {block.how.removeprefix("file=") for block in pages.read(PAGE) if block.language == "c"}
    assert compiled == programs, "a program that the guide does not compile"
    assert len(compiled) >= 8


def test_peak_and_owners_take_twenty_lines():
    program = re.search(r"^```c file=peak.c\n((?:.*\n)*?)^```$", GUIDE.read_text(), re.M)[1]
    assert len(program.splitlines()) <= MOST_LINES
    assert "strtok" not in program and "json" not in program.lower()
