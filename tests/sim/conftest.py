"""Real, unmodified CUDA programs on the simulated GPU.

`python(...)` runs a program in build/simvenv with every library of the simulation preloaded, as `vramscope dryrun` does, and
`dryrun(...)` runs it under `vramscope dryrun` itself. Programs are text or files of tests/sim/programs; what a program finds
out it prints as JSON on its last line, and the test compares. Nothing here knows what a right figure is.
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
PYTHON = Path(os.environ.get("VRAMSCOPE_SIM_PYTHON", ROOT / "build/simvenv/bin/python"))
TIMEOUT = 240  # seconds: something hangs


def pytest_configure():
    for what, path in {"VRAMSCOPE": BINARY, "VRAMSCOPE_SIMCUDA": LIBRARIES, "VRAMSCOPE_SIM_PYTHON": PYTHON}.items():
        if not str(path) or not Path(path).exists():
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


def environment(**more):
    """A simulated machine for a child. gpu="A100", values="keep", ... set VRAMSCOPE_SIM_GPU, VRAMSCOPE_SIM_VALUES ...; names in
    capitals are set as they are. None takes a variable away."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("VRAMSCOPE", "CUDA", "PYTORCH", "TORCH", "LD_"))}
    env.update(LD_PRELOAD=preload(), TRITON_LIBCUDA_PATH=str(LIBRARIES), PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1")
    env["ASAN_OPTIONS"] = ""
    for name, value in more.items():
        name = name if name.isupper() else f"VRAMSCOPE_SIM_{name.upper()}"
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def command(program, arguments):
    """A file of programs/ by its name, or text."""
    if "\n" not in program and program.endswith(".py"):
        return [str(PYTHON), str(PROGRAMS / program), *map(str, arguments)]
    return [str(PYTHON), "-c", textwrap.dedent(program), *map(str, arguments)]


def finish(argv, env, folder, timeout=TIMEOUT):
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def python(tmp_path):
    """python(program, *arguments, gpu=..., values=..., NAME=...) -> Done, by plain LD_PRELOAD."""

    def run(program, *arguments, timeout=TIMEOUT, **settings):
        return finish(command(program, arguments), environment(**settings), tmp_path, timeout)

    return run


@pytest.fixture
def dryrun(tmp_path):
    """dryrun(["--gpu", "H100"], program, *arguments, NAME=...) -> Done, under `vramscope dryrun`."""

    def run(options, program, *arguments, timeout=TIMEOUT, **settings):
        env = environment(LD_PRELOAD=None, TRITON_LIBCUDA_PATH=None, **settings)
        return finish([BINARY, "dryrun", *options, "--", *command(program, arguments)], env, tmp_path, timeout)

    return run
