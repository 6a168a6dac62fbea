"""The Python package in real programs, with and without a simulated GPU.

A test starts programs in build/simvenv (PyTorch, NumPy, IPython ...), which find the package that the build has laid out:

    plain(program)                   without any GPU
    simulated(program, gpu="8GiB")   every library of the simulation preloaded, as `vramscope dryrun` does: fast
    dryrun(["--gpu", "H100"], program)   under `vramscope dryrun` itself

Programs are text or files of tests/python/programs (tests/support/child_programs.py). Importing torch takes seconds, so a program
checks several things.
"""

import os
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
sys.path.insert(0, str(PROGRAMS.parents[1] / "support"))

from child_programs import (  # noqa: E402, F401  (tests take them from here)
    BINARY, LIBRARIES, PYTHON, ROOT, TIMEOUT, Done, command_of, environment_of, finish, need, preload, simulation)

PACKAGE = Path(os.environ.get("VRAMSCOPE_PACKAGE", ""))  # the folder to put into PYTHONPATH


def pytest_configure():
    need("VRAMSCOPE", "VRAMSCOPE_SIMCUDA", "VRAMSCOPE_PACKAGE", "VRAMSCOPE_SIM_PYTHON")


def plain_environment(**more):
    """A child's environment: nothing of ours but PYTHONPATH."""
    return environment_of({"PYTHONPATH": PACKAGE, **more}, "PYTHON")


def simulated_environment(**more):
    """The same with a simulated GPU: gpu="A100", values="keep", ... set VRAMSCOPE_SIM_GPU, VRAMSCOPE_SIM_VALUES ..."""
    return plain_environment(**{**simulation(), "gpu": "8GiB", **more})


def command(program, arguments, python=PYTHON):
    """A file of programs/ by its name, or text."""
    return command_of(program, arguments, PROGRAMS, python)


@pytest.fixture
def plain(tmp_path):
    """plain(program, *arguments, NAME=...) -> Done: without any GPU."""

    def run(program, *arguments, timeout=TIMEOUT, **settings):
        return finish(command(program, arguments), plain_environment(**settings), tmp_path, timeout)

    return run


@pytest.fixture
def simulated(tmp_path):
    """simulated(program, *arguments, gpu="8GiB", values=..., NAME=...) -> Done, by plain LD_PRELOAD."""

    def run(program, *arguments, timeout=TIMEOUT, **settings):
        return finish(command(program, arguments), simulated_environment(**settings), tmp_path, timeout)

    return run


@pytest.fixture
def dryrun(tmp_path):
    """dryrun(["--gpu", "H100"], program, *arguments, NAME=...) -> Done, under `vramscope dryrun`, with the program's exit code."""

    def run(options, program, *arguments, timeout=TIMEOUT, **settings):
        argv = [BINARY, "dryrun", "--exit-code", "child", *options, "--", *command(program, arguments)]
        return finish(argv, plain_environment(**settings), tmp_path, timeout)

    return run
