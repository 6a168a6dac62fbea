"""xformers: memory-efficient attention with a causal bias, forward and backward."""

import torch
import truth
from xformers.ops import LowerTriangularMask, memory_efficient_attention

ROWS, TOKENS, HEADS, WIDTH = 4, 4096, 16, 64
q, k, v = (torch.randn(ROWS, TOKENS, HEADS, WIDTH, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
before = torch.cuda.memory_allocated()
out = memory_efficient_attention(q, k, v, attn_bias=LowerTriangularMask())
held = torch.cuda.memory_allocated() - before
# The output, and for each row of it a sum of float32: no matrix of TOKENS x TOKENS.
truth.near(held, out.numel() * 2 + ROWS * HEADS * TOKENS * 4, 0.05, "what attention keeps")
out.sum().backward()
assert q.grad.shape == q.shape
truth.torch_peaks("xformers")
