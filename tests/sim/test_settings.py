"""Our reading of settings, our statistics, summary and out-of-memory message against PyTorch's own, on the simulated GPU, by the
rules that its version has (src/alloc/torch_versions.def).

One run of PyTorch answers everything (programs/alloc_facts.py); ALLOC_SETTINGS is tests/programs/alloc_settings.c.
"""

import json
import os
import random
import re
import subprocess

import pytest
from conftest import PYTHON, ROOT

MiB, UNLIMITED = 1 << 20, (1 << 64) - 1
STRINGS, STATISTICS = 300, 30
METRICS = ("current", "peak", "allocated", "freed")
FLAGS = {
    "expandable_segments": "expandable_segments",
    "release_lock_on_cudamalloc": "release_lock_on_cudamalloc",
    "pinned_use_cuda_host_register": "pinned_use_cuda_host_register",
    "graph_capture_record_stream_reuse": "graph_capture_record_stream_reuse",
}
PLUGIN = "#include <stddef.h>\nvoid *none(size_t s, int d, void *q) { (void)s; (void)d; (void)q; return NULL; }\n"
PLUGIN += "void nothing(void *p, size_t s, int d, void *q) { (void)p; (void)s; (void)d; (void)q; }\n"

# Where we are stricter: PyTorch takes these, for the reason said.
ACCEPTED_BY_PYTORCH_ALONE = [
    "max_split_size_mb:30abc",  # letters behind a number
    "max_split_size_mb:-1",  # wraps around
    "max_split_size_mb:+30",
    "max_split_size_mb:99999999999999",  # is cut to what fits
    "garbage_collection_threshold:0.5.5",
    "garbage_collection_threshold:+0.5",
    "garbage_collection_threshold:0x1p-1",
    "max_split_size_mb:1 2 8",  # white space within a word
    "max_split_size_mb:128,",  # needless separators
    "roundup_power2_divisions:[256:2,]",
    "roundup_power2_divisions:[]",
    "expandable_segments_reserve:16GiB",  # warned of and ignored
    "expandable_segments_reserve:0",
    "expandable_segments_reserve:-1",
    "expandable_segments_reserve:nan",
    "expandable_segments_reserve_by_class:[kv:0.5,weights:8X]",
    "expandable_segments_reserve_by_class:[kv:1,kv:2]",  # the same class twice
]
REFUSED_BY_BOTH = [
    "max_split_size_mb:19",
    "max_split_size_mb:25,large_segment_size_mb:40",
    "large_segment_size_mb:10",
    "max_non_split_rounding_mb:19",
    "garbage_collection_threshold:0",
    "garbage_collection_threshold:1.0",
    "garbage_collection_threshold:nan",
    "roundup_power2_divisions:0",
    "roundup_power2_divisions:3",
    "roundup_power2_divisions:[256:3]",
    "roundup_power2_divisions:[255:4]",
    "roundup_power2_divisions:[256:2",
    "expandable_segments:true",
    "pinned_num_register_threads:0",
    "pinned_num_register_threads:256",
    "pinned_reserve_segment_size_mb:0",
    "per_process_memory_fraction:1.5",
    "backend:nativ",
    "foo:1",
    "max_split_size_mb",
    "max_split_size_mb:",
    ",max_split_size_mb:128",
    "max_split_size_mb:128,,garbage_collection_threshold:0.5",
    "max_split_size_mb:128 garbage_collection_threshold:0.5",
]


