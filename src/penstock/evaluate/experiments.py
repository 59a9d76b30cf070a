"""The experiments of the papers' evaluation, each one object: its name and length, how it runs, what a report shows.

What an experiment needs is imported when it runs: naming the experiments costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.request import Request
    from penstock.report.page import Section

Findings = dict[str, Any]


class Experiment(ABC):
    """One experiment. `seconds` is the default of a run's measured time, or of one phase's."""

    name: ClassVar[str]
    seconds: ClassVar[float]
    help: ClassVar[str]

    @abstractmethod
    def run(self, lab: Lab, request: Request) -> Findings:
        """Measure everything that was asked for."""

    @abstractmethod
    def section(self, findings: Mapping[str, Any]) -> Section:
        """What a report shows of it."""

    def claims(self, findings: Mapping[str, Any]) -> Iterator[list[str]]:
        """The papers' claims that it can check, a table row each."""
        return iter(())


class Static(Experiment):
    """CARAT's Fig. 6: workloads that do not change."""

    name, seconds = "static", 60.0
    help = "24 workloads (CARAT Fig. 6): default, policy, best of 99 static settings."

    def run(self, lab: Lab, request: Request) -> Findings:
        """Default, best static setting and policies on each workload."""
        from penstock.evaluate.static import evaluate

        return evaluate(lab, request)

    def section(self, findings: Mapping[str, Any]) -> Section:
        """Ratios, timelines and maps; of many policies on few workloads, a table of all of them."""
        from penstock.evaluate import sections

        show = sections.baselines if findings.get("role") == "baselines" else sections.static
        return show(findings)

    def claims(self, findings: Mapping[str, Any]) -> Iterator[list[str]]:
        """The worst workload and the largest gain."""
        from penstock.evaluate import claims

        return claims.static(findings)


class Dynamic(Experiment):
    """CARAT's Fig. 7: workloads that follow each other."""

    name, seconds = "dynamic", 300.0
    help = "Sequences of four workloads (Fig. 7), and fast switching; --seconds is one phase."

    def run(self, lab: Lab, request: Request) -> Findings:
        """Each sequence under default, best single setting, each phase's own optimum, and policies."""
        from penstock.evaluate.dynamic import evaluate

        return evaluate(lab, request)

    def section(self, findings: Mapping[str, Any]) -> Section:
        """Throughput of whole sequences and how soon each phase was adapted to."""
        from penstock.evaluate import sections

        return sections.dynamic(findings)

    def claims(self, findings: Mapping[str, Any]) -> Iterator[list[str]]:
        """The largest gain in a phase."""
        from penstock.evaluate import claims

        return claims.dynamic(findings)


class Independent(Experiment):
    """CARAT's Table V: two processes with different needs on one client."""

    name, seconds = "independent", 60.0
    help = "Two processes on one client that need different settings (Table V)."

    def run(self, lab: Lab, request: Request) -> Findings:
        """Both processes at once under everything."""
        from penstock.evaluate.independent import evaluate

        return evaluate(lab, request)

    def section(self, findings: Mapping[str, Any]) -> Section:
        """Reader and writer beside the paper's figures."""
        from penstock.evaluate import sections

        return sections.independent(findings)

    def claims(self, findings: Mapping[str, Any]) -> Iterator[list[str]]:
        """Reader and writer of Table V."""
        from penstock.evaluate import claims

        return claims.independent(findings)


class Interference(Experiment):
    """CARAT's Table VI: clients that share OSTs."""

    name, seconds = "interference", 60.0
    help = "Clients that share OSTs (Table VI): aggregate, fairness, 5 to 100 clients."

    def run(self, lab: Lab, request: Request) -> Findings:
        """Mixes of clients on the same OSTs, all or some of them tuned."""
        from penstock.evaluate.interference import evaluate

        return evaluate(lab, request)

    def section(self, findings: Mapping[str, Any]) -> Section:
        """Aggregates, fairness and oscillation."""
        from penstock.evaluate import sections

        return sections.interference(findings)

    def claims(self, findings: Mapping[str, Any]) -> Iterator[list[str]]:
        """The three mixes of Table VI."""
        from penstock.evaluate import claims

        return claims.interference(findings)


class Applications(Experiment):
    """CARAT's Fig. 8 and Table VII, DIAL's Table II."""

    name, seconds = "applications", 60.0
    help = "DLIO and H5bench kernels (Fig. 8, Table VII, DIAL's Table II)."

    def run(self, lab: Lab, request: Request) -> Findings:
        """Each application under everything."""
        from penstock.evaluate.applications import evaluate

        return evaluate(lab, request)

    def section(self, findings: Mapping[str, Any]) -> Section:
        """Each application beside the papers' figures."""
        from penstock.evaluate import sections

        return sections.applications(findings)

    def claims(self, findings: Mapping[str, Any]) -> Iterator[list[str]]:
        """The largest gain of deep learning, and every kernel."""
        from penstock.evaluate import claims

        return claims.applications(findings)


class Cache(Experiment):
    """CARAT's stage 2: tuning the dirty cache."""

    name, seconds = "cache", 60.0
    help = "What tuning the dirty cache adds, Algorithm 2's overshoot, in-place updates."

    def run(self, lab: Lab, request: Request) -> Findings:
        """With and without stage 2, Algorithm 2 on drawn demands, and writes that fit the cache."""
        from penstock.evaluate.dirty_cache import evaluate

        return evaluate(lab, request)

    def section(self, findings: Mapping[str, Any]) -> Section:
        """What each of the three showed."""
        from penstock.evaluate import sections

        return sections.cache(findings)


EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each for each in (Static(), Dynamic(), Independent(), Interference(), Applications(), Cache())
}
