"""Calls a function for `vramscope.dryrun`: python -m vramscope._call MODULE:FUNCTION, or a file that dryrun has pickled
it into."""

import importlib
import operator
import pickle
import sys
from collections.abc import Callable


def _find(what: str) -> Callable[[], object]:
    if what.endswith(".pickle"):
        with open(what, "rb") as file:
            function: Callable[[], object] = pickle.load(file)  # vramscope.dryrun has just written it, in its own folder
        return function
    module, _, name = what.partition(":")
    named: Callable[[], object] = operator.attrgetter(name)(importlib.import_module(module))
    return named


if __name__ == "__main__":
    _find(sys.argv[1])()
