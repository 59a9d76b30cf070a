"""The rows that a `stats` file is known to print.

If a text that lost a row were believed, sums over rows would fall and, when the row returns, jump.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.observe.lustre.stats import Stats


class KnownRows:
    """Remembers the named rows of one `stats` file from text to text.

    `clearings` counts how often the counters began anew without a new `start_time`, which some versions do not print.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.clearings = 0
        self._names = names
        self._start_time: str | None = None
        self._counts: Mapping[str, int] = {}

    def doubt(self, stats: Stats) -> str | None:
        """Why nothing may be concluded from this text; None if it may be compared with those before."""
        garbled = [name for name in self._names if name in stats.garbled]
        if garbled:
            return f"{garbled[0]}: a row that makes no sense"
        counts = {name: stats.rows[name].count for name in self._names if name in stats.rows}
        if stats.start_time == self._start_time:
            if any(count < self._counts.get(name, 0) for name, count in counts.items()):
                self.clearings += 1
            elif lost := [name for name in self._counts if name not in counts]:
                return f"{lost[0]}: a row that was there is missing"
        self._start_time, self._counts = stats.start_time, counts
        return None
