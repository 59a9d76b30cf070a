"""All rows of the results, and their ratios to the default, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.evidence.asks import DEFAULT, Ask, Found

from penstock.evaluate.figures import geomean
from penstock.evaluate.seed_ratios import ABSORBED, REWRITTEN, Ratio, over_seeds

Runs = tuple[str, str, str]
Rate = Callable[[Found], float]


class RatioBook:
    """All rows of the results. Ratios compare each seed with itself."""

    def __init__(self, rows: Mapping[Ask, Found]) -> None:
        self._rows = rows
        self._by: dict[tuple[str, str, str, Runs], dict[int, Found]] = {}
        for ask, found in rows.items():
            self._by.setdefault((ask.experiment, ask.cluster, ask.case, ask.runs), {})[ask.seed] = found

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def cases(self, experiment: str, cluster: str, runs: Runs) -> list[str]:
        """The cases of which there are rows, in the order they were asked for."""
        return [c for e, k, c, r in self._by if (e, k, r) == (experiment, cluster, runs)]

    def runs(self, experiment: str, cluster: str) -> list[Runs]:
        """Who ran there."""
        return list(dict.fromkeys(r for e, k, _, r in self._by if (e, k) == (experiment, cluster)))

    def found(self, experiment: str, cluster: str, case: str, runs: Runs) -> dict[int, Found]:
        """Rows by seed; empty if not measured."""
        return self._by.get((experiment, cluster, case, runs), {})

    def ratio(
        self, place: tuple[str, str, str], runs: Runs, rate: Rate, against: Runs = (DEFAULT, "", "")
    ) -> Ratio | None:
        """One case against another row of it; None where there is no seed that both have."""
        mine, base = self.found(*place, runs), self.found(*place, against)
        seeds = sorted(mine.keys() & base.keys())
        values = [rate(mine[seed]) / rate(base[seed]) for seed in seeds if rate(base[seed]) > 0]
        return over_seeds(values) if values else None

    def overall(self, experiment: str, cluster: str, cases: Sequence[str], runs: Runs) -> Ratio | None:
        """The geometric mean over cases, seed by seed; only seeds that every case has."""
        ratios: dict[int, list[float]] = {}
        for case in cases:
            mine = self.found(experiment, cluster, case, runs)
            base = self.found(experiment, cluster, case, (DEFAULT, "", ""))
            for seed in mine.keys() & base.keys():
                ratios.setdefault(seed, []).append(mine[seed].app / base[seed].app)
        whole = [geomean(values) for _, values in sorted(ratios.items()) if len(values) == len(cases)]
        return over_seeds(whole) if whole and cases else None

    def rewrites(self, experiment: str, cluster: str, case: str) -> bool:
        """Whether the cache does the work: the default's applications get far more than the wire carries, or a gain
        does not show on the wire.
        """
        who = {r: rows for (e, k, c, r), rows in self._by.items() if (e, k, c) == (experiment, cluster, case)}
        base = who.get((DEFAULT, "", ""), {})
        if any(row.write > 0 and row.app > ABSORBED * row.wire for row in base.values()):
            return True
        pairs = [(row, base[seed]) for rows in who.values() for seed, row in rows.items() if seed in base]
        return any(
            mine.write > 0 and mine.app / usual.app > REWRITTEN * mine.wire / usual.wire
            for mine, usual in pairs
            if usual.app > 0 and usual.wire > 0
        )


def app(found: Found) -> float:
    """What applications got."""
    return found.app


def wire(found: Found) -> float:
    """What the wire carried."""
    return found.wire
