"""The claims of section VI of the paper, each with what our sweeps show, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.schedule.study.summary import (
    Interval,
    Metric,
    RowSet,
    compare,
    idle_time,
    interval,
    mean_slowdown,
)
from penstock.schedule.study.trial import Method, TrialRow

Rows = Mapping[str, RowSet]
CLAIRVOYANT, ROUND_ROBIN, ANYWHERE = "greedy-clairvoyant", "greedy-non-clairvoyant", "random"
LOW, HIGH = (0.05, 0.5), (0.9, 1.0)
NEGLIGIBLE = 0.03


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, whether it holds on these sets, and the figures behind the verdict, each as `what: mean [95 %]`.

    `applications` is the number of applications in each set. Many verdicts depend on it.
    """

    section: str
    claim: str
    holds: bool
    evidence: tuple[str, ...]
    applications: int = 0


def check_claims(rows: Rows, applications: int) -> list[Finding]:
    """Every claim whose experiments have been run, on sets of `applications` applications."""
    findings: list[Finding] = []
    for needs, claims in ((("load",), LOAD_CLAIMS), (("osts",), OST_CLAIMS), (("load", "osts"), BOTH_CLAIMS)):
        if all(name in rows for name in needs):
            findings.extend(replace(claim(rows), applications=applications) for claim in claims)
    return sorted(findings, key=lambda finding: finding.section)


def _ratios(
    rows: RowSet, pairs: Sequence[tuple[Method, Method]], metric: Metric, bounds: tuple[float, float]
) -> dict[str, Interval]:
    chosen = rows.within(*bounds)
    return {f"{first} / {second}": compare(chosen, first, second, metric) for first, second in pairs}


def _told(what: str, bounds: tuple[float, float], ratios: Mapping[str, Interval]) -> tuple[str, ...]:
    where = f"load {bounds[0]:g} to {bounds[1]:g}"
    return tuple(f"{what}, {where}, {name}: {ratio}" for name, ratio in ratios.items())


BEST_AGAINST = [(Method("bestbdw"), Method(other)) for other in ("random", "static", "nsys", "tcpu")]


def _best_bandwidth_best(rows: Rows) -> Finding:
    ratios = _ratios(rows["load"], BEST_AGAINST, mean_slowdown, (0.05, 1.0))
    return Finding(
        "VI-A1 (a)",
        "In general BestBdw is the best allocation for mean slowdown",
        all(ratio.low <= 1.0 for ratio in ratios.values()),
        _told("mean slowdown", (0.05, 1.0), ratios),
    )


def _best_bandwidth_best_below_half(rows: Rows) -> Finding:
    """A narrower reading of the claim above, added after that one had failed. The report says so."""
    ratios = _ratios(rows["load"], BEST_AGAINST, mean_slowdown, LOW)
    return Finding(
        "VI-A1 (a) narrowed",
        "Up to a load of 0.5 nothing has a lower mean slowdown than BestBdw by more than 1 % (post hoc)",
        all(ratio.high <= 1.01 for ratio in ratios.values()),
        _told("mean slowdown", LOW, ratios),
    )


def _least_stress_better_when_high(rows: Rows) -> Finding:
    ratios = _ratios(rows["load"], [(Method("nsys"), Method("bestbdw"))], mean_slowdown, HIGH)
    return Finding(
        "VI-A1 (b)",
        "At a large load Nsys has a lower mean slowdown than BestBdw",
        all(ratio.high < 1 for ratio in ratios.values()),
        _told("mean slowdown", HIGH, ratios),
    )


def _clairvoyance_gains_little(rows: Rows) -> Finding:
    names = ("bestbdw", "nsys", "tcpu")
    pairs = [(Method(name, CLAIRVOYANT), Method(name, ROUND_ROBIN)) for name in names]
    ratios = _ratios(rows["load"], pairs, mean_slowdown, (0.05, 1.0))
    return Finding(
        "VI-A1 (c)",
        "Clairvoyant placement gains next to nothing in mean slowdown over the non-clairvoyant one",
        all(ratio.low > 1 - NEGLIGIBLE for ratio in ratios.values()),
        _told("mean slowdown", (0.05, 1.0), ratios),
    )


def _greedy_beats_random(rows: Rows) -> Finding:
    pairs = [
        (Method(name, placement), Method(name, ANYWHERE))
        for name in ("bestbdw", "nsys", "tcpu")
        for placement in (ROUND_ROBIN, CLAIRVOYANT)
    ]
    ratios = _ratios(rows["load"], pairs, mean_slowdown, (0.05, 1.0))
    return Finding(
        "VI-A1 (d)",
        "Both greedy placements have a lower mean slowdown than the random one",
        all(ratio.high < 1 for ratio in ratios.values()),
        _told("mean slowdown", (0.05, 1.0), ratios),
    )


