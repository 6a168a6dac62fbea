"""Errors: the exit code, and one short printable line on standard error."""

import os
import pickle
import resource
import subprocess

import pytest

import conftest as make

USAGE, FILE = 2, 3


def assert_one_line(done, code):
    assert done.code == code, done.err
    assert done.out == ""
    raw = done.err.encode("utf-8", "surrogateescape")
    assert raw.startswith(b"vramscope: ") and raw.endswith(b"\n") and raw.count(b"\n") == 1
    assert len(raw) <= 500
    assert not any(byte < 0x20 or byte == 0x7F for byte in raw[:-1])
    raw.decode("utf-8")  # never cut inside a character


@pytest.mark.parametrize(
    "args, says",
    (
        (["reprot", "x"], 'did you mean "report"?'),
        (["exprot", "x"], 'did you mean "export"?'),
        (["frobnicate"], "see: vramscope help"),
        (["report"], "report needs a file"),
        (["export", "snapshot.pickle"], "export needs a format"),
        (["export", "snapshot.pickle", "jsn"], "did you mean json?"),
        (["export", "snapshot.pickle", "docx"], "unknown format"),
        (["tree", "a", "b"], 'unexpected argument "b"'),
        (["report", *map(str, range(257))], "at most 256 arguments can be given; a folder of recordings is one argument"),
        (["export", "a", "b", "c"], 'unexpected argument "c"'),
        (["report", "--tpo", "3", "x"], "did you mean --top?"),
        (["report", "--jsn", "x"], "did you mean --json?"),
        (["report", "-x", "y"], "unknown option -x"),
        (["report", "--top"], "--top needs a value"),
        (["report", "--top", "many", "x"], "--top takes N"),
        (["report", "--top", "-1", "x"], "--top takes N"),
        (["report", "--json=yes", "x"], "takes no value"),
        (["report", "--device", "gpu0", "x"], "--device takes N|host"),
        (["stats", "--at", "peak", "x"], "tree, blocks, events, export"),
        (["tree", "--at", "paek", "x"], "did you mean peak?"),
        (["tree", "--at", "5 s", "x"], "--at takes"),
        (["blocks", "--by", "strem", "x"], "did you mean stream?"),
        (["report", "--color", "red", "x"], "auto|always|never"),
        (["help", "stast"], 'did you mean "stats"?'),
        (["help", "--completion", "csh"], "bash|zsh|fish"),
        (["tree", "--at", "99999", "snapshot.pickle"], "event"),
        (["tree", "--at", "oom", "snapshot.pickle"], "no out-of-memory error"),
        (["report", "--device", "7", "snapshot.pickle"], "7"),
        (["blocks", "--filter", "size>many", "snapshot.pickle"], "size"),
        (["blocks", "--filter", "sise>1MiB", "snapshot.pickle"], "did you mean 'size'?"),
        (["events", "--filter", "action=aloc", "snapshot.pickle"], "did you mean 'alloc'?"),
        (["export", "snapshot.pickle", "sqlite"], "-o memory.sqlite"),
        (["whatif", "--export", "-", "snapshot.pickle"], "--export needs a file"),
        (["whatif", "--card", "24GiB", "--card", "40GiB", "--export", "a.pickle", "snapshot.pickle"], "choose one of the settings"),
        (["whatif", "--card", "RTX 6000", "snapshot.pickle"], "ambiguous GPU 'RTX 6000': which of RTXPRO6000 or RTX6000ADA?"),
        (["dryrun", "--gpu", "2xA100 PCIe,hopper", "--", "true"], "ambiguous GPU 'hopper': which of"),
        (["dryrun", "--gpu", "rtx 4090 ti", "--", "true"], "did you mean RTX4090?"),
        (["whatif", "--set", "expandable_segment:True", "--export", "a.pickle", "snapshot.pickle"], "did you mean"),
    ),
)
def test_usage(vramscope, args, says):
    done = vramscope(*args)
    assert_one_line(done, USAGE)
    assert says in done.err


def test_without_arguments(vramscope):
    """The overview, with the exit status of wrong usage."""
    done = vramscope()
    assert done.code == USAGE and not done.err and done.out == vramscope("--help").out == vramscope("help").out


def test_a_file_alone_is_reported(vramscope):
    done = vramscope("snapshot.pickle")
    assert done.code == 0 and done.out == vramscope("report", "snapshot.pickle").out
    assert vramscope("--json", "./snapshot.pickle").out == vramscope("report", "--json", "./snapshot.pickle").out


