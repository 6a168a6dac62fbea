"""Calls a function for `vramscope.dryrun`: python -m vramscope._call MODULE:FUNCTION, or a file that dryrun has pickled it into."""

import importlib
import operator
import pickle
import sys


def _find(what):  # type: ignore[no-untyped-def]
    if what.endswith(".pickle"):
        with open(what, "rb") as file:
            return pickle.load(file)  # written by ourselves a moment ago, in a folder of our own
    module, _, name = what.partition(":")
    return operator.attrgetter(name)(importlib.import_module(module))


if __name__ == "__main__":
    _find(sys.argv[1])()