def _spread_ordered(rows: Rows) -> Finding:
    evidence: list[str] = []
    holds = True
    for point in (0.2, 0.5, 0.8):
        bounds = (point - 0.05, point + 0.05)
        pairs = [
            (Method("bestbdw", CLAIRVOYANT), Method("bestbdw", ROUND_ROBIN)),
            (Method("bestbdw", ROUND_ROBIN), Method("bestbdw", ANYWHERE)),
        ]
        ratios = _ratios(rows["load"], pairs, lambda row: row.io_spread, bounds)
        holds &= all(ratio.high < 1 for ratio in ratios.values())
        evidence.extend(_told("spread", bounds, ratios))
    return Finding(
        "VI-A1 (e)",
        "Clairvoyant placement spreads I/O more evenly than the non-clairvoyant one, and that than random",
        holds,
        tuple(evidence),
    )


def _congestion_is_its_price(rows: Rows) -> Finding:
    best = rows["load"].select(Method("bestbdw"))
    least = interval([row.slowdown_allocation for row in best])
    pairs = [(Method("bestbdw"), Method("nsys")), (Method("bestbdw"), Method("static"))]
    ratios = _ratios(rows["load"], pairs, lambda row: row.slowdown_congestion, (0.05, 1.0))
    return Finding(
        "VI-A1 (f)",
        "BestBdw has no slowdown from its counts and much more congestion than Nsys or Static",
        abs(least.mean - 1) < 1e-9 and all(ratio.low > 1 for ratio in ratios.values()),
        (f"slowdown by count, bestbdw: {least}", *_told("congestion", (0.05, 1.0), ratios)),
    )


def _congestion_grows(rows: Rows) -> Finding:
    slopes = {name: _slope(rows["load"].select(Method(name))) for name in ("bestbdw", "nsys", "tcpu")}
    return Finding(
        "VI-A1 (g)",
        "With the load, congestion grows linearly under BestBdw and less under Nsys and TCPU",
        all(slopes["bestbdw"].low > slopes[name].high for name in ("nsys", "tcpu")),
        tuple(f"congestion per unit of load, {name}: {slope}" for name, slope in slopes.items()),
    )


def _slope(rows: Sequence[TrialRow]) -> Interval:
    x = [row.least_load for row in rows]
    y = [row.slowdown_congestion for row in rows]
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    square = math.fsum((one - mean_x) ** 2 for one in x)
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / square
    rest = math.fsum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    half = 1.96 * math.sqrt(rest / (len(x) - 2) / square)
    return Interval(slope, slope - half, slope + half, len(x))


def _knapsack_worst(rows: Rows) -> Finding:
    names = ("random", "static", "bestbdw", "nsys", "tcpu")
    pairs = [(Method("mckp"), Method(name)) for name in names]
    ratios = _ratios(rows["load"], pairs, mean_slowdown, (0.05, 1.0))
    return Finding(
        "VI-A1 (h)",
        "MCKP has the worst slowdown of all",
        all(ratio.low > 1 for ratio in ratios.values()),
        _told("mean slowdown", (0.05, 1.0), ratios),
    )


def _idle_at_low_load(rows: Rows) -> Finding:
    pairs = [
        (Method(one), Method(other)) for one in ("bestbdw", "tcpu") for other in ("random", "static", "nsys")
    ]
    ratios = _ratios(rows["load"], pairs, idle_time, (0.05, 0.3))
    return Finding(
        "VI-A2 (a)",
        "At a low load BestBdw and TCPU have the least machine idle time",
        all(ratio.high < 1 for ratio in ratios.values()),
        _told("idle time", (0.05, 0.3), ratios),
    )


def _idle_at_high_load(rows: Rows) -> Finding:
    bounds = (0.7, 1.0)
    pair = [(Method("tcpu"), Method("bestbdw"))]
    idle = _ratios(rows["load"], pair, idle_time, bounds)
    slow = _ratios(rows["load"], pair, mean_slowdown, bounds)
    return Finding(
        "VI-A2 (b)",
        "At a large load TCPU has less idle time than BestBdw at a similar slowdown",
        all(ratio.high < 1 for ratio in idle.values()),
        (*_told("idle time", bounds, idle), *_told("mean slowdown", bounds, slow)),
    )


def _static_idle(rows: Rows) -> Finding:
    pairs = [(Method("static"), Method(other)) for other in ("random", "bestbdw", "nsys")]
    ratios = _ratios(rows["load"], pairs, idle_time, (0.7, 1.0))
    return Finding(
        "VI-A2 (c)",
        "At a large load Static, which knows little, has a good idle time (below BestBdw's)",
        ratios[f"{Method('static')} / {Method('bestbdw')}"].high < 1,
        _told("idle time", (0.7, 1.0), ratios),
    )


def _blurred_profiles(rows: Rows) -> Finding:
    pairs = [(Method(*key, "family"), Method(*key)) for key in BLURRED_KEYS]
    ratios = _ratios(rows["load"], pairs, mean_slowdown, (0.05, 1.0))
    worst = max(_worst_point(rows["load"], first, second) for first, second in pairs)
    return Finding(
        "VI-B (a)",
        "Knowing only each curve's family costs up to 4 % of mean slowdown",
        all(ratio.high <= 1.04 for ratio in ratios.values()),
        (
            *_told("mean slowdown", (0.05, 1.0), ratios),
            f"worst point of any of them: {100 * (worst - 1):.1f} % worse",
        ),
    )


