"""The closed pickle machine against CPython's own unpickler: random plain data with sharing, by every writer.

`fold_print` (tests/programs) prints what the machine folds a pickle to; CPython loads the same bytes. Both are brought to
one form and compared. What refers to itself, or asks for a class, must be refused.
"""
import io
import json
import os
import pickle
import pickletools
import random
import struct

import pytest
import writers
from cli import starter

FOLD_PRINT = os.environ.get("FOLD_PRINT")
RUNS = int(os.environ.get("VRAMSCOPE_PROPERTY_RUNS", "150"))

pytestmark = pytest.mark.skipif(not FOLD_PRINT, reason="FOLD_PRINT does not name the program fold_print")


def plain(value):
    """What fold_print prints for `value`, as parsed JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else "<big>"
    if isinstance(value, float):
        return "f:%x" % struct.unpack("<Q", struct.pack("<d", value))[0]
    if isinstance(value, (bytes, bytearray)):
        return "<bytes>"
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    assert isinstance(value, dict)
    return {key: plain(item) for key, item in value.items()}


def fold(data, *flags):
    return starter.run([FOLD_PRINT, *flags], input=data)


class Data:
    """Random nested plain data in which objects occur again, as themselves."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = []

    def scalar(self):
        r = self.random
        return r.choice([
            lambda: None, lambda: True, lambda: False, lambda: r.randrange(300), lambda: -r.randrange(1, 70000),
            lambda: r.randrange(2**16, 2**40), lambda: r.randrange(-(2**63), 2**63), lambda: r.randrange(2**63, 2**64),
            lambda: r.choice([2**64, -(2**63) - 1, 2**200, 2**63 - 1, -(2**63), 255, 256, 65535, 65536, -128, -129]),
            lambda: r.choice([0.0, -0.0, 1.5, 1e300, -2.5e-310, 0.1]), lambda: "", lambda: "plain",
            lambda: "line\nbreak \\ 'q' \"d\"", lambda: "\u00e9\u20ac\U0001f600", lambda: "stray \udc80", lambda: "x" * r.choice([255, 256, 3000]),
        ])()

    def value(self, depth):
        r = self.random
        if self.made and r.random() < 0.25:
            return r.choice(self.made)
        if depth == 0 or r.random() < 0.3:
            return self.scalar()
        count = r.choice([0, 1, 2, 3, 5, 9]) if r.random() < 0.97 else r.choice([999, 1000, 1001, 2000])
        inner = (lambda: r.choice(self.made) if self.made else self.scalar()) if count > 9 else (lambda: self.value(depth - 1))
        kind = r.randrange(4)
        if kind == 0:
            made = {f"k{r.randrange(10 * count + 1)}": inner() for _ in range(count)}
        elif kind == 1:
            made = tuple(inner() for _ in range(count))
        else:
            made = [inner() for _ in range(count)]
        self.made.append(made)
        return made


def picklings(value):
    for protocol in range(6):
        yield f"C pickler, protocol {protocol}", pickle.dumps(value, protocol)
        out = io.BytesIO()
        pickle._Pickler(out, protocol).dump(value)
        yield f"Python pickler, protocol {protocol}", out.getvalue()
        yield f"optimized, protocol {protocol}", pickletools.optimize(pickle.dumps(value, protocol))


def bounded_size(value, limit=200_000):
    """Whether `value`, unfolded, is small enough to print."""
    known = {}

    def size(v):
        if not isinstance(v, (list, tuple, dict)):
            return len(v) if isinstance(v, str) else 1
        if id(v) not in known:
            known[id(v)] = 1 + sum(size(x) for x in (v.values() if isinstance(v, dict) else v))
        return known[id(v)]

    return size(value) < limit


