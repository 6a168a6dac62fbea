"""For the Python of a test's program, which child_programs.py puts into PYTHONPATH: a program of a second that imports PyTorch
spends a quarter of its time in the collector of cycles, which walks through PyTorch's modules while they are imported and again,
several times, when the interpreter ends. A program may still collect, and what it deletes is deleted as ever."""

import atexit
import gc

gc.set_threshold(200_000, 50, 50)
atexit.register(gc.freeze)  # the first to be registered runs last: the interpreter finds nothing to walk through
