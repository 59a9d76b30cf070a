"""The JSON documents of `evaluate scenarios` and `robust`: a row of rates for each world, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.evaluate.comparison import Lot, Row, Terms, compare, summary
from penstock.evaluate.lab import Lab
from penstock.evaluate.simulated import Share
from penstock.train.worlds import DescribedWorld


def evaluate_worlds(lab: Lab, worlds: Sequence[DescribedWorld], terms: Terms) -> dict[str, Any]:
    """All worlds under all terms, as one document."""
    return document(compare(lab, worlds, terms), terms)


def document(rows: Sequence[Row], terms: Terms) -> dict[str, Any]:
    """The rows as JSON, with a summary for each policy."""
    return {
        "policy": terms.policies[0],
        "seconds": terms.seconds,
        "seed": terms.seed,
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
        "best_static": None if best is None else {**(best.setting or {}), **_rates(best)},
        "policies": {
            policy: {
                **_rates(lot),
                "changes": lot.run.changes,
                "vs_default": row.vs_default(policy),
                "least_job_vs_default": row.least_job(policy),
                "least_part_vs_default": row.least_part(policy),
            }
            for policy, lot in row.policies.items()
        },
    }


def _rates(lot: Lot) -> dict[str, Any]:
    return {
        "app_mbps": lot.run.app_mbps,
        "wire_mbps": lot.run.rpc_mbps,
        "wire_read_mbps": lot.run.wire[0],
        "wire_write_mbps": lot.run.wire[1],
        "jobs": [_job(job) for job in lot.jobs],
        "targets": [
            {"client": client, "ost": ost, **_job(share)} for (client, ost), share in lot.run.targets.items()
        ],
    }


def _job(job: Share) -> dict[str, float]:
    return {
        "app_mbps": job.app_mbps,
        "read_mbps": job.read_mbps,
        "write_mbps": job.write_mbps,
        "requests": job.requests,
        "reads": job.reads,
        "writes": job.writes,
    }
