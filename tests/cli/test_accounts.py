"""Files of other programs, word for word: what the commands say about them, and what they refuse."""

import gzip
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "corpus" / "accounts"
NAMES = ("kineto", "rmm", "pprof", "nsys")  # nsys: the text of its tables; databases are in tests/oracle/test_nsys.py


@pytest.fixture
def accounts(folder):
    for name in NAMES:
        (folder / name).write_bytes((FILES / name).read_bytes())
    return folder


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ("report", "events", "blocks", "tree", "stats", "oom"))
def test_answers(vramscope, accounts, golden, name, command):
    done = vramscope(command, name)
    assert done.code == 0 and done.err == ""
    golden(f"account_{name}_{command}", done.out)


def test_compressed(vramscope, accounts, folder):
    (folder / "trace.json.gz").write_bytes(gzip.compress((folder / "kineto").read_bytes()))
    whole, packed = vramscope("events", "kineto"), vramscope("events", "trace.json.gz")
    assert packed.code == 0
    assert packed.out.replace("trace.json.gz", "kineto") == whole.out


def test_diff(vramscope, accounts):
    done = vramscope("diff", "kineto", "kineto")
    assert done.code == 0 and "none: the same memory was live" in done.out


def test_whatif_is_an_estimate(vramscope, accounts):
    done = vramscope("whatif", "kineto")
    assert done.code == 0 and "estimates" in done.out


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments", (("export", "pickle"), ("export", "sql"), ("export", "perfetto"), ("query", "map"),
                                       ("query", "segments"), ("query", "fragmentation"), ("query", "state"), ("query", "replay"), ("query", "reserved"),
                                       ("where",)))
def test_what_needs_segments_is_refused(vramscope, accounts, name, arguments):
    done = vramscope(arguments[0], name, *arguments[1:], *(("-o", "out") if arguments[0] == "export" else ()))
    assert done.code != 0 and done.out == ""
    assert "the file lists no segments: reserved and cached memory are unknown" in done.err


@pytest.mark.parametrize("name", [name for name in NAMES if name != "kineto"])
def test_only_pytorchs_allocations_are_replayed(vramscope, accounts, name):
    done = vramscope("whatif", name)
    assert done.code != 0 and done.out == "" and "only allocations of PyTorch's allocator can be replayed" in done.err


def test_a_trace_without_memory(vramscope, folder):
    (folder / "trace.json").write_bytes((FILES / "kineto-no-memory").read_bytes())
    done = vramscope("report", "trace.json")
    assert done.code != 0 and "profile_memory=True" in done.err and done.err.count("\n") == 1


def test_a_page_cannot_contain_it(vramscope, accounts, folder):
    done = vramscope("view", "--html", "page.html", "kineto")
    assert done.code != 0 and "with vramscope view" in done.err  # or this build's page has no engine at all
    assert not (folder / "page.html").exists()


def test_several(vramscope, accounts, folder):
    """Of files without segments, reserved memory is unknown, not 0."""
    (folder / "other").write_bytes((FILES / "kineto-list").read_bytes())
    done = vramscope("report", "kineto", "other")
    rows = [line.split() for line in done.out.splitlines() if line.startswith(("  kineto ", "  other "))]
    assert [row[3] for row in rows] == ["-", "-"]


def test_what_only_tells_blocks_apart_is_not_exported(vramscope, accounts):
    header, *rows = (line.split(",") for line in vramscope("query", "pprof", "export", "format=csv", "what=blocks").out.splitlines())
    assert len(rows) == 6 and all(row[header.index(name)] == "" for row in rows for name in ("segment_address", "address"))
