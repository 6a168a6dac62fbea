"""Shortens the end of test programs; child_programs.py puts this folder into their PYTHONPATH.

A small program that imports PyTorch spends a fifth of its time when the interpreter ends: it searches PyTorch's modules for cycles
several times. Freezing all objects skips that. Until then the collector runs as in any program."""

import atexit
import gc

atexit.register(gc.freeze)  # registered first, so it runs last
