"""A finding about a job, with a severity that depends on the seconds at stake."""

from __future__ import annotations

from dataclasses import dataclass

RANDOM_BELOW = 0.7
DENSE_RATIO = 0.5
# Shares of the run time from which a finding is of high or of medium severity, and the least seconds for either.
HIGH_SHARE, MEDIUM_SHARE = 0.1, 0.01
HIGH_S, MEDIUM_S = 10.0, 1.0
# Where no gain is known, this share at stake makes a finding medium: only part of it could be saved.
AT_STAKE_SHARE = 0.1
# What concerns less than this share of the run is named and no more.
SLIGHT_SHARE = 0.001
OVERLAP = "Gains overlap: each is what that change alone could save."


@dataclass(frozen=True, slots=True)
class JobFinding:
    """One finding: an id, its severity, the evidence, what to do, and how to check that it helped.

    `gain_s` is what the job should save by the log's own rates; None where the log cannot tell.
    `at_stake_s` is what it waits for the calls concerned. `files` names the costliest ones. `change` is the line to
    write, where the cause is known.
    """

    id: str
    severity: str
    evidence: str
    advice: str
    check: str = ""
    gain_s: float | None = None
    at_stake_s: float = 0.0
    files: tuple[str, ...] = ()
    change: str = ""

    def share(self, run_s: float) -> float:
        """What would be saved, or else is at stake, as a share of the run."""
        seconds = self.at_stake_s if self.gain_s is None else self.gain_s
        return min(1.0, seconds / max(run_s, 1e-9))

    def shown_share(self, run_s: float) -> str:
        """That share in words: little is not nothing."""
        share = self.share(run_s)
        return "<1%" if 0 < share < 0.005 else f"{share:.0%}"

    def slight(self, run_s: float) -> bool:
        """Whether hardly any of the run is concerned."""
        return self.severity == "low" and max(self.gain_s or 0.0, self.at_stake_s) < SLIGHT_SHARE * run_s


def try_stripes(count: int, through_mpiio: bool) -> str:
    """The command that tries a stripe count; none for a job without MPI-IO, which no hint reaches."""
    return f"penstock run --compare 5 --hint striping_factor={count} -- COMMAND" if through_mpiio else ""


def grade(gain_s: float | None, at_stake_s: float, run_s: float) -> str:
    """The severity: by the share of the run that would be saved, or else by the share at stake.

    Less than a second is low and less than ten are not high, however short the run.

    >>> grade(20.0, 30.0, 100.0), grade(0.5, 0.6, 100.0), grade(None, 30.0, 100.0)
    ('high', 'low', 'medium')
    >>> grade(0.4, 0.4, 1.0), grade(4.0, 4.0, 5.0), grade(None, 3.0, 100.0)
    ('low', 'medium', 'low')
    """
    run_s = max(run_s, 1e-9)
    if gain_s is None:
        return "medium" if at_stake_s >= max(MEDIUM_S, AT_STAKE_SHARE * run_s) else "low"
    if gain_s >= max(HIGH_S, HIGH_SHARE * run_s):
        return "high"
    return "medium" if gain_s >= max(MEDIUM_S, MEDIUM_SHARE * run_s) else "low"
