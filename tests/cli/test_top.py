"""`vramscope top` as people see it: in a real terminal (tmux), of several sizes, in front of a fake NVML that answers
from a scenario; the keys, what happens when the driver goes, and that the terminal is left as it was.

Pictures that do not change with time are compared with golden files (the first line, which has the host's name and the
time, is not in them). A scenario is changed while `top` runs by renaming a new file over it.
"""

import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import conftest as make

FAKE = os.environ.get("VRAMSCOPE_FAKE", "")
SCENARIOS = Path(__file__).parents[1] / "fake" / "scenarios"
PATIENCE_S = 30
HIDDEN = 4_190_001  # near the end of what Linux gives to a process: never one of this machine's

LOADED = f"""include = h200.txt

[card 0]
memory.used = 33934016512
utilization.gpu = 97
temperature.gpu = 61
power.draw = 612340
process = {HIDDEN} C 28234MiB
process = {HIDDEN + 7} C 3584MiB
process = {HIDDEN + 500} G 524MiB
"""
TWO = f"""{LOADED}
[card like 0]
uuid = GPU-a1b2c3d4-0000-4000-8000-000000000002
memory.used = 120GiB
utilization.gpu = 8
process = none
process = {HIDDEN + 9} C 119GiB
"""


@pytest.fixture
def scenario(tmp_path):
    """scenario(text) -> path of a scenario file; called again, it changes the machine of a running program."""
    path = tmp_path / "scenario.txt"

    def write(text):
        fresh = tmp_path / "fresh.txt"
        fresh.write_text(text.replace("include = ", f"include = {os.path.relpath(SCENARIOS, tmp_path)}/"))
        fresh.rename(path)
        return path

    return write


def fake(path):
    return {"VRAMSCOPE_NVML": f"{FAKE}/libnvidia-ml.so.1", "VRAMSCOPE_FAKE_NVML": str(path)}


@pytest.fixture
def top(vramscope):
    """top("--once", scenario=path) -> Run, without a terminal."""

    def run(*args, scenario, env=None, **more):
        return vramscope("top", *args, env={**fake(scenario), **(env or {})}, **more)

    return run


class Screen:
    """A terminal with a shell in it."""

    def __init__(self, socket):
        self.socket = socket

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *map(str, args)],
                              env=make.environment(TERM="xterm-256color"), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def open(self, columns, rows):
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, "PS1='ready$ ' exec sh")
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", columns, "-y", rows)
        self.wait("ready$")

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, command):
        self.tmux("send-keys", "-l", command)
        self.tmux("send-keys", "Enter")

    def text(self):
        return self.tmux("capture-pane", "-p")

    def colours(self):
        return self.tmux("capture-pane", "-p", "-e")

    def until(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not condition(text := self.text()):
            assert time.monotonic() < deadline, f"{what} does not come:\n{text}"
            time.sleep(0.02)
        return text

    def wait(self, *parts, without=()):
        """One picture with all of that: what is read while it is drawn has only a part of it."""
        return self.until(lambda text: all(part in text for part in parts) and not any(part in text for part in without),
                          f"{parts} without {without}")

    def wait_gone(self, part, *parts):
        return self.wait(*parts, without=[part])

    def pid(self):
        """Of the program in the foreground."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def is_as_before(self):
        """No alternate screen, a cursor."""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]


@pytest.fixture
def terminal(tmp_path, build):
    """with terminal(80, 24, "-d 0.1", scenario=path, TERM="vt100") as screen: ...   `top` runs in it."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not here")
    if build["ncurses"] is None:
        pytest.skip("this build has no screen")

    numbers = itertools.count()

    @contextlib.contextmanager
    def run(columns, rows, args, *, scenario, wait="GPU", **env):
        screen = Screen(tmp_path / f"tmux{next(numbers)}")
        screen.open(columns, rows)
        try:
            settings = {**make.environment(TERM="screen-256color"), **fake(scenario), **env}
            settings.pop("COLUMNS")
            words = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
            screen.run(f"stty -a > {tmp_path}/before; clear; env {words} {make.BINARY} top {args}; echo ended $?; "
                       f"stty -a > {tmp_path}/after")
            screen.wait(wait)
            yield screen
        finally:
            screen.tmux("kill-server")

    return run


def below_header(text):
    return text.split("\n", 1)[1]


# ---- pictures


