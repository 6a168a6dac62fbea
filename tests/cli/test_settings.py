"""vramscope settings: what the allocator's settings mean, given or found in the environment."""

import json
import os
import re

import pytest

VARIABLES = ("VRAMSCOPE_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
USAGE = 2


def section(out, label):
    """The lines of one label, as one line."""
    text = re.search(rf"^{label} +(.*\n(?: .*\n)*)", out, re.M)
    return " ".join(text[1].split()) if text else None


@pytest.mark.parametrize(
    "name, text",
    (
        ("settings", "expandable_segments:True,max_split_size_mb:128"),
        ("settings_profile", "profile:torch-2.6,roundup_power2_divisions:[256:1,512:2,>:8],garbage_collection_threshold:0.8"),
        ("settings_async", "backend:cudaMallocAsync,max_split_size_mb:128,pinned_num_register_threads:4"),
    ),
)
def test_given(vramscope, golden, name, text):
    done = vramscope("settings", text)
    assert done.code == 0 and done.err == ""
    assert all(len(line) <= 80 or line.startswith("Next:") for line in done.out.splitlines())
    golden(name, done.out)


def test_nothing_set(vramscope, golden):
    done = vramscope("settings")
    assert done.code == 0 and done.err == ""
    golden("settings_nothing", done.out)


@pytest.mark.parametrize("width", (40, 60, 120))
def test_width(vramscope, width):
    text = "roundup_power2_divisions:[256:1,512:2,>:8],expandable_segments:True"
    out = vramscope("settings", text, env={"COLUMNS": str(width), "PYTORCH_CUDA_ALLOC_CONF": text}).out
    long = [line for line in out.splitlines() if len(line) > width and not line.startswith("Next:")]
    assert all(len(line.split()) == 1 for line in long), "only what cannot be broken"


@pytest.mark.parametrize("first", range(len(VARIABLES)))
def test_which_variable(vramscope, first):
    """The first that is set counts, though it be empty; others are named."""
    others = dict.fromkeys(VARIABLES[first + 1 :], "max_split_size_mb:64")
    out = vramscope("settings", env={VARIABLES[first]: "max_split_size_mb:128", **others}).out
    said = section(out, "Set by")
    assert said.startswith(f"{VARIABLES[first]}=max_split_size_mb:128")
    assert ("only vramscope does" in said) == (first == 0)
    assert (f"{(VARIABLES + ('',))[first + 1]} is also set" in said) == (first + 1 < len(VARIABLES))
    assert "max_split_size_mb: 128 (default: unlimited)" in out
    out = vramscope("settings", env={VARIABLES[first]: "", **others}).out
    assert section(out, "Changed") == "no settings: everything is at its default"


def test_arguments_win(vramscope):
    out = vramscope("settings", "max_split_size_mb:64", env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}).out
    assert section(out, "Set by") is None and "max_split_size_mb: 64" in out and "cudaMallocAsync" not in out


