"""The help, the manual page and the completions: all come from one table, and all of it has to be true."""

import os
import re
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from conftest import Run

CANNOT_BE_JUDGED = 2  # likewise of a check
CHECK_FILES = {"config": '{"no-oom": true}', "baseline": '{"owners": []}'}
CHANGES = '{"schema": 1, "changes": [{"name": "fused"}]}'
NO_PROCESS = "2147483647"  # the number of none
NOT_FOUND = 2
NO_ANSWER = 6  # of a dry run, because the program of these tests does not use the GPU
TABLES = ("vary", "compare")  # which say what became of each run
COMMANDS = ("report", "stats", "tree", "blocks", "events", "oom", "whatif", "diff", "view", "export", "merge", "query", "compact", "dryrun", "fit", "run", "attach", "detach", "where", "check",
            "demo", "smi", "top", "exporter", "pick", "settings", "doctor", "help")

FAKE = os.environ.get("VRAMSCOPE_FAKE", "")
# A machine with two cards, for the commands that look at cards.
FAKE_MACHINE = {"VRAMSCOPE_NVML": f"{FAKE}/libnvidia-ml.so.1",
                "VRAMSCOPE_FAKE_NVML": str(Path(__file__).parents[1] / "fake/scenarios/two.txt")}


@pytest.fixture
def call(vramscope, view, folder, build):
    """Runs a command line to its end; `view` ends when it has said where it is."""
    browser = folder / "bin" / "xdg-open"
    browser.parent.mkdir()
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)

    def run(*args):
        if args[0] in ("smi", "top", "exporter", "pick"):
            return vramscope(*args, env=FAKE_MACHINE)
        if args[0] != "view" or {"--html", "--help", "-h", "--version", "-V"} & set(args):
            return vramscope(*args)
        with view(*args[1:], env={"PATH": f"{browser.parent}:{os.environ['PATH']}"}) as server:
            assert server.address, server.end() and server.errors
        return Run(0, server.printed, server.errors)

    return run


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def listed_options(help_text):
    """[(letter or None, name, argument or None)] of a command's help."""
    pattern = r"^  (?:-(\w), |    )--([a-z-]+)(?: (\S+))?"
    return [tuple(part or None for part in match) for match in re.findall(pattern, help_text, re.M)]


def listed_examples(help_text):
    part = help_text.split("Examples:\n")[1].split("\nExit status:")[0]
    return re.findall(r"^  (vramscope .*)$", part, re.M)


def test_overview(vramscope, golden):
    done = vramscope("help")
    assert done.code == 0 and done.err == ""
    golden("help", done.out)
    assert vramscope("--help").out == done.out
    assert vramscope("-h").out == done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_command(vramscope, golden, command):
    done = vramscope("help", command)
    assert done.code == 0 and done.err == ""
    golden(f"help_{command}", done.out)
    assert vramscope(command, "--help").out == done.out


def test_every_command_is_listed(vramscope):
    overview = vramscope("help").out.split("Commands:\n")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^  ([a-z]+) ", overview, re.M)) == COMMANDS


@pytest.mark.parametrize("width", (40, 60, 80, 120))
def test_help_keeps_to_the_width(vramscope, width):
    for command in COMMANDS:
        out = vramscope("help", command, env={"COLUMNS": str(width)}).out
        unbreakable = [w for w in out.split() if len(w) > width - 30]
        long = [line for line in out.splitlines() if len(line) > width and "vramscope" not in line]
        assert all(any(word in line for word in unbreakable) for line in long), long


