"""From single runs to samples: identical runs make one mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from penstock.errors import DataError
from penstock.plan.convergence import ConvergenceRule
from penstock.plan.ior import IorRun
from penstock.plan.location import locate
from penstock.plan.parameters import require_lustre
from penstock.plan.pattern import WritePattern, check_pattern
from penstock.plan.samples import Samples, tabulate
from penstock.plan.system import System, flat_system


def gather(runs: Sequence[IorRun], system: System | None, locations: str, rule: ConvergenceRule) -> Samples:
    """One sample per distinct pattern; without a system only the sizes of the runs are known of it.

    A pattern with a single run counts as converged: there is nothing to judge it by.
    """
    if not runs:
        raise DataError("no runs")
    if system is None:
        system = flat_system("flat", max(run.nodes for run in runs), max(run.cores for run in runs))
    groups = _identical(runs)
    patterns = []
    for nodes, cores, burst, stripes in groups:
        asked = stripes if system.kind == "lustre" else None
        pattern = WritePattern(locate(system, nodes, locations), cores, burst, require_lustre(system, asked))
        check_pattern(system, pattern, oversubscribed=True)
        patterns.append(pattern)
    means = np.array([float(np.mean(times)) for times in groups.values()])
    settled = np.array([len(times) == 1 or rule.converged(times) for times in groups.values()])
    return tabulate(system, patterns, means, settled)


def _identical(runs: Sequence[IorRun]) -> dict[tuple[int, int, int, int | None], list[float]]:
    groups: dict[tuple[int, int, int, int | None], list[float]] = defaultdict(list)
    for run in runs:
        groups[run.nodes, run.cores, run.burst_bytes, run.stripes].append(run.seconds)
    return groups


def spreads(runs: Sequence[IorRun]) -> list[float]:
    """Slowest over fastest for every pattern that ran more than once."""
    return [max(times) / min(times) for times in _identical(runs).values() if len(times) > 1]