SIZES = ((60, 16), (80, 24), (160, 50))
SITUATIONS = {"loaded": LOADED, "two": TWO,
              **{name: f"include = {name}.txt\n" for name in ("mig", "not_permitted", "sixteen")}}


def without_own_processes(text):
    """Other scenarios have small pids, which may be processes of this machine: such rows are cut after the pid."""
    return re.sub(r"^( [0-9:]+ +\d{1,6}  ).*$", r"\1...", text, flags=re.M)


@pytest.mark.parametrize("columns, rows", SIZES)
def test_pictures(terminal, scenario, golden, columns, rows):
    for name, text in SITUATIONS.items():
        with terminal(columns, rows, "-d 3600", scenario=scenario(text)) as screen:
            picture = screen.wait(" q quit")
            header = picture.split("\n", 1)[0]
            assert header.startswith(" vramscope top  ") and re.search(r"\d\d:\d\d:\d\d$", header), header
            shown = below_header(picture)
            golden(f"top_{name}_{columns}x{rows}", without_own_processes(shown))
            assert all(len(line) <= columns for line in picture.splitlines())


@pytest.mark.parametrize("env", ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, {"TERM": "linux"}),
                         ids=("locale", "flag", "console"))
def test_ascii(terminal, scenario, golden, env):
    flag = "-U" if env == {"LC_ALL": "C.UTF-8"} else ""
    with terminal(80, 24, f"-d 3600 {flag}", scenario=scenario(TWO), **env) as screen:
        picture = screen.wait(" q quit")
        assert picture.isascii()
        golden("top_ascii", below_header(picture))


COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;5;\d+)m")


def test_colours(terminal, scenario):
    with terminal(80, 24, "-d 3600", scenario=scenario(TWO)) as screen:
        screen.wait(" q quit")
        first, second = (next(line for line in screen.colours().splitlines() if used in line and "GiB" not in line)
                         for used in ("108.20", "19.80"))
        assert "\x1b[33m━" in first and "\x1b[1m\x1b[31m97%" in first  # 22% of memory: yellow; 97% of time: red
        assert "\x1b[1m\x1b[31m━" in second and "\x1b[32m8%" in second  # 85% of memory: red; 8% of time: green
        screen.type("j", "j")
        chosen = re.compile(rf"\x1b\[7m.*{HIDDEN}")
        screen.until(lambda _: any(map(chosen.search, screen.colours().splitlines())), "the chosen row")


@pytest.mark.parametrize("args, env", (("", {"NO_COLOR": "1"}), ("--color never", {}), ("", {"TERM": "vt100"})),
                         ids=("variable", "flag", "terminal"))
def test_without_colours(terminal, scenario, args, env):
    with terminal(80, 24, f"-d 3600 {args}", scenario=scenario(TWO), **env) as screen:
        screen.wait(" q quit")
        assert not COLOUR.search(screen.colours())
        assert "\x1b[7m" in screen.colours()  # headings stand out all the same


# ---- what changes while it runs


def adds_up(picture):
    found = [re.search(rf"(?:^|\s){label}\s+([\d.]+)", picture)
             for label in ("used", "3 processes", "unattributed", "free", "reserved", "total")]
    if None in found:
        return False
    used, processes, rest, free, reserved, total = (int(float(match[1]) * 100 + 0.5) for match in found)
    return used > 12900 and used == processes + rest and total == used + free + reserved


