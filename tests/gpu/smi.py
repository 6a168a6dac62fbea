#!/usr/bin/env python3
"""Compares `vramscope smi` with nvidia-smi on a machine with a GPU: every field of both, in every format.

    smi.py VRAMSCOPE          prints what differs; exit status 1 if a stable field does

Fields that change from moment to moment are asked three times of each program and differ only if their sets do.
"""

import json
import re
import subprocess
import sys


def ask(program, *options):
    done = subprocess.run([*program, *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def names(program, what):
    return [alias for line in ask(program, f"--help-query-{what}")[1].splitlines() if line.startswith('"')
            for alias in re.findall(r'"([^"]+)"', line)]


def main():
    theirs, ours, different = ["nvidia-smi"], [sys.argv[1], "smi"], {}
    for what in ("gpu", "compute-apps", "accounted-apps"):
        known = [names(program, what) for program in (theirs, ours)]
        different[f"fields of {what} that only nvidia-smi has"] = sorted(set(known[0]) - set(known[1]))
        different[f"fields of {what} that only vramscope has"] = sorted(set(known[1]) - set(known[0]))
        for field in known[0]:
            told = [{ask(program, f"--query-{what}={field}", "--format=csv")[:2] for _ in range(3)} for program in (theirs, ours)]
            if not told[0] & told[1]:
                different[f"{what} {field}"] = [sorted(map(str, t)) for t in told]
    for options in (["--query-gpu=memory.total,memory.used", "--format=csv,noheader"], ["--query-gpu=name,nonsense", "--format=csv"],
                    ["--query-gpu=memory.total", "--format=csv,nounits"], ["--query-gpu=memory.total", "--format=noheader"],
                    ["--query-gpu=memory.total", "--format=csv,xml"], ["--query-gpu=memory.total"], ["-i", "99", "--query-gpu=name", "--format=csv"],
                    ["-i", "0", "--query-gpu=name", "--format=csv"], ["--query-gpu=", "--format=csv"], ["--query-gpu=a,b", "--format=csv"],
                    ["--query-compute-apps=pid,used_memory", "--format=csv"], ["--query-compute-apps=nonsense", "--format=csv"]):
        told = [ask(program, *options) for program in (theirs, ours)]
        if told[0] != told[1]:
            different[" ".join(options)] = told
    print(json.dumps(different, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
