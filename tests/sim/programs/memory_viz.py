"""Gives a snapshot to PyTorch's own tools, and says which of them made something of it: memory_viz.py FILE"""

import json
import pickle
import sys
from pathlib import Path

import torch.cuda._memory_viz as viz

TOOLS = ("trace", "segsum", "trace_plot", "segment_plot")  # the others load a program from the network
snapshot = pickle.loads(Path(sys.argv[1]).read_bytes())
print(json.dumps({name: len(getattr(viz, name)(snapshot)) > 100 for name in TOOLS}))
