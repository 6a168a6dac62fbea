"""Real, unmodified CUDA programs on the simulated GPU.

`python(...)` runs a program in build/simvenv with every library of the simulation preloaded, as `vramscope dryrun` does, and
`dryrun(...)` runs it under `vramscope dryrun` itself. Programs are text or files of tests/sim/programs (tests/support/child_programs.py).
"""

import json
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
sys.path.insert(0, str(PROGRAMS.parents[1] / "support"))

from child_programs import (  # noqa: E402, F401  (tests take them from here)
    BINARY, LIBRARIES, PYTHON, ROOT, TIMEOUT, Done, command_of, environment_of, finish, need, preload, simulation)


def pytest_configure():
    need("VRAMSCOPE", "VRAMSCOPE_SIMCUDA", "VRAMSCOPE_SIM_PYTHON")


def environment(**more):
    """A simulated machine for a child: gpu="A100", values="keep", ... set VRAMSCOPE_SIM_GPU, VRAMSCOPE_SIM_VALUES ..."""
    return environment_of({**simulation(), **more})


def command(program, arguments):
    """A file of programs/ by its name, or text."""
    return command_of(program, arguments, PROGRAMS)


@pytest.fixture
def python(tmp_path):
    """python(program, *arguments, gpu=..., values=..., NAME=...) -> Done, by plain LD_PRELOAD."""

    def run(program, *arguments, timeout=TIMEOUT, **settings):
        return finish(command(program, arguments), environment(**settings), tmp_path, timeout)

    return run


@pytest.fixture
def dryrun(tmp_path):
    """dryrun(["--gpu", "H100"], program, *arguments, NAME=...) -> Done, under `vramscope dryrun`, with the program's exit code."""

    def run(options, program, *arguments, timeout=TIMEOUT, **settings):
        argv = [BINARY, "dryrun", "--exit-code", "child", *options, "--", *command(program, arguments)]
        return finish(argv, environment_of(settings), tmp_path, timeout)

    return run


@pytest.fixture
def report(dryrun):
    """report(options, script, ...) -> (the JSON, what the program printed)."""

    def run(options, script, *words, code=0, **settings):
        done = dryrun(["--json", *options], script, *words, **settings)
        assert done.code == code, done.err[-4000:]
        return json.loads(done.out), done.err

    return run
