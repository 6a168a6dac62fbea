"""The recipes of docs/guide/merge.md, as they stand there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "merge.md"
QUESTIONS = ("odd", "grew", "changed")


def queries():
    """{question: SQL}"""
    section = GUIDE.read_text().split("\n## Three questions\n")[1].split("\n## ")[0]
    return dict(zip(QUESTIONS, re.findall(r"```sql\n(.*?)```", section, re.S), strict=True))


def program(engine):
    """The Python below the heading of an engine."""
    section = GUIDE.read_text().split(f"\n## {engine}\n")[1].split("\n## ")[0]
    return re.search(r"```python\n(.*?)```", section, re.S)[1]
