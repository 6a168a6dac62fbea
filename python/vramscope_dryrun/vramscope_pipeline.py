"""Stages of torch.distributed.pipelining on a rank that runs alone.

Before its first batch a stage asks its neighbours for the shapes of what they will send. They do not run, so it gets what can be
known without them, as objects that PyTorch itself receives:

    the stage behind    gradients: they have the shapes of the activations that this stage sends to it. PyTorch derives them so,
                        too, if the program gives it the shapes. Not for DTensors, whose gradients may be placed otherwise
    the stage before    activations: those that rank 0 told the stage behind it when it ran (--ranks-that-differ runs it first),
                        or that an earlier stage of this rank told. Stages that are no neighbours may pass on other shapes

The report says what was assumed. What is not known stays unknown, and PyTorch raises a PipeliningMetadataError.

Rank 0 writes what its stages tell into DIR/stages.PID.pickle (DIR is VRAMSCOPE_SIM_RUN); the others find that folder's name in
VRAMSCOPE_RANK_0 (src/dryrun/ranks.c).
"""

from __future__ import annotations

import functools
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Expect = Callable[[list[Any] | None, str], None]

_NAMES = ("PipelineStage", "_StageForwardMeta", "_StageBackwardMeta", "_DTensorMeta", "_derive_grad_metas")


def follow(pipelining: Any, expect: Expect, note: Callable[[str, BaseException], None]) -> None:
    """`pipelining`: the module torch.distributed.pipelining.stage, just executed. `expect` is called with the objects that the
    next receive of this thread brings, and what is assumed of them; then with None. `note` is called with what failed."""
    if os.environ.get("VRAMSCOPE_RANK_ALONE") != "1" or not all(hasattr(pipelining, name) for name in _NAMES):
        return  # the neighbours run, or a PyTorch whose stages ask in another way
    stages = _Stages(pipelining)
    kind = pipelining.PipelineStage
    send, receive = kind._send_meta, kind._recv_meta

    @functools.wraps(send)
    def _send_meta(self: Any, meta: Any, dst_stage: int) -> None:
        try:
            stages.tell(self.stage_index, meta)
        except Exception as error:
            note("the shapes that a stage passes on", error)
        send(self, meta, dst_stage)

    @functools.wraps(receive)
    def _recv_meta(self: Any, src_stage: int) -> Any:
        meta, sentence = None, ""
        try:
            meta, sentence = stages.ask(self, src_stage)
        except Exception as error:
            note("the shapes that a stage receives", error)
        if meta is None:
            return receive(self, src_stage)
        expect([meta], sentence)
        try:
            return receive(self, src_stage)
        finally:
            expect(None, "")

    kind._send_meta, kind._recv_meta = _send_meta, _recv_meta


class _Stages:
    """What stages tell the ones behind them: {number of the stage: its _StageForwardMeta}, of this rank and of rank 0."""

    def __init__(self, pipelining: Any) -> None:
        self.pipelining = pipelining
        self.own: dict[int, Any] = {}

    def tell(self, stage: int, meta: Any) -> None:
        if not isinstance(meta, self.pipelining._StageForwardMeta):
            return
        self.own[stage] = meta
        folder = os.environ.get("VRAMSCOPE_SIM_RUN")
        if folder and os.environ.get("RANK") == "0":
            import pickle

            path = os.path.join(folder, f"stages.{os.getpid()}.pickle")
            with open(path + ".part", "wb") as file:
                pickle.dump(self.own, file)
            os.replace(path + ".part", path)

    def ask(self, stage: Any, source: int) -> tuple[Any, str]:
        """What `source` tells `stage`, and what is assumed of it; None if it is unknown."""
        if source > stage.stage_index:
            return self._gradients(stage), f"the gradients from stage {source} have the shapes of what this stage sends to it"
        known = {**self._of_rank_0(), **self.own}
        nearest = max((number for number in known if number <= source), default=None)
        if nearest is None:
            return None, ""
        on = "this rank" if nearest in self.own else "rank 0"
        return known[nearest], f"the activations from stage {source} have the shapes of those that stage {nearest} sent on {on}"

    def _gradients(self, stage: Any) -> Any:
        outputs, is_distributed = stage._stage_meta.outputs, self.pipelining._DTensorMeta
        if outputs is None or any(isinstance(meta, is_distributed) and meta.requires_grad for meta in outputs):
            return None
        return self.pipelining._StageBackwardMeta(backward_metas=self.pipelining._derive_grad_metas(outputs))

    def _of_rank_0(self) -> dict[int, Any]:
        """Of the process that told last; a rank has one that trains."""
        import glob
        import pickle

        folder = os.environ.get("VRAMSCOPE_RANK_0", "")
        paths = glob.glob(os.path.join(glob.escape(folder), "stages.*.pickle")) if folder else []
        if not paths:
            return {}
        with open(max(paths, key=os.path.getmtime), "rb") as file:
            told: dict[int, Any] = pickle.load(file)
        return told
