"""What the programs of this folder share: runs in turn until their figures are steady, promises, the machine, and its history.

A promise is about a ratio within one run, or about a count: a number of seconds means little on another machine. Each round runs every side once, so
that a machine whose speed drifts slows all of them; a ratio is made within a round, and the figure is the median of the rounds. Rounds are added until
the standard error of each median is at most STEADY of it, or three times the rounds were made: then the figure is printed as not steady.

Each program adds a line to build/bench-history/MACHINE.jsonl, which `make clean` keeps and bench/history shows:
    {"program", "when" (UTC), "commit", "changed" (files differ from the commit), "load" [before, after], "stolen" (part of the processors' time that
     the hypervisor gave to others), "figures": {name: {"value"; "rounds" and "error" (the standard error over the value) of a median; "bound" and "holds" of a promise}}}
"""

import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
RELEASE = BUILD / os.environ.get("VRAMSCOPE_BUILD", "release")
VRAMSCOPE = RELEASE / "vramscope"
SIMULATED_PYTHON = BUILD / "simvenv" / "bin" / "python"  # has PyTorch
HISTORY = BUILD / "bench-history"
STEADY = 0.05


# ---- figures


def error_of(samples):
    """The standard error of the samples' median, over the median; unknown (infinite) for fewer than three."""
    if len(samples) < 3:
        return math.inf
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    middle = statistics.median(samples)
    return abs(1.2533 * (high - low) / 1.349 / math.sqrt(len(samples)) / middle) if middle else math.inf


def in_turn(runs, rounds, watched):
    """{name: [what each call returned]} of `runs` {name: function}, each called once a round.

    `watched(results)` gives the lists of samples whose medians have to be steady."""
    results = {name: [] for name in runs}
    for number in range(3 * rounds):
        if number >= rounds and all(error_of(samples) <= STEADY for samples in watched(results)):
            break
        for name, run in runs.items():
            say(f"round {number + 1}{f' of {rounds}' if number < rounds else ', not steady yet'}: {name}")
            results[name].append(run())
    say("")
    return results


def ratios(over, under):
    """Of each round."""
    return [a / b for a, b in zip(over, under, strict=True)]


def say(line):
    """What goes on, on a terminal, in one line that the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


# ---- processes


def run(command, env=None):
    """Runs a command to its end: processor seconds (user and system, of all its processes), seconds by the clock, the most resident bytes of one of its
    processes. `env`: added to this environment."""
    # What this process has in memory counts in its child's peak, so programs of this folder read no large files themselves.
    began = time.monotonic()
    child = os.posix_spawnp(str(command[0]), [str(word) for word in command], {**os.environ, **(env or {})},
                            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"bench: failed with {os.waitstatus_to_exitcode(status)}: {' '.join(map(str, command))[:500]}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss * 1024


def instructions(command):
    """That the command executes, by callgrind."""
    out = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)],
                         capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", out.stderr).group(1))


def simulated(build=RELEASE, recording=None):
    """The environment of a program on a simulated GPU of 24 GiB; with a recorder where the path of a recording is given."""
    libraries = build / "simcuda"
    core = libraries / "libvramscope-sim.so"
    preload = [core, *sorted(path for path in libraries.glob("*.so*") if path != core)]
    env = {"VRAMSCOPE_SIM_GPU": "24GiB", "PYTHONPATH": str(build.resolve() / "python")}
    if recording is not None:
        preload.insert(0, build / "preload" / "libvramscope-record.so")
        env["VRAMSCOPE_RECORD"] = str(recording)
    return {**env, "LD_PRELOAD": ":".join(map(str, preload))}


def snapshot(events):
    """A generated snapshot (generate_snapshot.py): a transformer in training, with the sharing of stacks that real ones have."""
    path = BUILD / "bench" / f"snapshot-{events}.pickle"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"Generating {path.relative_to(ROOT)} ...", file=sys.stderr, flush=True)
        partial = path.with_suffix(".partial")
        subprocess.run([sys.executable, ROOT / "bench" / "generate_snapshot.py", "--events", str(events), "--seed", "1", "-o", partial],
                       check=True)
        partial.rename(path)
    return path


def pickle_load(path):
    """The command with which CPython reads a snapshot: what every Python tool for snapshots does first."""
    return [sys.executable, ROOT / "bench" / "load_pickle.py", path]


# ---- the machine


def field_of(path, name):
    """The value of a line "NAME: VALUE" of a file of /proc; None: the file has none."""
    found = re.search(rf"^{name}\s*:\s*(.+)$", Path(path).read_text(), re.M)
    return found and found.group(1)


def machine():
    memory = int(field_of("/proc/meminfo", "MemTotal").split()[0]) * 1024
    return f"{field_of('/proc/cpuinfo', 'model name') or platform.machine()}, {os.cpu_count()} processors, {memory / 2**30:.0f} GiB"


def processor_times():
    """(all, stolen) ticks of all processors since the machine started."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[7]


def commit():
    """The commit's short name, and whether files differ from it; None outside a checkout."""
    out = [subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
           for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))]
    return (out[0].stdout.strip(), out[1].stdout != "") if out[0].returncode == 0 else (None, None)


def history_of(name):
    return HISTORY / f"{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}.jsonl"


class Bench:
    """The figures of one program of this folder, printed as they come."""

    def __init__(self):
        self.program = Path(sys.argv[0]).name
        self.machine = machine()
        self.times = processor_times()
        self.load = os.getloadavg()[0]
        self.figures = {}
        self.is_kept = True
        print(f"{self.machine}; load {self.load:.1f}", flush=True)

    def missing(self, name):
        """A promised figure that could not be measured is not kept."""
        self.is_kept = False
        print(f"{name:60} {'':>19}  MISS (not measured)", flush=True)

    def figure(self, name, samples, most=None, least=None, is_shown=True):
        """Keeps and prints a figure: the median of samples, or a number that needs no other round. `most`, `least`: what is promised of it."""
        is_count = not isinstance(samples, list)
        value = samples if is_count else statistics.median(samples)
        self.figures[name] = {"value": float(f"{value:.6g}"), **({} if is_count else {"rounds": len(samples)})}
        line = f"{name:60} {value:>12,.4g}" if abs(value) < 1000 else f"{name:60} {value:>12,.0f}"
        if not is_count:
            error = error_of(samples)
            if math.isfinite(error):
                self.figures[name]["error"] = round(error, 4)
            line += f" ±{error:5.1%}" if math.isfinite(error) else " ±    ?"
        else:
            line += " " * 7
        holds = (most is None or value <= most) and (least is None or value >= least)
        self.is_kept &= holds
        if most is not None or least is not None:
            self.figures[name] |= {"bound": most if most is not None else least, "holds": holds}
            line += f"  {'ok  ' if holds else 'MISS'} ({'at most' if most is not None else 'at least'} {most if most is not None else least:,})"
        if not is_count and not error_of(samples) <= STEADY:
            line += f"  not steady in {len(samples)} rounds"
        if is_shown:
            print(line, flush=True)

    def end(self):
        """Adds the line to the machine's history. Returns the exit status: 1 if a promise is not kept."""
        total, stolen = (now - before for now, before in zip(processor_times(), self.times, strict=True))
        name, is_changed = commit()
        row = {"program": self.program, "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": name,
               "changed": is_changed, "load": [self.load, os.getloadavg()[0]], "stolen": round(stolen / total, 4) if total else None,
               "figures": self.figures}
        path = history_of(self.machine)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"load {row['load'][1]:.1f} at the end; the hypervisor took {stolen / total if total else 0:.1%} of the processors' time", flush=True)
        return 0 if self.is_kept else 1
