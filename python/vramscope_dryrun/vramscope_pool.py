"""The figures of a library that allocates within a pool of its own, as JAX and TensorFlow do: DIR/<library>.PID.json (DIR is
VRAMSCOPE_SIM_RUN).

Such a library preallocates most of a GPU, so the driver's figures do not tell what the program needs, and it refuses requests
within its own limit, which the driver does not see. The file is written when the library is imported, with "complete" false,
which remains if the process is killed, and again at the end.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    CardOf = Callable[[int, str | None], int | None]


class Recorder:
    """What each library says of itself is in a class below this one (vramscope_jax.py, vramscope_tensorflow.py)."""

    library = ""  # the name of the file

    def __init__(self, card_of: CardOf) -> None:
        self.card_of = card_of
        self.is_inherited: bool = False  # a child has the devices of the process that it was forked from, and cannot use them
        self.oom: dict[str, int] | None = None

    def has_begun(self) -> bool:
        """Whether the library has made its devices. Asking it for them would make them."""
        raise NotImplementedError

    def figures(self) -> list[dict[str, Any]]:
        """Of each device: its number, "device", and peak_bytes_in_use, peak_pool_bytes, bytes_limit, bytes_in_use."""
        raise NotImplementedError

    def asked_by(self, error: BaseException) -> int | None:
        """The bytes of the request that raised this error, 0 if it does not say; None if it is another error."""
        raise NotImplementedError

    def begin(self) -> None:
        self._put([], False)
        os.register_at_fork(after_in_child=self._forked)
        original = sys.excepthook

        def excepthook(kind: Any, error: BaseException, traceback: Any) -> None:
            asked = self.asked_by(error)
            if asked is not None:
                self.oom = {"asked_bytes": asked, "free_bytes": 0}
            original(kind, error, traceback)

        sys.excepthook = excepthook

    def _forked(self) -> None:
        self.is_inherited = self.has_begun()
        self.oom = None

    def end(self) -> None:
        if self.is_inherited:
            return
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        found = self.figures() if self.has_begun() else []
        devices = [{**entry, "card": self.card_of(entry["device"] or 0, visible)} for entry in found]
        if self.oom is not None and devices:
            fullest = max(devices, key=lambda entry: entry["peak_bytes_in_use"])
            self.oom["free_bytes"] = max(0, fullest["bytes_limit"] - fullest["bytes_in_use"])
        self._put(devices, True)

    def _put(self, devices: list[dict[str, Any]], is_complete: bool) -> None:
        import json

        text = json.dumps({"schema": 1, "complete": is_complete, "devices": devices, "oom": self.oom if devices else None})
        path = os.path.join(os.environ["VRAMSCOPE_SIM_RUN"], f"{self.library}.{os.getpid()}.json")
        with open(path + ".part", "w") as file:
            file.write(text)
        os.replace(path + ".part", path)
