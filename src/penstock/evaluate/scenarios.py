"""The JSON documents of `evaluate scenarios` and `robust`: a row of rates for each world, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.evaluate.comparison import Lot, Row, compare
from penstock.evaluate.lab import Lab
from penstock.evaluate.nudge import NUDGE
from penstock.evaluate.request import Terms
from penstock.evaluate.simulated import Share
from penstock.evaluate.trial import plain
from penstock.evaluate.world_figures import mean_number, policy_figures, summary
from penstock.train.worlds import DescribedWorld


def evaluate_worlds(
    lab: Lab, worlds: Sequence[DescribedWorld], terms: Terms, *, search: bool = True
) -> dict[str, Any]:
    """All worlds under all terms, as one document. The nudge always runs too: it shows what chance does."""
    asked = replace(terms, policies=tuple(dict.fromkeys((*terms.policies, NUDGE))))
    return document(compare(lab, worlds, asked, search=search), asked)


def document(rows: Sequence[Row], terms: Terms) -> dict[str, Any]:
    """The rows as JSON, with a summary for each policy."""
    return {
        "policy": terms.policy,
        "seconds": terms.seconds,
        "seed": terms.seed,
        "seeds": terms.seeds,
        "rows": [_row(row) for row in rows],
        "summary": {policy: summary(rows, policy) for policy in terms.policies},
    }


def _row(row: Row) -> dict[str, Any]:
    best = row.best_static
    return {
        "scenario": row.world.name,
        "families": list(row.world.families),
        "text": row.world.text,
        "default": _rates(row.default),
        "best_static": None if best is None else {**(best[0].setting or {}), **_rates(best)},
        "policies": {
            policy: {**_rates(lots), **plain(policy_figures(row, policy))}
            for policy, lots in row.policies.items()
        },
    }


def _rates(lots: Sequence[Lot]) -> dict[str, Any]:
    """The rates of one run for each seed, as means."""
    runs = [lot.run for lot in lots]
    places = runs[0].targets
    return {
        "app_mbps": mean_number([run.app_mbps for run in runs]),
        "wire_mbps": mean_number([run.rpc_mbps for run in runs]),
        "wire_read_mbps": mean_number([run.wire[0] for run in runs]),
        "wire_write_mbps": mean_number([run.wire[1] for run in runs]),
        "jobs": [_share(shares) for shares in zip(*(lot.jobs for lot in lots), strict=True)],
        "targets": [
            {"client": client, "ost": ost, **_share([run.targets[client, ost] for run in runs])}
            for client, ost in places
        ],
    }


def _share(shares: Sequence[Share]) -> dict[str, float]:
    names = ("app_mbps", "read_mbps", "write_mbps", "requests", "reads", "writes")
    return {name: mean_number([getattr(share, name) for share in shares]) for name in names}
