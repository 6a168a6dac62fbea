"""The reader of TOML against Python's `tomllib`: the same documents are accepted, with the same values.

`toml_print` (tests/programs) prints the JSON of each document. What JSON does not have is refused by ours alone: infinite numbers,
nan, and integers of more than 64 bits.
"""

import datetime
import json
import math
import os
import random
import subprocess
import tomllib

import pytest

TOML_PRINT = os.environ.get("TOML_PRINT")
pytestmark = pytest.mark.skipif(not TOML_PRINT, reason="TOML_PRINT does not name the program toml_print")

VALID = r'''
a = 1
===
# comment
title = "T\u00e9 \"x\" \\ \t \U0001F600"	# with a tab
[owner]
name = 'C:\path'
"quoted key" = true
'literal key'.sub = false
3.14 = "dotted"
===
i = [1, -2, +3, 0, -0, 0xDEAD_beef, 0o755, 0b1101, 1_000_000, 9223372036854775807, -9223372036854775808]
f = [1.0, -0.5, 6.626e-34, 1e06, 5E+22, 1_0.0_1, 0.0, -0.0, 0e0, 3.0e-400]
===
d = [1979-05-27T07:32:00Z, 1979-05-27T00:32:00.999999-07:00, 1979-05-27 07:32:00, 1979-05-27t07:32:00z, 1979-05-27, 07:32:00, 00:32:00.5]
leap = 2024-02-29
===
s = """
first
  second \
     third ""quoted"" and """"
l = \'\'\'
raw \n '' ''\'\'\'
e = ""
===
a = [ # comment
  1, # one
  [2, [3]], "x", {b = 1, c.d = [ {e = 2} ]},
]
empty = []
none = {}
===
[a.b.c]
x = 1
[a]
y = 2
[a.b]
z = 3
===
[[p]]
n = 1
[[p.q]]
m = 2
[[p.q]]
m = 3
[[p]]
[p.r]
k = 4
===
a.b = 1
a.c.d = 2
[e]
a.b = 1
[e.a.f]
g = 1
===
[a]
b.c = 1
b.d = 2
[a.b.e]
f = 1
===
[ x . "y" ]
"" = 1
 z = 2
===
===
[tool.vramscope]
max-allocated = "20GiB"
[tool.vramscope.budgets.optimizer]
owner = "torch/optim/*"
max = "+5%"
'''

INVALID = r'''
a
===
a =
===
a = 1 b = 2
===
= 1
===
a = 1
a = 2
===
[a]
[a]
===
a = {b = 1}
a.c = 2
===
a = [1]
[[a]]
===
[[a]]
[a]
===
[a]
[[a]]
===
a.b = 1
[a]
===
[a.b]
[a]
b.c = 1
b = 2
===
[a.b]
x = 1
[a]
b.y = 2
===
[a]
b.c = 1
[a.b]
===
a = 01
===
a = 1__0
===
a = _1
===
a = 0x
===
a = +0x1
===
a = 1.
===
a = .5
===
a = 1e
===
a = "x
===
a = 'x
===
a = """x
===
a = "\q"
===
a = "\ud800"
===
a = [1 2]
===
a = [1,,2]
===
a = {b = 1,}
===
a = {b = 1
}
===
a = {b = 1, b = 2}
===
a = 2023-02-29
===
a = 1900-02-29
===
a = 1979-13-01
===
a = 25:00:00
===
a = 1979-05-27T07:32
===
[a
===
[[a]
===
[]
===
[a.]
===
a. = 1
===
a = tru
===
"""k""" = 1
===
a = 1 # bad 
===
a = {b.c = 1, b = 2}
===
[a]
x = {}
[a.x]
===
[a]
x = []
[[a.x]]
===
a = {b = {c = 1}, b.d = 2}
'''


def documents(text):
    return [part.strip("\n").replace("\\'\\'\\'", "'''").encode() for part in text.split("===")]


