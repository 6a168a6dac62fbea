"""Real programs as children of a test, with and without the simulated GPU: what tests/sim and tests/python share.

Programs run in build/simvenv; they are text, or files of a folder. What a program finds out it prints as JSON on its last line, and
the test compares. Nothing here knows what a right figure is.
"""

import json
import os
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("VRAMSCOPE", "")
LIBRARIES = Path(os.environ.get("VRAMSCOPE_SIMCUDA", ""))  # the folder of the faces
PYTHON = Path(os.environ.get("VRAMSCOPE_SIM_PYTHON", ROOT / "build/simvenv/bin/python"))
TIMEOUT = 600  # seconds: something hangs

INTERPRETER = Path(__file__).parent / "interpreter"  # the sitecustomize of every program

_OURS = ("VRAMSCOPE", "CUDA", "PYTORCH", "TORCH", "LD_", "FASTAI")


def need(*variables):
    """Ends pytest where a variable of the environment names nothing."""
    for name in variables:
        path = str(PYTHON) if name == "VRAMSCOPE_SIM_PYTHON" else os.environ.get(name, "")
        if not path or not Path(path).exists():
            pytest.exit(f"{name}: there is no {path!r}. `make test` sets all up (tools/setup test).", returncode=2)


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


def environment_of(settings, *others):
    """A child's environment without what of ours, or `others`, is in this one's. Names in capitals are set as they are, others
    as VRAMSCOPE_SIM_<NAME>; None takes a variable away."""
    env = {k: v for k, v in os.environ.items() if not k.startswith((*_OURS, *others))}
    # PyTorch asks for the name of each address that it connects to; a name server that does not answer costs 10 s each time.
    env.update(PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1", ASAN_OPTIONS="", RES_OPTIONS="timeout:1 attempts:1")
    for name, value in settings.items():
        name = name if name.isupper() else f"VRAMSCOPE_SIM_{name.upper()}"
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    env["PYTHONPATH"] = ":".join(filter(None, (str(INTERPRETER), env.get("PYTHONPATH"))))
    return env


def simulation():
    """The settings with which a child has the simulated CUDA, as under `vramscope dryrun`."""
    return {"LD_PRELOAD": preload(), "TRITON_LIBCUDA_PATH": str(LIBRARIES)}


def command_of(program, arguments, folder, python=PYTHON):
    """A file of `folder` by its name, or text."""
    if "\n" not in program and program.endswith(".py"):
        return [str(python), str(folder / program), *map(str, arguments)]
    return [str(python), "-c", textwrap.dedent(program), *map(str, arguments)]


def finish(argv, env, folder, timeout=TIMEOUT):
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    return Done(done.returncode, done.stdout, done.stderr)
