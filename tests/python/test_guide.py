"""docs/guide/python.md: every public name is in it, and every example does what it says.

    ```python                 runs on a simulated GPU of 8 GiB, all in one process, with names of its own
    ```python more            goes on with the names of the block before it
    ```python alone           in a process of its own
    ```python plain           without any GPU
    ```python tables          with DuckDB, polars, pandas and pyarrow (test_table.py)
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

import pages
import pytest
from conftest import BINARY, PACKAGE, PYTHON, ROOT, finish, plain_environment, simulated_environment

GUIDE = ROOT / "docs/guide/python.md"
RUNNER = Path(__file__).parent / "programs/guide_blocks.py"

# Modules whose public names users meet, as they import them.
MODULES = ["vramscope", "vramscope.devices", "vramscope.errors", "vramscope.fastai", "vramscope.gpu_mem_track",
           "vramscope.memory", "vramscope.modelsize_estimate", "vramscope.query", "vramscope.scopes", "vramscope.torch",
           "vramscope.pytest_plugin", "vramscope.jupyter"]


BLOCKS = pages.blocks_of(__file__)["docs/guide/python.md"]


def check(block, outcome):
    assert outcome["failure"] is None, f"python.md:{block.line}\n{outcome['failure']}"
    if block.expected is not None:
        assert pages.matches(outcome["out"], block.expected), (
            f"python.md:{block.line} prints\n{outcome['out']}\nand not\n{block.expected}")


def run(chosen, folder, environment):
    """Runs the blocks in one process, and checks each."""
    for block in BLOCKS:
        if name := re.fullmatch(r"python file=(\S+)", block.kind):
            (folder / name[1]).write_text(block.source)
    listed = folder / "blocks.json"
    listed.write_text(json.dumps([[block.line - 1, block.source, block.kind == "python more"] for block in chosen]))
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


@pytest.mark.parametrize("block", of_kind("console"), ids=lambda block: f"line{block.line}")
def test_commands(block, tmp_path):
    for other in BLOCKS:
        if name := re.fullmatch(r"python file=(\S+)", other.kind):
            (tmp_path / name[1]).write_text(other.source)
    path = os.pathsep.join([str(Path(BINARY).parent), str(PYTHON.parent), os.environ["PATH"]])
    for command, shown in pages.commands(block):
        if pages.exceptions(block, command):
            continue
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=plain_environment(PATH=path), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
        if shown.strip():
            assert pages.matches(done.stdout, shown), f"python.md:{block.line}: {command}\n{done.stdout}\nand not\n{shown}"
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
