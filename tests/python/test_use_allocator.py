"""vramscope's allocator under PyTorch: PyTorch's own decisions, and what PyTorch refuses with other allocators."""

import json
import subprocess

import pytest
from conftest import BINARY, PACKAGE, preload

SETTINGS = ["", "expandable_segments:True"]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s.split(":")[0] or "default")
def test_it_decides_as_pytorchs_own(simulated, settings):
    """Training with two streams, a captured graph, failures, a limit: every event with its address and Python frames,
    every segment, statistic and text is the same."""
    more = [settings] if settings else []
    theirs, ours = (simulated("allocator_parity.py", whose, *more).result for whose in ("torch", "ours"))
    assert (theirs.pop("backend"), ours.pop("backend")) == ("native", "pluggable")
    for what, is_there in theirs.items():
        assert ours[what] == is_there, what
    actions = {event[0] for event in ours["events"]}
    assert actions >= {"alloc", "free_requested", "free_completed", "oom"}
    assert ("segment_unmap" if settings else "segment_free") in actions
    assert any(event[4] != [0, 0] for event in ours["events"]), "the graph had a pool of its own"
    assert any(event[3] != 0 for event in ours["events"]), "the side stream allocated"
    assert len(ours["events"]) > 400
    assert len(ours["texts"]) == 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    from conftest import command, finish, simulated_environment

    folder = tmp_path_factory.mktemp("whole")
    done = finish(command("allocator_whole.py", [folder]), simulated_environment(), folder)
    return done.result, folder


def test_opening(whole):
    found, _ = whole
    assert found["before"] == [True, True, False]
    assert "did you mean 'max_split_size_mb'" in found["settings_refused"]
    assert found["open_after_refusal"] is False, "a refusal leaves nothing behind: the next try may succeed"
    assert found["is_active"] and "all of PyTorch, 1 device" in found["repr"] and "already" in found["twice"]
    assert found["max_split"] == 512 * 2**20


def test_running_out_is_an_error_everywhere(whole):
    """From plain calls, inside operators, on autograd's thread and a thread of the program's: torch.OutOfMemoryError,
    never a tensor at address 0; observers are called, and one that raises does no harm."""
    found, _ = whole
    assert found["fails"] == [[True, True]] * 5
    tib = 2**40
    assert [told[:3] for told in found["heard"][:5]] == [[0, n * tib, 8 * 2**30] for n in (1, 4, 2, 4, 1)]
    assert all(0 < told[3] < 8 * 2**30 for told in found["heard"][:5])
    assert found["text_kept"] == "Tried to allocate 4096.00 GiB", "the last of this thread, not of autograd's"
    assert found["observer_fault"] == 'KeyError("an observer\'s own fault")'
    assert found["still_works"] == 10 and found["zero"] == 0 and found["extras"] == 5


def test_figures(whole):
    found, _ = whole
    assert found["scope"] == [[0, 0, 48 * 2**20], [0, 16 * 2**20, 48 * 2**20], 2]
    assert found["scope_again"] is True
    assert found["room"] == [True] * 4
    assert found["flat"] and found["nested"] and found["settings"] and found["accelerator"] and found["no_such_device"]
    assert found["devices"] == 1


def test_history(whole):
    found, _ = whole
    assert [text.split(",")[0] for text in found["history_refused"][:3]] == [
        "expected state to be 'all'", "expected context to be 'all'", "expected stacks to be 'python'"]
    assert "no action" in found["history_refused"][3]
    assert found["metadata"] == '{"step":1}' and found["ring"] == [5, '{"step":1}']
    assert found["annotations"] == [["START", "a named part"], ["END", "a named part"]]
    assert found["history_off"] == 0 and found["legacy"][1] == "<listcomp>"
    assert found["segments_only"] == [True, 0] and found["no_recording"]


def test_threads(whole):
    """No thread waits for the interpreter's lock while it holds a card's lock: the program ended."""
    found, _ = whole
    assert found["threads"] is True


def test_what_pytorch_has_of_its_own(whole):
    found, _ = whole
    assert found["strange"] and found["mempool"] and found["unpatched"] and found["patched"]
    assert found["viz"] == [True] * 5


@pytest.mark.parametrize("name", ["torch.pickle", "ours.pickle", "run.vram", "second.vram"])
def test_our_own_tools_open_it(whole, name):
    """Snapshots, a recording that was stopped, and one that the end of the process stopped."""
    _, folder = whole
    told = subprocess.run([BINARY, "report", "--json", folder / name], capture_output=True, text=True, check=True)
    (device,) = json.loads(told.stdout)["devices"]
    assert device["trace"]["allocs"] > 0
    assert device["trace"]["ooms"] == (5 if name == "run.vram" else 0)
    if name.endswith(".vram"):
        assert json.loads(told.stdout)["file"]["recording"]["lost_events"] == 0
    assert "allocator_whole.py" in told.stdout, "stacks are Python's"


def test_inside_a_pool(simulated):
    """PyTorch's own allocator goes on, and asks ours for whole segments."""
    found = simulated("allocator_pool.py").result
    assert "comes too late" in found["too_late"] and "pool=True" in found["too_late"]
    assert found["active"] and found["backend"] == "native" and found["stats"] and found["oom"]
    assert found["ours"] == [14 * 2**20, 14 * 2**20], "a large segment and a small one"
    assert found["where"] == [0, 0]


REFUSED = """
    import json, vramscope
    try:
        vramscope.use_allocator()
    except vramscope.Error as error:
        refusal = [type(error).__name__, str(error)]
"""


def test_without_the_driver(simulated):
    """A sentence, and PyTorch is as it was."""
    libraries = [path for path in preload().split(":") if not path.endswith("libcuda.so.1")]
    name, text, backend = simulated(REFUSED + """
    import torch
    print(json.dumps([*refusal, torch.cuda.get_allocator_backend()]))
    """, LD_PRELOAD=":".join(libraries)).result
    assert name == "NotFoundError" and "libcuda.so.1" in text, text
    assert backend == "native"


def test_where_pytorch_does_not_load(plain, tmp_path):
    """The wheel for CUDA raises errors of several kinds where CUDA's libraries are missing: each ends as a sentence."""
    for kind in ("OSError", "ValueError", "ImportError"):
        (tmp_path / "torch.py").write_text(f"raise {kind}('libcublasLt.so.13: no such file')\n")
        name, text = plain(REFUSED + "    print(json.dumps(refusal))\n", PYTHONPATH=f"{tmp_path}:{PACKAGE}").result
        assert name == "UnsupportedError" and "PyTorch does not load here" in text and "libcublasLt.so.13" in text, text
