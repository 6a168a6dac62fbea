"""`vramscope check`: limits, budgets and baselines of a file; what services read of it. Programs are in tests/sim/test_check.py."""

import json
import re
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import jsonschema
import pytest

import conftest as make

MiB = 1 << 20


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Six steps of the demo, in which nothing goes wrong yet."""
    kept = tmp_path_factory.mktemp("check") / "run.vram"
    done = subprocess.run([make.BINARY, "demo", "--steps", "6", "--keep", kept], env=make.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return kept


@pytest.fixture
def check(vramscope, run):
    """Checks the demo. code=None: any."""

    def check_it(*options, path=run, code=0, **more):
        done = vramscope("check", *map(str, options), str(path), **more)
        assert code in (done.code, None), (done.code, done.out, done.err)
        return done

    return check_it


@pytest.fixture
def reply(check):
    def ask(*options, **more):
        found = json.loads(check("--json", *options, **more).out)
        assert (found["schema"], found["method"]) == (1, "check")
        assert found["broken"] == sum(row["verdict"] == "broken" for row in found["checks"])
        assert found["unknown"] == sum(row["verdict"] == "unknown" for row in found["checks"])
        return found

    return ask


@pytest.fixture
def truth(vramscope, run):
    """What the engine says of the file."""
    inventory = json.loads(vramscope("query", str(run), "inventory").out)
    report = json.loads(vramscope("report", "--json", "--top", "0", str(run)).out)["devices"][0]
    return inventory, report


def only(found):
    (row,) = found["checks"]
    return row


def test_limits_are_exact(reply, truth):
    """The figure itself is within the limit, one byte less is not."""
    inventory, report = truth
    growth = max(row["bytes_per_step"] for row in report["growth"] if row["kind"] != "freed")
    for key, value in (("max-allocated", inventory["peak_allocated_bytes"]), ("max-reserved", inventory["peak_reserved_bytes"]), ("max-growth", growth)):
        row = only(reply(f"--{key}", value))
        assert (row["key"], row["verdict"], row["measured"], row["limit"], row["budget"]) == (key, "holds", value, value, None)
        row = only(reply(f"--{key}", value - 1, code=1))
        assert (row["verdict"], row["measured"], row["limit"]) == ("broken", value, value - 1)


def test_sizes_as_people_write_them(reply):
    for text, value in (("6GiB", 6 << 30), ("6.5GB", 6_500_000_000), ("512M", 512 * MiB), ("7", 7)):
        assert only(reply("--max-allocated", text, code=None if value > 6888964096 else 1))["limit"] == value


def test_the_lines_that_have_the_memory(reply, truth):
    """By a limit the largest owners, by growth those that grow: as the engine has them."""
    inventory, report = truth
    row = only(reply("--max-allocated", 1, code=1))
    owners = {}
    for stack in inventory["stacks"]:
        frame = inventory["frames"][stack["owner_frame"]] if stack["owner_frame"] is not None else None
        key = (frame["file"], frame["line"]) if frame else (stack["label"], None)
        owners[key] = owners.get(key, 0) + stack["bytes"]
    largest = sorted(owners.values(), reverse=True)[:5]
    assert [place["bytes"] for place in row["places"]] == largest and row["places_are"] == "all"
    assert all(owners[(place["path"], place["line"])] == place["bytes"] for place in row["places"])
    row = only(reply("--max-growth", 0, code=1))
    assert [(place["owner"], place["bytes"]) for place in row["places"]] == [
        (grower["label"], grower["bytes_per_step"]) for grower in report["growth"] if grower["kind"] != "freed"][:5]


def test_what_a_file_does_not_have(reply):
    row = only(reply("--max-retries", 0, code=2))
    assert row["verdict"] == "unknown" and row["measured"] is None and "a dry run does" in row["sentence"]
    assert reply("--max-retries", 0, "--max-allocated", 1, code=1)["verdict"] == "broken"  # one that is broken counts more


def test_a_recording_that_began_late(reply, folder):
    """Its figures are lower bounds: above the limit they are above it, below it nothing is known."""
    path = folder / "late.pickle"
    make.write(path, make.late())
    row = only(reply("--max-allocated", "100GiB", path=path, code=2))
    assert row["verdict"] == "unknown" and row["sentence"].startswith("at least ") and "there may be more, because" in row["sentence"]
    assert only(reply("--max-allocated", "1", path=path, code=1))["verdict"] == "broken"


def write(folder, text, name="vramscope.toml"):
    (folder / name).write_text(text)


def test_settings_of_a_file(reply, folder, truth):
    inventory, _ = truth
    allocated = inventory["peak_allocated_bytes"]
    write(folder, f'max-allocated = {allocated}\nno-oom = true\n')
    assert [row["key"] for row in reply()["checks"]] == ["max-allocated", "no-oom"]
    assert reply("--max-allocated", "1", code=1)["checks"][0]["limit"] == 1  # the option stands in its place
    write(folder, '[tool.other]\nx = 1\n[tool.vramscope]\nmax-reserved = "1KiB"\n', "pyproject.toml")
    assert [row["key"] for row in reply()["checks"]] == ["max-allocated", "no-oom"]  # vramscope.toml is the first
    assert [row["key"] for row in reply("--config", "pyproject.toml", code=1)["checks"]] == ["max-reserved"]
    (folder / "vramscope.toml").unlink()
    assert [row["limit"] for row in reply(code=1)["checks"]] == [1024]
    write(folder, '{"max-reserved": "2KiB"}', "other.json")
    assert [row["limit"] for row in reply("--config", "other.json", code=1)["checks"]] == [2048]


def test_budgets(reply, folder, truth, run):
    """By owner: every stack with a frame that matches; by program: only runs of that name."""
    inventory, _ = truth
    def sum_of(match):
        frames = inventory["frames"]
        return sum(stack["bytes"] for stack in inventory["stacks"] if any(match(frames[i]) for i in stack["frames"]))

    models = sum_of(lambda frame: frame["file"] == "model.py")
    optimizer = sum_of(lambda frame: frame["file"].startswith("torch/optim/"))
    assert 0 < optimizer != models > 0
    write(folder, f'[budgets.models]\nowner = "model.py:*"\nmax = {models}\n[budgets."the optimizer"]\nowner = "torch/optim/*"\nmax = "{optimizer - 1}"\n'
          '[budgets.others]\nprogram = "*eval*"\nmax-allocated = 1\n[budgets.this]\nprogram = "*.vram"\nno-oom = true\n')
    found = reply(code=1)["checks"]
    assert [(row["budget"], row["key"], row["verdict"], row["measured"]) for row in found] == [
        ("models", "max", "holds", models), ("the optimizer", "max", "broken", optimizer), ("this", "no-oom", "holds", 0)]
    assert sum(place["bytes"] for place in found[1]["places"]) == optimizer


def test_budgets_of_steps(reply, folder, run, vramscope):
    """The peaks within the steps, to the byte; an owner has there what the engine has at that moment."""
    ranges = ("1", "2-4", "-3", "4-")
    found = {steps: json.loads(vramscope("query", str(run), "inventory", f"at=steps {steps}").out) for steps in ranges}
    within = {steps: inventory["within"] for steps, inventory in found.items()}
    assert len({figures["peak_allocated_bytes"] for figures in within.values()}) > 1
    for steps, inventory in found.items():
        frames, figures = inventory["frames"], within[steps]
        owned = sum(stack["bytes"] for stack in inventory["stacks"] if any(frames[i]["file"] == "model.py" for i in stack["frames"]))
        for less, code, verdict in ((0, 0, "holds"), (1, 1, "broken")):
            write(folder, f'[budgets.x]\nsteps = "{steps}"\nowner = "model.py:*"\nmax = {owned - less}\n'
                  f'max-allocated = {figures["peak_allocated_bytes"] - less}\nmax-reserved = {figures["peak_reserved_bytes"] - less}\n')
            rows = reply(code=code)["checks"]
            assert [(row["budget"], row["steps"], row["key"], row["verdict"], row["measured"]) for row in rows] == [
                ("x", steps, "max-allocated", verdict, figures["peak_allocated_bytes"]),
                ("x", steps, "max-reserved", verdict, figures["peak_reserved_bytes"]), ("x", steps, "max", verdict, owned)]
            assert all(f"within steps {steps}" in row["sentence"] for row in rows)
        largest = max(stack["bytes"] for stack in inventory["stacks"])
        assert rows[0]["places"][0]["bytes"] >= largest and sum(place["bytes"] for place in rows[2]["places"]) <= owned
    write(folder, '[budgets.x]\nsteps = "1"\nowner = "model.py:*"\nmax = "+5%"\n')
    assert only(reply(code=2))["sentence"].endswith("it is compared with a baseline, and there is none")
    reply("--baseline", "main.json", "--update-baseline")
    assert json.loads((folder / "main.json").read_text())["budgets"]["x"] > 0 and reply("--baseline", "main.json")["verdict"] == "holds"


def test_steps_that_are_not_there(reply, folder):
    write(folder, '[budgets.x]\nsteps = "2-99"\nmax-allocated = "100GiB"\n[budgets.y]\nsteps = "99"\nowner = "*"\nmax = 1\n')
    rows = reply(code=2)["checks"]
    assert [row["verdict"] for row in rows] == ["unknown", "unknown"] and all(row["measured"] is None for row in rows)
    assert all("because there is no step 99: " in row["sentence"] for row in rows)
    path = folder / "pieces.pickle"
    make.write(path, make.in_pieces())
    assert "because no steps of a training loop were found" in reply(path=path, code=2)["checks"][0]["sentence"]
    (folder / "run.json").write_text('{"schema": 1, "method": "inventory", "device": 0, "peak_allocated_bytes": 1, "complete": true, "frames": [], "stacks": []}')
    assert "there is no history of these steps" in reply(path=folder / "run.json", code=2)["checks"][0]["sentence"]


def test_budgets_of_an_incomplete_history(reply, folder):
    """The peaks of a dry run are PyTorch's own, the sums of owners those of its history."""
    frame = {"function": "f", "file": "/a/train.py", "line": 3, "kind": "user"}
    for complete, limit, verdict, code in ((True, 100, "holds", 0), (False, 100, "unknown", 2), (False, 99, "broken", 1)):
        inventory = {"device": 0, "complete": complete, "frames": [frame], "stacks": [{"label": "train.py:3 f", "owner_frame": 0, "frames": [0], "sizes": [[100, 1]]}]}
        torch = {"peak_allocated_bytes": 100, "peak_reserved_bytes": 200, "ooms": 0, "retries": 0}
        run = {"schema": 1, "method": "dryrun", "verdict": "fits", "exit_code": 0, "signal": None, "interrupted": False, "report": [], "processes": [],
               "devices": [{"device": 0, "used": True, "driver_peak_bytes": 300, "torch": torch}], "inventories": [inventory]}
        (folder / "run.json").write_text(json.dumps(run))
        write(folder, f'max-allocated = 100\n[budgets.x]\nowner = "train.py:*"\nmax = {limit}\n')
        found = reply(path=folder / "run.json", code=code)["checks"]
        assert [row["verdict"] for row in found] == ["holds", verdict]


