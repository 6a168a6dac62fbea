"""The same load under the settings of PYTORCH_CUDA_ALLOC_CONF: growing sequences, as generation makes them, on two streams."""

import books
import torch

MiB = 1 << 20
native = torch.cuda.get_allocator_backend() == "native"
if native:
    books.begin()
torch.cuda.set_per_process_memory_fraction(0.9)
side = torch.cuda.Stream()
kept = []
for step in range(40):
    scratch = [torch.empty((step + 1) * MiB + 700 * i, dtype=torch.uint8, device="cuda") for i in range(8)]
    if step % 8 == 0:
        kept.append(scratch.pop())
    with torch.cuda.stream(side):
        scratch.append(torch.empty(40 * MiB + step, dtype=torch.uint8, device="cuda"))
    scratch[0].record_stream(side)
    del scratch
    if step == 20:
        torch.cuda.empty_cache()
oom = None
try:
    torch.empty(torch.cuda.mem_get_info()[1], dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    oom = str(error)
torch.cuda.synchronize()
if native:
    found = books.check()
else:
    stats = torch.cuda.memory_stats()
    found = {key: stats[key] for key in ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "allocated_bytes.all.current")}
    found["kept"] = sum(t.numel() for t in kept)
books.tell(books=found, oom=oom, trace=books.trace() if native else [])
