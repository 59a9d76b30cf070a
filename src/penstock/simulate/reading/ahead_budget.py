"""How much of all files may be on its way ahead of its readers (max_read_ahead_mb)."""

from __future__ import annotations

from dataclasses import dataclass

# With less than 1 MiB left nothing is read ahead: it would make small requests.
LEAST_BLOCKS = 16


@dataclass(slots=True)
class AheadBudget:
    """Blocks on their way ahead, and their limit. `refused` counts how often there was no room."""

    most: int
    used: int = 0
    refused: int = 0

    def take(self, wanted: int) -> int:
        """How many of these blocks may be asked for now."""
        granted = max(min(wanted, self.most - self.used), 0)
        if granted < min(wanted, LEAST_BLOCKS):
            granted = 0
        self.refused += granted < wanted
        self.used += granted
        return granted

    def give(self, blocks: int) -> None:
        """They have arrived."""
        self.used -= blocks
