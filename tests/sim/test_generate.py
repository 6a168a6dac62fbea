"""transformers' generate() ends, at its max_length, and its cache has the bytes that follow from the model's shape."""

import json
import os
import subprocess

import conftest as make

LAYERS, BATCH, PROMPT, KV_HEADS, HEAD_BYTES = 4, 2, 16, 4, 256 // 8 * 2


def rounded(size):
    return -(-size // 512) * 512


def test_generate(tmp_path):
    program = [os.environ["VRAMSCOPE_SIM_PYTHON"], make.PROGRAMS / "generate.py"]
    done = subprocess.run([os.environ["VRAMSCOPE"], "dryrun", "--json", "--gpu", "4GiB", "--", *program], capture_output=True, text=True,
                          cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    reply, told = json.loads(done.stdout), json.loads(done.stderr.strip().splitlines()[-1])
    for name, tokens in (("greedy", 20), ("sample", 300), ("to a length", 40 - PROMPT)):
        length = PROMPT + tokens - 1  # the last token has not been through the model
        layer = rounded(BATCH * KV_HEADS * HEAD_BYTES * length)
        held = 2 * LAYERS * layer + rounded(8 * BATCH * (PROMPT + tokens))
        assert told[name] == {"shape": [BATCH, PROMPT + tokens], "length": length, "held": held}, name
    assert (told["beams"]["shape"], told["beams"]["length"]) == ([BATCH, PROMPT + 20], PROMPT + 20 - 1)
    # 60 tokens: each step makes those drafted (20 by the assistant, none that the prompt shows) and one more.
    for name, steps in (("assisted", 3), ("assisted sampling", 3), ("prompt lookup", 60)):
        assert told[name] == {"shape": [1, PROMPT + 60], "length": PROMPT + 60 - 1, "steps": steps}, name
    assert told["batch"] == [20, 20]
    assumed = {doubt["what"]: doubt["processes"] for doubt in reply["doubts"] if doubt["kind"] == "assumed"}
    assert [word for word in ("max_length", "every drafted token", "max_new_tokens") if any(word in what for what in assumed)] == [
        "max_length", "every drafted token", "max_new_tokens"]
    assert set(assumed.values()) == {1}
    assert "has read the same value" not in done.stderr  # the hook knows that these loops end
    owners = [owner["label"] for owner in reply["report"][0]["peak"]["owners"]]
    assert not any("vramscope" in owner for owner in owners)
    assert any("generate.py" in owner for owner in owners)  # generate_batch() works in a thread without a line of the program
    assert not [doubt for doubt in reply["doubts"] if doubt["kind"] == "not_recorded"]


def test_model_of_a_server(tmp_path):
    """Its server deletes the model before the process ends."""
    program = [os.environ["VRAMSCOPE_SIM_PYTHON"], make.PROGRAMS / "server_model.py"]
    done = subprocess.run([os.environ["VRAMSCOPE"], "dryrun", "--json", "--gpu", "4GiB", "--", *program], capture_output=True, text=True,
                          cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    model, parameters = json.loads(done.stdout)["model"], int(done.stderr.split()[-1])
    assert (model["parameters"], model["parameter_bytes"]) == (parameters, 2 * parameters)
    assert parameters == 2 * 1000 * 256 + 256 + 2 * (4 * 256 * 256 + 3 * 256 * 512 + 2 * 256)
