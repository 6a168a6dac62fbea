"""Snapshots in Python: the same bytes as any other client gets, arrays over those bytes, every way to hand one in, every
way for it to be wrong, and nothing left behind."""

import gc
import gzip
import html.parser
import io
import json
import mmap
import os
import pickle
import resource
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import BINARY, PACKAGE, ROOT

sys.path.insert(0, str(PACKAGE))

import vramscope
from vramscope import _native, errors, query

QUESTIONS = os.environ["QUESTIONS"]  # tests/programs/questions.c: the library in C, without anything around it
REAL = sorted(Path(os.environ["VRAMSCOPE_SNAPSHOTS"]).glob("*.pickle")) if "VRAMSCOPE_SNAPSHOTS" in os.environ else []
CORPUS = sorted(p for kind in ("pickle", "snapshot") for p in (ROOT / "tests/corpus" / kind).iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """demo.vram, compact.vram (its frames deflated), demo.pickle and demo.json: the same run four times."""
    folder = tmp_path_factory.mktemp("demo")

    def run(*words):
        subprocess.run([BINARY, *words], cwd=folder, check=True, capture_output=True)

    run("demo", "-q", "--keep", "demo.vram")
    run("compact", "demo.vram", "-o", "compact.vram")
    run("export", "demo.vram", "pickle", "-o", "demo.pickle")
    run("export", "demo.vram", "json", "-o", "demo.json")
    return folder


@pytest.fixture(scope="module")
def demo(folder):
    return vramscope.open(folder / "demo.pickle")


# ---- the same bytes


def ask_in_c(path, requests):
    """[(status, bytes of the reply or sentence)] by the C library alone."""
    lines = b"".join(request + b"\n" for request in requests)
    out = io.BytesIO(subprocess.run([QUESTIONS, path], input=lines, capture_output=True, check=True).stdout)
    answers = []
    while head := out.readline():
        status, size = head.split()
        answers.append((status.decode(), out.read(int(size))))
    return answers


def all_requests():
    for method in query._METHODS:
        for format in ("csv", "json", "vram", "perfetto") if method == "export" else (None,):
            parameters = {} if format is None else {"format": format}
            yield json.dumps({"method": method, "params": parameters}).encode()
    yield b'{"method":"live","params":{"at":"end","by":"size","top":3},"indent":2}'
    yield b'{"method":"picture","params":{"columns":333,"rows":7,"what":"segments"}}'
    yield b'{"method":"pick","params":{"what":"segments","top":0}}'
    yield b'{"method":"live","params":{"device":77}}'
    yield b'{"method":"livid"}'
    yield b'{"method":'


def test_every_method_gives_the_bytes_of_the_library(folder):
    paths = [folder / "demo.pickle", folder / "demo.vram", *REAL]
    for path in paths:
        snapshot = vramscope.open(path)
        requests = list(all_requests())
        for request, (status, answer) in zip(requests, ask_in_c(path, requests), strict=True):
            try:
                got = "OK", bytes(snapshot.request(request))
            except errors.Error as error:
                got = error.status, str(error.args[0]).encode()
            assert got == (status, answer), (path.name, request)


def test_the_command_says_the_same(folder, demo):
    """`vramscope report --json FILE` is the report, byte for byte, and so are others."""
    for words, request in {("report",): {"method": "report"}, ("stats",): {"method": "stats"}}.items():
        said = subprocess.run([BINARY, *words, "--json", folder / "demo.pickle"], capture_output=True, check=True).stdout
        assert said.rstrip(b"\n") == bytes(demo.request(json.dumps(request).encode())).rstrip(b"\n")


def test_every_method_of_the_list_is_a_method_and_a_function(demo):
    listed = json.loads(str(demo.request(b'{"method":"methods"}'), "utf-8"))["methods"]
    assert len(listed) > 20
    for method in listed:
        name = method["name"]
        arguments = ["csv"] if name == "export" else []
        expected = demo.query(name, **({"format": "csv"} if arguments else {}))
        mine = getattr(demo, name)(*arguments)
        function = getattr(query, name)
        theirs = function(demo, *arguments) if method["needs_file"] else function()
        if method["reply"] == "columns":
            for reply in (expected, mine, theirs):
                reply["columns"] = {key: list(value) for key, value in reply["columns"].items()}
        assert same(mine, expected) and same(theirs, expected), name
        assert method["sentence"][1:] in function.__doc__ and name in query.__all__


def same(a, b):
    return json.dumps(a, default=list) == json.dumps(b, default=list) if not isinstance(a, bytes) else a == b


def test_parameters(demo):
    assert demo.live(at="end", top=1) == demo.query("live", at="end", top=1)
    assert demo.events(from_=100, to=110)["events"] == demo.query("events", **{"from": 100, "to": 110})["events"]

    class Whole:  # as NumPy's whole numbers are
        def __index__(self):
            return 3

    class Device:  # as torch.device is
        type, index = "cuda", 0

    assert len(demo.live(device=Device(), top=Whole())["groups"]) == 3
    with pytest.raises(errors.ArgumentError, match="did you mean 'at'"):
        demo.query("live", att="end")
    with pytest.raises(errors.ArgumentError, match="did you mean 'live'"):
        demo.query("lives")
    with pytest.raises(errors.NotFoundError):
        demo.live(device=5)
    with pytest.raises(TypeError):
        demo.live(att="end")
    with pytest.raises(TypeError):
        demo.live(at=object())


def test_offsets_of_wrong_requests(demo):
    with pytest.raises(errors.ArgumentError) as caught:
        demo.request(b'{"method": report}')
    assert caught.value.offset == 11
    with pytest.raises(errors.ArgumentError) as caught:
        query.settings("expandable_segments:True,nonsense:1")
    assert caught.value.offset == 25


# ---- columns


def test_columns_without_numpy_look_at_the_reply(demo):
    reply = demo.request(b'{"method":"picture","params":{"columns":200}}')
    got = query._read_columns(reply)["columns"]
    raw = bytes(reply)
    header = json.loads(raw[8 : 8 + struct.unpack("<I", raw[4:8])[0]])
    letters = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "u64": "Q", "f64": "d"}
    assert len(header["columns"]) > 10
    for name, column in header["columns"].items():
        letter, count, at = letters[column["type"]], column["count"], column["at"]
        expected = struct.unpack_from(f"<{count}{letter}", raw, at if count else 0)
        assert got[name].obj is reply and got[name].readonly
        packed = struct.pack(f"<{count}{letter}", *expected)
        assert got[name].tobytes() == packed == struct.pack(f"{len(got[name])}{letter}", *got[name])


