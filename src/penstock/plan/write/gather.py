"""Combines identical runs into samples, one mean per pattern."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from penstock.errors import DataError
from penstock.plan.storage import StorageSystem, flat_system
from penstock.plan.write.convergence import ConvergenceRule
from penstock.plan.write.ior_results import IorRun
from penstock.plan.write.location import locate
from penstock.plan.write.parameters import require_lustre
from penstock.plan.write.pattern import WritePattern, check_pattern
from penstock.plan.write.write_samples import WriteSamples, tabulate

# A system known by its runs alone may be larger than they were: questions up to so many times their nodes are
# answered, as ones outside the training range.
UNMEASURED_NODES = 64


def gather(
    runs: Sequence[IorRun], system: StorageSystem | None, locations: str, rule: ConvergenceRule
) -> WriteSamples:
    """One sample per distinct pattern; without a system only the sizes of the runs are known of it.

    A pattern with a single run counts as converged: there is nothing to judge it by.
    """
    if not runs:
        raise DataError("no runs")
    if system is None:
        osts = max([run.stripes for run in runs if run.stripes is not None], default=1)
        nodes = UNMEASURED_NODES * max(run.nodes for run in runs)
        system = flat_system("flat", nodes, max(run.cores for run in runs), osts)
    groups = _identical(runs)
    patterns = []
    for nodes, cores, burst, stripes, transfer in groups:
        asked = stripes if system.kind == "lustre" else None
        width = require_lustre(system, asked)
        pattern = WritePattern(locate(system, nodes, locations), cores, burst, width, transfer)
        check_pattern(system, pattern, oversubscribed=True)
        patterns.append(pattern)
    means = np.array([float(np.mean(times)) for times in groups.values()])
    settled = np.array([len(times) == 1 or rule.converged(times) for times in groups.values()])
    return tabulate(system, patterns, means, settled)


RunKey = tuple[int, int, int, int | None, int | None]


def _identical(runs: Sequence[IorRun]) -> dict[RunKey, list[float]]:
    groups: dict[RunKey, list[float]] = defaultdict(list)
    for run in runs:
        key = (run.nodes, run.cores, run.burst_bytes, run.stripes, run.transfer_bytes)
        groups[key].append(run.seconds)
    return groups


def spreads(runs: Sequence[IorRun]) -> list[float]:
    """Slowest over fastest for every pattern that ran more than once."""
    return [max(times) / min(times) for times in _identical(runs).values() if len(times) > 1]
