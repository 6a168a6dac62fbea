"""ask.py ENGINE: the answers to the three questions about the tables in the current folder, as JSON."""

import json
import sys

import recipes


def plain(value):
    """pandas writes what is unknown as NA, NaN or None."""
    if isinstance(value, str):
        return value
    return None if value is None or str(value) in ("<NA>", "nan") else int(value)


def main():
    engine = sys.argv[1]
    names = {}
    exec(compile(recipes.program(engine), f"{recipes.GUIDE}: {engine}", "exec"), names)  # noqa: S102
    if engine == "Dask":
        frames = [names[name]() for name in ("odd_ranks", "growing_owners", "changes")]
        tables = {question: frame.itertuples(index=False) for question, frame in zip(recipes.QUESTIONS, frames, strict=True)}
    else:
        tables = {question: names["ask"](query) for question, query in recipes.queries().items()}
    answers = {question: [[plain(value) for value in row] for row in rows] for question, rows in tables.items()}
    print("answers " + json.dumps(answers))


if __name__ == "__main__":
    main()
