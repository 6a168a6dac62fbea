"""Plain data to bytes, by every writer whose files exist.

CPython's two picklers at every protocol, with and without pickletools.optimize; PyTorch's own C++ pickler; JSON; and
what users do to files afterwards: gzip, zero bytes at the end. `WRITERS` names them all.
"""

import gzip
import io
import json
import pickle
import pickletools
import struct
from collections import Counter
from dataclasses import dataclass

PROTOCOLS = range(6)


class CppPickler:
    """PyTorch's TorchScript pickler, as its daemons use it for snapshots.

    Protocol 2. A string is memoised at its first use and fetched by value afterwards. A container is memoised only if
    something refers to it twice, after it is complete. Lists and dicts are one unbatched MARK..APPENDS/SETITEMS, also
    when empty. A number that does not fit 32 bits is always eight signed bytes, so high addresses look negative.
    """

    def __init__(self):
        self.out = bytearray(b"\x80\x02")
        self.strings = {}
        self.containers = {}
        self.references = Counter()
        self.memo_size = 0

    def dump(self, data):
        self._count(data)
        self._push(data)
        self.out += b"."
        return bytes(self.out)

    def _count(self, value):
        """How many places hold each container."""
        if not isinstance(value, (list, dict, tuple)):
            return
        self.references[id(value)] += 1
        if self.references[id(value)] == 1:
            for item in value.values() if isinstance(value, dict) else value:
                self._count(item)

    def _put(self):
        index = self.memo_size
        self.memo_size += 1
        self.out += b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)
        return index

    def _get(self, index):
        self.out += b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)

    def _push(self, value):
        if value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self._push_int(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self._push_string(value)
        elif id(value) in self.containers:
            self._get(self.containers[id(value)])
        else:
            self._push_container(value)
            if self.references[id(value)] > 1:
                self.containers[id(value)] = self._put()

    def _push_int(self, value):
        if value >= 1 << 63:
            value -= 1 << 64
        if 0 <= value < 1 << 8:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 1 << 16:
            self.out += b"M" + struct.pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", value)

    def _push_string(self, value):
        if value in self.strings:
            self._get(self.strings[value])
            return
        payload = value.encode()
        self.out += b"X" + struct.pack("<I", len(payload)) + payload
        self.strings[value] = self._put()

    def _push_container(self, value):
        if isinstance(value, dict):
            self.out += b"}("
            for key, item in value.items():
                self._push(key)
                self._push(item)
            self.out += b"u"
        elif isinstance(value, list):
            self.out += b"]("
            for item in value:
                self._push(item)
            self.out += b"e"
        else:
            if len(value) != 2:
                raise ValueError("a snapshot has no tuples but pairs")
            for item in value:
                self._push(item)
            self.out += b"\x86"


def c_pickle(data, protocol):
    return pickle.dumps(data, protocol)


def python_pickle(data, protocol):
    out = io.BytesIO()
    pickle._Pickler(out, protocol).dump(data)
    return out.getvalue()


def optimized_pickle(data, protocol):
    return pickletools.optimize(pickle.dumps(data, protocol))


def memoless_pickle(data):
    """Pickler.fast: everything shared is written out again at each place."""
    out = io.BytesIO()
    pickler = pickle.Pickler(out, 2)
    pickler.fast = True
    pickler.dump(data)
    return out.getvalue()


def cpp_pickle(data):
    return CppPickler().dump(data)


def json_text(data, **style):
    return json.dumps(data, **style).encode()


@dataclass(frozen=True)
class Writer:
    name: str
    write: object  # plain data -> bytes
    keeps: str = "all"  # "signed": numbers of 2^63 and more come back negative; "json": tuples come back as lists


def _plain_writers():
    for protocol in PROTOCOLS:
        for name, write in (("c", c_pickle), ("python", python_pickle), ("optimized", optimized_pickle)):
            yield Writer(f"{name}-{protocol}", lambda data, w=write, p=protocol: w(data, p))
    yield Writer("memoless-2", memoless_pickle)
    yield Writer("cpp", cpp_pickle, "signed")
    yield Writer("json", json_text, "json")
    yield Writer("json-indented", lambda data: json_text(data, indent=1, ensure_ascii=False), "json")


def _wrapped(writer):
    yield Writer(f"{writer.name}.gz", lambda data: gzip.compress(writer.write(data), 6), writer.keeps)
    yield Writer(f"{writer.name}+zeros", lambda data: writer.write(data) + bytes(7), writer.keeps)


WRITERS = {writer.name: writer for writer in _plain_writers()}
for _name in ("c-0", "c-4", "cpp"):
    WRITERS.update((w.name, w) for w in _wrapped(WRITERS[_name]))
WRITERS["json.gz"] = Writer("json.gz", lambda data: gzip.compress(json_text(data), 6), "json")


def as_kept(data, keeps):
    """What a reader gets back from a writer that keeps so much."""
    if isinstance(data, bool) or not isinstance(data, (int, list, tuple, dict)):
        return data
    if isinstance(data, int):
        return data - (1 << 64) if keeps == "signed" and data >= 1 << 63 else data
    if isinstance(data, dict):
        return {key: as_kept(value, keeps) for key, value in data.items()}
    if isinstance(data, tuple) and keeps != "json":
        return tuple(as_kept(value, keeps) for value in data)
    return [as_kept(value, keeps) for value in data]