VALUES = {  # each key of settings.def, and a value that changes nothing
    "backend": "native", "large_segment_size_mb": "20", "max_split_size_mb": "40", "max_non_split_rounding_mb": "40",
    "roundup_power2_divisions": "4", "roundup_bypass_threshold_mb": "64", "garbage_collection_threshold": "0.5",
    "expandable_segments": "False", "expandable_segments_reserve": "0.5", "expandable_segments_reserve_by_class": "[a:0.5]",
    "release_lock_on_cudamalloc": "False", "per_process_memory_fraction": "1", "throw_on_cudamalloc_oom": "False",
    "graph_capture_record_stream_reuse": "False", "pinned_use_cuda_host_register": "False", "pinned_num_register_threads": "1",
    "pinned_use_background_threads": "False", "pinned_reserve_segment_size_mb": "4", "pinned_max_round_threshold_mb": "900",
    "pinned_max_cached_size_mb": "900", "pinned_free_catch_all": "False",
}
TORCH = subprocess.run([PYTHON, "-c", "import importlib.metadata; print(importlib.metadata.version('torch'))"], capture_output=True,
                       text=True, check=True).stdout
VERSION = tuple(map(int, TORCH.split(".")[:2]))
RULES = re.findall(r'VS_ALLOC_RULES\(\.name = "torch-(\d+)\.(\d+)"', (ROOT / "src/alloc/torch_versions.def").read_text())
PROFILE = "torch-{}.{}".format(*max(rules for rules in (tuple(map(int, row)) for row in RULES) if rules <= VERSION))
IS_NEWEST, IS_OLD = VERSION >= (2, 15), VERSION < (2, 9)  # an old one: the parser in C++ before it was rewritten


def is_known(key):
    """By our rules; test_known_keys compares them with PyTorch's."""
    text = f"profile {PROFILE}\nparse {key}:{VALUES[key]}\n"
    done = subprocess.run(os.environ["ALLOC_SETTINGS"], input=text, capture_output=True, text=True, check=True)
    assert "error" not in done.stdout or "does not know it" in done.stdout, done.stdout
    return "error" not in done.stdout


def made_strings(rng, known):
    """Settings strings of our grammar. large_segment_size_mb stays from string to string, and bounds the others."""
    large = 20
    above = 1 if IS_OLD else 0  # a split size has to be above a large segment

    def divisions():
        if rng.random() < 0.3:
            return str(1 << rng.randrange(0, 12))
        names = [str(1 << rng.randrange(0, 18)) for _ in range(rng.randrange(1, 5))]
        names.insert(rng.randrange(len(names) + 1), ">") if rng.random() < 0.6 else None
        return "[" + ",".join(f"{name}:{rng.choice([0, 1, 2, 4, 8, 64])}" for name in names) + "]"

    values = {
        "max_split_size_mb": lambda: str(rng.choice([large + above, large + 1, 256, 1 << (30 if IS_OLD else 43)])),
        "max_non_split_rounding_mb": lambda: str(rng.randrange(large + above, 400)),
        "roundup_power2_divisions": divisions,
        "garbage_collection_threshold": lambda: rng.choice(["0.5", ".8", "0.999", "1e-3", "5E-1", f"{rng.random() + 1e-9:.17g}"]),
        "per_process_memory_fraction": lambda: rng.choice(["1.0", "1", "1.", "0.75"]),
        "throw_on_cudamalloc_oom": lambda: rng.choice(["True", "False"]),
        "expandable_segments_reserve": lambda: rng.choice(["0.5", "40G", "1.5g"]),
        "expandable_segments_reserve_by_class": lambda: rng.choice(["[a:0.5]", "[kv:8G,weights:.25]"]),
        "pinned_num_register_threads": lambda: str(1 << rng.randrange(8)),
        "pinned_use_background_threads": lambda: rng.choice(["True", "False"]),
        "pinned_max_round_threshold_mb": lambda: str(rng.randrange(0, 1000)),
        "pinned_max_cached_size_mb": lambda: str(rng.randrange(0, 1000)),
        "backend": lambda: "native",
        "release_lock_on_hipmalloc": lambda: rng.choice(["True", "False"]),
        "pinned_use_hip_host_register": lambda: rng.choice(["True", "False"]),
        **{key: (lambda: rng.choice(["True", "False"])) for key in FLAGS},
    }
    values = {key: value for key, value in values.items() if key.replace("_hip", "_cuda") in known}
    for _ in range(STRINGS):
        keys = rng.choices(list(values), k=rng.randrange(0, 6))
        pairs = []
        if rng.random() < 0.3 and "large_segment_size_mb" in known:
            large = rng.randrange(11, 64)
            pairs.append(f"large_segment_size_mb:{large}")
        pairs += [f"{key}:{values[key]()}" for key in keys]
        rng.shuffle(pairs)
        text = ",".join(pairs)
        if rng.random() < 0.3:
            text = "".join(rng.choice(["", " ", " " if IS_OLD else "\t"]) + c + rng.choice(["", " "]) if c in ",:[]" else c for c in text)
        yield text
    if "large_segment_size_mb" in known:
        yield "large_segment_size_mb:20"