def test_columns_as_numpy_arrays_share_the_replys_memory(plain, folder):
    """Nothing is copied: each array uses the memory of the reply, and keeps it alive."""
    result = plain("""
        import gc, json, struct, sys
        import vramscope
        from vramscope import query
        snapshot = vramscope.open(sys.argv[1])
        reply = snapshot.request(b'{"method":"picture","params":{"columns":200}}')
        columns = query._read_columns(reply)["columns"]
        import numpy
        whole = numpy.frombuffer(reply, "u1")
        raw = bytes(reply)
        header = json.loads(raw[8 : 8 + struct.unpack("<I", raw[4:8])[0]])["columns"]
        types = {"u8": "uint8", "u16": "uint16", "u32": "uint32", "i32": "int32", "u64": "uint64", "f64": "float64"}
        inside = all(numpy.shares_memory(array, whole) for array in columns.values() if len(array))
        begin = whole.__array_interface__["data"][0]
        placed = all(array.__array_interface__["data"][0] == begin + header[name]["at"]
                     for name, array in columns.items() if len(array))
        typed = all(array.dtype == types[header[name]["type"]] and len(array) == header[name]["count"]
                    for name, array in columns.items())
        readonly = not any(array.flags.writeable for array in columns.values())
        aligned = all(array.flags.aligned for array in columns.values())
        kept = columns["requested_high"]
        copy = kept.copy()
        count = sys.getrefcount(reply)
        del whole, columns
        gc.collect()
        dropped = count - sys.getrefcount(reply)
        del reply, snapshot
        gc.collect()
        again = [bytearray(len(raw)) for _ in range(64)]  # would land where it lay
        print(json.dumps([inside, placed, typed, readonly, aligned, dropped > 0, bool((kept == copy).all()), len(kept)]))
        """, folder / "demo.pickle").result
    assert result == [True] * 7 + [200]