@pytest.mark.parametrize("command", COMMANDS)
def test_every_listed_option_is_accepted(build, vramscope, call, folder, recording, command):
    samples = {"N": "3", "N|N,N": "3", "GPU,GPU": "L4,T4", "N|host": "0", "FILE": "out.txt", "TEXT": "forward", "GPU": "L4", "SIZE": "500MiB", "SIZE|TIME": "5min", "SETTINGS": "expandable_segments:True", "SETTINGS...": "expandable_segments:True", "GPU...": "24GiB",
               "FILTER...": "forward", "FILTER=FACTOR...": "forward=0.5", "FUNCTION...": "forward",
               "FIELDS": "gpu_name", "LIST": "0", "FORMAT": "csv", "[N]": "3", "SECONDS": "0.5", "MOMENT[,MOMENT]": "peak,end", "NAME=FIRST..LAST": "batch=1..2", "NAME=RANGE...": "batch=1..2", "FILE.prom": "out.prom", "ADDRESS:PORT": "127.0.0.1:0", "PERCENT%|SIZE": "2%"}
    operands = {"export": ["snapshot.pickle", "json"], "help": [], "dryrun": ["--", "true"], "fit": ["--", "true"], "run": ["--", "true"], "demo": [], "smi": [], "top": [], "exporter": ["--once"], "pick": [],
                "compact": ["recording.vram"], "diff": ["snapshot.pickle"] * 2, "query": ["snapshot.pickle", "report"], "settings": ["expandable_segments:True"], "attach": [NO_PROCESS], "detach": [NO_PROCESS]}.get(command, ["snapshot.pickle"])
    short = ["--steps", "2"]
    shutil.copy(recording, folder / "recording.vram")
    for letter, name, argument in listed_options(vramscope("help", command).out):
        (folder / "out.txt").unlink(missing_ok=True)
        values = [] if argument is None else [samples.get(argument) or argument.split("|")[0]]
        if name == "port":
            values = [str(free_port())]
        if command == "pick" and name == "count":
            values = ["2"]  # which the machine has
        if command == "check" and name in CHECK_FILES:
            (folder / "given.json").write_text(CHECK_FILES[name])
            values = ["given.json"]
        if name in ("token-file", "tls-cert", "tls-key"):
            (folder / "given.txt").write_text("secret\n")
            values = ["given.txt"]
        if name == "with":
            (folder / "fit.json").write_text(CHANGES)
            values = ["fit.json"]
        merged = ["--format", "sqlite"] * (name != "format") + ["-o", "out.txt"] * (name != "output")
        partner = merged if command == "merge" else ["--no-oom", "--baseline", "out.txt"] if name == "update-baseline" else ["--no-oom"] if command == "check" and name != "no-oom" else ["--world", "8"] if name in ("rank", "ranks-that-differ") else ["--count", "1"] if name in ("loop", "loop-ms", "ndjson") else ["--textfile", "out.prom"] if name == "every" else ["--tls-key", "given.txt"] if name == "tls-cert" else ["--tls-cert", "given.txt"] if name == "tls-key" else short if command == "demo" and name != "steps" else []
        for option in [f"--{name}"] + ([f"-{letter}"] if letter else []) if (command, name) != ("exporter", "once") else []:
            (folder / "out.txt").unlink(missing_ok=True)
            done = call(command, *partner, option, *values, *operands)
            lacking = name == "html" and not build["page_reads_files"]
            if command == "check" and not values[:1] == ["out.txt"]:
                assert done.code in (0, 1, 2) and not done.err.startswith("vramscope: "), (option, done.err)
                continue
            if command in ("attach", "detach"):
                assert done.code == NOT_FOUND and "there is no process" in done.err, (option, done.err)
                continue
            assert done.code == (3 if lacking else NO_ANSWER if command in ("dryrun", "fit") and name not in TABLES else 0), (option, done.err)


