"""Every simulated GPU has sources: each row of src/device/sim/gpus.def follows a comment that names them."""

import re
from pathlib import Path

GPUS = Path(__file__).parents[2] / "src" / "device" / "sim" / "gpus.def"
SOURCE = re.compile(r"\b(dq|pt|lc|oom|smi|bytes) \d|[Dd]ata sheet|No log of the total: (that of|in the middle)")


def rows(text):
    """[(comment before the row or None, key, confidence)]"""
    head, _, rest = text.partition("*/")
    assert "confidence)" in head
    found = re.findall(r'(?:/\*((?:(?!\*/).)*)\*/\n)?VS_SIM_GPU\("([^"]+)"[^;]*?\'(\w)\'\)', rest, re.DOTALL)
    assert len(found) == len(re.findall(r'^VS_SIM_GPU\("', rest, re.MULTILINE))
    return found


def without_source(text):
    return [key for comment, key, _ in rows(text) if not SOURCE.search(" ".join(comment.split()))]


def test_every_card_has_a_source():
    text = GPUS.read_text()
    assert len(rows(text)) > 30 and not without_source(text)
    assert {confidence for _, _, confidence in rows(text)} <= set("ABC")


def test_a_card_without_a_source_is_found():
    text = GPUS.read_text()
    row = 'VS_SIM_GPU("NEW", "", "New", "Ada", 8, 9, 1, MIB(1), 1, 1, 1, 1, 1, 0x1, "?", \'C\')\n'
    assert without_source(text + row) == ["NEW"]
    assert without_source(text + "/* A guess. */\n" + row) == ["NEW"]
    assert without_source(text + "/* dq 1. */\n" + row) == []
