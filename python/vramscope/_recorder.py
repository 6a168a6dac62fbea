"""Begins and ends the recorder (libvramscope-record.so) in this process.

It needs the standard library alone, and no other module of the package: `vramscope attach` runs this file in programs that do
not have the package.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any

REPLACE: int = 1  # options of `begin`
ON_OOM: int = 2
TIME: int = 4

_SENTENCE = 8192  # bytes


class RecorderError(Exception):
    """The recorder's answer: its status by the C library's name, such as "IO", and one sentence."""

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status: str = status


def load(path: str | os.PathLike[str]) -> ctypes.PyDLL:
    """The recorder of this process, which holds Python's lock in each call. One that is loaded already (`vramscope run`) is used.

    Its names are seen by all libraries (RTLD_GLOBAL), so it hears of PyTorch's allocator as soon as that is loaded.
    Raises OSError with the loader's sentence.
    """
    library = ctypes.PyDLL(None)
    if not hasattr(library, "vramscope_record_begin"):
        library = ctypes.PyDLL(os.fspath(path), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    number = ctypes.c_uint64
    library.vramscope_record_begin.argtypes = [ctypes.c_char_p, ctypes.c_int, number, ctypes.c_char_p, ctypes.c_size_t]
    library.vramscope_record_segment.argtypes = [ctypes.c_uint32, number, number, number, ctypes.c_bool]
    library.vramscope_record_segment.restype = None
    library.vramscope_record_block.argtypes = [ctypes.c_uint32, number, number, number]
    library.vramscope_record_block.restype = None
    library.vramscope_record_ready.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.vramscope_record_cancel.restype = None
    library.vramscope_record_end.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.vramscope_record_status.argtypes = [ctypes.c_int]
    library.vramscope_record_status.restype = ctypes.c_char_p
    library.vramscope_record_is_on.restype = ctypes.c_bool
    library.vramscope_record_path.restype = ctypes.c_char_p
    library.vramscope_record_kept.restype = ctypes.c_char_p
    library.vramscope_record_number.restype = ctypes.c_uint32
    return library


def _call(library: ctypes.PyDLL, name: str, *arguments: object) -> None:
    sentence = ctypes.create_string_buffer(_SENTENCE)
    status = getattr(library, name)(*arguments, sentence, len(sentence))
    if status != 0:
        raise RecorderError(library.vramscope_record_status(status).decode(), sentence.value.decode(errors="replace"))


def _segments() -> list[dict[str, Any]]:
    """The memory that PyTorch's allocator has now, as its own snapshot. Empty where PyTorch, or its CUDA part, is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(getattr(torch, "_C", None), "_cuda_memorySnapshot") or not hasattr(torch, "cuda"):
        return []
    snapshot = torch.cuda.memory_snapshot
    try:
        found: list[dict[str, Any]] = snapshot(include_traces=False)  # a history may be long
    except TypeError:
        found = snapshot()
    return found


def _blocks(segment: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    """(address, bytes, bytes requested) of each block that is allocated; older releases give no addresses, but the order."""
    address = segment["address"]
    for block in segment["blocks"]:
        if block["state"] == "active_allocated":
            yield block.get("address", address), block["size"], block.get("requested_size", block["size"])
        address += block["size"]


def begin(library: ctypes.PyDLL, path: str | None, options: int = 0, most: int = 0) -> None:
    """Records this process to `path` from now on, with the state of the memory as its beginning. None: as VRAMSCOPE_RECORD wants.

    options  REPLACE: an existing file; ON_OOM: the file is kept only if a request fails, up to that
    most     bytes of the file, or with TIME seconds: it has the newest events then; 0: all of them

    Raises RecorderError, and what PyTorch raises if it cannot say what it has (backend:cudaMallocAsync); nothing is recorded
    then.
    """
    _call(library, "vramscope_record_begin", None if path is None else os.fsencode(path), options, most)
    try:
        for segment in _segments():
            device = segment["device"]
            library.vramscope_record_segment(
                device, segment["address"], segment["total_size"], segment["stream"], segment.get("is_expandable", False))
            for block in _blocks(segment):
                library.vramscope_record_block(device, *block)
        _call(library, "vramscope_record_ready")
    except BaseException:
        library.vramscope_record_cancel()
        raise


def end(library: ctypes.PyDLL) -> None:
    """Completes the recording. Raises RecorderError if it is incomplete."""
    _call(library, "vramscope_record_end")


def answer(library: bytes, path: bytes | None, overwrite: bool, to: bytes) -> None:
    """What `vramscope attach` (`path`) and `vramscope detach` (None) run in this process. They wait for the file `to`."""
    try:
        recorder = load(os.fsdecode(library))
        if path is not None:
            begin(recorder, os.fsdecode(path), REPLACE if overwrite else 0)
        elif not recorder.vramscope_record_is_on():
            raise RecorderError("BAD_ARGUMENT", "it is not being recorded")
        said = b"OK\n" + recorder.vramscope_record_path()
        if path is None:
            end(recorder)
    except Exception as error:
        status = error.status if isinstance(error, RecorderError) else "IO"
        said = f"{status}\n{error}".encode(errors="replace")
    with open(to + b".new", "wb") as file:
        file.write(said)
    os.replace(to + b".new", to)
