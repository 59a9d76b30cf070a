"""Scores of classifiers kept as JSON lines, so that an interrupted comparison goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from penstock.errors import DataError
from penstock.train.compare import ClassifierScore
from penstock.train.judge import Judgement


def read_scores(path: Path) -> dict[str, ClassifierScore]:
    """The scores of a file by their key; none where there is no file."""
    if not path.exists():
        return {}
    found = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            score = ClassifierScore(**(row | {"judgement": Judgement(**row["judgement"])}))
        except (json.JSONDecodeError, TypeError, KeyError):
            raise DataError(f"{path}: line {number} is not a row of train compare") from None
        found[score.key] = score
    return found


def append_score(path: Path, score: ClassifierScore) -> None:
    """Add one score as a line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(score)) + "\n")