def made_statistics(rng, groups):
    """Numbers of every size, added up as an allocator's are; the summary is a matter of text. Beyond 2^53 PyTorch chooses its
    units in floating point."""
    exponents = [1, 8, 19, 20, 30, 40, 50, 59]
    edges = [767 << 10, (768 << 10) - 1, 768 << 10, (768 << 20) - 1, 768 << 20, (768 << 50) - 1, 749_999_999, 750_000_000]
    for edge in [None] * STATISTICS + edges:

        def number(edge=edge):
            return rng.randrange(1 << rng.choice(exponents)) - rng.choice([0, 0, 5]) if edge is None else edge

        stats = {"num_ooms": number(), "num_alloc_retries": number()}
        for row in ("oversize_allocations", "oversize_segments"):
            stats |= {f"{row}.{metric}": number() for metric in METRICS}
        for group in groups:
            for metric in METRICS:
                small, large = number(), 0 if edge else number()
                both = number() if metric == "peak" else small + large
                stats |= {f"{group}.all.{metric}": both, f"{group}.small_pool.{metric}": small}
                stats[f"{group}.large_pool.{metric}"] = large
        yield stats


class Ours:
    """alloc_settings: commands are collected, and asked at once."""

    def __init__(self):
        self.lines, self.questions = [f"profile {PROFILE}"], 1

    def ask(self, line):
        self.lines.append(line)
        self.questions += not line.startswith(("figure ", "pool "))

    def figures(self, stats):
        pools = {}
        for key, value in stats.items():
            if not key.startswith("reserved_bytes_by_private_pools."):
                self.ask(f"figure {key} {value}")
                continue
            _, pool, part, metric = key.split(".")
            pools.setdefault((pool, part), {})[metric] = value
        for (pool, part), f in pools.items():
            index = ["all", "small_pool", "large_pool"].index(part)
            self.ask(f"pool {pool.replace('_', ' ')} {index} {f['current']} {f['peak']} {f['allocated']} {f['freed']}")

    def answers(self):
        text = "\n".join(self.lines) + "\n"
        done = subprocess.run(os.environ["ALLOC_SETTINGS"], input=text, capture_output=True, text=True, check=True)
        found = re.split(r"(?<=\n)\n|^\n", done.stdout)
        assert len(found) == self.questions + 1
        return found[1:-1]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The questions, PyTorch's answers, and ours."""
    import conftest

    rng = random.Random(20)
    folder = tmp_path_factory.mktemp("facts")
    known = {key for key in VALUES if is_known(key)}
    strings = list(made_strings(rng, known))
    groups = ["allocation", "allocated_bytes", "active", "active_bytes", "requested_bytes", "inactive_split"]
    groups += ["inactive_split_bytes", "segment", "reserved_bytes"]
    statistics = list(made_statistics(rng, groups))
    (folder / "plugin.c").write_text(PLUGIN)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "plugin.so", folder / "plugin.c"], check=True)
    texts = strings + ACCEPTED_BY_PYTORCH_ALONE + REFUSED_BY_BOTH
    given = {"keys": [f"{key}:{value}" for key, value in VALUES.items()], "settings": texts, "statistics": statistics}
    (folder / "questions.json").write_text(json.dumps(given))
    argv = conftest.command("alloc_facts.py", [folder / "questions.json", folder / "plugin.so"])
    answers = conftest.finish(argv, conftest.environment(gpu="16GiB"), folder).result
    return given, answers