def test_a_baseline(check, reply, folder, truth, run, vramscope):
    """Written once, the same run equals it; the file has no path, address or time, and is the same each time."""
    inventory, _ = truth
    write(folder, '[budgets.models]\nowner = "model.py:*"\nmax = "+5%"\n')
    done = check("--baseline", "main.json", "--update-baseline")
    assert done.err == "Wrote the baseline main.json\n" and "models: " in done.out
    text = (folder / "main.json").read_text()
    baseline = json.loads(text)
    assert baseline["peak_allocated_bytes"] == inventory["peak_allocated_bytes"] and baseline["peak_driver_bytes"] is None
    assert sum(size * count for owner in baseline["owners"] for size, count in owner["sizes"]) == inventory["bytes"]
    assert text.count("\n    {") == len(baseline["owners"]) and str(folder) not in text and "0x" not in text
    order = [(owner.get("file", ""), owner.get("line", -1)) for owner in baseline["owners"]]
    assert order == sorted(order)
    check("--baseline", "main.json", "--update-baseline")
    assert (folder / "main.json").read_text() == text
    found = reply("--baseline", "main.json")
    assert [row["key"] for row in found["checks"]] == ["max", "baseline-allocated", "baseline-reserved"] and found["verdict"] == "holds"
    assert {row["status"] for row in found["diff"]["rows"]} == {"same"} and found["diff"]["delta_bytes"] == 0
    rows = json.loads(vramscope("diff", "--json", "main.json", str(run)).out)  # it can be compared as an inventory
    assert rows["delta_bytes"] == 0


