"""The blocks of code of the documentation's pages, and which test runs each. Every test that reads a page reads it with this.

A block is what stands between two lines of ```. Its first word is its language, and words behind that tell its test how to run it; the site
leaves them away (tools/site).

    ```console                each line that begins with "$ " is a command; the others are its output, in which "..." stands for anything
    ```sh                     each line is a command; \\ at its end goes on in the next
    ```python                 a program, with the names that its page supposes
    ```c                      compiled
    ```c file=a.c             is put into that file for the blocks behind it; so is ```python file=a.py
    ```json ```toml ```yaml   given to what reads it
    ```sql                    asked
    ```text                   what the block before it prints; alone it is an output, which its test compares
    ```                       a drawing, which nothing runs

The guide of Python has more words (tests/python/test_guide.py). The blocks of a page run in order in one folder, as a reader would type them.

RUNS says which test runs the blocks of a language on a page; NOT_RUN names what is not run, with the reason. tests/lint/test_pages.py
compares both with the pages: each block, and each command of one, is in exactly one of the two.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

PYTHON, CLI, SIM = "tests/python/test_guide.py", "tests/cli/test_pages.py", "tests/sim/test_pages.py"
MERGE = "tests/cli/test_merge.py"

RUNS = {  # page: {language: the test that runs its blocks}
    "README.md": {"console": SIM, "python": SIM},
    "docs/faq.md": {"sh": SIM},
    "docs/stories.md": {"console": "tests/sim/test_stories.py"},
    "docs/formats/fit.md": {"json": SIM},
    "docs/formats/query.md": {"json": CLI, "text": CLI, "sql": CLI},
    "docs/formats/snapshot.md": {"text": CLI},
    "docs/guide/accounts.md": {"python": SIM, "sh": SIM},
    "docs/guide/c.md": {"c": "tests/install/test_guide.py", "console": "tests/install/test_guide.py"},
    "docs/guide/check.md": {"sh": SIM, "toml": SIM, "console": "tests/sim/test_check.py", "yaml": SIM},
    "docs/guide/cli.md": {"console": "tests/cli/test_guide.py", "sh": CLI, "text": CLI, "python": SIM},
    "docs/guide/devices.md": {"sh": SIM, "c": CLI},
    "docs/guide/dryrun.md": {"console": "tests/sim/test_dryrun_report.py", "sh": SIM, "text": SIM},
    "docs/guide/exporter.md": {"console": CLI, "text": CLI},
    "docs/guide/fit.md": {"console": SIM, "json": SIM, "sh": SIM, "python": SIM},
    "docs/guide/merge.md": {"sh": CLI, "sql": MERGE, "python": MERGE},
    "docs/guide/python.md": {"console": PYTHON, "python": PYTHON, "c": CLI},
    "docs/guide/record.md": {"sh": SIM, "python": SIM},
    "docs/guide/smi.md": {"console": CLI, "json": CLI},
    "docs/guide/top.md": {"sh": CLI},
    "docs/guide/viewer.md": {"sh": CLI},
    "docs/guide/where.md": {"console": SIM},
}


class NotRun(NamedTuple):
    page: str
    begins: str  # the beginning of the first line of a block, or of a command in one, or all of it and "$"; "" is a block without a language
    why: str
    instead: str = ""  # a file of this tree that does something like it


GPU = "a real GPU"
RING = "made by a run of more than a minute, or with packages of gigabytes"
DRAWING = "a drawing"

NOT_RUN = [
    NotRun(
        "README.md",
        "vramscope fit --gpu 24GiB -o fit.json",
        RING + "; docs/guide/fit.md has the same lines",
        "tests/real/fits.toml",
    ),
    NotRun("README.md", "make ", "builds and installs: .ci/run does on a new machine", ".ci/run"),
    NotRun(
        "README.md", "pip install .", "tests/python/test_wheel.py builds the wheel and installs it", "tests/python/test_wheel.py"
    ),
    NotRun(
        "README.md", "pip install vramscope", "`make test-release` installs the packages in empty roots", "tools/packages/smoke"
    ),
    NotRun("README.md", "sudo dpkg", "`make test-release` installs the packages in empty roots", "tools/packages/smoke"),
    NotRun("README.md", "tar -xzf", "`make test-release` installs the packages in empty roots", "tools/packages/smoke"),
    NotRun("CONTRIBUTING.md", "make ", "builds and tests everything: hours", ".ci/run"),
    NotRun("CONTRIBUTING.md", ".ci/run", "tests everything: hours", ".ci/run"),
    NotRun("CONTRIBUTING.md", "tools/fresh", "a new machine: hours", "tools/fresh"),
    NotRun("CONTRIBUTING.md", "cmake ", "builds; every build is made so", "CMakePresets.json"),
    NotRun("CONTRIBUTING.md", "ctest ", "runs tests, of which this is one", "CMakePresets.json"),
    NotRun("docs/architecture.md", "", DRAWING),
    NotRun("docs/guide/accounts.md", "rmm.mr.", GPU + ": RMM refuses a simulated one", "tests/corpus/accounts"),
    NotRun("docs/guide/accounts.md", "nsys ", GPU + ", and Nsight Systems", "tests/oracle/nsys.py"),
    NotRun("docs/guide/devices.md", "", DRAWING),
    NotRun("docs/guide/dryrun.md", "vramscope dryrun --vary gpu=RTX4090,A100-40,H100", RING + ": vLLM", "tests/sim/test_vllm.py"),
    NotRun(
        "docs/guide/dryrun.md",
        "  process  GPU  allocated",
        "a part of a report; tests/sim/test_dryrun_ends.py and tests/cli compare such tables",
        "tests/cli/test_dryrun_ranks.py",
    ),
    NotRun(
        "docs/guide/dryrun.md",
        "Ranks          6 of 8 ran",
        "nine runs; tests/sim/test_ranks.py compares the same program's figures",
        "tests/sim/test_ranks.py",
    ),
    NotRun(
        "docs/guide/dryrun.md",
        "Fits in H100 80GB HBM3 (simulated): 903.0 MiB",
        "a part of the report of a program of JAX",
        "tests/sim/test_jax.py",
    ),
    NotRun(
        "docs/guide/dryrun.md",
        "vramscope dryrun --find-smallest",
        "seven runs; the search has tests of its own",
        "tests/sim/test_dryrun_report.py",
    ),
    NotRun("docs/guide/dryrun.md", "6 runs on simulated GPUs", RING + ": vLLM", "tests/sim/test_vllm.py"),
    NotRun(
        "docs/guide/dryrun.md", "vramscope dryrun --gpu 24GiB --until ready -- vllm", RING + ": vLLM", "tests/sim/test_vllm.py"
    ),
    NotRun(
        "docs/guide/dryrun.md",
        "vramscope dryrun --gpu A100-80GB --until ready -- vllm",
        RING + ": vLLM",
        "tests/sim/test_vllm.py",
    ),
    NotRun(
        "docs/guide/dryrun.md", "vramscope dryrun --gpu 2xH100 --until ready -- vllm", RING + ": vLLM", "tests/sim/test_vllm.py"
    ),
    NotRun(
        "docs/guide/dryrun.md",
        "vramscope dryrun --gpu H100 --until ready -- python3 -m sglang",
        RING + ": SGLang",
        "tests/sim/test_sglang.py",
    ),
    NotRun(
        "docs/guide/dryrun.md",
        "vramscope dryrun --gpu 24GiB --until ready -- transformers serve",
        RING + ": the ring `programs` has it as transformers-serve",
        "tests/real/programs/transformers_serve.py",
    ),
    NotRun("docs/guide/dryrun.md", "hf download", "downloads from Hugging Face"),
    NotRun(
        "docs/guide/dryrun.md",
        "vramscope dryrun --gpu A100-80GB --until ready --snapshot engine.pickle",
        RING + ": vLLM",
        "tests/sim/test_vllm.py",
    ),
    NotRun("docs/guide/dryrun.md", "vramscope blocks --by metadata --at peak engine.pickle", RING + ": vLLM", "tests/sim/test_vllm.py"),
    NotRun("docs/guide/dryrun.md", "vramscope tree --at peak --filter metadata=activations", RING + ": vLLM", "tests/sim/test_vllm.py"),
    *(
        NotRun(
            "docs/guide/dryrun.md",
            begins,
            RING + ": the ring `programs` has it as transformers-serve and transformers-serve-chat",
            "tests/real/programs/transformers_serve.py",
        )
        for begins in (
            "vramscope dryrun --gpu 24GiB --until ready --snapshot ready.pickle",
            "vramscope dryrun --gpu 24GiB --until idle --snapshot chat.pickle",
            "curl --retry 60",
            "vramscope diff ready.pickle chat.pickle",
            "      change  before           after",
        )
    ),
    NotRun(
        "docs/guide/fit.md", "vramscope fit --gpu 24GiB -o fit.json", RING + ": `tools/fits finetune-1b`", "tests/real/fits.toml"
    ),
    NotRun("docs/guide/fit.md", "vramscope fit --gpu RTX4090 --batch max-model-len", RING + ": vLLM", "tests/sim/test_vllm.py"),
    NotRun(
        "docs/guide/merge.md",
        "from pyspark.sql",
        "`make test-fleet`: Spark needs Java, and tables of a thousand ranks",
        "tests/fleet/test_engines.py",
    ),
    NotRun(
        "docs/guide/merge.md",
        "import dask.dataframe",
        "`make test-fleet`: tables of a thousand ranks",
        "tests/fleet/test_engines.py",
    ),
    NotRun(
        "docs/guide/python.md",
        "from vramscope.integrations",
        "pieces of a program; tests/python/test_steps.py has whole ones",
        "tests/python/test_steps.py",
    ),
    NotRun(
        "docs/guide/python.md",
        "pip install",
        "tests/python/test_wheel.py builds the wheel and installs it",
        "tests/python/test_wheel.py",
    ),
    NotRun("docs/guide/record.md", "vramscope where --at oom run.vram", GPU + ": an H200", "tests/cli/test_where.py"),
    NotRun("docs/guide/record.md", "", GPU + ": a line of the report of that recording", "tests/cli/test_where.py"),
    NotRun("docs/guide/record.md", "vramscope run -o run.vram -- ./simulate", GPU, "tests/sim/test_driver_memory.py"),
    NotRun(
        "docs/guide/top.md",
        " vramscope top  node17",
        "a screen; tests/cli/test_top.py looks at such ones on a terminal",
        "tests/cli/test_top.py",
    ),
    NotRun("docs/guide/top.md", "     PID  User", "a part of a screen", "tests/cli/test_top.py"),
    NotRun("docs/guide/where.md", "vramscope dryrun --json --ranks 4 --gpu 4xH100", RING, "tests/sim/test_where.py"),
    NotRun("docs/guide/where.md", "vramscope attach 12345", "docs/guide/record.md has the same line, which runs"),
    NotRun(
        "docs/guide/where.md",
        "vramscope where 12345",
        "inside of a dry run alone has the simulated driver other programs",
        "tests/sim/test_where.py",
    ),
    NotRun(
        "docs/guide/where.md",
        "vramscope where run.json$",
        RING + "; tests/sim/test_where.py compares such rows",
        "tests/sim/test_where.py",
    ),
    NotRun("docs/guide/where.md", "vramscope where 518", GPU + ": an H200", "tests/sim/test_where.py"),
]
PROGRAMS = "docs/guide/programs.md"  # its commands are those of the ring `programs`: lint.programs compares the page with the list of that ring


class Block(NamedTuple):
    page: str
    line: int  # of the line behind its ```
    language: str
    how: str  # the words behind the language
    source: str
    expected: str | None  # of the text block that follows at once

    @property
    def kind(self):
        return f"{self.language} {self.how}".strip()

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def pages():
    """The pages of the site, as paths from the root."""
    return [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
    ]


def parse(page, text):
    """A text block behind another one, with nothing but empty lines between, is what that one prints."""
    found, lines = [], text.splitlines()
    index, end = 0, None
    while index < len(lines):
        fence = re.fullmatch(r"( *)```(\w*) ?(.*)", lines[index])
        if fence is None:
            end = end if not lines[index].strip() else None
            index += 1
            continue
        follows, begin = end is not None, index
        end = lines.index(fence[1] + "```", begin + 1)
        source = "".join(line.removeprefix(fence[1]) + "\n" for line in lines[begin + 1 : end])
        if fence[2] == "text" and follows and found[-1].language == "python":
            found[-1] = found[-1]._replace(expected=source)
        else:
            found.append(Block(page, begin + 2, fence[2], fence[3], source, None))
        index = end + 1
    return found


def read(page):
    return parse(page, (ROOT / page).read_text())


def again(page, make, *languages):
    """The page's text, in which each block of these languages, if it is run, has the source that make(block) returns."""
    lines = (ROOT / page).read_text().splitlines()
    mine = [
        block for block in read(page) if block.language in languages and not all(exceptions(block, part) for part in parts(block))
    ]
    made = [(block, make(block)) for block in mine]  # in the page's order: a command may need what one before it left
    for block, source in reversed(made):
        lines[block.line - 1 : block.line - 1 + block.source.count("\n")] = source.splitlines()
    return "\n".join(lines) + "\n"


