"""Turns campaigns on mounts into survey cases: one per kind of work and campaign."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.decide.habits import WAVES
from penstock.decide.level import Level
from penstock.decide.objective import Rates
from penstock.errors import DataError
from penstock.knobs import KnobSpace, Setting
from penstock.spaces import SPACES
from penstock.train.mount_trials import FILE, FORMAT
from penstock.train.survey import HeldRates

# A gain is the ratio of two measurements, each with the uncertainty of the default's repetitions, in doublings.
WINDOWS = 3
DOUBT = 2.0 * math.sqrt(WINDOWS) / WAVES
LEAST_NOISE = 0.1


def is_campaign(directory: Path) -> bool:
    """Whether a directory holds what `train collect --live DIR` leaves."""
    return (directory / FILE).is_file()


def campaign_rates(directories: Sequence[Path]) -> tuple[KnobSpace, list[HeldRates]]:
    """The cases of some campaigns, and the knob space they are about."""
    space, found = read_campaigns(directories)
    return space, [held for name, document in found.items() for held in _cases(name, document, space)]


def read_campaigns(directories: Sequence[Path]) -> tuple[KnobSpace, dict[str, Mapping[str, Any]]]:
    """Campaigns by name, and the knob space they are about; campaigns on different ones do not mix."""
    found: dict[str, Mapping[str, Any]] = {}
    for directory in directories:
        name = directory.resolve().name
        # Directories of the same name lie in different places.
        found[name if name not in found else str(directory)] = _read(directory / FILE)
    names = {str(document.get("space")) for document in found.values()}
    spaces = {space.name: space for space in SPACES}
    if len(names) != 1 or not names <= spaces.keys():
        raise DataError(f"campaigns on {', '.join(sorted(names))}: knowledge is of one kind of mount")
    return spaces[names.pop()], found


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a campaign: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or "rows" not in document:
        raise DataError(f"{path}: not a campaign of `penstock train collect --live DIR`")
    return document


def _cases(name: str, document: Mapping[str, Any], space: KnobSpace) -> list[HeldRates]:
    by_work: dict[str, list[Mapping[str, Any]]] = {}
    try:
        for row in document["rows"]:
            by_work.setdefault(str(row["workload"]), []).append(row)
        home = _searched(document["default"], space)
        return [
            HeldRates(f"{name}/{work}", _levels(rows, home, space), home) for work, rows in by_work.items()
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"campaign {name}: a row is damaged: {error!r}") from None


def _searched(setting: Mapping[str, int], space: KnobSpace) -> Setting:
    return Setting({knob_id: int(setting[knob_id]) for knob_id in space.searched})


def _levels(rows: Sequence[Mapping[str, Any]], home: Setting, space: KnobSpace) -> dict[Setting, Level]:
    """The rates of every setting, scaled as if the default had always had its median rate."""
    ways = ("read_bytes_per_s", "write_bytes_per_s")
    usual = [statistics.median(float(row[f"default_{way}"]) for row in rows) for way in ways]
    doubt = DOUBT * _noise(rows, ways)
    levels = {}
    for row in rows:
        then = [float(row[f"default_{way}"]) for way in ways]
        rates = [
            float(row[way]) * (middle / before) if before > 0 else float(row[way])
            for way, middle, before in zip(ways, usual, then, strict=True)
        ]
        mean = Rates(*rates)
        levels[_searched(row["setting"], space)] = Level(WINDOWS, mean, (doubt * mean.total) ** 2)
    levels[home] = Level(WINDOWS, Rates(*usual), (doubt * sum(usual)) ** 2)
    return levels


def _noise(rows: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> float:
    """The relative deviation of the default's own measurements."""
    totals = list(dict.fromkeys(sum(float(row[f"default_{way}"]) for way in ways) for row in rows))
    if len(totals) < 2:
        return LEAST_NOISE
    return max(LEAST_NOISE, statistics.stdev(totals) / max(statistics.fmean(totals), math.ulp(1.0)))
