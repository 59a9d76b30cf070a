"""Scores of classifiers kept as JSON lines, so that an interrupted comparison goes on where it stopped."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from penstock.campaign.jsonlines import append_line, read_lines
from penstock.errors import DataError
from penstock.train.compare import ClassifierScore
from penstock.train.judge import Judgement


def read_scores(path: Path) -> dict[str, ClassifierScore]:
    """The scores of a file by their key; none where there is no file."""
    found = {}
    for number, row in read_lines(path):
        try:
            score = ClassifierScore(**(row | {"judgement": Judgement(**row["judgement"])}))
        except (TypeError, KeyError):
            raise DataError(f"{path}: line {number} is not a row of train compare") from None
        found[score.key] = score
    return found


def append_score(path: Path, score: ClassifierScore) -> None:
    """Add one score as a line."""
    append_line(path, asdict(score))
