"""docs/guide/python.md: every public name is in it, and every example does what it says.

    ```python                 runs on a simulated GPU of 8 GiB, all in one process, with names of its own
    ```python more            goes on with the names of the block before it
    ```python alone           in a process of its own
    ```python plain           without any GPU
    ```python tables          with DuckDB and pyarrow (test_table.py)
    ```python file=train.py   is put into that file for the blocks behind it
    ```console                each line that begins with "$ " is a command; the others are its output
    ```text                   what the block before it prints; "..." stands for anything
"""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import BINARY, PACKAGE, PYTHON, ROOT, finish, plain_environment, simulated_environment

GUIDE = ROOT / "docs/guide/python.md"
RUNNER = Path(__file__).parent / "programs/guide_blocks.py"

# Modules whose public names users meet, as they import them.
MODULES = ["vramscope", "vramscope.devices", "vramscope.errors", "vramscope.fastai", "vramscope.gpu_mem_track",
           "vramscope.memory", "vramscope.modelsize_estimate", "vramscope.query", "vramscope.scopes", "vramscope.torch",
           "vramscope.pytest_plugin", "vramscope.jupyter"]


class Block(NamedTuple):
    line: int  # of its first line in the guide
    kind: str  # what stands behind the three backticks
    source: str
    expected: str | None  # of the text block that follows at once


def blocks():
    """A text block behind another one, with nothing but empty lines between, is what that one prints."""
    found, lines = [], GUIDE.read_text().splitlines()
    index, end = 0, None
    while index < len(lines):
        fence = re.fullmatch(r"```(\S.*)", lines[index])
        if fence is None:
            end = end if not lines[index].strip() else None
            index += 1
            continue
        follows, begin = end is not None, index
        end = lines.index("```", begin)
        source = "\n".join(lines[begin + 1 : end]) + "\n"
        if fence[1] == "text" and follows:
            found[-1] = found[-1]._replace(expected=source)
        else:
            found.append(Block(begin + 1, fence[1], source, None))
        index = end + 1
    return found


BLOCKS = blocks()


def matches(said, expected):
    pattern = ".*".join(re.escape(piece) for piece in expected.rstrip().split("..."))
    return re.fullmatch(pattern, said.rstrip(), re.DOTALL) is not None


def check(block, outcome):
    assert outcome["failure"] is None, f"python.md:{block.line}\n{outcome['failure']}"
    if block.expected is not None:
        assert matches(outcome["out"], block.expected), (
            f"python.md:{block.line} prints\n{outcome['out']}\nand not\n{block.expected}")


def run(chosen, folder, environment):
    """Runs the blocks in one process, and checks each."""
    for block in BLOCKS:
        if name := re.fullmatch(r"python file=(\S+)", block.kind):
            (folder / name[1]).write_text(block.source)
    listed = folder / "blocks.json"
    listed.write_text(json.dumps([[block.line, block.source, block.kind == "python more"] for block in chosen]))
    done = finish([str(PYTHON), str(RUNNER), str(listed)], environment, folder)
    for block, outcome in zip(chosen, done.result, strict=True):
        check(block, outcome)


def of_kind(*kinds):
    return [block for block in BLOCKS if block.kind in kinds]


def test_examples_on_a_simulated_gpu(tmp_path):
    run(of_kind("python", "python more"), tmp_path, simulated_environment())


def test_examples_without_a_gpu(tmp_path):
    run(of_kind("python plain"), tmp_path, plain_environment())


@pytest.mark.parametrize("block", of_kind("python alone"), ids=lambda block: f"line{block.line}")
def test_examples_alone(block, tmp_path):
    run([block], tmp_path, simulated_environment())


def commands(block):
    """The commands of a console block, each with the output that is shown below it."""
    found = []
    for line in block.source.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line + "\n"
    return found


@pytest.mark.parametrize("block", of_kind("console"), ids=lambda block: f"line{block.line}")
def test_commands(block, tmp_path):
    for other in BLOCKS:
        if name := re.fullmatch(r"python file=(\S+)", other.kind):
            (tmp_path / name[1]).write_text(other.source)
    path = os.pathsep.join([str(Path(BINARY).parent), str(PYTHON.parent), os.environ["PATH"]])
    for command, shown in commands(block):
        if command.startswith("pip install"):
            continue  # tests/python/test_wheel.py does
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=plain_environment(PATH=path), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
        if shown.strip():
            assert matches(done.stdout, shown), f"python.md:{block.line}: {command}\n{done.stdout}\nand not\n{shown}"
        else:
            assert done.returncode == 0, f"python.md:{block.line}: {command}\n{done.stdout}"


def test_every_public_name_is_there():
    sys.path.insert(0, str(PACKAGE))
    try:
        names = {f"{module}.{name}": name for module in MODULES for name in importlib.import_module(module).__all__}
    finally:
        sys.path.remove(str(PACKAGE))
    text = GUIDE.read_text()
    missing = [full for full, name in names.items() if re.search(rf"\b{re.escape(name)}\b", text) is None]
    assert not missing
