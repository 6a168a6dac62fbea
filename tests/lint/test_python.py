"""The Python package by its checkers: ruff, mypy --strict (both by pyproject.toml), the stubs against what they describe, and
how much of the public interface has types."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = Path(os.environ["VRAMSCOPE_PACKAGE"])  # the package as the build lays it out, with the stubs that it writes
CACHE = BUILT.parent / "mypy"
MYPY = ["mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", CACHE]


def run(module, *arguments, **environment):
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=200)


def passes(done):
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff():
    config = ["--no-cache", "--config", ROOT / "pyproject.toml"]
    passes(run("ruff", "check", *config, "python"))
    stubs = [BUILT / "vramscope" / name for name in ("query.pyi", "_replies.pyi", "__init__.pyi")]
    passes(run("ruff", "check", *config, "--ignore", "I001", *stubs))  # names stand as the lists have them


@pytest.mark.parametrize("what", ["python/vramscope", "python/vramscope_dryrun/sitecustomize.py",
                                  "python/vramscope_dryrun/vramscope_dryrun.py",
                                  "python/vramscope_dryrun/vramscope_end.py",
                                  "python/vramscope_dryrun/vramscope_engine.py",
                                  "python/vramscope_dryrun/vramscope_generate.py",
                                  "python/vramscope_dryrun/vramscope_groups.py",
                                  "python/vramscope_dryrun/vramscope_history.py",
                                  "python/vramscope_dryrun/vramscope_jax.py",
                                  "python/vramscope_dryrun/vramscope_libraries.py",
                                  "python/vramscope_dryrun/vramscope_loading.py",
                                  "python/vramscope_dryrun/vramscope_pipeline.py",
                                  "python/vramscope_dryrun/vramscope_pool.py",
                                  "python/vramscope_dryrun/vramscope_sglang.py",
                                  "python/vramscope_dryrun/vramscope_sharding.py",
                                  "python/vramscope_dryrun/vramscope_tensorflow.py",
                                  "python/vramscope_dryrun/vramscope_vllm.py",
                                  "python/vramscope_dryrun/vramscope_world.py",
                                  "python/vramscope_changes/vramscope_blocks.py",
                                  "python/vramscope_changes/vramscope_changes.py",
                                  "python/vramscope_changes/vramscope_optimizers.py", BUILT / "vramscope"])
def test_mypy(what):
    """The sources, and once more with the stubs, which say more than query.py and __init__.py and hide these."""
    passes(run(*MYPY, what))


def test_stubs_are_what_is_there(tmp_path):
    """Of the extension, which is C, and of what the library's list of methods makes."""
    buffer = tmp_path / "allowed"
    buffer.write_text(r"vramscope\._native\.Reply\.__buffer__" + "\n")  # visible from Python 3.12 on
    passes(run("mypy.stubtest", "vramscope._native", "vramscope.query", "--mypy-config-file", ROOT / "pyproject.toml",
               "--allowlist", buffer, "--ignore-unused-allowlist", PYTHONPATH=str(BUILT), MYPY_CACHE_DIR=str(CACHE)))


def test_every_public_name_has_a_type():
    done = run("basedpyright", "--verifytypes", "vramscope", "--ignoreexternal", "--outputjson", "--pythonpath",
               sys.executable, PYTHONPATH=str(BUILT))
    found = json.loads(done.stdout)["typeCompleteness"]
    counts = found["exportedSymbolCounts"]
    assert counts["withKnownType"] > 500
    unknown = [symbol["name"] for symbol in found["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert (unknown, counts["withAmbiguousType"], found["completenessScore"]) == ([], 0, 1), done.stdout


PROGRAM = """
import vramscope

with vramscope.open("snapshot.pickle") as snapshot:
    snapshot.live(at="peak", by="line", top=5)
    snapshot.live(by="colour")
    snapshot.lives()
    snapshot.live()["group"]
    used: str = vramscope.gpu_mem_get(0).used
"""


def test_a_users_program_is_checked(tmp_path):
    """The checkers see mistakes: a choice that is none, a method that is none, a key that no reply has, a wrong type."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run(*MYPY, program, MYPYPATH=str(BUILT))
    assert re.findall(r"program\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout) == [
        ("6", "arg-type"), ("7", "attr-defined"), ("8", "typeddict-item"), ("9", "assignment")], done.stdout + done.stderr
