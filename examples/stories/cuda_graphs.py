"""CUDA graphs of a decoder, one for each batch size: cuda_graphs.py [mended].

A graph's memory is a private pool, which nothing else may use while the graph lives. Graphs that never run at the same time can share one pool, if the
largest is captured first.
"""

import sys

import torch
from torch import nn

WIDTH, LAYERS, SIZES = 4096, 8, range(1024, 8192 + 1, 1024)


@torch.inference_mode()
def main(is_mended):
    model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS))).cuda().bfloat16()
    batch = torch.ones(max(SIZES), WIDTH, device="cuda", dtype=torch.bfloat16)
    pool = torch.cuda.graph_pool_handle() if is_mended else None
    graphs = {}
    for size in reversed(SIZES):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            out = model(batch[:size])
        graphs[size] = graph, out
    for graph, _ in graphs.values():
        graph.replay()
    torch.cuda.synchronize()


main("mended" in sys.argv[1:])
