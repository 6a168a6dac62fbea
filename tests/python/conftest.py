"""The Python package in real programs, with and without a simulated GPU.

A test starts programs in build/simvenv (PyTorch, NumPy, IPython ...), which find the package that the build has laid out:

    plain(program)                   without any GPU
    simulated(program, gpu="8GiB")   every library of the simulation preloaded, as `vramscope dryrun` does: fast
    dryrun(["--gpu", "H100"], program)   under `vramscope dryrun` itself

Programs are text or files of tests/python/programs; what a program finds out it prints as JSON on its last line, and the
test compares. Importing torch takes seconds, so a program checks several things.
"""

import json
import os
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
BINARY = os.environ.get("VRAMSCOPE", "")
LIBRARIES = Path(os.environ.get("VRAMSCOPE_SIMCUDA", ""))  # the folder of the faces
PACKAGE = Path(os.environ.get("VRAMSCOPE_PACKAGE", ""))  # the folder to put into PYTHONPATH
PYTHON = Path(os.environ.get("VRAMSCOPE_SIM_PYTHON", ROOT / "build/simvenv/bin/python"))
TIMEOUT = 240  # seconds: something hangs


def pytest_configure():
    needed = {
        "VRAMSCOPE": BINARY,
        "VRAMSCOPE_SIMCUDA": os.environ.get("VRAMSCOPE_SIMCUDA", ""),
        "VRAMSCOPE_PACKAGE": os.environ.get("VRAMSCOPE_PACKAGE", ""),
        "VRAMSCOPE_SIM_PYTHON": str(PYTHON),
    }
    for what, path in needed.items():
        if not path or not Path(path).exists():
            pytest.exit(f"{what}: there is no {path!r}. `make test` sets all up (tools/setup test).", returncode=2)


@dataclass
class Done:
    """What a program left: its exit code (negative: killed by that signal), its output, and the JSON of its last line."""

    code: int
    out: str
    err: str

    @property
    def result(self):
        assert self.code == 0, f"exit code {self.code}\n{self.out[-2000:]}\n{self.err[-6000:]}"
        return json.loads(self.out.strip().splitlines()[-1])


def preload():
    """The libraries in the order dryrun gives them: the core first."""
    core = LIBRARIES / "libvramscope-sim.so"
    return ":".join(str(path) for path in [core, *sorted(p for p in LIBRARIES.glob("*.so*") if p != core)])


def plain_environment(**more):
    """A child's environment: nothing of ours but PYTHONPATH. Names in capitals are set as they are, others as
    VRAMSCOPE_SIM_<NAME>; None takes a variable away."""
    ours = ("VRAMSCOPE", "CUDA", "PYTORCH", "TORCH", "LD_", "PYTHON", "FASTAI")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env.update(PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1", ASAN_OPTIONS="")
    for name, value in more.items():
        name = name if name.isupper() else f"VRAMSCOPE_SIM_{name.upper()}"
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def simulated_environment(**more):
    """The same with a simulated GPU: gpu="A100", values="keep", ... set VRAMSCOPE_SIM_GPU, VRAMSCOPE_SIM_VALUES ..."""
    return plain_environment(**{"LD_PRELOAD": preload(), "TRITON_LIBCUDA_PATH": LIBRARIES, "gpu": "8GiB", **more})


def command(program, arguments, python=PYTHON):
    """A file of programs/ by its name, or text."""
    if "\n" not in program and program.endswith(".py"):
        return [str(python), str(PROGRAMS / program), *map(str, arguments)]
    return [str(python), "-c", textwrap.dedent(program), *map(str, arguments)]


def finish(argv, env, folder, timeout=TIMEOUT):
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


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
    """dryrun(["--gpu", "H100"], program, *arguments, NAME=...) -> Done, under `vramscope dryrun`."""

    def run(options, program, *arguments, timeout=TIMEOUT, **settings):
        argv = [BINARY, "dryrun", *options, "--", *command(program, arguments)]
        return finish(argv, plain_environment(**settings), tmp_path, timeout)

    return run
