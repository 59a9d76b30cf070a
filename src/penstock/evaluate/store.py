"""Stored results in the user's cache directory, one file per mark.

A mark says what a policy does (see `penstock.evaluate.policy_traces`). So results outlive every change of the program
that leaves behaviour as it was, and results of different behaviour never mix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.campaign.jsonlines import append_line, read_lines
from penstock.campaign.shards import Kept
from penstock.evaluate.marks import Marks
from penstock.evaluate.trial import Measured, Trial, dump, load

KEPT_FILES = 60


def default_directory() -> Path:
    """Where this user's caches are."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "penstock" / "evaluate"


class Store(Kept[Trial, Measured]):
    """Finished trials by mark and key. Without a directory they are kept in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._marks: Marks | None = None
        self._known: dict[str, dict[str, Measured]] = {}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            self._marks = Marks(directory)
            self._drop_old(directory)

    def find(self, trial: Trial) -> Measured | None:
        """The stored result of an equal trial, or None."""
        return self._results(self._mark(trial)).get(trial.key)

    def finished(self, shards: Mapping[str, Trial]) -> set[str]:
        """The keys of the trials whose results are stored."""
        return {key for key, trial in shards.items() if key in self._results(self._mark(trial))}

    def keep(self, key: str, trial: Trial, measured: Measured) -> None:
        """Store a result."""
        mark = self._mark(trial)
        self._results(mark)[key] = measured
        if self._directory is not None:
            append_line(_file(self._directory, mark), {"key": key, "result": dump(measured)})

    def _mark(self, trial: Trial) -> str:
        return self._marks.find(trial.course) if self._marks is not None else ""

    def _results(self, mark: str) -> dict[str, Measured]:
        if mark not in self._known:
            self._known[mark] = _read(_file(self._directory, mark)) if self._directory is not None else {}
        return self._known[mark]

    def _drop_old(self, directory: Path) -> None:
        known = sorted(directory.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        for path in known[:-KEPT_FILES]:
            path.unlink(missing_ok=True)


def _file(directory: Path, mark: str) -> Path:
    return directory / f"{mark}.jsonl"


def _read(path: Path) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for _, entry in read_lines(path):
        try:
            found[entry["key"]] = load(entry["result"])
        except (ValueError, KeyError, TypeError):
            # A line that lacks a figure: that trial is run again.
            continue
    return found
