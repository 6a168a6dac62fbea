"""What vramscope raises. Every error of the package is a `vramscope.Error`; where Python has a class for the same thing,
it is that, too, so that `except ValueError` keeps working.

The names and meanings of the statuses are those of the C library (include/vramscope/status.def).
"""

from __future__ import annotations

__all__ = [
    "ArgumentError", "CancelledError", "DeviceError", "DeviceMemoryError", "Error", "FileError",
    "FormatError", "LimitError", "NoMemoryError", "NotFoundError", "RefusedError", "UnsupportedError",
]


class Error(Exception):
    """Something went wrong. `str(error)` is one sentence.

    status: the C library's name of it, such as "BAD_FORMAT".
    offset: the byte of the (inflated) input, or of the text that was asked about, where it went wrong; None: nowhere.
    """

    status: str = "?"
    offset: int | None = None

    def __init__(self, text: str = "", status: str | None = None, offset: int | None = None) -> None:
        super().__init__(text)
        if status is not None:
            self.status = status
        self.offset = offset

    def __str__(self) -> str:
        text = str(self.args[0]) if self.args else ""
        return text if self.offset is None else f"{text} (at byte {self.offset})"


class ArgumentError(Error, ValueError):
    """An argument that makes no sense: an unknown parameter or choice, a value out of range."""

    status = "BAD_ARGUMENT"


class NotFoundError(Error, LookupError):
    """Not found: a device, an event, a moment, a file in an empty engine."""

    status = "NOT_FOUND"


class FormatError(Error, ValueError):
    """The input is no snapshot, is damaged, or truncated."""

    status = "BAD_FORMAT"


class RefusedError(FormatError):
    """A pickle that asks for more than plain data. Nothing of it was run."""

    status = "REFUSED"


class LimitError(Error):
    """Over a documented limit (docs/formats), as files made to fill the memory are."""

    status = "LIMIT"


class UnsupportedError(Error, NotImplementedError):
    """Not in this build, or not on this machine."""

    status = "UNSUPPORTED"


class FileError(Error, OSError):
    """Reading or writing failed."""

    status = "IO"

    def __init__(self, text: str = "", status: str | None = None, offset: int | None = None) -> None:
        OSError.__init__(self, text)
        Error.__init__(self, text, status, offset)


class CancelledError(Error):
    """The progress callback returned False."""

    status = "CANCELLED"


class DeviceMemoryError(Error, RuntimeError):
    """The GPU has no memory left for this."""

    status = "DEVICE_MEMORY"


class DeviceError(Error, RuntimeError):
    """The GPU's driver reported an error."""

    status = "DEVICE"


class NoMemoryError(Error, MemoryError):
    """No memory in this process (not on the GPU)."""

    status = "NO_MEMORY"


_BY_STATUS = {
    "NO_MEMORY": NoMemoryError,
    "BAD_ARGUMENT": ArgumentError,
    "NOT_FOUND": NotFoundError,
    "BAD_FORMAT": FormatError,
    "TRUNCATED": FormatError,
    "REFUSED": RefusedError,
    "LIMIT": LimitError,
    "UNSUPPORTED": UnsupportedError,
    "IO": FileError,
    "CANCELLED": CancelledError,
    "DEVICE_MEMORY": DeviceMemoryError,
    "DEVICE": DeviceError,
}


def from_status(status: str, text: str, offset: int | None = None) -> Error:
    """The exception that a status of the C library stands for (vramscope._native raises by it)."""
    return _BY_STATUS.get(status, Error)(text, status, offset)
