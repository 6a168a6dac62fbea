"""Shortens test programs with PyTorch; child_programs.py puts this folder into their PYTHONPATH.

The interpreter searches the modules of PyTorch for cycles again and again: while they are imported, when it ends, and between, whenever
the program has made many objects. That is a third of the time of a small program. So the collector is off while one of PACKAGES is
imported, what exists after the import of PyTorch is frozen, and so is everything when the interpreter ends. What the program makes itself is
collected as in any program.
"""

import atexit
import gc
import os
import sys
import time

# Imported by themselves, long after each other: an optimizer imports torch._dynamo.
PACKAGES = {"torch", "torch._dynamo", "torch._inductor", "transformers"}


class Finder:
    """Finds the packages where others do, and has them executed with the collector off."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in PACKAGES:
            return None
        PACKAGES.remove(name)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:  # a folder without __init__.py has none
                    spec.loader.exec_module = executing(name, spec.loader)
                return spec
        return None


def executing(name, loader):
    execute = loader.exec_module

    def without_collector(module):
        del loader.exec_module  # its own again
        enabled = gc.isenabled()
        gc.disable()
        try:
            execute(module)
        finally:
            if name == "torch":  # the program's tensors come later
                gc.freeze()
            if enabled:
                gc.enable()

    return without_collector


def autograd_runs():
    """Whether a thread of PyTorch's for the backward pass does more than wait, as /proc has it."""
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/stat") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:  # it has ended
            continue
        if name.startswith("pt_autograd") and rest.split()[0] != "S":
            return True
    return False


def end():
    """A thread of autograd that asks for Python's lock when the interpreter has ended aborts the program (CPython up to 3.13). After backward()
    such a thread still has objects to free: it does that while this one sleeps, and then waits for work."""
    gc.freeze()
    for _ in range(200):
        time.sleep(0.002)
        if not autograd_runs():
            break


sys.meta_path.insert(0, Finder)
atexit.register(end)  # registered first, so it runs last
