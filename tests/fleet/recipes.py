"""The recipes of docs/guide/merge.md, as they stand there."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import pages  # noqa: E402

GUIDE = "docs/guide/merge.md"
QUESTIONS = ("odd", "grew", "changed")
ENGINES = ("DuckDB", "Spark", "Dask")


def blocks(language):
    return [block.source for block in pages.read(GUIDE) if block.language == language]


def queries():
    """{question: SQL}"""
    return dict(zip(QUESTIONS, blocks("sql"), strict=True))


def program(engine):
    """The Python below the heading of an engine."""
    return dict(zip(ENGINES, blocks("python"), strict=True))[engine]
