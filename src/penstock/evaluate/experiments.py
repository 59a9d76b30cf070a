"""The experiments of the papers' evaluation as objects: name, duration, how to run it, and what a report shows.

The modules of an experiment are imported when it runs, so listing the experiments is cheap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

if TYPE_CHECKING:
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.request import Request
    from penstock.evaluate.rows import (
        ApplicationsDocument,
        CacheDocument,
        DynamicDocument,
        IndependentDocument,
        InterferenceDocument,
        StaticDocument,
    )
    from penstock.report.page import Section

D = TypeVar("D")


class Experiment(ABC, Generic[D]):
    """One experiment and its document. `seconds` is the default measured time of a run or a phase.

    `lists` says that rows come from lists of workloads, which are named or are files.
    """

    name: ClassVar[str]
    seconds: ClassVar[float]
    help: ClassVar[str]
    lists: ClassVar[bool] = False

    @abstractmethod
    def run(self, lab: Lab, request: Request) -> D:
        """Measure everything that was asked for."""

    @abstractmethod
    def section(self, document: D) -> Section:
        """The section of the report."""

    def claims(self, document: D) -> Iterator[list[str]]:
        """The papers' claims that it can check, one table row each."""
        return iter(())


class Static(Experiment["StaticDocument"]):
    """CARAT's Fig. 6: workloads that do not change."""

    name, seconds = "static", 60.0
    help = "24 workloads (CARAT Fig. 6): default, policy, best of 99 static settings."

    def run(self, lab: Lab, request: Request) -> StaticDocument:
        """Default, best static setting and policies on each workload."""
        from penstock.evaluate.static import evaluate

        return evaluate(lab, request)

    def section(self, document: StaticDocument) -> Section:
        """Ratios, timelines and maps; of many policies on few workloads, a table of all of them."""
        from penstock.evaluate import sections

        show = sections.baselines if document.get("role") == "baselines" else sections.static
        return show(document)

    def claims(self, document: StaticDocument) -> Iterator[list[str]]:
        """The worst workload and the largest gain."""
        from penstock.evaluate import claims

        return claims.static(document)


class Dynamic(Experiment["DynamicDocument"]):
    """CARAT's Fig. 7: workloads that follow each other."""

    name, seconds, lists = "dynamic", 120.0, True
    help = (
        "The CARAT authors' 12 sequences of four workloads (Fig. 7); --seconds is one phase (the paper's: 300).\n\n"
        "Rows are phases. --list takes a sequence by the name of its file (write_sequence_2), a FILE with one "
        "workload a line, or one of ours (read, write, mixed; read-30s, read-10s and so on: fast switching)."
    )

    def run(self, lab: Lab, request: Request) -> DynamicDocument:
        """Each sequence under default, best single setting, each phase's ceiling, and policies."""
        from penstock.evaluate.dynamic import evaluate

        return evaluate(lab, request)

    def section(self, document: DynamicDocument) -> Section:
        """Throughput of whole sequences and how soon each phase was adapted to."""
        from penstock.evaluate import list_sections

        return list_sections.dynamic(document)

    def claims(self, document: DynamicDocument) -> Iterator[list[str]]:
        """The largest gain in a phase."""
        from penstock.evaluate import claims

        return claims.dynamic(document)


class Independent(Experiment["IndependentDocument"]):
    """CARAT's Table V: two processes with different needs on one client."""

    name, seconds = "independent", 60.0
    help = "Two processes on one client that need different settings (Table V)."

    def run(self, lab: Lab, request: Request) -> IndependentDocument:
        """Both processes at once under everything."""
        from penstock.evaluate.independent import evaluate

        return evaluate(lab, request)

    def section(self, document: IndependentDocument) -> Section:
        """Reader and writer beside the paper's figures."""
        from penstock.evaluate import sections

        return sections.independent(document)

    def claims(self, document: IndependentDocument) -> Iterator[list[str]]:
        """Reader and writer of Table V."""
        from penstock.evaluate import claims

        return claims.independent(document)


class Interference(Experiment["InterferenceDocument"]):
    """CARAT's Table VI: clients that share OSTs."""

    name, seconds, lists = "interference", 60.0, True
    help = (
        "The CARAT authors' lists of five clients that share OSTs (Table VI): aggregate, fairness, every client.\n\n"
        "Rows are clients. --list takes a list by its set and run (r_w_dd_10g_1), a FILE with one workload a line, "
        "or one of ours (read, write, mixed; read-some: two clients tuned; read-20, read-100: many clients). Of the "
        "authors' 14 names only 9 lists differ: those are the default, and each is reachable by all its names."
    )

    def run(self, lab: Lab, request: Request) -> InterferenceDocument:
        """Lists of clients on the same OSTs, all or some of them tuned."""
        from penstock.evaluate.interference import evaluate

        return evaluate(lab, request)

    def section(self, document: InterferenceDocument) -> Section:
        """Aggregates, fairness and oscillation."""
        from penstock.evaluate import list_sections

        return list_sections.interference(document)

    def claims(self, document: InterferenceDocument) -> Iterator[list[str]]:
        """The three kinds of Table VI."""
        from penstock.evaluate import claims

        return claims.interference(document)


class Applications(Experiment["ApplicationsDocument"]):
    """CARAT's Fig. 8 and Table VII, DIAL's Table II."""

    name, seconds = "applications", 60.0
    help = (
        "DLIO and H5bench kernels (Fig. 8, Table VII, DIAL's Table II): the time that fixed work takes.\n\n"
        "The default takes about --seconds. There is no warm-up: adaptation counts."
    )

    def run(self, lab: Lab, request: Request) -> ApplicationsDocument:
        """Each application under everything."""
        from penstock.evaluate.applications import evaluate

        return evaluate(lab, request)

    def section(self, document: ApplicationsDocument) -> Section:
        """Each application beside the papers' figures."""
        from penstock.evaluate import sections

        return sections.applications(document)

    def claims(self, document: ApplicationsDocument) -> Iterator[list[str]]:
        """The largest gain of deep learning, and every kernel."""
        from penstock.evaluate import claims

        return claims.applications(document)


class Cache(Experiment["CacheDocument"]):
    """CARAT's stage 2: tuning the dirty cache."""

    name, seconds = "cache", 60.0
    help = "What tuning the dirty cache adds, Algorithm 2's overshoot, in-place updates."

    def run(self, lab: Lab, request: Request) -> CacheDocument:
        """With and without stage 2, Algorithm 2 on drawn demands, and writes that fit the cache."""
        from penstock.evaluate.dirty_cache import evaluate

        return evaluate(lab, request)

    def section(self, document: CacheDocument) -> Section:
        """What each of the three showed."""
        from penstock.evaluate import sections

        return sections.cache(document)


EXPERIMENTS: Mapping[str, Experiment[Any]] = {
    each.name: each for each in (Static(), Dynamic(), Independent(), Interference(), Applications(), Cache())
}
