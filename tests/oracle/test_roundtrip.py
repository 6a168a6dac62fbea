"""`export` writes what it read: equal data for modern files, equal figures for old ones, for any reader of pickles."""

import json
import pickle
import pickletools

import pytest

import cli
import closed_unpickler
import shapes
import truth
from compare import NOT_COMPARED
from conftest import NO_SNAPSHOTS, real_snapshots
from run import DeviceRun, Event, Run
from simulate import random_run, sample_run
from writers import WRITERS, as_kept

pytestmark = pytest.mark.binary

# What PyTorch's own page can read.
OPCODES = set(
    "PROTO FRAME MARK STOP NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE "
    "EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT DICT SETITEM SETITEMS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 MEMOIZE "
    "BINPUT LONG_BINPUT BINGET LONG_BINGET".split()
)
LARGEST_BATCH = 1000
OLD_AGES = [name for name in shapes.AGES if name not in shapes.ROUND_TRIP_AGES]


@pytest.fixture(scope="module")
def sample():
    return sample_run()


def export(source, form, target):
    outcome = cli.run("export", source, form, "-o", target)
    assert outcome.code == 0, f"exit code {outcome.code}, stderr {outcome.err!r}"
    return target.read_bytes()


def assert_viewer_can_read(raw):
    protocol = closed_unpickler.read_bytes(raw).pickle_protocol
    assert protocol in (2, 3, 4)
    used = {op.name for op, _, _ in pickletools.genops(raw)}
    assert used <= OPCODES, f"opcodes the page does not know: {used - OPCODES}"


def without_numbers(value):
    """A reply without the numbers that stacks have in one file: another file counts them in another order. No stack and
    an empty one are the same here: old files are written back with the empty lists that they lack."""
    if isinstance(value, dict):
        return {key: [] if key == "stack" and item is None else without_numbers(item) for key, item in value.items()
                if key != "stack_id" and not (key == "key" and isinstance(item, int))
                and not (key == "filter" and str(item).startswith("stack="))}
    return [without_numbers(item) for item in value] if isinstance(value, list) else value


def figures(report):
    """A report without what belongs to the file itself."""
    kept = without_numbers({key: value for key, value in report.items() if key != "file"})
    for device in [*kept["devices"], *([kept["host"]] if kept["host"] else [])]:
        findings = device["trust"]["findings"]
        device["trust"]["findings"] = [f for f in findings if f["kind"] not in NOT_COMPARED]
        device["lines"] = [line for line in device["lines"] if line["about"] != "note"]  # the same as sentences
    return kept


def as_lists(data):
    return as_kept(data, "json")


def assert_equal_data(expected, actual, what):
    """Equal, or the first place where not."""
    if type(expected) is not type(actual):
        raise AssertionError(f"{what}: expected {type(expected).__name__} {expected!r:.200}, got {actual!r:.200}")
    if isinstance(expected, dict):
        assert expected.keys() == actual.keys(), f"{what}: keys {list(expected)}, got {list(actual)}"
        for key, value in expected.items():
            assert_equal_data(value, actual[key], f"{what}.{key}")
    elif isinstance(expected, (list, tuple)):
        assert len(expected) == len(actual), f"{what}: {len(expected)} items, got {len(actual)}"
        for i, pair in enumerate(zip(expected, actual)):
            assert_equal_data(*pair, f"{what}[{i}]")
    else:
        assert expected == actual, f"{what}: expected {expected!r}, got {actual!r}"


def check_round_trip(source, tmp_path):
    """Checks what holds for every PyTorch version. Returns the exported data."""
    raw = export(source, "pickle", tmp_path / "once.pickle")
    assert_viewer_can_read(raw)
    again = export(tmp_path / "once.pickle", "pickle", tmp_path / "twice.pickle")
    assert again == raw, "an export of the export is another file"
    assert figures(cli.report_of(tmp_path / "once.pickle")) == figures(cli.report_of(source))
    data = closed_unpickler.unpickle(raw)
    original = closed_unpickler.read_file(source).data
    assert truth.report_of_data(data) == truth.report_of_data(original)
    devices = {segment["device"] for segment in data["segments"]}
    assert len(data["device_traces"]) > max(devices, default=-1), "the page needs a trace for each device"
    text = export(source, "json", tmp_path / "once.json")
    assert truth.report_of_data(json.loads(text)) == truth.report_of_data(original)
    return data, json.loads(text)