def expected_settings(torch):
    """PyTorch's answer in our words."""

    def mib(value):
        return "unlimited" if value == -1 else str(value % (1 << 64) // MiB)

    wanted = {key: str(torch[name]) for key, name in FLAGS.items() if name in torch or IS_NEWEST}
    wanted["max_split_size_mb"] = mib(torch["max_split_size"])
    if IS_NEWEST:
        wanted["pinned_max_round_threshold_mb"] = mib(torch["max_round_threshold"])
        wanted["pinned_max_cached_size_mb"] = mib(torch["max_cached_size"])
    wanted["pinned_num_register_threads"] = str(torch["pinned_num_register_threads"])
    threshold = torch["garbage_collection_threshold"]
    wanted["garbage_collection_threshold"] = repr(threshold) if threshold else "off"
    wanted["divisions"] = " ".join(map(str, torch["roundup_power2_divisions"]))
    return wanted


def test_known_keys(asked):
    """The keys of this version are those that settings.def says."""
    listed = re.findall(r'VS_ALLOC_SETTING\(\s*"(\w+)"', (ROOT / "src/alloc/settings.def").read_text())
    assert set(listed) == {"profile", *VALUES}
    _, answers = asked
    known = {key for key, answer in zip(VALUES, answers["keys"], strict=True) if "nrecognized" not in answer.get("error", "")}
    assert known == {key for key in VALUES if is_known(key)}


def test_settings(asked):
    given, answers = asked
    ours = Ours()
    for text in given["settings"]:
        ours.ask("parse " + text)
    found = ours.answers()
    for text, torch, mine in zip(given["settings"], answers["settings"], found, strict=True):
        mine = dict(line.split(" ", 1) for line in mine.splitlines())
        if text in REFUSED_BY_BOTH:
            assert "error" in torch and "error" in mine, (text, torch, mine)
        elif text in ACCEPTED_BY_PYTORCH_ALONE:
            assert "error" in mine and ("error" not in torch or not IS_NEWEST), (text, torch, mine)
        else:
            wanted = expected_settings(torch)
            assert {key: mine.get(key) for key in wanted} == wanted, text


def test_summary(asked):
    given, answers = asked
    ours = Ours()
    for statistics in given["statistics"]:
        ours.figures(statistics)
        ours.ask("summary 0 0")
        ours.ask("summary 0 1")
    found = ours.answers()
    wanted = [text for pair in answers["summaries"] for text in pair]
    for mine, torch in zip(found, wanted, strict=True):
        assert mine == torch


def test_statistics(asked):
    _, answers = asked
    real = answers["real"]
    if IS_NEWEST:
        assert len(real["stats"]) - 123 in [12 * pools for pools in (11, 12)]  # one with an allocator of its own may be gone
    else:
        assert len(real["stats"]) == 122
    ours = Ours()
    ours.figures(real["stats"])
    for command in ("stats", "summary 0 0", "summary 0 1"):
        ours.ask(command)
    keys, *summaries = ours.answers()
    assert keys == "".join(f"{key} {value}\n" for key, value in real["stats"].items())
    assert summaries == real["summaries"]


def test_out_of_memory(asked):
    _, answers = asked
    ours = Ours()
    for f in answers["failures"]:
        found = re.search(r"is free\. (.*?)(?:[\d.]+ \w+ allowed; )?Of the allocated", f["message"])
        flags = f.get("rejected", 0) * 1 + f.get("expandable", 0) * 2 + f.get("custom", 0) * 4
        limit, reserve = f.get("limit", UNLIMITED), f.get("reserve", 0)
        ours.ask(
            f"oom 0 {f['requested']} {f['driver']} {f['free']} {f['total']} {limit} {f['allocated']} {f['reserved']} "
            f"{f['private']} {flags} {reserve} - {found.group(1) if found else ''}"
        )
    for mine, f in zip(ours.answers(), answers["failures"], strict=True):
        assert mine == f["message"] + "\n"