# ---- every way to hand one in


def figures(snapshot):
    replies = {method: snapshot.query(method) for method in ("report", "stats", "live")}
    for reply in replies.values():
        reply.pop("file", None)
    return replies


def test_sources(folder, demo):
    data = (folder / "demo.pickle").read_bytes()
    packed = gzip.compress(data, 1)
    (folder / "demo.pickle.gz").write_bytes(packed)
    half = len(data) // 2
    members = gzip.compress(data[:half], 1) + gzip.compress(data[half:], 1) + b"\0" * 100
    expected = figures(demo)
    with open(folder / "demo.pickle", "rb") as file, open(folder / "demo.pickle", "rb", buffering=0) as raw, \
            mmap.mmap(os.open(folder / "demo.pickle", os.O_RDONLY), 0, prot=mmap.PROT_READ) as mapped:
        sources = [str(folder / "demo.pickle"), bytearray(data), memoryview(data), data, mapped, file, raw,
                   io.BytesIO(data), OnlyRead(data), folder / "demo.pickle.gz", packed, members, io.BytesIO(packed),
                   OnlyRead(members), pickle.loads(data), demo]
        for source in sources:
            assert figures(vramscope.open(source)) == expected, type(source)
    assert figures(vramscope.open(folder / "demo.json"))["live"] == expected["live"]
    assert figures(vramscope.open(folder / "compact.vram")) == figures(vramscope.open(folder / "demo.vram"))


class OnlyRead:
    """A file that has `read` and gives little at a time."""

    def __init__(self, data):
        self.file = io.BytesIO(data)

    def read(self, count):
        return self.file.read(min(count, 1000))


def test_what_the_file_says_of_itself(folder):
    data = (folder / "demo.pickle").read_bytes()
    packed = gzip.compress(data, 1)
    (folder / "named.gz").write_bytes(packed)

    def said(source, **more):
        file = vramscope.open(source, **more).info()["file"]
        return file["name"], file["bytes"], file["inflated_bytes"], file["compressed"]

    assert said(folder / "named.gz") == (str(folder / "named.gz"), len(packed), len(data), True)
    assert said(folder / "demo.pickle", name="x") == ("x", len(data), len(data), False)
    assert said(data) == ("bytes", len(data), len(data), False)
    assert said(io.BytesIO(packed)) == ("file", len(packed), len(data), True)
    assert said(pickle.loads(data))[0] == "snapshot"
    strange = "caf\udce9.pickle"  # a file name that is no UTF-8
    (folder / strange).write_bytes(data)
    assert said(folder / strange)[0] == str(folder / strange)


def test_a_pipe_with_a_name(folder):
    os.mkfifo(folder / "pipe")
    for data in ((folder / "demo.pickle").read_bytes(), gzip.compress((folder / "demo.pickle").read_bytes(), 1)):
        writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(data,))
        writer.start()
        assert vramscope.open(folder / "pipe").info()["file"]["inflated_bytes"] > 800_000
        writer.join()


# ---- every way to be wrong