@pytest.mark.parametrize("writer", ["c-0", "c-2", "c-4", "c-5", "cpp", "json", "c-4.gz"])
@pytest.mark.parametrize("age", shapes.ROUND_TRIP_AGES)
def test_modern_data_comes_back_equal(age, writer, sample, snapshot_file, tmp_path):
    expected = shapes.build(sample, age)
    data, text = check_round_trip(snapshot_file(WRITERS[writer].write(expected)), tmp_path)
    assert_equal_data(as_lists(expected), text, "json")
    if WRITERS[writer].keeps == "json":  # pairs came in as lists
        assert_equal_data(as_lists(expected), as_lists(data), "pickle")
    else:
        assert_equal_data(expected, data, "pickle")


@pytest.mark.parametrize("writer", ["c-4", "cpp"])
@pytest.mark.parametrize("age", [*OLD_AGES, "profiler"])
def test_old_data_comes_back_normalised(age, writer, sample, snapshot_file, tmp_path):
    original = shapes.profiler_derived(sample) if age == "profiler" else shapes.build(sample, age)
    data, _ = check_round_trip(snapshot_file(WRITERS[writer].write(original)), tmp_path)
    for segment in data["segments"]:
        for block in segment["blocks"]:
            assert {"address", "size", "requested_size", "state", "frames"} <= block.keys()


@pytest.mark.parametrize("seed", range(1000, 1006))
def test_random_runs_come_back_equal(seed, snapshot_file, tmp_path):
    expected = shapes.build(random_run(seed)[0], "2.15")
    data, _ = check_round_trip(snapshot_file(WRITERS["c-4"].write(expected)), tmp_path)
    assert_equal_data(expected, data, f"seed {seed}")


@pytest.mark.parametrize("path", real_snapshots() or [None], ids=lambda p: p.name if p else "none")
def test_real_snapshots_come_back(path, tmp_path):
    if path is None:
        pytest.skip(NO_SNAPSHOTS)
    original = closed_unpickler.read_file(path).data
    data, _ = check_round_trip(path, tmp_path)
    if "external_annotations" in original:
        assert_equal_data(original, data, path.name)


class BatchMeasure(pickle._Unpickler):
    """Notes the most items any APPENDS or SETITEMS takes at once."""

    dispatch = dict(pickle._Unpickler.dispatch)
    largest = 0

    def find_class(self, module, name):
        raise closed_unpickler.Refused(name)

    def measured(self, load, each):
        self.largest = max(self.largest, len(self.stack) // each)
        load(self)


def _measure(opcode, each):
    load = BatchMeasure.dispatch[opcode[0]]
    BatchMeasure.dispatch[opcode[0]] = lambda self: self.measured(load, each)


_measure(pickle.APPENDS, 1)
_measure(pickle.SETITEMS, 2)


def test_long_traces_are_written_in_batches(snapshot_file, tmp_path):
    """The page spreads a batch over a call's arguments, of which there is a limit."""
    events = [Event("annotate", 4096 + i, i, time=i) for i in range(3500)]
    data = shapes.build(Run([DeviceRun(events, [])]), "2.15")
    target = tmp_path / "out.pickle"
    raw = export(snapshot_file(WRITERS["cpp"].write(data)), "pickle", target)
    with open(target, "rb") as file:
        reader = BatchMeasure(file)
        assert reader.load() == data
    assert reader.largest <= LARGEST_BATCH
    assert_viewer_can_read(raw)


def test_what_is_shared_stays_shared(snapshot_file, tmp_path):
    """Stacks and strings are written once, not at each use."""
    data = shapes.build(random_run(16)[0], "2.12")
    raw = WRITERS["c-4"].write(data)
    source = snapshot_file(WRITERS["memoless-2"].write(data))
    exported = export(source, "pickle", tmp_path / "out.pickle")
    assert len(exported) < 1.5 * len(raw) + 4096, f"{len(exported)} bytes, by CPython {len(raw)}"


def test_a_refused_file_leaves_no_export(snapshot_file, tmp_path):
    for form in ("pickle", "json"):
        target = tmp_path / "out"
        cli.assert_refused(cli.run("export", snapshot_file(b"\x80\x04cos\nsystem\n."), form, "-o", target), form)
        assert not target.exists()
