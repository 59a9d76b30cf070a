"""The experiments of the papers' evaluation: name, duration, what measures them, and what a report shows.

The module of an experiment is imported when it runs, so listing the experiments is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.request import Request
    from penstock.report.page import Section


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment. The module of its name measures; `penstock.evaluate.rows` describes its document."""

    name: str
    #: The usual measured time of a run or a phase.
    seconds: float
    help: str
    #: The module with the function of that name that makes its section of a report.
    shown_by: str = "sections"
    #: Whether rows come from lists of workloads, which are named or are files.
    lists: bool = False

    def run(self, lab: Lab, request: Request) -> dict[str, Any]:
        """Measure everything that was asked for."""
        document: dict[str, Any] = import_module(f"penstock.evaluate.{self.name}").evaluate(lab, request)
        return document

    def section(self, document: Mapping[str, Any]) -> Section:
        """The section of the report."""
        found: Section = getattr(import_module(f"penstock.evaluate.{self.shown_by}"), self.name)(document)
        return found


_ALL = (
    Experiment("static", 60.0, "24 workloads (CARAT Fig. 6): default, policy, best of 99 static settings."),
    Experiment(
        "dynamic",
        120.0,
        "The CARAT authors' 12 sequences of four workloads (Fig. 7); --seconds is one phase (the paper's: 300).\n\n"
        "Rows are phases. --list takes a sequence by the name of its file (write_sequence_2), a FILE with one "
        "workload a line, or one of ours (read, write, mixed; read-30s, read-10s and so on: fast switching).",
        "list_sections",
        lists=True,
    ),
    Experiment("independent", 60.0, "Two processes on one client that need different settings (Table V)."),
    Experiment(
        "interference",
        60.0,
        "The CARAT authors' lists of five clients that share OSTs (Table VI): aggregate, fairness, every client.\n\n"
        "Rows are clients. --list takes a list by its set and run (r_w_dd_10g_1), a FILE with one workload a line, "
        "or one of ours (read, write, mixed; read-some: two clients tuned; read-20, read-100: many clients). Of the "
        "authors' 14 names only 9 lists differ: those are the default, and each is reachable by all its names.",
        "list_sections",
        lists=True,
    ),
    Experiment(
        "applications",
        60.0,
        "DLIO and H5bench kernels (Fig. 8, Table VII, DIAL's Table II): the time that fixed work takes.\n\n"
        "The default takes about --seconds. There is no warm-up: adaptation counts.",
    ),
    Experiment("cache", 60.0, "What tuning the dirty cache adds, Algorithm 2's overshoot, in-place updates."),
)
EXPERIMENTS: Mapping[str, Experiment] = {each.name: each for each in _ALL}