def test_the_corpus_is_refused_as_the_command_refuses_it():
    """Each file that once broke something: the same sentence and the same byte, or loaded by both."""
    assert len(CORPUS) > 60
    refused = 0
    for path in CORPUS:
        done = subprocess.run([BINARY, "stats", path], capture_output=True, text=True, errors="surrogateescape",
                              check=False)
        try:
            vramscope.open(path)
            assert done.returncode == 0, (path, done.stderr)
        except errors.Error as error:
            refused += 1
            assert done.returncode != 0, (path, error)
            said = " ".join(done.stderr.split())
            assert escaped(error.args[0]) in said, (path, error, said)
            if error.offset is not None:
                assert f"{error.offset:,}" in said or str(error.offset) in said, (path, error.offset, said)
    assert refused > 40


def escaped(text):
    """As the command shows what a file says: bytes that are no text as \\xNN."""
    return " ".join("".join(c if c.isprintable() else f"\\x{ord(c) & 0xff:02x}" for c in text).split())


def test_every_cut_is_found(folder):
    data = (folder / "demo.pickle").read_bytes()
    for end in [1, 2, 10, *range(1000, len(data) - 1, 41_113), len(data) - 1]:
        with pytest.raises(errors.FormatError) as caught:
            vramscope.open(data[:end])
        assert caught.value.status == "TRUNCATED" and caught.value.offset <= end


def test_nothing_of_a_pickle_is_run():
    class Evil:
        def __reduce__(self):
            return os.mkdir, ("/tmp/vramscope-was-run",)

    with pytest.raises(errors.RefusedError) as caught:
        vramscope.open({"segments": [], "device_traces": [Evil()]})
    assert caught.value.status == "REFUSED" and caught.value.offset is not None
    assert not os.path.exists("/tmp/vramscope-was-run")


def test_gzip_that_is_damaged(folder):
    data = (folder / "demo.pickle").read_bytes()
    packed = gzip.compress(data, 1)
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    with pytest.raises(errors.Error) as caught:
        vramscope.open(bytes(damaged))
    assert caught.value.offset is not None
    with pytest.raises(errors.FormatError, match="truncated") as caught:
        vramscope.open(packed[:-9])
    assert caught.value.offset == len(packed) - 9
    with pytest.raises(errors.UnsupportedError, match="compressed twice"):
        vramscope.open(gzip.compress(packed))
    bomb = gzip.compress(b"\x80\x04]" + b"0" * (80 << 20), 6)
    with pytest.raises(errors.Error) as caught:  # whichever comes first: the growth, or that it is no snapshot
        vramscope.open(bomb)
    assert caught.value.status in ("LIMIT", "BAD_FORMAT")
    zeros = gzip.compress(b'{"segments": [' + b" " * (80 << 20), 6)
    with pytest.raises(errors.LimitError, match="256-fold"):
        vramscope.open(zeros)