def test_more_and_less_than_the_baseline(reply, check, folder):
    """A band on both sides: above it is broken, below it is told."""
    check("--baseline", "main.json", "--update-baseline")
    baseline = json.loads((folder / "main.json").read_text())
    true = baseline["peak_allocated_bytes"]
    baseline["peak_reserved_bytes"] = None
    for old, tolerance, verdict, tighter in (
        (true, "0", "holds", False), (true - 1, "0", "broken", False), (true - 1, "1", "holds", False), (true + 1, "0", "holds", True),
        (true + 1, "1", "holds", False), (int(true / 1.02), "2.1%", "holds", False), (int(true / 1.02), "1.9%", "broken", False),
        (int(true / 0.98), "1.9%", "holds", True), (int(true / 0.98), "2.1%", "holds", False),
    ):
        (folder / "main.json").write_text(json.dumps(baseline | {"peak_allocated_bytes": old}))
        row = only(reply("--baseline", "main.json", "--tolerance", tolerance, code=None))
        assert (row["verdict"], row["tighter"]) == (verdict, tighter), (old - true, tolerance)
        assert ("the baseline can be tightened" in row["sentence"]) == tighter


def test_what_is_more_than_in_the_baseline(check, reply, folder):
    check("--baseline", "main.json", "--update-baseline")
    baseline = json.loads((folder / "main.json").read_text())
    for owner in baseline["owners"]:
        if owner["owner"] == "metrics.py:19 topk":
            owner["sizes"] = [[size, 1] for size, _ in owner["sizes"]]
            missing = sum(size * (count - 1) for size, count in json.loads((folder / "main.json").read_text())["owners"][1]["sizes"])
    baseline["peak_allocated_bytes"] -= missing
    baseline["peak_reserved_bytes"] = None
    (folder / "main.json").write_text(json.dumps(baseline))
    row = only(reply("--baseline", "main.json", code=1))
    assert [(place["owner"], place["path"], place["line"], place["bytes"]) for place in row["places"]] == [("metrics.py:19 topk", "metrics.py", 19, missing)]
    assert row["places_are"] == "more"


