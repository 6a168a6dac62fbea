"""Python imports this file when it starts, because `vramscope dryrun` put its folder into PYTHONPATH. It installs the hook
that waits for the program's first import of torch (vramscope_dryrun.py). Then it removes its traces: its folder is taken out
of sys.path, and the sitecustomize that Python would have found otherwise is run. Changes of `--with` are applied by it, too
(python/vramscope_changes), also in a program that `vramscope run` runs on a real GPU."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_noted: "set[tuple[int, str]]" = set()  # the lines that were written, and by which process


def _note(what: str, error: BaseException) -> None:
    """Writes a line for the report: what will be missing from it, and the exception that is the reason. Each line is written
    once. If this file cannot be written, the report says that the figures are missing for an unknown reason."""
    import json

    _write(json.dumps({"what": what, "why": f"{type(error).__name__}: " + str(error).split("\n")[0][:200]}))


def _assume(sentence: str, **more: object) -> None:
    """For the report: what the run assumes where the real program would have computed it; `more`: how often, and where."""
    import json

    _write(json.dumps({"assumed": sentence, **more}))


def _tell(**facts: object) -> None:
    """For the report: facts of a library's own configuration, from which the engine makes figures."""
    import json

    _write(json.dumps(facts))


def _write(line: str) -> None:
    import os

    folder = os.environ.get("VRAMSCOPE_SIM_RUN")
    if not folder or (os.getpid(), line) in _noted or len(_noted) > 100:
        return
    _noted.add((os.getpid(), line))
    try:
        with open(os.path.join(folder, f"problems.{os.getpid()}.jsonl"), "a") as file:
            file.write(line + "\n")
    except OSError:
        pass


def _load(here: str, name: str) -> "ModuleType":
    import importlib.util
    import os

    spec = importlib.util.spec_from_file_location("_" + name, os.path.join(here, name + ".py"))
    assert spec is not None and spec.loader is not None  # the file exists
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _arrange() -> None:
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    what = "PyTorch's figures"
    try:
        loading = _load(here, "vramscope_loading")
        _load(here, "vramscope_dryrun").arrange(loading, _note, _assume, _tell)
        what = "the changes"
        if os.environ.get("VRAMSCOPE_CHANGES"):  # after the hook, so that the history begins before PyTorch is changed
            loading.beside("vramscope_changes").arrange(loading)
    except Exception as error:
        _note(what, error)  # the program runs without them


_arrange()

from importlib.machinery import PathFinder as _PathFinder  # noqa: E402 (after _arrange, which changes sys.path)

_other = _PathFinder.find_spec("sitecustomize")
if _other is None or _other.loader is None:
    # The error that Python expects if there is no sitecustomize.
    raise ImportError("No module named 'sitecustomize'", name="sitecustomize")

from importlib.util import module_from_spec as _module_from_spec  # noqa: E402
from sys import modules as _modules  # noqa: E402

_module = _module_from_spec(_other)
_modules["sitecustomize"] = _module
_other.loader.exec_module(_module)
