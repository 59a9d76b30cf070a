"""Goals on worlds: drawn at random, under adversaries, and the twin of a real client that rewrites its data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.goals.goal import POLICY, Extent, Goal

from penstock.evaluate.comparison import Row, compare
from penstock.evaluate.figures import geomean
from penstock.evaluate.lab import Lab
from penstock.evaluate.nudge import NUDGE
from penstock.evaluate.request import Terms
from penstock.evaluate.world_figures import percentile, policy_figures, summary
from penstock.train.draws import draw_worlds
from penstock.train.worlds import DescribedWorld

BENCHMARKS = Path(__file__).parents[1]
PORTFOLIO = str(BENCHMARKS / "ablations" / "portfolio.py")
RIVALS = ("greedy", "carat", "carat-authors", PORTFOLIO)
DRAW_SEED, DRAWS, SECONDS = 4400, 60, 600.0
ADVERSARY_DRAWS = 30
#: Shares that nine and a half of ten worlds reach.
DIRECTION = 0.85
FILES_MIB = (64, 128, 256, 512)
REWRITING_S = 300.0


def random_worlds(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """The policy as shipped, beside the best single setting that a search finds."""
    worlds = list(draw_worlds(DRAW_SEED, extent.draws(DRAWS)))
    terms = Terms((POLICY, NUDGE), extent.seconds(SECONDS), seeds=extent.seeds)
    rows = compare(lab, worlds, terms)
    found, nudged = summary(rows, POLICY), summary(rows, NUDGE)
    figures = [policy_figures(row, POLICY) for row in rows]
    group = f"{len(worlds)} random worlds"
    yield Goal(group, "geometric mean", 1.06, found["geomean_vs_default"])
    yield Goal(group, "geometric mean of the last half", 1.08, found["geomean_last_half"])
    yield Goal(group, "5th percentile", 0.97, found["p05_vs_default"])
    least = min(0.94, nudged["worst_vs_default"] or 0.94)
    yield Goal(group, "worst world (wanted: .94, or what one nudge gets)", least, found["worst_vs_default"])
    for what, values in (
        ("any direction of a target", [one.least_direction for one in figures]),
        ("any job", [one.least_job for one in figures]),
    ):
        known = [value for value in values if value is not None]
        yield Goal(group, f"{what}, in 95 % of worlds", DIRECTION, percentile(known, 0.05) if known else None)
    yield Goal(group, "log head-room captured in the last half", 0.55, found["headroom_log_last_half"])
    yield Goal(group, "near the best within five trials, share of worlds", 0.4, found["within_five_trials"])


def rivals(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """The same worlds driven by rivals, guarded by the same rules and not; the policy's own runs are shared."""
    worlds = list(draw_worlds(DRAW_SEED, extent.draws(DRAWS)))
    terms = Terms((POLICY,), extent.seconds(SECONDS), seeds=extent.seeds)
    mine = summary(compare(lab, worlds, terms, search=False), POLICY)["geomean_vs_default"]
    for guard in (True, False):
        asked = Terms(RIVALS, terms.seconds, seeds=terms.seeds, guard=guard)
        rows = compare(lab, worlds, asked, search=False)
        for rival in RIVALS:
            mean = summary(rows, rival)["geomean_vs_default"]
            how = "guarded" if guard else "unguarded"
            yield Goal(
                "against rivals", f"geometric mean (wanted: that of {_name(rival)}, {how})", mean, mine
            )


def adversaries(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """What the guard keeps of the default, whatever a policy wants."""
    worlds = list(draw_worlds(DRAW_SEED + 1, extent.draws(ADVERSARY_DRAWS)))
    files = tuple(str(path) for path in sorted((BENCHMARKS / "adversaries").glob("*.py")))
    terms = Terms((*files, NUDGE), extent.seconds(SECONDS), seeds=extent.seeds, guard=True)
    rows = compare(lab, worlds, terms, search=False)
    for file in files:
        found = summary(rows, file)["p05_vs_default"]
        yield Goal("adversaries, guarded", f"5th percentile of worlds, {_name(file)}", 0.96, found)
    chance = summary(rows, NUDGE)["p05_vs_default"]
    yield Goal("adversaries, guarded", "the same of one nudge, which shows what chance does", None, chance)


def rewriting(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """The simulated twin of a real client: random rewriting of files that fit the dirty limit, and that do not."""
    cells = [
        (256, 1, 4.0),
        *((size, 1, 4.0) for size in (64, 128, 512)),
        *((size, 5, 4.0) for size in FILES_MIB),
    ]
    cells += [(256, 1, 1.0), (128, 1, 1.0)]
    terms = Terms((POLICY,), extent.seconds(REWRITING_S), seeds=extent.seeds)
    twins = [_twin(*cell) for cell in cells]
    ratios = [_ratio(row) for row in compare(lab, twins, terms, search=False)]
    yield Goal("rewriting, emulated-10ms", "256 MiB under a limit of 512", 2.0, ratios[0])
    yield Goal("rewriting, emulated-10ms", "worst of nine other sizes, limits and streams", 0.97, min(ratios))
    yield Goal("rewriting, emulated-10ms", "geometric mean of all ten", None, geomean(ratios))


def _ratio(row: Row) -> float:
    return policy_figures(row, POLICY).vs_default


def _twin(size_mib: int, streams: int, ram_gb: float) -> DescribedWorld:
    """The dirty limit is an eighth of memory."""
    text = (
        'cluster = "emulated-10ms"\n'
        f"[set]\nram_gb = {ram_gb}\n"
        '[[job]]\nworkload = { read_ratio = 0.0, access = "random", request = "1m", '
        f'streams = {streams}, file = "{size_mib // streams}m", cache = "2g" }}\n'
    )
    return DescribedWorld(f"rewriting-{size_mib}-{streams}-{ram_gb:g}", text)


def _name(policy: str) -> str:
    return Path(policy).stem if policy.endswith(".py") else policy