# What services read.


SCHEMA = Path(__file__).parent / "junit.xsd"

# What GitLab documents of a report: the members that it needs, and which severities it knows. Paths are relative.
ISSUES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{8,}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {"type": "object", "required": ["begin"], "additionalProperties": False,
                              "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}

VALUE = r"(?:[^%,:\r\n]|%(?:25|0D|0A|3A|2C))*"
ANNOTATION = re.compile(rf"::(error|warning) ([a-z]+={VALUE}(?:,[a-z]+={VALUE})*)::((?:[^%\r\n]|%(?:25|0D|0A))*)")


def test_annotations(check, folder):
    """By the documented grammar: properties with %, :, and commas escaped, one line each."""
    summary = folder / "summary.md"
    summary.write_text("before\n")
    out = check("--github", "--max-allocated", "1GiB", "--max-retries", 0, code=1, env={"GITHUB_STEP_SUMMARY": str(summary)}).out
    lines = [line for line in out.splitlines() if line.startswith("::")]
    found = [ANNOTATION.fullmatch(line) for line in lines]
    assert all(found) and [match[1] for match in found] == ["error"] * 5 + ["warning"]
    properties = dict(part.split("=", 1) for part in found[0][2].split(","))
    assert properties["file"] == "train.py" and properties["line"].isdigit() and properties["title"] == "GPU memory%3A max-allocated"
    assert "more than" not in found[0][3] and "1.44 GiB" in found[0][3]
    text = summary.read_text()
    assert text.startswith("before\n### GPU memory\n\nBroken: 1 of 2 checks, 1 cannot be judged\n") and "| broken | max-allocated | " in text


def assert_valid(path):
    done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", SCHEMA, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# What a name of the user may have in it, and each form must escape.
HOSTILE = 'a%0A::error::x\r\n,:|`<b>&"\' ]]> \x01\x7f\ufffe ü€'


def test_hostile_names(check, folder):
    """Each form stays in its grammar, and says the name as it is, where it can be written."""
    name = json.dumps(HOSTILE).replace("\x7f", r"\u007f")
    write(folder, f'[budgets.{name}]\nowner = "model.py:*"\nmax = 1\n')
    out = check("--github", "--junit", "out.xml", "--code-quality", "out.json", "--no-oom", code=1).out
    lines = [line for line in out.splitlines() if line.startswith("::")]
    matches = [ANNOTATION.fullmatch(line) for line in lines]
    assert lines and all(matches)
    title = dict(part.split("=", 1) for part in matches[0][2].split(","))["title"]
    for code, letter in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        title = title.replace(code, letter)
    assert title == f"GPU memory: {HOSTILE}: max"
    assert_valid(folder / "out.xml")
    name = next(case.attrib["name"] for case in xml.etree.ElementTree.parse(folder / "out.xml").getroot().iter("testcase") if case.attrib["name"] != "no-oom")
    assert name.split() == f"{HOSTILE}: max".replace("\x01", "?").replace("\r", "?").replace("\ufffe", "?").split()
    issues = json.loads((folder / "out.json").read_text())
    jsonschema.validate(issues, ISSUES)
    assert issues[0]["description"].startswith(f"{HOSTILE}: max: ")


def test_the_schemas_have_teeth(check, folder):
    check("--junit", "out.xml", "--max-allocated", "1KiB", code=1)
    text = (folder / "out.xml").read_text()
    for old, new in (('name="max-allocated"', ""), ('errors="0"', 'errors="-1"'), ("failure", "failed"), ('type="broken"', "")):
        assert old in text
        (folder / "wrong.xml").write_text(text.replace(old, new))
        with pytest.raises(AssertionError):
            assert_valid(folder / "wrong.xml")


def test_junit(check, folder):
    write(folder, '[budgets."a<b&\\"c"]\nowner = "model.py:*"\nmax = 1\n')
    check("--junit", "out.xml", "--max-allocated", "1KiB", "--no-oom", "--max-retries", 0, code=1)
    assert_valid(folder / "out.xml")
    suite = xml.etree.ElementTree.parse(folder / "out.xml").getroot()[0]
    assert suite.attrib == {"name": "vramscope check", "tests": "4", "failures": "2", "errors": "1", "skipped": "0"}
    cases = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert cases == {"max-allocated": ["failure"], "no-oom": [], "max-retries": ["error"], 'a<b&"c: max': ["failure"]}
    assert "above the limit of 1.00 KiB" in suite[0][0].attrib["message"] and "train.py:46 train_step: 1,545,338,880 bytes" in suite[0][0].text


def test_code_quality(check, folder):
    """The members that GitLab asks for. The fingerprint does not change with the size."""
    def issues(limit):
        check("--code-quality", "out.json", "--max-allocated", limit, "--no-oom", code=1)
        found = json.loads((folder / "out.json").read_text())
        jsonschema.validate(found, ISSUES)
        return found

    (issue,) = issues("1GiB")
    assert issue["severity"] == "major"
    assert issue["location"] == {"path": "train.py", "lines": {"begin": 46}} and issue["check_name"] == "max-allocated"
    assert issues("2GiB")[0]["fingerprint"] == issue["fingerprint"] and re.fullmatch("[0-9a-f]+", issue["fingerprint"])


def test_markdown(check):
    out = check("--markdown", "--max-allocated", "1GiB", code=1).out
    assert out.startswith("### GPU memory\n\nBroken: 1 of 1 check\n\n| | check | |\n| --- | --- | --- |\n| broken | max-allocated | 6.42 GiB allocated")


def test_the_text(check, folder):
    assert check("--max-allocated", "6GiB", "--no-oom", "--max-retries", "0", code=1).out == """\
Broken: 1 of 3 checks, 1 cannot be judged

broken         max-allocated: 6.42 GiB allocated at the peak: 425.8 MiB above
               the limit of 6.00 GiB
                 1.44 GiB  train.py:46 train_step
                949.7 MiB  train.py:51 train_step
                736.9 MiB  model.py:124 forward
                736.9 MiB  train.py:50 train_step
                540.0 MiB  model.py:66 forward
ok             no-oom: no out-of-memory errors
unknown        max-retries: retries of cudaMalloc: unknown, because a snapshot
               does not have them; a dry run does
"""


# Mistakes.


@pytest.mark.parametrize(
    "settings, says",
    (
        ("max-alocated = 1\n", "max-alocated is no key of a check; did you mean max-allocated?"),
        ("max-allocated = \"much\"\n", "max-allocated takes a size, such as \"8GiB\""),
        ("max-retries = \"x\"\n", "max-retries takes a number"),
        ("no-oom = 1\n", "no-oom takes true or false"),
        ("tolerance = \"2 percent\"\n", "tolerance takes a share or a size"),
        ("gpu = 24\n", "gpu takes a text"),
        ("[budgets]\nx = 1\n", "budgets.x: it takes a table of keys"),
        ("[budgets.x]\nowner = \"a\"\n", "budgets.x: owner and max belong together"),
        ("[budgets.x]\nprogram = \"a\"\n", "budgets.x: it limits nothing"),
        ("[budgets.x]\nowner = \"a\"\nmax = \"+x%\"\n", "budgets.x: max takes a size, such as \"8GiB\", or what"),
        ("[budgets.x]\nmax-allocated = 1\nsteps = \"2-1\"\n", "budgets.x: steps takes a range of steps as a text: \"4\", \"1-2\", \"3-\" or \"-2\""),
        ("[budgets.x]\nmax-driver = 1\nsteps = \"2\"\n", "budgets.x: max-driver is about the whole run: steps limit max-allocated"),
        ("budgets = 1\n", "budgets takes tables, such as [budgets.optimizer]"),
        ("a = 1\na = 2\n", "line 2: a key is given twice"),
    ),
)
def test_wrong_settings(check, folder, settings, says):
    write(folder, settings)
    done = check(code=2 if "line" not in says else 3)
    assert done.out == "" and done.err.startswith("vramscope: vramscope.toml: ") and says in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    "options, code, says",
    (
        ([], 2, "nothing limits this run"),
        (["--update-baseline"], 2, "--update-baseline needs the file: --baseline FILE"),
        (["--baseline", "none.json"], 3, "there is no such baseline yet: write it with --update-baseline"),
        (["--baseline", "broken.json"], 3, "broken.json"),
        (["--config", "none.toml"], 3, "none.toml: no such file"),
        (["--max-allocated", "much"], 2, "max-allocated takes a size"),
    ),
)
def test_usage(check, folder, options, code, says):
    (folder / "broken.json").write_text('{"owners": [{"sizes": [[1]]}]}')
    done = check(*options, code=code)
    assert done.out == "" and says in done.err and done.err.count("\n") == 1


def test_one_file_or_a_program(vramscope):
    for words in ([], ["a.pickle", "b.pickle"], ["a.pickle", "--", "true"]):
        done = vramscope("check", "--no-oom", *words)
        assert done.code == 2 and "check takes one file, or a program to run: vramscope check -- python3 train.py" in done.err
