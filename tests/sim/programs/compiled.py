"""torch.compile: Inductor and Triton make real code for the simulated card; the back ends that need no compiler, too."""

import books
import torch

books.begin()


def f(x, y):
    return torch.nn.functional.gelu(x @ y).softmax(-1) + 1


x, y = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")
shapes = {}
for backend in ("eager", "cudagraphs", "inductor"):
    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend)
    for _ in range(3):
        out = compiled(x, y)
    shapes[backend] = list(out.shape)
torch.cuda.synchronize()
books.tell(shapes=shapes, reserved=torch.cuda.memory_reserved())
