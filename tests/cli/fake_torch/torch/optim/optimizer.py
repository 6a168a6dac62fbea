"""torch.optim.optimizer of the fake."""

import torch

_hooks = []


def register_optimizer_step_post_hook(hook):
    _hooks.append(hook)


class Optimizer:
    def __init__(self, parameters):
        self.param_groups = [{"params": list(parameters)}]
        self.state = {}

    def step(self):
        for hook in _hooks:
            hook(self, (), {})


class AdamW(Optimizer):
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            if parameter not in self.state:
                self.state[parameter] = {name: torch.Tensor(parameter.count) for name in ("exp_avg", "exp_avg_sq")}
        super().step()