@pytest.mark.parametrize(
    "data, says",
    (
        (b"", "empty"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "zstd -d"),
        (b"\xfd7zXZ\0" + bytes(40), "xz -d"),
        (b"BZh91AY&SY" + bytes(40), "bzip2 -d"),
        (b"PK\x03\x04" + bytes(40), "torch.save"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\n  <HTML>", "web page"),
        (b"\x7fELF" + bytes(40), "program"),
        (b"SQLite format 3\0" + bytes(40), "SQLite"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\x1f\x8b" + bytes(40), "gzip"),
        (pickle.dumps({"segments": []})[:-3], "truncated"),
        (pickle.dumps({"no": "snapshot"}), ""),
        (pickle.dumps(os.getcwd), ""),
        (b'{"segments": [', ""),
        (b"hello, world\n", ""),
        (os.urandom(1000).replace(b"\x80", b""), ""),
    ),
)
def test_other_files(vramscope, folder, data, says):
    make.write(folder / "other.bin", data)
    done = vramscope("report", "other.bin")
    assert_one_line(done, FILE)
    assert says in done.err and "other.bin" in done.err


def test_missing_file(vramscope, folder):
    done = vramscope("report", "nowhere.pickle")
    assert_one_line(done, FILE)
    assert done.err == "vramscope: nowhere.pickle: no such file\n"


def test_folder(vramscope, folder):
    (folder / "sub").mkdir()
    assert vramscope("tree", "sub").err == "vramscope: sub: is a directory\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_forbidden_file(vramscope, folder):
    (folder / "snapshot.pickle").chmod(0)
    done = vramscope("report", "snapshot.pickle")
    assert_one_line(done, FILE)
    assert "permission denied" in done.err


@pytest.mark.parametrize(
    "name",
    (
        "line\nfeed\x1b[2J.pickle",
        "é" * 120 + ".pickle",
        "\U0001f4a5" * 60,
        b"no text \xff\xfe.pickle",
        "sub/" * 100 + "x.pickle",
        "\x07" * 250,
    ),
)
def test_names_in_errors(vramscope, name):
    """Escaped, and of long ones the end."""
    assert_one_line(vramscope("report", name) if isinstance(name, str) else vramscope_bytes(vramscope, name), FILE)


def vramscope_bytes(vramscope, name):
    return vramscope("report", os.fsdecode(name))


@pytest.mark.parametrize("word", ("\x1b[31mred", "x" * 3000, "é" * 400, "\udcff\udcfe"))
def test_words_in_usage_errors(vramscope, word):
    for args in ([word], ["report", "--" + word], ["report", "--top", word, "x"], ["help", word], ["tree", "a", word]):
        assert_one_line(vramscope(*args), USAGE)


def test_error_says_where(vramscope, folder):
    make.write(folder / "bad.pickle", b"\x80\x04}q\x00(X\x08\x00\x00\x00segments\xff")
    assert "(at byte " in vramscope("report", "bad.pickle").err


# Memory that is not there.


def starts_within(folder, megabytes):
    """Whether the program starts under this limit; a program with sanitizers never does."""
    done = subprocess.run([make.BINARY, "--version"], cwd=folder, capture_output=True, preexec_fn=limit(megabytes))
    return done.returncode == 0


def limit(megabytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def test_out_of_memory(vramscope, folder):
    """With any memory limit there is an answer, or one line and exit code 4."""
    device = make.Device()
    for _ in range(6000):
        device.free(device.alloc(512, make.FORWARD))
    make.write(folder / "long.pickle", make.snapshot(device))
    first = next((limit for limit in range(4, 64) if starts_within(folder, limit)), None)
    if first is None:
        pytest.skip("this build does not start within 64 MiB")
    codes = set()
    for command in (["report"], ["tree", "--top", "0"], ["events", "--top", "0"], ["export"]):
        operands = ["long.pickle", "sql"] if command == ["export"] else ["long.pickle"]
        for megabytes in range(first, first + 12):
            done = subprocess.run([make.BINARY, *command, *operands], cwd=folder, env=make.environment(), capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=60, preexec_fn=limit(megabytes))
            codes.add(done.returncode)
            if done.returncode != 0:
                assert done.returncode == 4 and done.stderr.count(b"\n") == 1 and b"out of memory" in done.stderr
    assert codes == {0, 4}


# Output that cannot be written.


def test_full_device(vramscope):
    with open("/dev/full", "wb") as full:
        done = vramscope("report", "snapshot.pickle", stdout=full)
    assert_one_line(done, FILE)
    assert done.err == "vramscope: standard output: writing failed: no space left on the device\n"


def test_closed_output(vramscope, folder):
    ask = f'exec "{make.BINARY}" report snapshot.pickle >&-'
    done = subprocess.run(["sh", "-c", ask], cwd=folder, env=make.environment(), capture_output=True)
    assert done.returncode == FILE and done.stderr.count(b"\n") == 1 and b"standard output" in done.stderr


def test_closed_input(vramscope, folder):
    ask = f'exec "{make.BINARY}" report - <&-'
    done = subprocess.run(["sh", "-c", ask], cwd=folder, env=make.environment(), capture_output=True)
    assert done.returncode == FILE and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", (["report"], ["events", "--json", "--top", "0"], ["export"]))
def test_reader_that_goes(vramscope, folder, command):
    """`vramscope ... | head` is not a failure, and prints no error."""
    device = make.Device()
    for _ in range(3000):
        device.free(device.alloc(512, make.FORWARD))
    make.write(folder / "long.pickle", make.snapshot(device))
    operands = ["long.pickle"] + (["json"] if command == ["export"] else [])
    process = subprocess.Popen(
        [make.BINARY, *command, *operands],
        cwd=folder,
        env=make.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(60) == 0 and err == b""
