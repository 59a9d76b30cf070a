"""The file of learned curves: what `schedule learn` writes and a site file names."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from penstock.schedule.learn.finished import FinishedRun, by_kind
from penstock.schedule.learn.pooled import LearnedCurve, learn_pool

HEAD = """# Bandwidth curves in bytes per second, learned from {runs} runs by `penstock schedule learn`.
# Name this file in a site file: curves = "curves.toml". What the site file says of an application goes before it.
# The true bandwidth lies between low and high with a probability of 90 %.
"""


@dataclass(frozen=True, slots=True)
class LearnedApplication:
    """An application with its curve and the usual size of its runs."""

    name: str
    access: str
    nodes: int
    io_bytes: float
    compute_s: float
    learned: LearnedCurve


def learn_applications(runs: Sequence[FinishedRun]) -> tuple[LearnedApplication, ...]:
    """Every application of the runs. Those that access files in the same way are estimated together."""
    found = []
    for access, applications in by_kind(runs):
        pool = {name: _by_count(own) for name, own in applications.items()}
        for name, learned in learn_pool(pool, access).items():
            own = applications[name]
            volume, compute_s = median(run.io_bytes for run in own), median(run.compute_s for run in own)
            nodes = own[0].compute_nodes
            found.append(LearnedApplication(name, access, nodes, volume, compute_s, learned))
    return tuple(sorted(found, key=lambda one: one.name))


def _by_count(runs: Sequence[FinishedRun]) -> dict[int, list[float]]:
    counts: dict[int, list[float]] = {}
    for run in runs:
        counts.setdefault(run.count, []).append(run.bytes_per_s)
    return counts


def curves_toml(applications: Sequence[LearnedApplication], patterns: Sequence[str] = ()) -> str:
    """The file's text."""
    parts = [HEAD.format(runs=sum(one.learned.runs for one in applications))]
    for one in applications:
        base, _, shape = one.name.rpartition(" ")
        lines = ["[[application]]", f"match = {_text(base if base in patterns else glob.escape(base))}"]
        lines += [f"nodes = {one.nodes}", f"processes = {shape.split('x')[-1]}"]
        if one.access != "unknown":
            lines.append(f'access = "{one.access}"')
        lines += [f"io = {one.io_bytes:.0f}", f"compute = {one.compute_s:.1f}", f"runs = {one.learned.runs}"]
        curve = one.learned.curve
        for key, values in (
            ("bandwidth", curve.bytes_per_s),
            ("low", one.learned.low),
            ("high", one.learned.high),
        ):
            points = ", ".join(f"{n} = {value:.0f}" for n, value in zip(curve.counts, values, strict=True))
            lines.append(f"{key} = {{ {points} }}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _text(value: str) -> str:
    """A TOML string. JSON's escapes are TOML's, but for the surrogates of characters beyond 16 bits."""
    return re.sub(r"\x7f", r"\\u007f", json.dumps(value, ensure_ascii=False))
