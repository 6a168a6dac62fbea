"""The caching allocator's rules as they can be seen from outside: rounding, segments, reuse, OOM and recovery, streams."""

import books
import torch

MiB = 1 << 20
books.begin()

properties = torch.cuda.get_device_properties(0)
assert torch.cuda.is_available()
name, capability = torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0)


def stats(key):
    return torch.cuda.memory_stats()[key]


# Rounding and segments (512 bytes; small ones in 2 MiB, below 10 MiB in 20 MiB, others in multiples of 2 MiB).
small = torch.empty(1000, dtype=torch.uint8, device="cuda")
assert (stats("requested_bytes.all.current"), stats("allocated_bytes.all.current")) == (1000, 1024)
assert stats("reserved_bytes.all.current") == 2 * MiB
medium = torch.empty(3 * MiB, dtype=torch.uint8, device="cuda")
assert stats("reserved_bytes.all.current") == 22 * MiB
large = torch.empty(20 * MiB, dtype=torch.uint8, device="cuda")
assert stats("reserved_bytes.all.current") == 42 * MiB
assert small.data_ptr() % 512 == 0 and medium.data_ptr() % (2 * MiB) == 0

# The same block comes back.
address = large.data_ptr()
del large
large = torch.empty(20 * MiB, dtype=torch.uint8, device="cuda")
assert large.data_ptr() == address and stats("segment.all.allocated") == 3

# record_stream: the block waits for the other stream, and an event completes its free.
side = torch.cuda.Stream()
assert side.cuda_stream != 0 and torch.cuda.Stream(priority=-1).priority == -1
with torch.cuda.stream(side):
    large.record_stream(side)
del large
assert stats("allocated_bytes.all.current") == stats("active_bytes.all.current") - 20 * MiB
torch.cuda.synchronize()
again = torch.empty(20 * MiB, dtype=torch.uint8, device="cuda")
assert again.data_ptr() == address

# Out of memory: the text has the figures, the program goes on.
free, total = torch.cuda.mem_get_info()
assert total == properties.total_memory and free < total
try:
    torch.empty(total, dtype=torch.uint8, device="cuda")
    raise SystemExit("a tensor as large as the card was allocated")
except torch.OutOfMemoryError as error:
    text = str(error)
assert "CUDA out of memory. Tried to allocate" in text and "GPU 0 has a total capacity of" in text, text
assert stats("num_ooms") == 1 and stats("num_alloc_retries") == 1

# Fill the card to the last segment, and empty it.
held = []
try:
    while True:
        held.append(torch.empty(512 * MiB, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError:
    pass
filled = len(held)
free_when_full = torch.cuda.mem_get_info()[0]
assert free_when_full < 512 * MiB
del held
torch.cuda.empty_cache()
assert stats("reserved_bytes.all.current") < 64 * MiB
assert torch.cuda.mem_get_info()[0] >= free_when_full + filled * 512 * MiB

# Pinned memory has real contents, and what only passes through the device arrives.
pinned = torch.arange(1000).pin_memory()
assert pinned.is_pinned() and pinned[999] == 999
passed = pinned.cuda().cpu()

# What people read by hand.
assert "CUDA OOMs: 2" in torch.cuda.memory_summary()
torch.cuda.reset_peak_memory_stats()
assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated() == stats("allocated_bytes.all.peak")
books.tell(
    name=name, capability=capability, total=total, filled=filled, text=text, sms=properties.multi_processor_count,
    passed=bool((passed == pinned).all()), segments=len(torch.cuda.memory_snapshot()),
    count=torch.cuda.device_count(),
)
