"""Where bytes come from and go to: pipes, gzip, files that appear whole or not at all."""

import bz2
import gzip
import json
import os
import pickle
import pty
import select
import signal
import sqlite3
import stat
import subprocess
import threading
import time
import zlib

import pytest

import conftest as make

TRAINING = pickle.dumps(make.training(), protocol=4)


def without_name(out):
    return out.split(":", 1)[1]


def test_standard_input(vramscope):
    done = vramscope("report", "-", input=TRAINING)
    assert done.code == 0
    assert "vramscope view" not in done.out, "it has been read"
    named = vramscope("report", "snapshot.pickle").out
    assert without_name(done.out).splitlines()[:-1] == without_name(named).splitlines()[:-2]


def test_pipe(vramscope, folder):
    """A reader that returns small pieces."""
    os.mkfifo(folder / "pipe")

    def feed():
        with open(folder / "pipe", "wb", buffering=0) as pipe:
            for i in range(0, len(TRAINING), 1000):
                pipe.write(TRAINING[i : i + 1000])

    feeder = threading.Thread(target=feed)
    feeder.start()
    done = vramscope("tree", "--quiet", "pipe")
    feeder.join()
    assert done.code == 0
    assert without_name(done.out.replace("pipe,", ":", 1)) == without_name(
        vramscope("tree", "--quiet", "snapshot.pickle").out.replace("snapshot.pickle,", ":", 1)
    )


def test_json_form(vramscope, folder):
    make.write(folder / "snapshot.json", json.dumps(make.training()).encode())
    report = json.loads(vramscope("report", "--json", "snapshot.json").out)
    assert report["file"]["format"] == "json"
    assert report["devices"] == json.loads(vramscope("report", "--json", "snapshot.pickle").out)["devices"]


# gzip