def ours(docs):
    data = b"".join(b"%d\n%s" % (len(doc), doc) for doc in docs)
    done = subprocess.run([TOML_PRINT], input=data, stdout=subprocess.PIPE, check=True, timeout=600)
    lines = done.stdout.split(b"\n")[:-1]
    assert len(lines) == len(docs)
    return [line.decode() if line[:1] == b"!" else json.loads(line) for line in lines]


class OnlyTheirs(Exception):
    """A value that JSON does not have."""


def as_json(value):
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value) or type(value) is int and not -(2**63) <= value < 2**63:
        raise OnlyTheirs
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value


def time_of(text):
    """A text of ours that may be a time, in Python's form of it."""
    for kind in (datetime.datetime, datetime.date, datetime.time):
        if kind is datetime.datetime and not (len(text) > 10 and text[10:11] in "Tt "):
            continue
        try:
            return kind.fromisoformat(text.upper()).isoformat()
        except ValueError:
            continue
    return text


def same(mine, true):
    """Equal, in the order of the members; texts also where Python writes a time in another way."""
    if isinstance(true, dict):
        return isinstance(mine, dict) and set(mine) == set(true) and all(same(mine[key], true[key]) for key in true)
    if isinstance(true, list):
        return isinstance(mine, list) and len(mine) == len(true) and all(map(same, mine, true))
    if isinstance(true, str):
        return isinstance(mine, str) and (mine == true or time_of(mine) == true)
    return type(mine) is type(true) and (mine == true or mine != mine) and str(mine) == str(true)


def truth(doc):
    try:
        return as_json(tomllib.loads(doc.decode()))
    except OnlyTheirs:
        return OnlyTheirs
    except (ValueError, RecursionError):
        return None


def check(docs):
    accepted = 0
    for doc, mine in zip(docs, ours(docs), strict=True):
        true = truth(doc)
        refused = isinstance(mine, str)
        if true is OnlyTheirs or true is None:
            assert refused, (doc, mine)
        else:
            assert not refused and same(mine, true), (doc, mine, true)
            accepted += 1
    return accepted


def test_valid():
    docs = documents(VALID)
    assert check(docs) == len(docs) == 13


def test_invalid():
    docs = documents(INVALID)
    assert len(docs) > 40 and check(docs) <= 2  # the two that tomllib accepts


def test_what_json_does_not_have():
    docs = [b"a = inf", b"a = -inf", b"a = +nan", b"a = 1e999", b"a = 9223372036854775808", b"a = 0xffffffffffffffff"]
    assert all(truth(doc) is OnlyTheirs for doc in docs) and check(docs) == 0


def test_positions():
    found = ours([b"a = 1\nb = 2 c\n", b"\n\n[a]\n[a]\n", b"x = \"\xff\"", b"a = " + b"[" * 100 + b"]" * 100, b'a = "\n"'])
    assert found == ["!line 2: the end of the line is expected", "!line 4: a table is given twice", "!line 1: the text is not UTF-8",
                     "!line 1: tables and arrays are nested too deep", "!line 1: a string does not end on its line"]


PIECES = ['a', 'b', '"c"', "'d'", '.', ' = ', '\n', '[', ']', '[[', ']]', '{', '}', ',', '1', '-2', '0.5', '"x"', "'y'", '"""', "'''", 'true',
          '# c\n', ' ', '1979-05-27', '07:32:00', '\\', '\\u0041', '\r\n', '_', 'e5', '0x1F', '\t', 'a.b = 1\n', '[a]\n', '[a.b]\n', '[[a]]\n',
          '[[a.b]]\n', 'b = {c = 1}\n', 'x = [1, 2]\n']


def test_random():
    """Pieces in any order, and valid documents with bytes changed: most are wrong, and both have to say so of the same ones."""
    rng = random.Random(7)
    docs = ["".join(rng.choices(PIECES, k=rng.randrange(1, 14))).encode() for _ in range(30000)]
    valid = documents(VALID)
    for _ in range(10000):
        doc = bytearray(rng.choice(valid))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(doc) + 1)
            if rng.random() < 0.5 and at < len(doc):
                del doc[at]
            else:
                doc[at:at] = rng.choice(PIECES).encode()
        docs.append(bytes(doc))
    assert check(docs) > 3000
