"""Batches that are copied to the GPU on a side stream, while the last one is computed: record_stream.py [mended].

A tensor that another stream uses must not be freed before that stream has come so far. With `record_stream` PyTorch waits for an event at each free, and
the memory is pending meanwhile. The mend is to order the streams: the side stream waits for the computation before it gets the memory again.
"""

import sys

import torch

STEPS, WIDTH, BATCH = 24, 8192, 1 << 13


def main(is_mended):
    weight = torch.ones(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    host = torch.ones(BATCH, WIDTH, dtype=torch.bfloat16).pin_memory()
    copies, compute = torch.cuda.Stream(), torch.cuda.current_stream()
    for _ in range(STEPS):
        if is_mended:
            copies.wait_stream(compute)
        with torch.cuda.stream(copies):
            batch = host.to("cuda", non_blocking=True)
        compute.wait_stream(copies)
        if not is_mended:
            batch.record_stream(compute)
        out = batch @ weight
        del batch, out
    torch.cuda.synchronize()


main("mended" in sys.argv[1:])
