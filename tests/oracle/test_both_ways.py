"""Snapshots read as a whole and opcode by opcode: the same tables, ids, calls and errors.

`read_both_ways` (tests/programs) compares. The files are those of the benchmark's generator, by several picklers, whole and cut; and the real ones.
"""
import io
import os
import pickle
import pickletools
import random
import sys
from pathlib import Path

import pytest
import writers
from cli import starter
from conftest import real_snapshots

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import generate_snapshot  # noqa: E402

READ_BOTH_WAYS = os.environ.get("READ_BOTH_WAYS")

pytestmark = pytest.mark.skipif(not READ_BOTH_WAYS, reason="READ_BOTH_WAYS does not name the program read_both_ways")


def dicts_at_once(data):
    """How many, and whether the build reads in pieces of a few bytes, so that few are there as a whole."""
    got = starter.run([READ_BOTH_WAYS], input=data)
    assert got.returncode == 0, got.stdout.decode() + got.stderr.decode()
    count, is_hostile = map(int, got.stdout.split())
    return count, bool(is_hostile)


def picklings(data):
    for protocol in (2, 3, 4, 5):
        yield f"protocol {protocol}", pickle.dumps(data, protocol)
    yield "optimized", pickletools.optimize(pickle.dumps(data, 4))
    out = io.BytesIO()
    pickle._Pickler(out, 4).dump(data)
    yield "in Python", out.getvalue()
    yield "C++", writers.CppPickler().dump(data)


@pytest.mark.parametrize("seed", [1, 2])
def test_generated(seed):
    events = 3000
    data, _ = generate_snapshot.generate(events, seed)
    for name, pickled in picklings(data):
        at_once, is_hostile = dicts_at_once(pickled)
        assert at_once > (0.2 if is_hostile else 0.7) * events, name


def test_generated_and_damaged():
    rng = random.Random(3)
    data, _ = generate_snapshot.generate(1000, 3)
    for _, pickled in picklings(data):
        for _ in range(5):
            damaged = bytearray(pickled)
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            dicts_at_once(bytes(damaged))
            dicts_at_once(pickled[:rng.randrange(len(pickled))])


@pytest.mark.parametrize("path", real_snapshots(), ids=lambda path: path.name)
def test_real(path):
    dicts_at_once(path.read_bytes())