BLURRED_KEYS = (("tcpu", ROUND_ROBIN), ("bestbdw", ROUND_ROBIN), ("bestbdw", CLAIRVOYANT))


def _worst_point(rows: RowSet, first: Method, second: Method) -> float:
    points = rows.points
    return max(compare(rows.within(point, point), first, second, mean_slowdown).mean for point in points)


def _tcpu_best_when_blurred(rows: Rows) -> Finding:
    tcpu = Method("tcpu", ROUND_ROBIN, "family")
    others = (Method("bestbdw", ROUND_ROBIN, "family"), Method("bestbdw", CLAIRVOYANT, "family"))
    ratios = _ratios(rows["load"], [(tcpu, other) for other in others], idle_time, (0.7, 1.0))
    return Finding(
        "VI-B (b)",
        "With only families known, TCPU still has the least idle time",
        all(ratio.high < 1 for ratio in ratios.values()),
        _told("idle time", (0.7, 1.0), ratios),
    )


def _osts_low_load(rows: Rows) -> Finding:
    ratios = _ratios(rows["osts"], [(Method("bestbdw"), Method("nsys"))], mean_slowdown, (0.05, 0.1))
    return Finding(
        "VI-C (a)",
        "OSTs: at little load BestBdw has a lower slowdown than Nsys",
        all(ratio.high < 1 for ratio in ratios.values()),
        _told("mean slowdown", (0.05, 0.1), ratios),
    )


def _cut_off_earlier(rows: Rows) -> Finding:
    nodes, osts = (cut_off(rows[name]) for name in ("load", "osts"))
    none = "none up to 1"
    return Finding(
        "VI-C (b)",
        "OSTs: the load from which Nsys beats BestBdw is much lower than for I/O nodes",
        osts is not None and (nodes is None or osts < nodes),
        (f"first load where Nsys is better: I/O nodes {nodes or none}, OSTs {osts or none}",),
    )


def ratio_by_load(rows: RowSet, first: str, second: str) -> dict[float, Interval]:
    """At each load, the mean slowdown of one allocation relative to another's."""
    return {
        point: compare(rows.within(point, point), Method(first), Method(second), mean_slowdown)
        for point in rows.points
    }


def cut_off(rows: RowSet) -> float | None:
    """The lowest point at which Nsys has a significantly lower slowdown than BestBdw, if any."""
    for point in rows.points:
        if compare(rows.within(point, point), Method("nsys"), Method("bestbdw"), mean_slowdown).high < 1:
            return point
    return None


def _osts_tcpu_matches(rows: Rows) -> Finding:
    low = _ratios(rows["osts"], [(Method("tcpu"), Method("bestbdw"))], mean_slowdown, (0.05, 0.1))
    high = _ratios(rows["osts"], [(Method("tcpu"), Method("bestbdw"))], mean_slowdown, (0.5, 1.0))
    return Finding(
        "VI-C (c)",
        "OSTs: TCPU matches BestBdw when there is little load and is better when there is more",
        all(ratio.low < 1 + NEGLIGIBLE for ratio in low.values()) and all(r.high < 1 for r in high.values()),
        (*_told("mean slowdown", (0.05, 0.1), low), *_told("mean slowdown", (0.5, 1.0), high)),
    )


def _osts_static(rows: Rows) -> Finding:
    pairs = [(Method("static"), Method(other)) for other in ("bestbdw", "nsys", "tcpu")]
    slow = _ratios(rows["osts"], pairs, mean_slowdown, (0.05, 1.0))
    idle = _ratios(rows["osts"], pairs, idle_time, (0.05, 1.0))
    return Finding(
        "VI-C (d)",
        "OSTs: Static performs excellently (no worse than 10 % above the best of the others)",
        all(ratio.high < 1.1 for ratio in slow.values()),
        (*_told("mean slowdown", (0.05, 1.0), slow), *_told("idle time", (0.05, 1.0), idle)),
    )


Claim = Callable[[Rows], Finding]
LOAD_CLAIMS: tuple[Claim, ...] = (
    _best_bandwidth_best,
    _best_bandwidth_best_below_half,
    _least_stress_better_when_high,
    _clairvoyance_gains_little,
    _greedy_beats_random,
    _spread_ordered,
    _congestion_is_its_price,
    _congestion_grows,
    _knapsack_worst,
    _idle_at_low_load,
    _idle_at_high_load,
    _static_idle,
    _blurred_profiles,
    _tcpu_best_when_blurred,
)
OST_CLAIMS: tuple[Claim, ...] = (_osts_low_load, _osts_tcpu_matches, _osts_static)
BOTH_CLAIMS: tuple[Claim, ...] = (_cut_off_earlier,)
