"""docs/stories.md shows real output: every command in it is run again, in order and in one folder. UPDATE_GOLDEN=1 writes the page. How long a run took and
the numbers of processes are not compared; of a dry run the page has the report up to the table of GPUs, without the program's own output. The pictures in
docs/stories are of the snapshots of these runs (`--snapshot NAME.pickle`, then `vramscope export NAME.pickle svg --axis event`): over events, since no two runs
take the same time."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pages
import pytest
from conftest import BINARY, PYTHON, environment_of

ROOT = Path(__file__).parents[2]
NAME = "docs/stories.md"
PAGE = ROOT / NAME
PROGRAMS = ROOT / "examples" / "stories"
TOOK = re.compile(r"^(Ran {12}(?:[0-9]+ steps in )?)(?:[0-9]+ min )?[0-9.]+ s\b", re.M)
PROCESS = 12345
FOLDER = PAGE.parent / "stories"
MOST_BYTES = 24_000
# Which dry run each picture is of, by the end of the command.
PICTURES = {
    "leak": "--gpu 24GiB -- python leak.py",
    "leak_mended": "python leak.py mended",
    "logits": "python logits.py",
    "logits_mended": "python logits.py mended",
    "lengths": "--gpu 24GiB -- python lengths.py",
    "lengths_expandable": "expandable_segments:True -- python lengths.py",
    "kv_cache": "python kv_cache.py",
    "nccl": "python nccl.py > nccl.json",
    "checkpointing": "--snapshot blocks.pickle -- python checkpointing.py",
    "checkpointing_mended": "--gpu 24GiB -- python checkpointing.py mended",
    "optimizer_state": "--gpu 24GiB -- python optimizer_state.py",
    "fsdp": "python fsdp.py",
    "cuda_graphs": "python cuda_graphs.py > graphs.json",
    "record_stream": "python record_stream.py > streams.json",
}


COMMANDS = [command for block in pages.blocks_of(__file__)[NAME] for command, _ in pages.commands(block)]
assert len(COMMANDS) == len(set(COMMANDS)), "each command makes files of its own"


def with_one_process(text):
    """Each process has the same number, and the table's first column, which has it, the width that follows."""
    rows = [re.fullmatch(r"(  +\S+(?: \S+)*)( {2,}\S.*)", line) for line in text.split("\n")]
    before = [row[1] for row in rows if row]
    after = [re.sub(r"\bprocess [0-9]+ ", f"process {PROCESS} ", label) for label in before]
    if before == after:
        return text
    wider = max(map(len, after)) - max(map(len, before))

    def again(row, label):
        gap = len(row[2]) - len(row[2].lstrip()) + wider - (len(label) - len(row[1]))
        return label + " " * gap + row[2].lstrip()

    labels = iter(after)
    return "\n".join(again(row, next(labels)) if row else line for row, line in zip(rows, text.split("\n"), strict=True))


