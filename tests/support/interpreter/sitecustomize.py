"""Shortens test programs with PyTorch; child_programs.py puts this folder into their PYTHONPATH.

The interpreter searches the modules of PyTorch for cycles several times while they are imported, and again when it ends: that
is a third of the time of a small program. So its collector is off while one of PACKAGES is imported. What was made meanwhile is
then in the oldest generation, where the collector's own searches would have put it, and what the program makes is collected as in
any program. All objects are frozen when the interpreter ends."""

import atexit
import gc
import sys

# Each is imported by itself: an optimizer imports torch._dynamo, and the first compiled function torch._inductor.
PACKAGES = {"torch", "torch._dynamo", "torch._inductor", "transformers"}


class Finder:
    """Finds PACKAGES where the other finders do, and has them executed with the collector off."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in PACKAGES:
            return None
        PACKAGES.remove(name)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:  # a folder without __init__.py has none
                    spec.loader.exec_module = executed_without_collector(spec.loader)
                return spec
        return None


def executed_without_collector(loader):
    execute = loader.exec_module

    def exec_module(module):
        vars(loader).pop("exec_module", None)  # a finder of `dryrun` around this one has done so
        if not gc.isenabled():  # by the program, or by the import of a package around this one
            execute(module)
            return
        gc.disable()
        try:
            execute(module)
        finally:
            gc.freeze()
            gc.unfreeze()  # into the oldest generation
            gc.enable()

    return exec_module


sys.meta_path.insert(0, Finder)
atexit.register(gc.freeze)  # registered first, so it runs last
