"""A small training for dry runs, and what it prints."""

import json

TRAIN = """
    import json, sys
    import torch
    from torch import nn

    def figures():
        stats = torch.cuda.memory_stats()
        names = ("allocated", "requested", "reserved")
        return {f"peak_{name}_bytes": stats[f"{name}_bytes.all.peak"] for name in names} | {
            "ooms": stats["num_ooms"], "retries": stats["num_alloc_retries"]}

    class Adam:
        "Allocates as AdamW does, whose constructor imports torch._dynamo: that takes as long as to import torch."

        def __init__(self, parameters):
            self.parameters, self.state = list(parameters), []

        @torch.no_grad()
        def step(self):
            self.state = self.state or [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]
            for p, (mean, square) in zip(self.parameters, self.state):
                mean.lerp_(p.grad, 0.1)
                square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(mean, square.sqrt().add_(1e-8), value=-0.001)

        def zero_grad(self):
            for p in self.parameters:
                p.grad = None

    def train(width=1024, batch=4096, steps=3, optimizer=Adam):
        model = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(width, width), nn.GELU()))).cuda()
        optimizer = optimizer(model.parameters())
        for _ in range(steps):
            loss = model(torch.empty(batch, width).cuda()).square().mean()  # its values do not matter, and cost time
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return model
"""


def last_line(text):
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])
