"""Python imports this file when it starts, because `vramscope dryrun` put its folder into PYTHONPATH. It arranges
that the program's first import of torch is noticed (vramscope_dryrun.py), and then makes itself forgotten: its folder
goes from sys.path, and the sitecustomize that Python would have found without it is run in its place."""


_noted: "set[tuple[int, str]]" = set()  # the lines that were written, and by which process


def _note(what: str, error: BaseException) -> None:
    """For the report: what will be missing from it, and the exception that is why. Each line is written once; where even
    this file cannot be written, the report says that the figures are missing and that the reason is not known."""
    import json
    import os

    line = json.dumps({"what": what, "why": f"{type(error).__name__}: " + str(error).split("\n")[0][:200]})
    folder = os.environ.get("VRAMSCOPE_SIM_RUN")
    if not folder or (os.getpid(), line) in _noted or len(_noted) > 100:
        return
    _noted.add((os.getpid(), line))
    try:
        with open(os.path.join(folder, f"problems.{os.getpid()}.jsonl"), "a") as file:
            file.write(line + "\n")
    except OSError:
        pass


def _arrange() -> None:
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    try:
        spec = importlib.util.spec_from_file_location("_vramscope_dryrun", os.path.join(here, "vramscope_dryrun.py"))
        assert spec is not None and spec.loader is not None  # it is a file that is there
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.arrange(_note)
    except Exception as error:
        _note("PyTorch's figures", error)  # the program comes first


_arrange()

from importlib.machinery import PathFinder as _PathFinder  # noqa: E402 (after _arrange, which changes sys.path)

_other = _PathFinder.find_spec("sitecustomize")
if _other is None or _other.loader is None:
    # What Python says where there is no sitecustomize, which it expects here.
    raise ImportError("No module named 'sitecustomize'", name="sitecustomize")

from importlib.util import module_from_spec as _module_from_spec  # noqa: E402
from sys import modules as _modules  # noqa: E402

_module = _module_from_spec(_other)
_modules["sitecustomize"] = _module
_other.loader.exec_module(_module)
