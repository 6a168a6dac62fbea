"""`forked.py PROGRAM RUNS` runs a program of this folder with each list of arguments in RUNS, which is JSON, one after the other. Each run is a process of its
own, forked when PyTorch and what an optimizer imports of it are there. Ends with an error where one does."""

import json
import os
import runpy
import sys
from pathlib import Path

import torch  # noqa: F401
import torch._dynamo  # noqa: F401

program, runs = Path(__file__).with_name(sys.argv[1]), json.loads(sys.argv[2])
for arguments in runs:
    child = os.fork()
    if child == 0:
        sys.argv = [str(program), *arguments]
        runpy.run_path(str(program), run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{program.name} {' '.join(arguments)} failed")
