"""Callbacks for training libraries, on top of `vramscope.Tracker`. Each library is imported when its callback is first used.

    from vramscope.integrations import TransformersCallback
    trainer = transformers.Trainer(...)
    TransformersCallback().attach(trainer)

    from vramscope.integrations import LightningCallback
    trainer = lightning.Trainer(callbacks=[LightningCallback()])

In other loops (accelerate, plain PyTorch) use `vramscope.Tracker`: `accelerator.log(tracker.log(), step=step)`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vramscope._tracker import Tracker

__all__ = ["LightningCallback", "TransformersCallback"]


class _Tracked:
    """What both callbacks have: a tracker of their own, or the one that is given."""

    def __init__(self, tracker: Tracker | None = None, **options: Any) -> None:
        super().__init__()
        self.tracker: Tracker = tracker if tracker is not None else Tracker(**options)


class _Transformers(_Tracked):
    """Adds the figures of `Tracker.log` to what a Hugging Face `Trainer` logs: to `state.log_history`, the progress bar and the
    reporting callbacks that come after this one.

    tracker, or the arguments of `Tracker`. A step is the Trainer's: with gradient accumulation all its parts. Each process has
    the figures of its own GPU; the Trainer reports those of the first one.

    `Trainer(callbacks=[...])` puts a callback behind those that report to wandb, TensorBoard and MLflow, which then do not
    see what it adds; `attach(trainer)` puts it before them.
    """

    def attach(self, trainer: Any) -> _Transformers:
        """Makes it the first callback of the trainer, so that all others see its figures."""
        callbacks = trainer.callback_handler.callbacks
        if self in callbacks:
            callbacks.remove(self)
        callbacks.insert(0, self)
        return self

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.tracker.begin_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.tracker.end_step()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        figures = self.tracker.log()
        if logs is not None:
            logs.update(figures)
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(figures)  # the Trainer has appended a copy of the logs


class _Lightning(_Tracked):
    """Gives the figures of `Tracker.log` to the loggers of a Lightning `Trainer`, every `log_every_n_steps` batches.

    tracker, or the arguments of `Tracker`. A step is a training batch. Each process has the figures of its own GPU; loggers
    write those of the first one.
    """

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self.tracker.begin_step()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.tracker.end_step()
        every = trainer.log_every_n_steps
        if every and (batch_idx + 1) % every == 0 and (figures := self.tracker.log()):
            for logger in trainer.loggers:
                logger.log_metrics(figures, step=trainer.global_step)


if TYPE_CHECKING:
    TransformersCallback = _Transformers
    LightningCallback = _Lightning


def _transformers_base() -> Any:
    return import_module("transformers").TrainerCallback


def _lightning_base() -> Any:
    """The Callback of `lightning`, or of `pytorch_lightning`, of which a program uses one."""
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        return import_module("pytorch_lightning").Callback
    try:
        return import_module("lightning.pytorch").Callback
    except ModuleNotFoundError:
        return import_module("pytorch_lightning").Callback


_MAKERS = {"TransformersCallback": (_Transformers, _transformers_base), "LightningCallback": (_Lightning, _lightning_base)}


def __getattr__(name: str) -> Any:
    if name not in _MAKERS:
        raise AttributeError(f"module 'vramscope.integrations' has no attribute {name!r}")
    ours, base_of = _MAKERS[name]
    made = type(name, (ours, base_of()), {"__doc__": ours.__doc__, "__module__": __name__})
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return __all__
