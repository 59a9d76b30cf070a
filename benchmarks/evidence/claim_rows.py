"""The rows behind the papers' claims about tuning: which cases, and who runs them.

Each claim is judged by one policy that was named before anything was measured: `carat-authors`, which is CARAT as its
authors' public code behaves, for CARAT's figures, and `dial` for DIAL's. Printed `carat` and the shipped policy run
beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.evidence.asked import HERE, PAPERS, PRINTED, USERS, Extent, Runs, rows_of_case
from benchmarks.evidence.asks import BEST, DEFAULT, Ask

from penstock.evaluate import applications
from penstock.evaluate.authors_lists import AUTHORS_LISTS, AUTHORS_SEQUENCES
from penstock.evaluate.lists import distinct, kind_of
from penstock.evaluate.request import OWN
from penstock.workload import NAMES

AUTHORS: Runs = ("carat-authors", OWN, "off")
DIAL: Runs = ("dial", OWN, "off")
CLUSTERS = (HERE, PAPERS)
#: Table V's two processes, on targets of two servers.
PAIR = "table-v"
SEQUENCES = tuple(distinct(AUTHORS_SEQUENCES))
#: The authors' lists of five clients, each list once, by what Table VI calls them.
LISTS = {
    kind: tuple(name for name in distinct(AUTHORS_LISTS) if kind_of(AUTHORS_LISTS[name]) == kind)
    for kind in ("read", "write", "mixed")
}
#: A read after random writes is simulated slowly; --quick leaves these out.
DEAR = ("rw_sequence_1", "rw_sequence_2", "rw_sequence_3")


def claim_asks(extent: Extent, *, quick: bool) -> list[Ask]:
    """Every row that a claim needs, each once."""
    return list(dict.fromkeys(_all(extent, quick=quick)))


def _all(extent: Extent, *, quick: bool) -> Iterator[Ask]:
    who = (DEFAULT, BEST, AUTHORS, PRINTED, USERS)
    for cluster in CLUSTERS:
        for case in NAMES:
            yield from rows_of_case(("static", cluster, case), who, extent, extent.headline_seeds)
        yield from rows_of_case(("independent", cluster, PAIR), who, extent, extent.other_seeds)
        for case in (name for names in LISTS.values() for name in names):
            yield from rows_of_case(("interference", cluster, case), who, extent, extent.other_seeds)
    for case in SEQUENCES:
        if not (quick and case in DEAR):
            place = ("dynamic", HERE, case)
            yield from rows_of_case(place, (DEFAULT, AUTHORS, PRINTED, USERS), extent, extent.other_seeds)
            alone = [f"own:{work}" for work in AUTHORS_SEQUENCES[case]]
            yield from rows_of_case(place, alone, extent, 1)
    for case in applications.NAMES:
        yield from rows_of_case(("applications", HERE, case), (*who, DIAL), extent, extent.other_seeds)
