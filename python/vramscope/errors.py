"""The exceptions of vramscope. Each is a `vramscope.Error` and, if Python has a class for the same error, also of that class,
so that `except ValueError` works.

The names and meanings of the statuses are those of the C library (include/vramscope/status.def).
"""

from __future__ import annotations

__all__ = [
    "ArgumentError", "CancelledError", "DeviceError", "DeviceMemoryError", "Error", "FileError",
    "FormatError", "LimitError", "NoMemoryError", "NotFoundError", "RefusedError", "UnsupportedError",
]


class Error(Exception):
    """The base of all errors of vramscope. `str(error)` is one sentence.

    status: the C library's name of the error, such as "BAD_FORMAT".
    offset: the byte of the error in the (decompressed) input or in the text of an argument; None if there is no such byte.
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
    """An invalid argument: an unknown parameter or choice, a value out of range."""

    status = "BAD_ARGUMENT"


class NotFoundError(Error, LookupError):
    """Not found: a device, an event, a moment, a file in an empty engine."""

    status = "NOT_FOUND"


class FormatError(Error, ValueError):
    """The input is not a snapshot, or is damaged or truncated."""

    status = "BAD_FORMAT"


class RefusedError(FormatError):
    """A pickle that refers to classes or functions. Only plain data is read; nothing was executed."""

    status = "REFUSED"


class LimitError(Error):
    """The input exceeds a documented limit (docs/formats), as files do that are made to exhaust memory."""

    status = "LIMIT"


class UnsupportedError(Error, NotImplementedError):
    """Not supported by this build, or on this machine."""

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
    """The GPU has not enough free memory."""

    status = "DEVICE_MEMORY"


class DeviceError(Error, RuntimeError):
    """The GPU's driver reported an error."""

    status = "DEVICE"


class NoMemoryError(Error, MemoryError):
    """The process has not enough host memory (not GPU memory)."""

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
    """The exception for a status of the C library; called by vramscope._native."""
    return _BY_STATUS.get(status, Error)(text, status, offset)
