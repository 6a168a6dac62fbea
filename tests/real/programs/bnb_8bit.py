"""bitsandbytes: layers with 8-bit weights, and the 8-bit Adam."""

import bitsandbytes
import torch
import truth

frozen = torch.nn.Sequential(*[bitsandbytes.nn.Linear8bitLt(4096, 4096, bias=False, has_fp16_weights=False) for _ in range(4)]).cuda()
assert all(layer.weight.dtype == torch.int8 for layer in frozen)
head = torch.nn.Linear(4096, 32000, bias=False, device="cuda")
optimizer = bitsandbytes.optim.Adam8bit(head.parameters(), lr=1e-3)
for step in range(3):
    hidden = frozen(torch.zeros(512, 4096, dtype=torch.float16, device="cuda"))
    head(hidden.float()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
held = 4 * 4096 * 4096 + 4 * 4096 * 32000 + 2 * 4096 * 32000  # 8-bit weights, the head, two states of a byte
truth.near(torch.cuda.memory_allocated(), held, 0.1, "weights and states")
truth.torch_peaks("bitsandbytes")