@pytest.mark.parametrize("seed", range(max(1, RUNS // 3)))
def test_equal_to_cpython(seed):
    data = Data(seed)
    value = [data.value(4) for _ in range(3)]
    if not bounded_size(value):
        value = [data.scalar()]
    for name, pickled in picklings(value):
        assert pickle.loads(pickled) == value
        got = fold(pickled)
        assert got.returncode == 0, f"{name}: {got.stderr.decode()}"
        assert json.loads(got.stdout) == plain(value), name


def test_equal_objects_next_to_each_other_and_deeper():
    inner = [1]
    for value in ([inner, inner], [inner, [inner]], {"a": inner, "b": {"a": inner}}, [[inner, inner], inner, (inner,)]):
        for name, pickled in picklings(value):
            got = fold(pickled)
            assert got.returncode == 0, f"{name}: {got.stderr.decode()}"
            assert json.loads(got.stdout) == plain(value), name


def test_lists_of_references_of_every_batch_size():
    shared = [{"frame": i} for i in range(5)]
    for count in (1, 2, 46, 999, 1000, 1001, 1999, 2000, 2001, 3000):
        value = [shared, [shared[i % 5] for i in range(count)], [shared[i % 5] for i in range(count)]]
        for name, pickled in picklings(value):
            got = fold(pickled)
            assert got.returncode == 0, f"{count}, {name}: {got.stderr.decode()}"
            assert json.loads(got.stdout) == plain(value), f"{count}, {name}"


def test_what_contains_itself_is_refused():
    cyclic_list = []
    cyclic_list.append(cyclic_list)
    cyclic_dict = {}
    cyclic_dict["me"] = [cyclic_dict]
    cyclic_tuple = ([],)
    cyclic_tuple[0].append(cyclic_tuple)
    for value in (cyclic_list, cyclic_dict, cyclic_tuple, [1, cyclic_list]):
        for name, pickled in picklings(value):
            got = fold(pickled)
            assert got.returncode == 3, name
            assert b"contains itself" in got.stderr, f"{name}: {got.stderr!r}"


def test_opcodes_that_picklers_seldom_write():
    cases = {
        b"(lp0\nI1\naI2\na.": [1, 2],
        b"(I1\nI2\nl.": [1, 2],
        b"(S'a'\nI1\nd.": {"a": 1},
        b"(I1\nI2\nt.": [1, 2],
        b"](K\x01K\x02e(K\x03e.": [1, 2, 3],
        b"]K\x012a0.": None,  # DUP, APPEND, POP: too few values left
        b"]2\x86.": [[], []],
        b"K\x01K\x020.": 1,
        b"(K\x01K\x021K\x05.": 5,
        b"\x80\x02\x8f(K\x01K\x02\x90.": [1, 2],
        b"\x80\x04(K\x01\x91.": [1],
        b"\x80\x04C\x02ab.": "<bytes>",
        b"I01\n.": True,
        b"L99999999999999999999L\n.": "<big>",
        b"F1.5\n.": "f:3ff8000000000000",
        b"S'it\\'s \\x41'\n.": "it's A",
        b"V\xe9\\u20ac\n.": "\u00e9\u20ac",
        b"U\x03abc.": "abc",
        b"T\x03\x00\x00\x00abc.": "abc",
        b"\x8b\x01\x00\x00\x00\xff.": -1,
        b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.": 2**63,
        b"\x8a\x00.": 0,
    }
    for pickled, value in cases.items():
        got = fold(pickled)
        if value is None:
            assert got.returncode == 3, pickled
        else:
            assert got.returncode == 0, (pickled, got.stderr)
            assert json.loads(got.stdout) == value, pickled


@pytest.mark.parametrize("seed", range(max(1, RUNS // 10)))
def test_json_equal_to_cpython(seed):
    data = Data(1_000_000 + seed)
    value = [data.value(3) for _ in range(3)]
    if not bounded_size(value, 50_000):
        value = [data.scalar()]
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        got = fold(text.encode("utf-8", "surrogatepass"), "--json")
        assert got.returncode == 0, got.stderr.decode()
        assert json.loads(got.stdout) == plain(json.loads(text))
