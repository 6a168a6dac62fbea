"""Text that users see has one word for one thing: docs/words.md lists the words, and those that are not used any more.

User text is what stands in quotes in the C code of the engine and the faces, in the viewer and in the Python package, and the prose
of README.md and docs/guide.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("src/query", "src/analyze", "src/faces/cli", "src/faces/commands", "src/faces/smi", "src/faces/tui", "src/faces/server",
        "src/faces/terminal", "src/dryrun", "src/intake", "src/rendezvous", "src/os", "src/codec", "src/snapshot", "src/tracefile",
        "src/devices", "viewer", "python")
PROSE = ("README.md", "docs/guide")


def retired():
    """[(pattern, word to use)] of the second table of docs/words.md."""
    table = (ROOT / "docs" / "words.md").read_text().split("## Words that are not used")[1]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE)
    return [(re.compile(rf"(?<!\w)(?:{pattern})(?!\w)".replace(r"\|", "|"), re.IGNORECASE), use) for pattern, use in rows]


def without_comments(path, text):
    if path.suffix == ".py":
        return re.sub(r"#.*", "", text)
    return re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", lambda m: re.sub(r"[^\n]", "", m[0]), text, flags=re.DOTALL)


def strings(path, text):
    """[(line, text)] of the literals that are more than a word."""
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', without_comments(path, text)):
        literal = re.sub(r"\$\{[^}]*\}", "", found[1] or found[2] or "")  # what a template of JavaScript computes
        if " " in literal.strip():
            yield found.string.count("\n", 0, found.start()) + 1, literal


def files(*folders):
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in listed]


def user_text():
    for path in files(*CODE):
        if path.suffix in (".c", ".h", ".def", ".js", ".py", ".html"):
            for line, text in strings(path, path.read_text()):
                yield f"{path.relative_to(ROOT)}:{line}", text
    for path in files(*PROSE):
        for line, text in enumerate(path.read_text().split("\n"), 1):
            yield f"{path.relative_to(ROOT)}:{line}", re.sub(r"`[^`]*`", "", text)  # names


def uses(texts):
    words = retired()
    return [f"{place}: \"{pattern.search(text)[0]}\" in {text.strip()!r}; use: {use}"
            for place, text in texts for pattern, use in words if pattern.search(text)]


def test_no_retired_words():
    texts = list(user_text())
    found = uses(texts)
    assert len(texts) > 3000 and not found, "\n" + "\n".join(found)


def test_retired_words_are_found():
    assert len(retired()) > 20
    assert len(uses([("a.c:1", "4.94 GiB could not be had"), ("a.c:2", "the GPUs, and somebody else"), ("a.c:3", "allocated")])) == 2
    literals = [text for _, text in strings(Path("a.c"), '/* "no one" */ say("all is well", "x"); // "no two"\n')]
    assert literals == ["all is well"]