def test_memory_grows(terminal, scenario):
    """Figures and graph follow; what the rows say adds up."""
    with terminal(100, 30, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait(" q quit", "peak 31.60")
        scenario(LOADED.replace("33934016512", "130GiB"))
        screen.wait("peak 130.00")
        screen.until(adds_up, "rows that add up")
        screen.until(lambda text: text.count("⣿") > 3, "the graph of it")
        scenario(LOADED.replace("33934016512", "1GiB"))
        screen.wait("   1.00", "peak 130.00")  # in the picture still


def test_processes_come_and_go(terminal, scenario):
    with terminal(120, 24, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait(str(HIDDEN + 7), "(pid not visible here)")
        scenario(LOADED + f"process = {HIDDEN + 44} C 1GiB\n")
        screen.wait(str(HIDDEN + 44), "4 processes")
        scenario("include = h200.txt\n")
        screen.wait("no process holds memory")


def test_driver_is_lost_and_found(terminal, scenario):
    """It goes on, says so, and opens the driver again; the history stays."""
    with terminal(100, 30, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait("31.60")
        scenario("init = 9\n" + LOADED + "lost = 15\n")
        screen.until(lambda text: "The driver is gone, trying again:" in text
                     and ("H200" in text and "no process" in text or "are unknown" in text), "the driver is gone")
        screen.type("?")
        screen.wait("top only reads")
        screen.type("x")
        scenario(LOADED.replace("33934016512", "50GiB"))
        screen.wait("50.00", "peak 50.00", without=["trying again"])
        screen.type("q")
        screen.wait("ended 0")


def test_one_card_is_lost(terminal, scenario):
    with terminal(80, 24, "-d 0.1", scenario=scenario(TWO)) as screen:
        screen.wait("120.00")
        scenario(TWO + "lost = 15\n")
        screen.wait("lost", "31.60", without=["trying again"])  # the other one is there as before


def test_hanging_driver(terminal, scenario):
    """The driver hangs: the keys work, the screen says how old the figures are, and q exits at once."""
    with terminal(100, 30, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait("31.60")
        scenario("slow = nvmlDeviceGetMemoryInfo_v2 600000000\n" + LOADED)
        screen.wait("The driver has not answered for", "stale")
        screen.type("?")
        screen.wait("top only reads")
        screen.type("x")
        screen.wait_gone("top only reads")
        began = time.monotonic()
        screen.type("q")
        screen.wait("ended 0")
        assert time.monotonic() - began < 10
        assert screen.is_as_before()


def test_driver_hangs_from_the_beginning(build, scenario):
    path = scenario("slow = nvmlDeviceGetMemoryInfo_v2 600000000\n" + LOADED)
    process = subprocess.Popen([make.BINARY, "top", "--json"], env=make.environment(**fake(path)),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr.readline() == "vramscope: the driver has not answered yet; Ctrl-C ends\n"
        process.send_signal(signal.SIGTERM)  # which no parent has had ignored
        out, errors = process.communicate(timeout=PATIENCE_S)
        assert (out, errors, process.returncode) == ("", "", 0)
    finally:
        process.kill()


# ---- keys


def rows(text):
    return [int(pid) for pid in re.findall(r"^ (?:[0-9:]+ )? +(\d{7,})  ", text, re.M)]


def test_keys(terminal, scenario):
    with terminal(100, 30, "-d 0.1", scenario=scenario(TWO)) as screen:
        a, b, c, d = HIDDEN, HIDDEN + 7, HIDDEN + 9, HIDDEN + 500
        screen.until(lambda text: rows(text) == [c, a, b, d], "the order by memory")
        screen.type("r")
        screen.until(lambda text: rows(text) == [d, b, a, c], "the other way")
        screen.type("r", "s", "s")
        screen.until(lambda text: rows(text) == [a, b, c, d] and "PID▴" in text, "the order by pid")
        screen.type("/", str(a))
        screen.until(lambda text: f"Filter: {a}_" in text and rows(text) == [a], "what is typed")
        screen.type("BSpace", "BSpace", "BSpace", "501", "Enter")
        screen.until(lambda text: rows(text) == [d], "the filter")
        screen.wait(f"3 hidden /{d}")
        screen.type("Escape")
        screen.until(lambda text: rows(text) == [a, b, c, d], "no filter")
        screen.type("1", "o")
        screen.until(lambda text: rows(text) == [c] and "GPU 1 holds" in text, "only GPU 1")
        screen.type("o", "Tab")
        screen.wait("GPU 0 holds")
        screen.type("5")
        screen.wait("there is no GPU 5 here")
        screen.type("g")
        screen.wait_gone("now ─", "GPU 0: used 31.60 GiB = processes")
        screen.type("g", "-")
        screen.wait("now ─")
        screen.type("j", "j", "Enter")
        screen.wait(f"pid        {b}", "the driver counts by the host's numbers")
        screen.type("x")
        screen.wait_gone("pid        ")
        screen.type("d", "0.01", "Enter")
        screen.wait('"0.01" is no interval')
        screen.type("d", "0.3", "Enter")
        screen.wait("every 0.3 s")
        screen.type("h")
        screen.wait("top only reads: no key ends, stops or changes a process.", "any key goes back")
        screen.type("q")
        screen.wait_gone("top only reads")
        screen.type("q")
        screen.wait("ended 0")


def test_pause(terminal, scenario):
    """The screen is paused while the machine continues; the graph then shows the time of the pause."""
    with terminal(100, 30, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait("31.60")
        screen.type("p")
        before = screen.wait("PAUSED")
        scenario(LOADED.replace("33934016512", "130GiB"))
        time.sleep(0.5)
        scenario(LOADED.replace("33934016512", "40GiB"))
        time.sleep(0.5)
        assert screen.text() == before
        screen.type("Space")
        screen.wait("40.00", "peak 130.00", without=["PAUSED"])


def test_resize(terminal, scenario):
    with terminal(80, 24, "-d 0.1", scenario=scenario(TWO)) as screen:
        screen.wait("GPU 0 holds")
        for columns, lines, part in ((160, 50, "GPU 1 used, GiB"), (60, 16, "GPU 0: used"), (34, 8, "31.60"),
                                     (12, 3, "0"), (3, 1, ""), (200, 60, "GPU 1 used, GiB"), (80, 24, "GPU 0 holds")):
            screen.tmux("resize-window", "-x", columns, "-y", lines)
            text = screen.until(lambda text: part in text and ("q quit" in text or lines < 5), f"{columns}x{lines}")
            assert all(len(line) <= columns for line in text.splitlines())
        screen.type("q")
        screen.wait("ended 0")


# ---- the end


@pytest.mark.parametrize("how", ("q", "C-c", "C-\\", "TERM", "HUP", "ABRT"))
def test_terminal_is_as_before(terminal, scenario, tmp_path, how):
    with terminal(80, 24, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait(" q quit")
        assert not screen.is_as_before()
        if how in ("TERM", "HUP", "ABRT"):
            os.kill(screen.pid(), getattr(signal, f"SIG{how}"))
        else:
            screen.type(how)
        code = {"C-\\": 128 + signal.SIGQUIT, "ABRT": 128 + signal.SIGABRT}.get(how, 0)
        screen.wait(f"ended {code}", without=["31.60"])  # what was there before is back
        screen.until(lambda _: screen.is_as_before(), "the terminal as it was")
        screen.until(lambda _: (tmp_path / "after").exists() and (tmp_path / "after").read_text(), "stty")
        assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


def test_stop_and_go_on(terminal, scenario):
    """Ctrl-Z restores the terminal, fg draws the screen again."""
    with terminal(80, 24, "-d 0.1", scenario=scenario(LOADED)) as screen:
        screen.wait(" q quit")
        os.kill(screen.pid(), signal.SIGTSTP)
        screen.until(lambda _: screen.is_as_before(), "the terminal as it was")
        screen.wait("Stopped")
        screen.run("fg")
        screen.until(lambda text: " q quit" in text and not screen.is_as_before(), "the screen")


# ---- without a screen


@pytest.mark.parametrize("term", ("dumb", "no-such-terminal"))
def test_terminal_that_cannot(terminal, scenario, term):
    with terminal(100, 30, "", scenario=scenario(LOADED), wait="ended", TERM=term) as screen:
        screen.wait("ended 0", "used 31.60 GiB = processes 31.58 + unattributed 0.02", f'"{term}"', "this is one look as text")


def test_once(top, scenario, golden):
    for name, text in SITUATIONS.items():
        done = top("--once", scenario=scenario(text))
        assert done.code == 0 and done.err == ""
        body = below_header(done.out)
        golden(f"top_once_{name}", without_own_processes(body))
    assert "\x1b[" not in done.out
    plain = below_header(top("-1", scenario=scenario(LOADED)).out)
    assert below_header(top(scenario=scenario(LOADED)).out) == plain
    coloured = below_header(top("-1", "--color", "always", scenario=scenario(LOADED)).out)
    assert COLOUR.search(coloured) and re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain


def test_json(top, scenario):
    done = top("--json", scenario=scenario(TWO))
    assert done.code == 0
    answer = json.loads(done.out)
    assert answer["schema"] == 1 and answer["trouble"] is None
    assert answer["driver"]["version"] == "590.48.01"
    assert abs(answer["time_us"] / 1e6 - time.time()) < 3600
    for device in answer["devices"]:
        total, used, free, reserved, attributed, unattributed = (
            device[f"memory_{name}_bytes"]
            for name in ("total", "used", "free", "reserved", "attributed", "unattributed"))
        assert total == used + free + reserved and used == attributed + unattributed
        held = sum(p["used_bytes"] for p in answer["processes"] if p["uuid"] == device["uuid"])
        assert held == attributed and device["unknown"] == {}
    assert [p["pid"] for p in answer["processes"]] == [HIDDEN + 9, HIDDEN, HIDDEN + 7, HIDDEN + 500]
    assert not any(p["is_visible"] or p["command"] or p["user"] for p in answer["processes"])


def test_json_says_why_it_is_unknown(top, scenario):
    answer = json.loads(top("--json", scenario=scenario("include = not_permitted.txt\n")).out)
    device = answer["devices"][0]
    assert device["memory_used_bytes"] is None and device["unknown"]["memory_used_bytes"] == "no_permission"
    assert device["temperature_celsius"] == 28 and "temperature_celsius" not in device["unknown"]


def test_visible_process(top, scenario):
    """A process of this machine has its user and command; where the pid namespace hides them, it says so."""
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            while not Path(f"/proc/{child.pid}/cmdline").read_bytes():  # the kernel fills it after Popen() has returned
                time.sleep(0.01)
            text = LOADED + f"process = {child.pid} C 1GiB\n"
            rows = json.loads(top("--json", "-p", str(child.pid), scenario=scenario(text)).out)["processes"]
            assert [row["pid"] for row in rows] == [child.pid]
            if rows[0]["is_visible"]:
                assert rows[0]["command"] == "sleep 600" and rows[0]["user"]
                assert abs(rows[0]["started_us"] / 1e6 - time.time()) < 3600
                assert top("-1", "-u", rows[0]["user"], scenario=scenario(text)).out.count("sleep 600") == 1
            assert str(HIDDEN) not in top("-1", "-p", str(child.pid), scenario=scenario(text)).out
        finally:
            child.kill()


def test_ndjson(top, scenario):
    done = top("--ndjson", "--count", "3", "-d", "0.1", scenario=scenario(LOADED))
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0 and len(lines) == 3
    times = [line["time_us"] for line in lines]
    assert times == sorted(set(times))
    shell = f"{make.BINARY} top --ndjson -d 0.1 | head -n 1 | wc -l"  # the reader closed the pipe: it exits
    out = subprocess.run(["sh", "-c", shell], env=make.environment(**fake(scenario(LOADED))), capture_output=True,
                         text=True, timeout=60)
    assert (out.stdout.strip(), out.stderr) == ("1", "")


def test_selection(top, scenario):
    path = scenario(TWO)
    devices = lambda *args: [d["label"] for d in json.loads(top("--json", *args, scenario=path).out)["devices"]]
    assert devices() == ["0", "1"]
    assert devices("-i", "1") == ["1"]
    assert devices("--id", "GPU-a1b2c3d4-0000-4000-8000-000000000002,0") == ["1", "0"]
    path = scenario("include = mig.txt\n")
    assert devices() == ["0", "0:0", "0:1", "0:4"]
    assert devices("-i", "0:1") == ["0:1"]


@pytest.mark.parametrize("args, text, code, sentence", (
    (["--once"], "init = 9\n", 3, None),
    (["--json"], "init = 18\ninclude = h200.txt\n", 3, None),
    (["--once"], "include = none.txt\n", 3, "the driver runs, but there is no GPU"),
    (["-i", "7"], LOADED, 2, None),
    (["-i", "nonsense"], LOADED, 2, None),
    (["-d", "0.01"], LOADED, 2, "--interval takes seconds from 0.1 to 3600, such as 0.5 or 250ms"),
    (["-d", "99ms"], LOADED, 2, "--interval takes seconds from 0.1 to 3600, such as 0.5 or 250ms"),
    (["--ndjson", "-c", "0"], LOADED, 2, "--count takes a number from 1 on"),
), ids=("no-driver", "mismatch", "no-gpu", "index", "selection", "interval", "milliseconds", "count"))
def test_errors(top, scenario, args, text, code, sentence):
    done = top(*args, scenario=scenario(text))
    assert done.code == code and done.out == ""
    assert re.fullmatch(r"vramscope: [^\n]+\n", done.err)
    assert sentence is None or sentence in done.err


def test_no_library(vramscope, folder):
    done = vramscope("top", env={"VRAMSCOPE_NVML": str(folder / "nothing.so")})
    assert done.code == 3 and done.out == "" and done.err.count("\n") == 1
