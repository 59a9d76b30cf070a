"""Combines the logs of many nodes into one report: where tuning helped, harmed, or changed nothing.

Nodes are independent of each other, but changes on one node are not. So each node counts once, however many changes
it made, and the confidence interval is over nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.agent.effect import trial_gain
from penstock.agent.log import read_log
from penstock.agent.node_logs import node_logs
from penstock.agent.summary import Summary, summarise
from penstock.agent.switchback import Verdict, over_ratios
from penstock.gains import Gain, GainVerdict, mean_gain
from penstock.report.page import Section, Table, render
from penstock.units import counted

CLASSES = {
    "helped": "Tuning helped: the whole interval is above 1.",
    "taken back": "Most changes were taken back, or they cost more than they brought.",
    "not needed": "Nothing was changed, or what was changed made no difference.",
    "undecided": "Changes were judged, but what they brought is not known well enough to say.",
    "not judged": "Changes were made or advised, and none was judged yet.",
}
#: The table of nodes. A look goes to the original and back, and counts as neither.
COLUMNS = ("node", "before/after", "changes", "taken back", "looks", "advised")
#: A node's changes were taken back where at least this share of its moves was part of such.
MOSTLY = 0.8
_OF_VERDICT = {
    GainVerdict.GAIN: "helped",
    GainVerdict.LOSS: "taken back",
    GainVerdict.NO_DIFFERENCE: "not needed",
    GainVerdict.UNDECIDED: "undecided",
}


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node's period."""

    node: str
    summary: Summary

    @property
    def made(self) -> int:
        """Everything that was set, looks at the original and what was taken back included."""
        return sum(target.made for target in self.summary.targets)

    @property
    def looks(self) -> int:
        """Moves only to look at the original, and back."""
        return sum(target.looks for target in self.summary.targets)

    @property
    def changes(self) -> int:
        """What was set for a gain."""
        return sum(target.changes for target in self.summary.targets)

    @property
    def advised(self) -> int:
        """Changes advised."""
        return sum(target.advised for target in self.summary.targets)

    @property
    def reverted(self) -> int:
        """Changes that the guard reverted."""
        return sum(target.reverted for target in self.summary.targets)

    @property
    def gain(self) -> Gain | None:
        """The gain: from a trial if that decided anything, otherwise the mean over judged changes."""
        effect = self.summary.effect
        return None if effect is None else Gain(effect["gain"], effect["low"], effect["high"])

    @property
    def verdict(self) -> str:
        """One of `CLASSES`."""
        if not self.made and not self.advised:
            return "not needed"
        # A reverted change is two moves: there and back.
        moves = self.changes + self.reverted
        if moves > 0 and 2 * self.reverted >= MOSTLY * moves:
            return "taken back"
        return "not judged" if self.gain is None else _OF_VERDICT[self.gain.verdict]


@dataclass(frozen=True, slots=True)
class JobReport:
    """One job over all its nodes."""

    job: str
    user: str
    nodes: int
    made: int
    reverted: int
    gain: Gain | None


@dataclass(frozen=True, slots=True)
class FleetReport:
    """All nodes, their jobs, and one verdict."""

    nodes: tuple[NodeReport, ...]
    jobs: tuple[JobReport, ...]
    #: Over the nodes that ran a switchback trial. Each counts once.
    trial: Verdict

    def by_class(self) -> dict[str, list[NodeReport]]:
        """The nodes of every class."""
        return {name: [node for node in self.nodes if node.verdict == name] for name in CLASSES}


def fleet_report(files: Sequence[Path], since_s: float, until_s: float) -> FleetReport:
    """Merge log files or state directories. It is an error if two have the same node name."""
    nodes = {
        name: NodeReport(name, summarise(read_log(path), since_s, until_s))
        for name, path in node_logs(files).items()
    }
    rows = tuple(nodes[name] for name in sorted(nodes))
    trials = [gain.ratio for node in rows if (gain := trial_gain(node.summary.trial)) is not None]
    return FleetReport(rows, _jobs(rows), over_ratios([math.log(gain) for gain in trials if gain > 0]))


