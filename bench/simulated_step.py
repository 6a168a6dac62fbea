"""One training program, timed: simulated_step.py cuda|meta. Prints seconds of a step and the resident bytes, as JSON.

`cuda` runs on whatever card is there. `meta` is the peer: PyTorch's own device without memory, which follows shapes and types
only and knows nothing of the allocator.
"""

import json
import resource
import statistics
import sys
import time

began = time.perf_counter()
import torch  # noqa: E402
from torch import nn  # noqa: E402

imported = time.perf_counter() - began


def steps(device):
    """A step of training each time."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device=device)
    model = nn.TransformerEncoder(layer, 12)
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        model(torch.empty(8, 256, 512, device=device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        yield


def main():
    program, times = steps(sys.argv[1]), []
    for _ in range(12):
        start = time.perf_counter()
        next(program)
        times.append(time.perf_counter() - start)
    print(json.dumps({
        "import_s": imported,
        "step_s": statistics.median(times[2:]),
        "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))


if __name__ == "__main__":
    main()
