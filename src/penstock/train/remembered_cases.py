"""Turns what agents measured and kept in their state directories into survey cases: one per kind of work."""

from __future__ import annotations

from pathlib import Path

from penstock.decide.memory import WorkMemory
from penstock.decide.memoryfile import MOST_BYTES, parse
from penstock.input_files import read_bytes
from penstock.train.survey import GRID, HOME, LEAST_SETTINGS, REAL_WEIGHT, HeldRates

FILE = "knowledge.json"
# A setting measured in fewer windows is left out.
LEAST_WINDOWS = 3


def knowledge_files(directory: Path) -> list[Path]:
    """The file of a state directory, or those of its subdirectories, one per node."""
    own = directory / FILE
    return [own] if own.is_file() else sorted(directory.glob(f"*/{FILE}"))


def remembered_rates(path: Path) -> list[HeldRates]:
    """The work of one node with enough measured settings, the default among them."""
    raw = read_bytes(path, MOST_BYTES)
    node = path.resolve().parent.name
    found = [_held(node, kept.memory) for kept in parse(raw, str(path))]
    return [held for held in found if GRID[HOME] in held.levels and len(held.levels) >= LEAST_SETTINGS]


def _held(node: str, memory: WorkMemory) -> HeldRates:
    levels = {
        setting: one.level(one.windows, one.rates)
        for setting, one in memory.settings.items()
        if one.windows >= LEAST_WINDOWS and set(setting) == set(GRID.ids)
    }
    return HeldRates(f"{node}/{memory.fs}/{memory.work}", levels, weight=REAL_WEIGHT)
