"""For the Python of a test's program, which child_programs.py puts into PYTHONPATH: a program of a second that imports PyTorch
spends a fifth of its time at the end, when the interpreter walks through PyTorch's modules, several times, to find cycles. Before
that the collector runs as ever."""

import atexit
import gc

atexit.register(gc.freeze)  # the first to be registered runs last: the interpreter finds nothing to walk through
