"""torch.optim of the fake."""

from torch.optim.optimizer import AdamW, Optimizer  # noqa: F401
