"""Runs a program of examples/ as it is: example.py PATH."""

import runpy
import sys

import truth

sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
truth.torch_peaks("transformers")