def commands(block):
    """The commands of a block of console or sh, each with the output that is shown below it."""
    found = []
    source = block.source.replace("\\\n", "") if block.language == "sh" else block.source
    for line in source.splitlines():
        if block.language == "sh" or line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def parts(block):
    """What is run, or not run, by itself: each command of console and sh, else the block, by its first line."""
    return [command for command, _ in commands(block)] if block.language in ("console", "sh") else [block.source.split("\n")[0]]


def exceptions(block, part):
    """The rows of NOT_RUN about it."""
    return [
        row
        for row in NOT_RUN
        if row.page == block.page and ((part + "$").startswith(row.begins) if row.begins else not block.language)
    ]


def blocks_of(test):
    """{page: its blocks that this test, a file, has to run}; commands that are not run are left out by `run`."""
    name = str(Path(test).resolve().relative_to(ROOT))
    found = {}
    for page, tests in RUNS.items():
        mine = [block for block in read(page) if tests.get(block.language) == name]
        mine = [block for block in mine if any(not exceptions(block, part) for part in parts(block))]
        if mine:
            found[page] = mine
    return found


# ---- running

# What differs from run to run, and from machine to machine.
VARIES = [
    (re.compile(r"^(Ran +)(.* in )?[0-9.]+ (s|min)( [0-9]+ s)?", re.M), r"\1\2TIME"),
    (re.compile(r"\bprocess [0-9]+\b"), "process PID"),
    (re.compile(r"(?<=: recording, )[0-9.]+ [KM]iB"), "SIZE"),
]