def test_copied_from_a_script(vramscope):
    plain = vramscope("settings", "--json", "max_split_size_mb:64").out
    assert vramscope("settings", "--json", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64").out == plain


def test_caching_switched_off(vramscope):
    off = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    assert "calls the driver for every allocation" in section(vramscope("settings", env=off).out, "Warning")
    assert section(vramscope("settings", "expandable_segments:True", env=off).out, "Warning") is None


@pytest.mark.parametrize(
    "text, env, command",
    (
        ("expandable_segments:True", {}, "dryrun --conf expandable_segments:True -- python3 train.py"),
        ("profile:torch-2.6", {}, "demo --conf profile:torch-2.6"),
        ("roundup_power2_divisions:[256:1,>:8]", {}, "dryrun --conf 'roundup_power2_divisions:[256:1,>:8]' -- python3"),
        ("", {}, "settings expandable_segments:True"),
        (None, {"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"}, "dryrun -- python3 train.py"),
        (None, {"VRAMSCOPE_ALLOC_CONF": "max_split_size_mb:64"}, "dryrun --conf max_split_size_mb:64 -- python3"),
    ),
)
def test_next(vramscope, text, env, command):
    words = [] if text is None else [text]
    assert vramscope("settings", *words, env=env).out.splitlines()[-1].startswith(f"Next: vramscope {command}")
    assert "Next:" not in vramscope("settings", "-q", *words, env=env).out


def test_json(vramscope):
    reply = json.loads(vramscope("settings", "--json", "expandable_segments:True,max_split_size_mb:128").out)
    assert (reply["method"], reply["rules"], reply["backend"]) == ("settings", "torch-2.15", "native")
    changed = {row["key"]: (row["value"], row["default"]) for row in reply["settings"] if row["differs"]}
    assert changed == {"expandable_segments": ("True", "False"), "max_split_size_mb": ("128", "unlimited")}
    assert reply["differing"] == 2 and len(reply["settings"]) > 20
    assert len(reply["warnings"]) == 1 and "pytorch#193400" in reply["warnings"][0]
    nothing = json.loads(vramscope("settings", "--json").out)
    assert nothing["text"] is None and nothing["differing"] == 0


def marked(err):
    """The sentence, and the marked text from the mark on."""
    sentence, line, mark = err.splitlines()
    assert sentence.startswith("vramscope: ") and re.fullmatch(r" *\^", mark)
    assert len(line) <= 76
    return sentence, line[mark.index("^") :]


@pytest.mark.parametrize(
    "text, says, place",
    (
        ("expandable_segments:True,max_split_size:128", "did you mean 'max_split_size_mb'?", "max_split_size:128"),
        ("expandable_segments:true", "did you mean 'True'?", "true"),
        ("max_split_size_mb:2", "2 is too small", "2"),
        ("max_split_size_mb", "expected ':'", ""),
        ("max_split_size_mb:128,", "expected the name of a setting", ""),
        ("expandable_segments=True", "not '='", "=True"),
        ("profile:torch-2.7", "did you mean", "torch-2.7"),
        ("x" * 300 + ":1", "there is no setting", "x" * 71 + "..."),
        ("max_split_size_mb:128," * 20 + "é:1", "there is no setting", "é:1"),
        ("\x1b[2J:1", "there is no setting", "\\x1b[2J:1"),
    ),
)
@pytest.mark.parametrize("variable", (None, "PYTORCH_CUDA_ALLOC_CONF"))
@pytest.mark.parametrize("how", ([], ["--json"]))
def test_refused(vramscope, text, says, place, variable, how):
    words, env = ([text], {}) if variable is None else ([], {variable: text})
    done = vramscope("settings", *how, *words, env=env)
    assert done.code == USAGE and done.out == ""
    sentence, at = marked(done.err)
    assert says in sentence and at == place
    assert sentence.startswith(f"vramscope: {variable or 'settings'}: ")


def test_bytes_that_are_no_text(vramscope):
    done = vramscope("settings", os.fsdecode(b"\xff\xfe:1"))
    assert done.code == USAGE
    assert marked(done.err)[1] == "\\xff\\xfe:1"
    before = os.fsdecode(b"expandable_segments_reserve_by_class:[\xff\xfe\xc3\xa9:0.5],")
    assert marked(vramscope("settings", before + "expandable_segments:tru").err)[1] == "tru"


def test_usage(vramscope):
    done = vramscope("settings", "expandable_segments:True,", "max_split_size_mb:128")
    assert done.code == USAGE and 'unexpected argument "max_split_size_mb:128"' in done.err
    assert "does not take --top" in vramscope("settings", "--top", "3").err


def test_output(vramscope, folder):
    assert vramscope("settings", "expandable_segments:True", "-o", "out.txt").out == ""
    assert (folder / "out.txt").read_text() == vramscope("settings", "expandable_segments:True").out
    broken = vramscope("settings", "expandable_segments", "-o", "broken.txt")
    assert broken.code == USAGE and not (folder / "broken.txt").exists()