def test_a_damaged_frame_of_a_compacted_recording(folder):
    """The damaged frame is left out and reported, as the format requires: no crash, no Python error from zlib."""
    data = bytearray((folder / "compact.vram").read_bytes())
    lost = 0
    for at in range(2000, len(data), len(data) // 16):
        damaged = bytes(data[:at]) + bytes([data[at] ^ 0xFF]) + bytes(data[at + 1 :])
        try:
            lost += vramscope.open(damaged).info()["file"]["recording"]["lost_frames"]
        except errors.FormatError:
            lost += 1
    assert lost > 0


def test_inflating_to_another_length_is_damage(folder):
    """Whatever the function gives back: never a byte beyond it, never one too many."""
    import zlib

    data = (folder / "compact.vram").read_bytes()

    def lost(change):
        engine = _native.Engine()
        engine.load(data, b"x", None, None, Inflater(lambda packed, size: change(zlib.decompress(packed, -15))))
        return json.loads(str(engine.request(b'{"method":"info"}'), "utf-8"))["file"]["recording"]["lost_frames"]

    assert lost(lambda plain: plain) == 0
    for change in (lambda plain: plain + b"x", lambda plain: plain[:-1], lambda plain: b"", lambda plain: None):
        try:
            assert lost(change) > 0
        except errors.FormatError:
            pass
    with pytest.raises(TypeError):
        lost(lambda plain: 5)


class Inflater:
    """One for frames, or one for gzip."""

    def __init__(self, frame=None, unpack=None):
        self.frame, self.unpack = frame, unpack

    def begin(self):
        pass


def test_a_gzip_inflater_that_misbehaves():
    """Never a byte beyond what there is room for, and what it raises is raised."""

    def load(unpack):
        _native.Engine().load(gzip.compress(b"x"), b"x", None, None, Inflater(unpack=unpack))

    for wrong in (lambda packed, room: (bytes(room + 1), 0, False), lambda packed, room: (b"", len(packed) + 1, False),
                  lambda packed, room: (b"", -1, False)):
        with pytest.raises(ValueError, match="more than there was"):
            load(wrong)
    with pytest.raises(TypeError):
        load(lambda packed, room: "much")
    with pytest.raises(ZeroDivisionError):
        load(lambda packed, room: 1 // 0)
    with pytest.raises(AttributeError):
        _native.Engine().load(gzip.compress(b"x"), b"x", None, None, object())
    with pytest.raises(errors.FormatError, match="damaged"):
        load(lambda packed, room: None)
    with pytest.raises(errors.UnsupportedError, match="cannot read"):
        _native.Engine().load(gzip.compress(b"x"), b"x", None, None, None)


def test_text_of_a_file_that_is_no_utf8():
    with pytest.raises(errors.RefusedError, match="asks for \udcff\udcfe.a;"):
        vramscope.open(b"\x80\x04\x8c\x02\xff\xfe\x8c\x01a\x93.")


def test_things_that_are_no_snapshot(folder):
    for wrong in (5, None, 1.5, object(), {1, 2}):
        with pytest.raises(TypeError, match="a snapshot is a path"):
            vramscope.open(wrong)
    with pytest.raises(FileNotFoundError):
        vramscope.open(folder / "missing.pickle")
    with pytest.raises(IsADirectoryError):
        vramscope.open(folder)
    with pytest.raises(errors.FormatError, match="empty"):
        vramscope.open(b"")
    with pytest.raises(errors.UnsupportedError, match="zip archive"):
        vramscope.open(b"PK\x03\x04" + bytes(100))


# ---- while it loads


def test_progress_is_told_and_may_cancel(folder):
    calls = []
    snapshot = vramscope.open(folder / "demo.pickle", progress=lambda *far: calls.append(far))
    size = (folder / "demo.pickle").stat().st_size
    demo = pickle.loads((folder / "demo.pickle").read_bytes())
    big = pickle.dumps({**demo, "more": ["x" * 1000 + str(i) for i in range(9000)]})
    vramscope.open(big, progress=lambda *far: calls.append(far))
    far = [count for count, total in calls if total == len(big)]
    assert len(far) > 4 and far == sorted(far) and far[-1] <= len(big)
    with pytest.raises(errors.CancelledError):
        vramscope.open(big, progress=lambda count, total: False)
    with pytest.raises(ZeroDivisionError):
        vramscope.open(big, progress=lambda count, total: 1 // 0)
    far, packed = [], gzip.compress(pickle.dumps({**demo, "more": [os.urandom(1000) for _ in range(4000)]}), 1)
    vramscope.open(packed, progress=lambda *now: far.append(now))
    assert len(far) > 2 and {total for _, total in far} == {len(packed)} and far[-1][0] <= len(packed)
    far = []
    vramscope.open(io.BytesIO(packed), progress=lambda *now: far.append(now))
    assert len(far) > 2 and {total for _, total in far} == {None}
    assert snapshot.info()["file"]["bytes"] == size


def test_a_callback_cannot_use_the_engine_that_calls_it(folder):
    engine = _native.Engine()
    data = (folder / "demo.pickle").read_bytes()
    seen = []

    def progress(count, total):
        with pytest.raises(RuntimeError, match="callback"):
            engine.request(b'{"method":"methods"}')
        seen.append(count)

    engine.load(data, b"x", None, progress, None)
    assert seen and len(engine.request(b'{"method":"info"}')) > 100


def test_readers_that_misbehave(folder):
    def load(readinto):
        _native.Engine().load(readinto, b"x", None, None, None)

    with pytest.raises(ZeroDivisionError):
        load(lambda view: 1 // 0)
    with pytest.raises(ValueError, match="more than there was room"):
        load(lambda view: len(view) + 1)
    with pytest.raises(OverflowError):
        load(lambda view: -1)
    with pytest.raises(TypeError):
        load(lambda view: "much")
    kept = []

    def keep(view):
        kept.append(view)
        return 0

    with pytest.raises(errors.FormatError):
        load(keep)
    with pytest.raises(ValueError, match="released"):
        kept[0][0]


def test_loading_lets_other_threads_run(folder):
    """The library waits for a pipe that another thread of this process fills: for ever, if it held the interpreter's
    lock."""
    data = (folder / "demo.pickle").read_bytes()
    reading, writing = os.pipe()
    engine = _native.Engine()
    thread = threading.Thread(target=engine.load, args=(reading, b"pipe", None, None, None))
    thread.start()
    with os.fdopen(writing, "wb") as file:
        file.write(data)
    thread.join()
    os.close(reading)
    assert len(engine.request(b'{"method":"report"}')) > 1000


def test_who_comes_second_waits(folder):
    """A request that arrives while the file is loading is answered after the file is loaded."""
    file = open(folder / "demo.pickle", "rb")
    engine = _native.Engine()
    began, go = threading.Event(), threading.Event()
    answers = []

    def readinto(view):
        began.set()
        assert go.wait(60)
        return file.readinto(view)

    loader = threading.Thread(target=engine.load, args=(readinto, b"x", None, None, None))
    asker = threading.Thread(target=lambda: answers.append(engine.request(b'{"method":"info"}')))
    loader.start()
    assert began.wait(60)
    asker.start()
    asker.join(0.1)  # long enough to be refused at once, if nothing made it wait
    assert not answers
    go.set()
    loader.join()
    asker.join()
    file.close()
    assert len(answers) == 1 and len(answers[0]) > 100


def test_trees_come_folded(demo):
    """As the command line draws them: each node with its words, its caller before it, and sums that add up."""
    tree = demo.tree(at="end", top=5)
    assert tree["frames"] == "calls" and tree["nodes"][0]["parent"] is None
    sums = [node["bytes"] - node["self_bytes"] for node in tree["nodes"]]
    for node in tree["nodes"][1:]:
        sums[node["parent"]] -= node["bytes"]
        assert node["name"] and node["kind"] in ("user", "library", "rest")
    assert not any(sums) and tree["nodes"][1]["place"].endswith(".py:" + str(tree["nodes"][1]["line"]))
    assert demo.tree(at="end", top=0, frames="all")["node_count"] > demo.tree(at="end", top=0)["node_count"]
    assert demo.tree(at="end", inverted=True)["inverted"] is True


def test_many_threads_one_snapshot(demo):
    expected = bytes(demo.request(b'{"method":"tree"}'))
    wrong = []

    def ask():
        for _ in range(20):
            if bytes(demo.request(b'{"method":"tree"}')) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- what is left behind: nothing


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_loads_replies_and_errors_leak_nothing(folder):
    data = (folder / "demo.pickle").read_bytes()
    packed = gzip.compress(data, 1)
    broken = data[:-1000]

    def everything():
        snapshot = vramscope.open(data)
        snapshot.picture(columns=300)
        snapshot.export("json")
        for bad in (broken, b"nonsense"):
            with pytest.raises(errors.FormatError):
                vramscope.open(bad)
        with pytest.raises(errors.ArgumentError):
            snapshot.query("nothing")
        with pytest.raises(ZeroDivisionError):
            vramscope.open(data, progress=lambda *far: 1 // 0)
        vramscope.open(packed).close()

    for _ in range(5):
        everything()
    gc.collect()
    watched = (data, _native.Reply, _native.Engine)
    before, references = resident(), [sys.getrefcount(each) for each in watched]
    for _ in range(30):
        everything()
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == references
    assert resident() - before < 16 << 20  # a snapshot is some MiB, a reply one; 30 times several of each


def test_the_types_are_closed():
    for name in ("Reply", "Engine", "Devices"):
        with pytest.raises(TypeError):
            getattr(_native, name).more = 1
    with pytest.raises(TypeError):
        _native.Reply()
    with pytest.raises(TypeError):
        _native.Engine(1)


# ---- how it looks


def test_texts(demo, folder):
    assert repr(demo) == (f"<vramscope.Snapshot '{folder / 'demo.pickle'}': 1 GPU, 15,928 events, "
                          "6.88 GiB reserved at the end>")
    report = demo.report()
    assert report == json.loads(str(demo.request(b'{"method":"report"}'), "utf-8")) and json.dumps(report)
    text = str(report)
    assert text == repr(report)
    words = [BINARY, "report", folder / "demo.pickle"]
    command = " ".join(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    shown = [line for line in report["devices"][0]["lines"] if not line["detail"]]
    for words in [line["text"] for line in shown] + [row["label"] for row in shown[4]["rows"][:5]]:
        assert words in " ".join(text.split()) and words in command
    for figure in ("failed to allocate 786.0 MiB", "6.41 GiB requested", "train.py:46 train_step", "metrics.py:19 topk",
                   "15,928 events"):
        assert figure in text and figure in command
    with vramscope.open(folder / "demo.pickle") as snapshot:
        columns = snapshot.picture()["columns"]
    assert repr(snapshot).endswith(", closed>") and len(columns["requested_high"])
    with pytest.raises(errors.NotFoundError, match="closed"):
        snapshot.live()


def test_html_shows_the_curve_and_escapes(demo):
    class Reader(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.seen = [], set()

        def handle_starttag(self, tag, attributes):
            self.open.append(tag)
            self.seen.add(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    data = pickle.dumps({"segments": [], "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2 << 20, "stream": 0, "frames": []},
        {"action": "alloc", "addr": 4096, "size": 4096, "stream": 0,
         "frames": [{"name": "<script>", "filename": "a<b>&.py", "line": 3}]}]]})
    for snapshot in (demo, vramscope.open(data, name="<script>alert(1)</script>")):
        for text in (snapshot._repr_html_(), snapshot.report()._repr_html_()):
            reader = Reader()
            reader.feed(text)
            reader.close()
            assert not reader.open and {"svg", "path", "table"} <= reader.seen and "script" not in reader.seen


def test_databases_are_refused_with_a_sentence():
    with pytest.raises(vramscope.Error, match="SQLite database; vramscope with SQLite reads those of Nsight Systems"):
        vramscope.open(ROOT / "tests" / "corpus" / "database" / "export")


@pytest.mark.parametrize("name", ["kineto", "rmm", "pprof", "nsys"])
def test_files_of_other_programs(name):
    """They have no segments: what is reserved is unknown, and no figure is made of that."""
    with vramscope.open(ROOT / "tests" / "corpus" / "accounts" / name) as snapshot:
        assert repr(snapshot).endswith(" events>") and "GPU" in repr(snapshot)
        (device, *_) = snapshot.query("report")["devices"]
        assert device["end"]["reserved_bytes"] is None and device["end"]["allocated_bytes"] > 0
        assert "of reserved" not in snapshot._repr_html_()
