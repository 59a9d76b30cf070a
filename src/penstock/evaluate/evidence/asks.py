"""Rows: one run of one case under one policy, and the file that stores them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DataError

DEFAULT, BEST, SINGLE, PHASE = "default", "best-static", "best-single", "phase-optimum"
#: Labels that are not policies: a setting is held throughout.
HELD = (DEFAULT, BEST, SINGLE, PHASE)


@dataclass(frozen=True, slots=True, order=True)
class Ask:
    """What a row measures. `model` and `guard` are empty if no model is used or nothing is tuned."""

    experiment: str
    cluster: str
    case: str
    label: str
    seconds: float
    seed: int
    model: str = ""
    guard: str = ""

    @property
    def runs(self) -> tuple[str, str, str]:
        """What runs: policy, model and guard."""
        return self.label, self.model, self.guard


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a row: application and wire rates in MB/s, by direction and, if there are phases, by phase.

    `setting` is what was held: pages and RPCs in flight, or a limit in MiB for every target.
    """

    app: float
    wire: float
    read: float
    write: float
    phases: tuple[float, ...] = ()
    setting: tuple[int, ...] | None = None


class RowFile:
    """Rows with the digest of the code that made them, one JSON line each, appended as they are measured.

    A row whose code has changed is not used again. `tidy` drops such rows and sorts the others, so that a committed
    file changes only if results do.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, Any]] = {}
        self._read()

    def find(self, ask: Ask, made_by: str) -> Found | None:
        """A stored result that the same code made, or None."""
        row = self._known.get(key_of(ask))
        if row is None or row["made_by"] != made_by:
            return None
        found = dict(row["found"])
        setting = tuple(found["setting"]) if found.get("setting") else None
        return Found(**{**found, "phases": tuple(found.get("phases", ())), "setting": setting})

    def keep(self, ask: Ask, made_by: str, found: Found) -> None:
        """Keep a row in memory and on disk."""
        row = {"ask": asdict(ask), "made_by": made_by, "found": _rounded(found)}
        self._known[key_of(ask)] = row
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def tidy(self, wanted: Mapping[Ask, str]) -> None:
        """Keep the rows that are still wanted and still valid, sorted; also those that another process added."""
        self._read()
        keys = {key_of(ask): made_by for ask, made_by in wanted.items()}
        rows = [row for key, row in self._known.items() if keys.get(key) == row["made_by"]]
        rows.sort(key=lambda row: json.dumps(row["ask"], sort_keys=True))
        fresh = self._path.with_suffix(".new")
        fresh.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        fresh.replace(self._path)

    def _read(self) -> None:
        if self._path.exists():
            for number, line in enumerate(self._path.read_text(encoding="utf-8").splitlines(), 1):
                self._take(line, number)

    def _take(self, line: str, number: int) -> None:
        try:
            row = json.loads(line)
            self._known[key_of(Ask(**row["ask"]))] = row
        except (ValueError, KeyError, TypeError) as error:
            if number == 1:
                raise DataError(f"{self._path}: line 1 is no row: {error}") from None
            # The last line of a run that was killed. That row is measured again.


def key_of(ask: Ask) -> str:
    return hashlib.sha256(json.dumps(asdict(ask), sort_keys=True).encode()).hexdigest()[:24]


def _rounded(found: Found) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(found).items() if value not in (None, ())}
    return {
        name: round(value, 3) if isinstance(value, float) else [round(each, 3) for each in value]
        for name, value in plain.items()
    }