@pytest.mark.parametrize("command", ("tree", "blocks", "events", "export"))
def test_every_listed_choice_is_accepted(vramscope, command):
    operands = ["snapshot.pickle"] + (["csv"] if command == "export" else [])
    for _, name, argument in listed_options(vramscope("help", command).out):
        for choice in (argument or "").split("|"):
            if choice.islower() and (name, choice) not in {("at", "oom"), ("device", "host")}:
                done = vramscope(command, f"--{name}", choice, *operands)
                assert done.code == 0, (name, choice, done.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_runs(build, vramscope, call, folder, recording, command):
    examples = listed_examples(vramscope("help", command).out)
    assert examples
    (folder / "train.py").write_text("print('hello')\n")
    (folder / "run.json").write_text('{"schema": 1, "method": "dryrun", "devices": [], "processes": []}')
    (folder / "fit.json").write_text(CHANGES)
    shutil.copy(recording, folder / "recording.vram")
    for example in examples:
        words = {"8000": str(free_port()), "12345": NO_PROCESS}
        done = call(*(words.get(word, word) for word in shlex.split(example)[1:]))
        lacking = "sqlite" in example and build["sqlite"] is None or "--html" in example and not build["page_reads_files"]
        code = 3 if lacking else NO_ANSWER if example.startswith(("vramscope dryrun", "vramscope fit")) and not any(f"--{name} " in example for name in TABLES) else CANNOT_BE_JUDGED if example.startswith("vramscope check") and "--" in example.split() else NOT_FOUND if "12345" in example else 0
        assert done.code == code, (example, done.err)


def test_exit_codes_are_documented(vramscope):
    for text in (vramscope("help").out, vramscope("help", "--man").out):
        for words in ("success", "wrong usage", "cannot read the input", "out of memory"):
            assert words in text


def test_version(vramscope):
    assert re.fullmatch(r"vramscope \d+\.\d+\.\d+\n", vramscope("--version").out)
    assert vramscope("-V").out == vramscope("report", "--version").out


def test_manual(vramscope):
    page = vramscope("help", "--man").out
    for command in COMMANDS:
        assert f".B vramscope {command}\n" in page
    for _, name, _ in listed_options(vramscope("help", "blocks").out):
        assert f"\\-\\-{name}" in page
    assert all(len(line) < 2000 for line in page.splitlines())
    assert all(f".BR vramscope\\-{command} (1)" in page for command in COMMANDS)
    check_roff(page)


def check_roff(page):
    if not shutil.which("groff"):
        pytest.skip("no groff to check the manual pages with")
    checked = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page.encode(), capture_output=True)
    assert checked.stderr == b""


@pytest.mark.parametrize("command", COMMANDS)
def test_manual_of_a_command(vramscope, command):
    """It has the options and examples of that command, and no others."""
    page, helped = vramscope("help", "--man", command).out, vramscope("help", command).out
    common = {name for _, name, _ in listed_options(vramscope("help").out)}
    found = {name.replace("\\-", "-") for name in re.findall(r"^\.TP\n.*?\\fB\\-\\-([^ ]+?)\\fR", page, re.M)}
    assert found - common == {name for _, name, _ in listed_options(helped)} - common
    assert page.startswith(f".TH VRAMSCOPE\\-{command.upper()} 1 ") and f"\nvramscope\\-{command} \\- " in page
    examples = re.findall(r"^\.B vramscope (.*)$", page.split(".SH EXAMPLES\n")[1], re.M)
    assert examples and len(examples) == len(re.findall(r"^  vramscope ", helped.split("\nExamples:\n")[1], re.M))
    assert (".SH FILTERS\n" in page) == ("\nFilters:\n" in helped) and (".SH FORMATS\n" in page) == (command == "export")
    check_roff(page)


def test_manual_of_an_unknown_command(vramscope):
    done = vramscope("help", "--man", "reprot")
    assert done.code == 2 and "report" in done.err


@pytest.mark.parametrize("shell", ("bash", "zsh", "fish"))
def test_completions_are_sound(vramscope, shell):
    script = vramscope("help", "--completion", shell).out
    assert "vramscope" in script and "annotation" in script and "perfetto" in script
    if not shutil.which(shell):
        pytest.skip(f"no {shell} to check its completions with")
    checked = subprocess.run([shell, "-n", "/dev/stdin"], input=script.encode(), capture_output=True)
    assert checked.returncode == 0 and checked.stderr == b""


def complete_in_bash(vramscope, folder, line):
    """What bash offers for the last word of a line."""
    script = vramscope("help", "--completion", "bash").out
    words = line.split(" ")
    ask = f"""{script}
        compopt() {{ :; }}
        COMP_WORDS=({' '.join(shlex.quote(w) for w in words)}); COMP_CWORD={len(words) - 1}
        _vramscope; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", ask], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes(vramscope, folder):
    assert complete_in_bash(vramscope, folder, "vramscope re") == ["report"]
    assert "--filter" in complete_in_bash(vramscope, folder, "vramscope tree --")
    assert "--at" not in complete_in_bash(vramscope, folder, "vramscope stats --")
    assert complete_in_bash(vramscope, folder, "vramscope tree --at p") == ["peak"]
    assert complete_in_bash(vramscope, folder, "vramscope report sn") == ["snapshot.pickle"]
    assert complete_in_bash(vramscope, folder, "vramscope export snapshot.pickle pe") == ["perfetto"]
    assert complete_in_bash(vramscope, folder, "vramscope help ev") == ["events"]