def _jobs(nodes: Sequence[NodeReport]) -> tuple[JobReport, ...]:
    parts: dict[str, list[Any]] = {}
    for node in nodes:
        for job in node.summary.jobs:
            parts.setdefault(job.job, []).append(job)
    return tuple(
        JobReport(
            name,
            next((job.user for job in some if job.user), ""),
            len(some),
            sum(job.made for job in some),
            sum(job.reverted for job in some),
            # As for the fleet, each of the job's nodes counts once.
            mean_gain([job.gain for job in some if job.gain is not None]),
        )
        for name, some in sorted(parts.items())
    )


def document(report: FleetReport) -> dict[str, Any]:
    trial = report.trial
    return {
        "nodes": [_node(node) for node in report.nodes],
        "classes": {name: len(nodes) for name, nodes in report.by_class().items()},
        "jobs": [
            {
                "job": j.job,
                "user": j.user,
                "nodes": j.nodes,
                "made": j.made,
                "reverted": j.reverted,
                **_figures(j.gain),
            }
            for j in report.jobs
        ],
        "trial": {
            "nodes": trial.pairs,
            "gain": trial.gain,
            "low": trial.low,
            "high": trial.high,
            "verdict": trial.verdict.value,
        },
        "verdict": sentence(report),
    }


def _node(node: NodeReport) -> Mapping[str, Any]:
    counts = {name: getattr(node, name) for name in ("made", "looks", "advised", "reverted")}
    kind = (node.summary.effect or {}).get("kind")
    figures = {**_figures(node.gain), "gain_from": kind}
    return {"node": node.node, **figures, "verdict": node.verdict, **counts}


def _figures(gain: Gain | None) -> dict[str, Any]:
    if gain is None:
        return {"gain": None, "low": None, "high": None, "verdict": None}
    return {"gain": gain.ratio, "low": gain.low, "high": gain.high, "verdict": gain.verdict.value}


def sentence(report: FleetReport) -> str:
    """The result for the fleet in one sentence that claims no more than was measured."""
    trial = report.trial
    if trial.gain is not None:
        return f"{trial.sentence}, over {trial.pairs} nodes that switched tuning on and off"
    words = ", ".join(f"{len(nodes)} {name}" for name, nodes in report.by_class().items() if nodes)
    return f"no trial on at least 3 nodes, so no verdict; of {counted(len(report.nodes), 'node')}: {words}"


def page(report: FleetReport) -> str:
    """One self-contained HTML page."""
    sections = [
        Section(
            f"{name}: {counted(len(nodes), 'node')}",
            (CLASSES[name],),
            tables=(Table(COLUMNS, [node_cells(node) for node in _sorted(nodes)]),),
        )
        for name, nodes in report.by_class().items()
        if nodes
    ]
    if report.jobs:
        rows = [
            (j.job, j.user or "-", str(j.nodes), str(j.made), str(j.reverted), gain_words(j.gain))
            for j in report.jobs
        ]
        jobs = Table(("job", "user", "nodes", "changes", "taken back", "before/after"), rows)
        sections.append(Section("jobs", ("Each of a job's nodes counts once.",), tables=(jobs,)))
    said = sentence(report)
    return render("Penstock on a fleet", (), sections, f"{said[0].upper()}{said[1:]}.")


def _sorted(nodes: Sequence[NodeReport]) -> list[NodeReport]:
    return sorted(nodes, key=lambda node: (-(node.gain.ratio if node.gain else 0.0), node.node))


def node_cells(node: NodeReport) -> tuple[str, ...]:
    """A row of `COLUMNS`."""
    counts = (node.changes, node.reverted, node.looks, node.advised)
    return (node.node, gain_words(node.gain), *map(str, counts))


def gain_words(gain: Gain | None) -> str:
    """In a table: the ratio where it is known, else the interval."""
    if gain is None:
        return "-"
    return gain.words.removesuffix(" times")
