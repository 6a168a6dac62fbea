#!/usr/bin/env python3
"""Compares what `tests/gpu/run` measured on a real GPU with the simulated one, and prints tables for docs/measured-gpus.md.

    judge.py REAL VRAMSCOPE PYTHON [--gpu H100] [--only NAME...]

REAL is the folder `real` that the run wrote, PYTHON an interpreter with the same PyTorch. No GPU is needed.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import compare

HERE = Path(__file__).parent
FIGURES = {"reserved": "reserved_bytes.all.peak", "allocated": "allocated_bytes.all.peak", "requested": "requested_bytes.all.peak"}


def last_json(text):
    return json.loads(text.splitlines()[-1])


def plain(path, folder):
    """The snapshot unpacked, where it is compressed."""
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        return path
    unpacked = Path(folder, "real_" + path.name)
    unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    return unpacked


def simulate(options, folder, script, *arguments):
    done = subprocess.run([options.vramscope, "dryrun", "--no-history", "--gpu", options.gpu, "-f", "-o", Path(folder, "report"), "--",
                           options.python, script, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{script} {arguments}: exit {done.returncode}\n{done.stderr[-500:]}")
    return last_json(done.stdout)


def difference(real, simulated):
    return "equal" if real == simulated else f"{100 * (simulated - real) / real:+.3f}%"


def programs(options, folder):
    print("| program | events | in order | " + " | ".join(f"peak {name}" for name in FIGURES) + " | outside |\n|---|---|---|---|---|---|---|")
    for told in sorted((options.real / "programs").glob("*.out")):
        name = told.stem
        if options.only and name not in options.only:
            continue
        real = last_json(told.read_text())
        simulated = simulate(options, folder, HERE / "programs.py", name, Path(folder, name + ".pickle"))
        (events, _), (ours, _) = (compare.load(path, 0) for path in (plain(told.with_suffix(".pickle"), folder), Path(folder, name + ".pickle")))
        order = next((i for i, (a, b) in enumerate(zip(events, ours)) if a != b), min(len(events), len(ours)))
        figures = [difference(real["statistics"].get(key, 0), simulated["statistics"].get(key, 0)) for key in FIGURES.values()]
        alone = name in ("full_of_tensors", "gpt_ran_out")  # the others ran beside each other
        outside = difference(real["outside"], simulated["outside"]) if alone else ""
        print(f"| {name} | {len(events):,} | {'all' if events == ours else f'{order:,}'} | {' | '.join(figures)} | {outside} |", flush=True)


def whatif(options, folder):
    """The programs and settings of the run, on the simulated GPU and by `vramscope whatif` from the real recordings."""
    real = last_json((options.real / "whatif.out").read_text())
    settings = [text for text in next(iter(real.values())) if text]
    simulated = simulate(options, folder, HERE.parent / "sim/programs/whatif.py", folder, *settings)
    print("\n| program | runs | equal on the simulated GPU | peak reserved by `whatif` equal |\n|---|---|---|---|")
    for name, runs in real.items():
        equal = sum(runs[text] == simulated[name][text] for text in runs)
        asked = subprocess.run([options.vramscope, "query", options.real / "whatif" / f"{name}.pickle", "whatif",
                                "set=" + json.dumps(list(runs)), f'cards=["{options.gpu}"]'], capture_output=True, text=True, check=True)
        answers = json.loads(asked.stdout)
        right = sum(run["reserved_peak_bytes"] == runs[run["asked"]]["reserved_bytes.all.peak"] for run in answers["runs"])
        note = "" if answers["check"]["is_equal"] else " (it says that its replay does not equal the recording)"
        print(f"| {name} | {len(runs)} | {equal} | {right}{note} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("real", type=Path)
    options.add_argument("vramscope")
    options.add_argument("python")
    options.add_argument("--gpu", default="H100")
    options.add_argument("--only", nargs="+", metavar="NAME")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs(options, folder)
        if not options.only:
            whatif(options, folder)


if __name__ == "__main__":
    main()