def without_what_varies(text):
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text


def matches(said, shown):
    """Whether a page's output is what was said: "..." stands for anything."""
    said, shown = without_what_varies(said), without_what_varies(shown)
    pattern = ".*".join(re.escape(piece) for piece in shown.strip().split("..."))
    return re.fullmatch(pattern, said.strip(), re.DOTALL) is not None


# What a library says at the end of a program whose interpreter skips its last garbage collection (tests/support/interpreter).
NOISE = re.compile(r"nanobind: leaked.*?refleaks\.html\n?", re.DOTALL)

# These run until Ctrl-C: they are ended after the last command of their block.
ENDLESS = re.compile(r"vramscope (view (?!.*--html)|exporter(?! --once)|top --ndjson)")


class Shell:
    """A folder and an environment in which blocks are run. `instead` has texts of the page that are others here: {"12345": a process}."""

    def __init__(self, folder, environment, instead=None):
        self.folder, self.environment, self.instead = folder, environment, instead or {}

    def run(self, block, may_fail=False, anew=()):
        """Every command of the block but those of NOT_RUN. One without an output on the page, and none that it may fail, has to succeed.
        The files `anew` are those that each command of several makes: they are removed before it."""
        endless = []
        try:
            for command, shown in commands(block):
                if exceptions(block, command):
                    continue
                for name in anew:
                    (self.folder / name).unlink(missing_ok=True)
                if ENDLESS.match(command):
                    endless.append((command, self.begin(block, command, shown)))
                    continue
                code, said = self.ask(command)
                told = f"{block.place}: {command}\n{said[-6000:]}"
                assert code in (0, 1) if shown or may_fail else code == 0, f"exit status {code}: {told}"
                assert not shown or matches(said, self.here(shown)), f"{told}\n---- and not what the page has:\n{shown}"
        finally:
            for _, process in endless:
                process.send_signal(signal.SIGINT)
        for command, process in endless:
            said = process.communicate(timeout=60)[0]
            assert process.returncode in (0, 130), f"{block.place}: {command}: exit status {process.returncode}\n{said}"

    def here(self, text):
        for shown, real in self.instead.items():
            text = text.replace(shown, str(real))
        return text

    def start(self, command):
        return subprocess.Popen(
            ["bash", "-c", self.here(command)],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def ask(self, command):
        process = self.start(command)
        said = process.communicate(timeout=300)[0]
        return process.returncode, NOISE.sub("", said)

    def begin(self, block, command, shown):
        """Starts what runs until Ctrl-C, and returns when it has said all that it says at first."""
        process = self.start(command)
        said = ""
        if textfile := re.search(r"--textfile (\S+)", self.here(command)):
            wait_for(Path(textfile[1]))
            return process
        while "Ctrl-C" not in said and not said.startswith("{"):
            line = process.stdout.readline()
            assert line, f"{block.place}: {command} has ended\n{said}"
            said += line
        assert not shown or matches(said, self.here(shown)), f"{block.place}: {command}\n{said}"
        return process


def folder_of_commands(folder, **programs):
    """A folder for PATH in which each name is that program."""
    folder.mkdir()
    for name, words in programs.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {" ".join(map(str, words))} "$@"\n')
        path.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def wait_for(path, seconds=60):
    """Until a file is there and not empty."""
    end = time.monotonic() + seconds
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < end, path
        time.sleep(0.05)