def packed(data, members=1):
    part = max(1, -(-len(data) // members))
    return b"".join(gzip.compress(data[i : i + part], mtime=0) for i in range(0, max(1, len(data)), part))


@pytest.mark.parametrize("members", (1, 2, 7))
@pytest.mark.parametrize("tail", (b"", b"\0" * 512, b"garbage"))
def test_gzip(zlib_built, vramscope, folder, members, tail):
    make.write(folder / "snapshot.pickle.gz", packed(TRAINING, members) + tail)
    report = json.loads(vramscope("report", "--json", "snapshot.pickle.gz").out)
    assert report["file"]["compressed"] is True
    assert report["file"]["inflated_bytes"] == len(TRAINING)
    assert report["devices"] == json.loads(vramscope("report", "--json", "snapshot.pickle").out)["devices"]


def test_gzip_from_a_pipe(zlib_built, vramscope):
    """The size of a pipe is known only at its end."""
    raw = packed(TRAINING)
    report = json.loads(vramscope("report", "--json", "-", input=raw).out)
    assert report["file"]["bytes"] == len(raw) and report["file"]["inflated_bytes"] == len(TRAINING)


@pytest.mark.parametrize(
    "data, says",
    (
        (packed(TRAINING)[:-200], "truncated"),
        (packed(TRAINING)[:400] + b"\xff" * 60 + packed(TRAINING)[460:], "damaged"),
        (packed(packed(TRAINING)), "compressed twice"),
        (packed(bz2.compress(TRAINING)), "bzip2"),
        (packed(b""), "empty"),
    ),
)
def test_bad_gzip(zlib_built, vramscope, folder, data, says):
    make.write(folder / "bad.gz", data)
    done = vramscope("report", "bad.gz")
    assert done.code == 3 and done.out == "" and done.err.count("\n") == 1
    assert says in done.err


@pytest.mark.parametrize("missing", range(1, 12))
def test_gzip_without_its_end(zlib_built, vramscope, folder, missing):
    """The snapshot may be complete: only the check sum is cut off."""
    make.write(folder / "cut.gz", packed(TRAINING)[:-missing])
    done = vramscope("report", "cut.gz")
    assert done.code == 3 and "truncated" in done.err


def test_gzip_with_another_check_sum(zlib_built, vramscope, folder):
    raw = bytearray(packed(TRAINING))
    raw[-6] ^= 1
    make.write(folder / "bad.gz", bytes(raw))
    done = vramscope("report", "bad.gz")
    assert done.code == 3 and "damaged" in done.err


def test_gzip_bomb(zlib_built, vramscope, folder):
    """A file that would exhaust memory is refused early."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, 31)
    bomb = squeeze.compress(b"\x80\x04]") + b"".join(squeeze.compress(b"N" * (1 << 20)) for _ in range(96)) + squeeze.flush()
    make.write(folder / "bomb.gz", bomb)
    done = vramscope("report", "bomb.gz")
    assert done.code == 3 and done.err.count("\n") == 1


def test_text_bomb(zlib_built, vramscope, folder):
    """The same where the reader would never stop by itself: white space in front of a JSON text."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, 31)
    bomb = b"".join(squeeze.compress(b" " * (1 << 20)) for _ in range(96)) + squeeze.compress(b'{"segments": []}')
    make.write(folder / "bomb.gz", bomb + squeeze.flush())
    done = vramscope("report", "bomb.gz")
    assert done.code == 3 and "256-fold" in done.err


# Output files


def test_output(vramscope, folder):
    done = vramscope("report", "-o", "report.txt", "snapshot.pickle")
    assert done.code == 0 and done.out == "" and done.err == ""
    assert (folder / "report.txt").read_text() == vramscope("report", "snapshot.pickle").out
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((folder / "report.txt").stat().st_mode) == 0o666 & ~umask


def test_existing_output_is_kept(vramscope, folder):
    (folder / "report.txt").write_text("mine")
    (folder / "report.txt").chmod(0o640)
    done = vramscope("report", "-o", "report.txt", "snapshot.pickle")
    assert done.code == 3 and "--force" in done.err
    assert (folder / "report.txt").read_text() == "mine"
    assert vramscope("report", "-fo", "report.txt", "snapshot.pickle").code == 0
    assert (folder / "report.txt").read_text() != "mine"
    assert stat.S_IMODE((folder / "report.txt").stat().st_mode) == 0o640


def test_symbolic_link_is_followed(vramscope, folder):
    (folder / "real.txt").write_text("mine")
    (folder / "link.txt").symlink_to("real.txt")
    assert vramscope("report", "--force", "-o", "link.txt", "snapshot.pickle").code == 0
    assert (folder / "link.txt").is_symlink() and "Peak" in (folder / "real.txt").read_text()


def test_own_input_can_be_replaced(vramscope, folder):
    assert vramscope("export", "--force", "-o", "snapshot.pickle", "snapshot.pickle", "json").code == 0
    assert vramscope("report", "snapshot.pickle").code == 0


@pytest.mark.parametrize(("name", "kind"), (("run.pickle", "PyTorch memory snapshot"), ("run.json", "PyTorch memory snapshot"),
                                            ("run.vram", "recording"), ("run.txt", "PyTorch memory snapshot")))
def test_whatif_writes_the_run(vramscope, folder, name, kind):
    """The format by the name; the answer is the same as without."""
    arguments = ["whatif", "--set", "expandable_segments:True", "snapshot.pickle"]
    done = vramscope(*arguments, "--export", name)
    assert done.code == 0 and done.out == vramscope(*arguments).out
    assert done.err.startswith(f"Wrote {name}, a simulated snapshot: opens in ")
    report = vramscope("report", name).out
    assert report.startswith(f"{name}: {kind}, simulated by whatif, ")
    assert "Recording      simulated by vramscope whatif, not recorded; " in report
    again = vramscope(*arguments, "--export", name)
    assert again.code == 3 and again.err == f"vramscope: {name}: file exists; use --force to overwrite it\n"
    quiet = vramscope(*arguments, "--export", name, "--force", "--quiet", "--json")
    assert quiet.code == 0 and not quiet.err and json.loads(quiet.out)["method"] == "whatif"
    before = sorted(folder.iterdir())
    assert vramscope("whatif", "--set", "x:y", "--export", "other.pickle", "snapshot.pickle").code == 2
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("args", (["report", "bad.pickle"], ["export", "bad.pickle", "json"], ["export", "bad.pickle", "sqlite"]))
def test_failure_leaves_nothing(vramscope, folder, args):
    make.write(folder / "bad.pickle", TRAINING[:-1000])
    before = sorted(os.listdir(folder))
    assert vramscope(*args, "-o", "new").code == 3
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("place", ("nowhere/report.txt", "snapshot.pickle/report.txt", "."))
def test_output_in_bad_places(vramscope, folder, place):
    done = vramscope("report", "-o", place, "snapshot.pickle")
    assert done.code == 3 and done.err.count("\n") == 1 and place in done.err


def test_output_to_a_device(vramscope):
    assert vramscope("report", "-o", "/dev/null", "snapshot.pickle").code == 0
    assert vramscope("report", "-o", "/dev/full", "snapshot.pickle").code == 3


@pytest.mark.parametrize("options", (["-o", "new"], ["-f", "-o", "old"]))
def test_signal_leaves_nothing(folder, options):
    """Of a new file, which has no name yet, and of one that shall replace another."""
    os.mkfifo(folder / "pipe")
    (folder / "old").write_text("stays")
    process = subprocess.Popen([make.BINARY, "report", *options, "pipe"], cwd=folder, env=make.environment())
    with open(folder / "pipe", "wb", buffering=0) as pipe:
        pipe.write(TRAINING[:100])
        make.wait_for_output(process, folder)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
    assert sorted(os.listdir(folder)) == ["old", "pipe", "snapshot.pickle"]
    assert (folder / "old").read_text() == "stays"


# Exports


@pytest.mark.parametrize("form", ("pickle", "json", "vram", "csv", "sql", "collapsed", "speedscope", "pprof", "perfetto", "svg"))
def test_export(vramscope, folder, form):
    done = vramscope("export", "-o", "out", "snapshot.pickle", form)
    assert done.code == 0 and done.err.startswith("Wrote out: opens in ")
    assert (folder / "out").stat().st_size > 0
    piped = vramscope("export", "snapshot.pickle", form, encoding="latin-1")
    assert piped.code == 0 and piped.err == "" and piped.out.encode("latin-1") == (folder / "out").read_bytes()
    assert vramscope("export", "-q", "-o", "quiet", "snapshot.pickle", form).err == ""


def test_export_round_trip(vramscope, folder):
    for form in ("pickle", "json", "vram"):
        assert vramscope("export", "-o", f"again.{form}", "snapshot.pickle", form).code == 0
        again = json.loads(vramscope("report", "--json", f"again.{form}").out)
        assert again["devices"] == json.loads(vramscope("report", "--json", "snapshot.pickle").out)["devices"]


def test_export_takes_a_moment(vramscope):
    at_end = vramscope("export", "--at", "end", "snapshot.pickle", "collapsed").out
    assert "metrics.py" in at_end and "attention.py" not in at_end
    assert "attention.py" in vramscope("export", "snapshot.pickle", "collapsed").out
    assert "attention" not in vramscope("export", "--filter", "metrics", "snapshot.pickle", "collapsed").out


def test_export_table(vramscope):
    tables = {name: vramscope("export", "--table", name, "snapshot.pickle", "csv").out for name in ("events", "allocations", "blocks", "segments", "live", "owners")}
    assert len(set(tables.values())) == 6
    assert tables["events"] == vramscope("export", "snapshot.pickle", "csv").out


def test_sqlite(build, vramscope, folder):
    done = vramscope("export", "-o", "memory.sqlite", "snapshot.pickle", "sqlite")
    if build["sqlite"] is None:
        assert done.code == 3 and "sqlite3 memory.sqlite" in done.err
        return
    assert done.code == 0
    with sqlite3.connect(folder / "memory.sqlite") as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        assert tables and all(database.execute(f"select count(*) from {name}").fetchone() for name in tables)
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    assert sorted(os.listdir(folder)) == ["memory.sqlite", "snapshot.pickle"]
    assert vramscope("export", "-o", "memory.sqlite", "snapshot.pickle", "sqlite").code == 3
    assert vramscope("export", "-fo", "memory.sqlite", "snapshot.pickle", "sqlite").code == 0


# Terminals


def on_terminal(folder, args, feed=None, environment=None):
    """Runs it with standard output and error on a terminal of 80 columns; returns what the terminal saw."""
    ours, theirs = pty.openpty()
    os.set_inheritable(theirs, True)
    process = subprocess.Popen(
        [make.BINARY, *args],
        cwd=folder,
        env=environment or make.environment(),
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    if feed:
        threading.Thread(target=feed, args=(process.stdin,), daemon=True).start()
    seen = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # closed by the other side
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    return process.wait(10), seen.decode()


def slowly(pipe):
    for i in range(0, len(TRAINING), len(TRAINING) // 8):
        pipe.write(TRAINING[i : i + len(TRAINING) // 8])
        pipe.flush()
        time.sleep(0.15)
    pipe.close()


def test_terminal_gets_colours(vramscope, folder):
    code, seen = on_terminal(folder, ["report", "snapshot.pickle"])
    assert code == 0 and "\x1b[1m" in seen and "Reading" not in seen
    for changes in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        _, seen = on_terminal(folder, ["report", "snapshot.pickle"], environment=make.environment(**changes))
        assert "\x1b" not in seen


def test_progress_appears_and_goes(vramscope, folder):
    code, seen = on_terminal(folder, ["report", "-"], feed=slowly)
    assert code == 0
    progress, answer = seen.rsplit("\r\x1b[K", 1)
    assert "Reading standard input: " in progress and "Reading" not in answer and "Peak" in answer


def test_no_progress_when_quiet(vramscope, folder):
    _, seen = on_terminal(folder, ["report", "-q", "-"], feed=slowly)
    assert "Reading" not in seen and "Next:" not in seen


def test_export_does_not_fill_the_screen(vramscope, folder):
    code, seen = on_terminal(folder, ["export", "snapshot.pickle", "json"])
    assert code == 2 and "-o memory.json" in seen
    assert on_terminal(folder, ["export", "-o", "-", "snapshot.pickle", "json"])[0] == 0