def told(text):
    """What the page has of a command's output."""
    if report := re.search(r"^(?:Fits|Does not fit) in .*|^Does not fit.*", text, re.M):
        text = text[report.start():].split("\n\n")[0] + "\n"
    return with_one_process(TOOK.sub(r"\g<1>a few s", text))


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """ask(command) -> what the page has of its output; all commands run in one folder, which has the programs."""
    folder = tmp_path_factory.mktemp("real")
    here = shutil.copytree(PROGRAMS, folder / "stories")
    path = pages.folder_of_commands(folder / "bin", vramscope=[Path(BINARY).resolve()], python=[PYTHON, "-W", "ignore"])
    environment = environment_of({"PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"})

    def run(command):
        names = [name for name, end in PICTURES.items() if command.endswith(end)]
        asked = command.replace(" dryrun ", f" dryrun --snapshot {names[0]}.pickle ", 1) if names and "--snapshot" not in command else command
        done = subprocess.run(["bash", "-c", asked], cwd=here, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
        for name in names:
            snapshot = f"{name}.pickle"
            if asked == command:  # it has a snapshot of another name
                shutil.copy(here / re.search(r"--snapshot (\S+)", command)[1], here / snapshot)
            subprocess.run(["vramscope", "export", "-q", snapshot, "svg", "--axis", "event", "-o", f"{name}.svg"], cwd=here, env=environment, check=True,
                           timeout=60)
        return told(done.stdout)

    run.folder = here
    return run


@pytest.fixture(scope="module")
def real(ask):
    return {command: ask(command) for command in COMMANDS}


def test_the_page_shows_what_is_printed(real):
    def again(block):
        return "\n".join(f"$ {command}\n{real[command]}" for command, _ in pages.commands(block))

    made = pages.again(NAME, again, "console")
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PAGE.write_text(made)
    assert PAGE.read_text() == made


def test_the_pictures_are_of_these_runs(real, ask):
    shown = set(re.findall(r"!\[[^\]]+\]\(stories/(\w+)\.svg\)", PAGE.read_text()))
    assert shown == set(PICTURES)
    for name, end in PICTURES.items():
        assert sum(command.endswith(end) for command in real) == 1, name
        made = (ask.folder / f"{name}.svg").read_bytes()
        if os.environ.get("UPDATE_GOLDEN") == "1":
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"{name}.svg").write_bytes(made)
        assert made == (FOLDER / f"{name}.svg").read_bytes(), name
        assert len(made) < MOST_BYTES, name
    assert {path.stem for path in FOLDER.iterdir()} == set(PICTURES)


@pytest.mark.parametrize("name", ("nccl", "graphs"))  # a table whose first column is as wide as the process' row, and one that is wider
def test_the_numbers_of_processes_do_not_matter(real, ask, name):
    for number in (7, 1234567):
        assert ask(f"jq '.processes[].pid = {number}' {name}.json > other.json && mv other.json {name}.json && vramscope where {name}.json") == \
            real[f"vramscope where {name}.json"]


MIB, GIB = 1, 1024
SIZE = r"([0-9.]+) ([GM])iB"


def size(found):
    return float(found[1]) * (GIB if found[2] == "G" else MIB)


def of(real, *words):
    """What the one command says that has these words, and "mended" and --conf only if they are among them."""
    (command,) = [c for c in real if all(word in c for word in words) and all((word in c) == (word in words) for word in ("mended", "--conf"))]
    return real[command]


def test_each_mend_helps(real):
    def reserved(name, *more):
        return size(re.search(SIZE + r"\s+reserved", of(real, "dryrun", f"python {name}.py", *more)))

    def used(name, *more):
        return size(re.search(r"Peak\s+" + SIZE, of(real, "dryrun", f"python {name}.py", *more)))

    def row(name, text):
        return size(re.search(rf"^ *{name} +{SIZE}", text, re.M))

    assert reserved("leak") > 10 * reserved("leak", "mended")
    assert "Does not fit" in of(real, "python logits.py") and reserved("logits", "mended") < 8 * GIB
    assert reserved("lengths") > 2 * reserved("lengths", "mended") > 4 * GIB and reserved("lengths", "--conf") < reserved("lengths", "mended")
    assert reserved("kv_cache") > 1.8 * reserved("kv_cache", "mended")

    assert row("NCCL", of(real, "where nccl.json")) > 2 * used("nccl", "mended") > 2 * GIB
    assert reserved("checkpointing") > 3 * reserved("checkpointing", "mended") > 3 * reserved("checkpointing", "mended", "--conf")
    assert "Does not fit" in of(real, "python optimizer_state.py") and ": 3 fit" in of(real, "--vary", "optimizer_state.py", "mended")
    assert reserved("fsdp") > 5 * reserved("fsdp", "mended")

    before, after = of(real, "where graphs.json"), of(real, "where graphs_mended.json", "mended")
    assert before.count("private pool") == 8 and after.count("private pool") == 1
    assert row("PyTorch reserved", before) > 1.6 * row("PyTorch reserved", after)
    before, after = of(real, "where streams.json"), of(real, "where streams_mended.json", "mended")
    assert row("pending free", before) > 2 * GIB and "pending free" not in after
    assert row("PyTorch reserved", before) > 6 * row("PyTorch reserved", after)
