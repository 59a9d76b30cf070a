"""A finding about a job, with a severity that depends on the seconds at stake."""

from __future__ import annotations

from dataclasses import dataclass

RANDOM_BELOW = 0.7
DENSE_RATIO = 0.5
# Shares of the run time from which a finding is of high or of medium severity.
HIGH_SHARE, MEDIUM_SHARE = 0.1, 0.01


@dataclass(frozen=True, slots=True)
class JobFinding:
    """One finding: an id, its severity, the evidence, what to do, and how to check that it helped.

    `gain_s` is the time a typical rank should save, computed from the log's own rates; None if the log cannot tell.
    `at_stake_s` is the time it spends in the calls concerned. `files` names the costliest files.
    """

    id: str
    severity: str
    evidence: str
    advice: str
    check: str = ""
    gain_s: float | None = None
    at_stake_s: float = 0.0
    files: tuple[str, ...] = ()


def grade(gain_s: float | None, at_stake_s: float, run_s: float) -> str:
    """The severity: by the share of the run that would be saved, or else by the share at stake.

    >>> grade(20.0, 30.0, 100.0), grade(0.5, 0.6, 100.0), grade(None, 30.0, 100.0)
    ('high', 'low', 'medium')
    """
    run_s = max(run_s, 1e-9)
    if gain_s is None:
        return "medium" if at_stake_s / run_s >= HIGH_SHARE else "low"
    if gain_s / run_s >= HIGH_SHARE:
        return "high"
    return "medium" if gain_s / run_s >= MEDIUM_SHARE else "low"
