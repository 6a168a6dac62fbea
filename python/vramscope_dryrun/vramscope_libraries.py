"""NVIDIA's own libraries, which a program opens by their paths: where one is simulated, the simulated one is opened instead.

`import torch` opens each library of NVIDIA's that is installed with it, and JAX and CuPy do, too. The simulated libraries are
preloaded, so calls that are linked by name reach these in any case: the others would only take memory (libnvrtc.so.13: 29 MB) and
time, and what a program looked up in them would reach no simulated GPU. The simulated NVRTC loads the real one when it is called.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_CORE = "libvramscope-sim.so"  # all simulated libraries are in its folder


def follow(ctypes: ModuleType) -> None:
    """Of the module ctypes, which all libraries are opened with that a program opens from Python."""
    original: Any = getattr(ctypes, "_dlopen", None)
    simulated = _simulated(os.environ.get("LD_PRELOAD", ""))
    if original is None or not simulated:
        return

    tell_nvrtc: Any = getattr(ctypes.CDLL(None), "vs_simcuda_tell_nvrtc", None)

    def _dlopen(name: Any, *mode: Any) -> Any:
        path = _instead_of(name, simulated)
        if path is not name and tell_nvrtc is not None and os.path.basename(path).startswith("libnvrtc.so"):
            tell_nvrtc(os.fsencode(os.path.realpath(name)))
        return original(path, *mode)

    vars(ctypes)["_dlopen"] = _dlopen


def _simulated(preload: str) -> dict[str, str]:
    """The simulated libraries that are preloaded: their names and their paths."""
    paths = preload.replace(" ", ":").split(":")
    folders = {os.path.dirname(path) for path in paths if os.path.basename(path) == _CORE}
    return {os.path.basename(path): path for path in paths if os.path.dirname(path) in folders}


def _instead_of(name: Any, simulated: dict[str, str]) -> Any:
    """Only of a path that could be opened: where there is no such file, the program is told so."""
    if not isinstance(name, str) or "/" not in name or not os.path.exists(name):
        return name
    file = os.path.basename(os.path.realpath(name))
    for soname, path in simulated.items():
        if file == soname or file.startswith(soname + "."):  # libcudart.so.13.0.96
            return path
    return name
