"""Stored results in the user's cache directory, one file per version of the program.

The file's name includes a digest of everything that can change a result: the simulator's sources for runs without
tuning, and also the sources that decide, predict and drive for the others. So results of different versions never
mix.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from penstock.campaign.program import version
from penstock.evaluate.trial import Measured, Trial, dump, load

WORLD = (
    "simulate",
    "knobs",
    "spaces.py",
    "units.py",
    "workload.py",
    "evaluate/simulated.py",
    "evaluate/trial.py",
)
DECIDING = (
    "agent/loop.py", "agent/space_book.py", "agent/plugins.py", "decide", "decision.py", "predict", "snapshot.py",
    "window.py", "evaluate/bayes.py", "evaluate/drivers.py", "evaluate/oracle.py", "evaluate/strict.py",
    "evaluate/tuners.py",
)  # fmt: skip
KEPT_VERSIONS = 12


def default_directory() -> Path:
    """Where this user's caches are."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "penstock" / "evaluate"


class Store:
    """Finished trials by key. Without a directory they are kept in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._known: dict[str, Measured] = {}
        self._files = {False: "", True: ""}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            self._files = {
                False: f"held-{version(*WORLD)}.jsonl",
                True: f"tuned-{version(*WORLD, *DECIDING)}.jsonl",
            }
            for name in self._files.values():
                self._read(directory / name)
            self._drop_old()

    def find(self, trial: Trial) -> Measured | None:
        """The stored result of an equal trial, or None."""
        return self._known.get(trial.key)

    def keep(self, trial: Trial, measured: Measured) -> None:
        """Store a result. Each line is written in one call, so two processes may share the file."""
        self._known[trial.key] = measured
        if self._directory is None:
            return
        line = json.dumps({"key": trial.key, "result": dump(measured)}) + "\n"
        with (self._directory / self._files[trial.tuned]).open("a", encoding="utf-8") as file:
            file.write(line)

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                self._known[entry["key"]] = load(entry["result"])
            except (ValueError, KeyError, TypeError):
                continue  # the last line of a run that was killed: that trial is run again

    def _drop_old(self) -> None:
        assert self._directory is not None
        known = sorted(self._directory.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        for path in known[:-KEPT_VERSIONS]:
            if path.name not in self._files.values():
                path.unlink(missing_ok=True)
