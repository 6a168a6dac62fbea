"""vramscope fit on a real program: its figures are those of the same changes applied alone, to the byte, and what it finds fits when it is run again."""

import base64
import gzip
import json
import re

import pytest
from conftest import BINARY, PROGRAMS, PYTHON, environment_of, finish

MiB = 1 << 20
PROGRAM = [str(PYTHON), str(PROGRAMS / "changed.py"), "--width", "512", "--batch", "64"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fit")


def call(folder, *words, code=0):
    done = finish([BINARY, *words], environment_of({}), folder)
    assert done.code == code, done.err[-4000:]
    return done


def needed(folder, *options):
    """(what the driver had at the peak, the reply) of a dry run."""
    reply = json.loads(call(folder, "dryrun", "--json", *options, "--", *PROGRAM).out)
    return reply["devices"][0]["driver_peak_bytes"], reply


@pytest.fixture(scope="module")
def searched(folder):
    """(the size of the GPU, the reply): half of what checkpointing all blocks saves is missing."""
    plain, _ = needed(folder, "--gpu", "24GiB")
    (folder / "all.json").write_text('{"schema": 1, "changes": [{"name": "checkpoint"}]}')
    least, _ = needed(folder, "--gpu", "24GiB", "--with", "all.json")
    assert plain - least > 200 * MiB
    size = f"RTX4090:{(plain + least) // 2 // MiB}MiB"
    context = "404MiB"  # the context of a card of 24 GiB, which the needs above have
    done = call(folder, "fit", "--json", "--gpu", size, "--context", context, "-o", "found.json", "--html", "fit.html", "--", *PROGRAM)
    return ["--gpu", size, "--context", context], json.loads(done.out), plain


def test_it_finds_what_fits(folder, searched):
    card, reply, plain = searched
    answer = reply["answer"]
    assert answer["end"] == "found" and len(reply["runs"]) <= 24
    assert reply["runs"][0]["needed_bytes"] == plain
    assert json.loads((folder / "found.json").read_text()) == answer["changes"]
    call(folder, "dryrun", *card, "--", *PROGRAM, code=1)
    with_changes, again = needed(folder, *card, "--with", "found.json")
    assert with_changes == reply["runs"][answer["proof"]]["needed_bytes"]
    assert all(change["applied"] for change in again["changes"])
    call(folder, "run", "--gpu", "24GiB", "--with", "found.json", "-o", "found.vram", "--", *PROGRAM)


def test_the_replay_tells_what_the_run_needs(searched):
    """What the allocator's settings save, by a replay of the first run, is what they saved when they were run, to the byte."""
    _, reply, plain = searched
    replay = reply["runs"][0]["replay"]
    (alone,) = [run for run in reply["runs"] if run["title"] == f"allocator ({replay['settings']})" and run["roomy"]]
    assert replay["tried"] > 20 and replay["reserved_bytes"] < replay["own_reserved_bytes"]
    assert plain - alone["needed_bytes"] == replay["own_reserved_bytes"] - replay["reserved_bytes"]
    assert all(run["replay"] is None for run in reply["runs"][1:])


def test_the_page(folder, searched):
    """The answer, and both histories whole: that of the program as it is, and that of the run that is the proof."""
    _, reply, _ = searched
    page = (folder / "fit.html").read_text()
    boot = json.loads(re.search(r'id="boot">(.*?)</script>', page)[1])
    assert [file["name"] for file in boot["files"]] == ["as it is", "with the changes"]
    above = page.split("<body>\n<pre>")[1].split("</pre>")[0]
    assert above.startswith("The program needs") and "  1  " in above and "-&gt;" not in above
    for number, run in enumerate((reply["runs"][0], reply["runs"][reply["answer"]["proof"]])):
        data = re.search(rf'id="data-{number}">(.*?)</script>', page)[1]
        (folder / "embedded.pickle").write_bytes(gzip.decompress(base64.b64decode(data)))
        report = json.loads(call(folder, "report", "--json", "embedded.pickle").out)
        peak = run["reply"]["devices"][0]["torch"]["peak_allocated_bytes"]
        assert report["devices"][0]["peak"]["allocated_bytes"] == peak


def test_fewer_blocks_do_not_fit(folder, searched):
    card, reply, _ = searched
    changes = reply["answer"]["changes"]
    (checkpoint,) = [change for change in changes["changes"] if change["name"] == "checkpoint"]
    applied = reply["runs"][reply["answer"]["proof"]]["reply"]["changes"]
    (text,) = [change["outcomes"][0]["text"] for change in applied if change["name"] == "checkpoint"]
    checkpoint["first"] = int(text.split(" of 6 ")[0]) - 1
    assert checkpoint["first"] > 0
    (folder / "fewer.json").write_text(json.dumps(changes))
    call(folder, "dryrun", *card, "--with", "fewer.json", "--", *PROGRAM, code=1)


def test_each_figure_is_that_of_the_run_alone(folder, searched):
    _, reply, _ = searched
    alone = reply["answer"]["alone"]
    assert len(alone) >= 2
    run = reply["runs"][alone[-1]]
    again = json.loads(call(folder, run["alone"][1], "--json", *run["alone"][2:]).out)
    assert again["devices"][0]["driver_peak_bytes"] == run["needed_bytes"]


def test_costs_and_parts(searched):
    """A second forward pass of blocks is counted in kernels; the parts at the peak are those of the driver's figure."""
    _, reply, plain = searched
    runs = {run["title"]: run for run in reply["runs"]}
    assert runs["checkpoint (every 2)"]["kernels"] > runs["no change"]["kernels"]
    parts = reply["runs"][0]["at_peak"]
    assert sum(parts.values()) == plain
    assert parts["forward_bytes"] > plain // 3
    model = reply["runs"][0]["reply"]["model"]
    assert (parts["weights_bytes"], parts["optimizer_state_bytes"]) == (model["parameter_bytes"], model["optimizer_bytes"])
