"""Reads the bytes of a memory snapshot into plain Python data, and nothing else.

The standard unpickler can call any importable function, so it is closed here: every way to name a class or a
persistent object is refused. What is left can build dicts, lists, tuples, strings and numbers only. The module also
recognises what users do to such files: gzip, JSON of the same shape, zero bytes after the end.
"""

import gzip
import io
import json
import pickle
import zlib
from dataclasses import dataclass

GZIP_MAGIC = b"\x1f\x8b"
JSON_FIRST_BYTES = b"[{"
PICKLE_PROTO = 0x80


class Refused(Exception):
    """The bytes are not plain data; the text says why."""


class ClosedUnpickler(pickle.Unpickler):
    """An unpickler for which no class, function or persistent object exists."""

    def find_class(self, module, name):
        raise Refused(f"the file asks for {module}.{name}")

    def persistent_load(self, pid):
        raise Refused(f"the file asks for the persistent object {pid!r}")


@dataclass(frozen=True)
class SnapshotFile:
    """Plain data, and the facts about the file that the report shows."""

    data: object
    format: str  # "pickle" or "json"
    bytes: int  # as on disk, so compressed where the file is
    pickle_protocol: object  # int; 0 where no PROTO opcode says it; None for JSON

    def as_report(self):
        return {"format": self.format, "bytes": self.bytes, "pickle_protocol": self.pickle_protocol}


def unpickle(payload):
    """Plain data of one pickle. Bytes after STOP must be zero."""
    stream = io.BytesIO(payload)
    try:
        data = ClosedUnpickler(stream).load()
    except Refused:
        raise
    except Exception as problem:  # a damaged pickle raises nearly any type
        raise Refused(f"not a readable pickle: {problem}") from problem
    if stream.read().strip(b"\0"):
        raise Refused("bytes other than zero after the end of the pickle")
    return data


def unwrap(raw):
    """The payload of a gzip file, or the bytes themselves."""
    if not raw.startswith(GZIP_MAGIC):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as problem:
        raise Refused(f"damaged gzip: {problem}") from problem


def is_json(payload):
    """No pickle begins with a bracket or a brace that JSON begins with: they are no opcodes."""
    first = payload.lstrip(b" \t\r\n")[:1]
    return bool(first) and first in JSON_FIRST_BYTES


def read_bytes(raw):
    """Recognise and read a whole file that is already in memory."""
    payload = unwrap(raw)
    if is_json(payload):
        try:
            return SnapshotFile(json.loads(payload.rstrip(b"\0")), "json", len(raw), None)
        except ValueError as problem:
            raise Refused(f"damaged JSON: {problem}") from problem
    protocol = payload[1] if len(payload) > 1 and payload[0] == PICKLE_PROTO else 0
    return SnapshotFile(unpickle(payload), "pickle", len(raw), protocol)


def read_file(path):
    """Recognise and read the file at `path`."""
    with open(path, "rb") as file:
        return read_bytes(file.read())
