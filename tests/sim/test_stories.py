"""docs/stories.md shows real output: every command in it is run again. UPDATE_GOLDEN=1 writes the page. How long a run took is not compared."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).parents[2]
NAME = "docs/stories.md"
PAGE = ROOT / NAME
TOOK = re.compile(r"^(Ran            )[0-9.]+ s", re.M)


COMMANDS = [command for block in pages.blocks_of(__file__)[NAME] for command, _ in pages.commands(block)]


def output(command):
    """What it prints up to the table of GPUs, without the program's own output."""
    words = shlex.split(command)
    at = words.index("--")
    program = [os.environ["VRAMSCOPE_SIM_PYTHON"], "-W", "ignore", *words[at + 2 :]]
    done = subprocess.run([os.environ["VRAMSCOPE"], *words[1:at], "--", *program], cwd=ROOT / "examples" / "stories",
                          env={**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr
    text = done.stdout[re.search(r"^(?:Fits|Does not fit)", done.stdout, re.M).start():]
    return TOOK.sub(r"\g<1>a few s", text.split("\n\n")[0]) + "\n"


@pytest.fixture(scope="module")
def real():
    return {command: output(command) for command in COMMANDS}


def test_the_page_shows_what_is_printed(real):
    def again(block):
        return "\n".join(f"$ {command}\n{real[command]}" for command, _ in pages.commands(block))

    made = pages.again(NAME, again, "console")
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(made)
    assert PAGE.read_text() == made


def test_each_mend_helps(real):
    def reserved(name, *more):
        (command,) = [c for c in COMMANDS if f"python {name}.py" in c and all(word in c for word in more) and ("mended" in c) == ("mended" in more)
                      and ("--conf" in c) == ("--conf" in more)]
        size, unit = re.search(r"([0-9.]+) ([GM])iB\s+reserved", real[command]).groups()
        return float(size) * (1024 if unit == "G" else 1)

    assert reserved("leak") > 10 * reserved("leak", "mended")
    assert "Does not fit" in real["vramscope dryrun --gpu 24GiB -- python logits.py"] and reserved("logits", "mended") < 8 * 1024
    assert reserved("lengths") > 2 * reserved("lengths", "mended") > 4 * 1024 and reserved("lengths", "--conf") < reserved("lengths", "mended")
    assert reserved("kv_cache") > 1.8 * reserved("kv_cache", "mended")
