"""The experiments: their sets and methods. They run in parallel, are saved in batches, and can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random

from penstock.campaign.engines import local_engine
from penstock.campaign.jsonlines import append_line, read_lines
from penstock.campaign.shards import Kept, run_shards, unfinished
from penstock.errors import DataError
from penstock.schedule.profile import Profile
from penstock.schedule.study.trial import Method, TrialRow, draw_set, try_methods

ALLOCATIONS = ("random", "static", "bestbdw", "nsys", "tcpu", "balance")
PLACEMENTS = ("greedy-clairvoyant", "greedy-non-clairvoyant", "random")
POINTS = tuple(round(0.05 * step, 2) for step in range(1, 21))
NINE_POINTS = (0.1, 0.3, 0.5, 0.7, 0.9)
BATCH = 5

EXACT = tuple(Method(allocation, placement) for placement in PLACEMENTS for allocation in ALLOCATIONS)
PLAIN = tuple(Method(allocation) for allocation in (*ALLOCATIONS, "mckp"))
BLURRED = (
    Method("tcpu", "greedy-non-clairvoyant", "family"),
    Method("bestbdw", "greedy-non-clairvoyant", "family"),
    Method("bestbdw", "greedy-clairvoyant", "family"),
    Method("balance", "greedy-non-clairvoyant", "family"),
)


@dataclass(frozen=True, slots=True)
class StudyExperiment:
    """Sets of `applications` applications on the curves called `curves`, at each point, under each method."""

    name: str
    curves: str
    applications: int
    points: tuple[float, ...]
    methods: tuple[Method, ...]


USUAL_APPLICATIONS = 60
"""The paper does not say how many applications share the platform; this is K unless told otherwise."""


def experiments_of(applications: Sequence[int] = (USUAL_APPLICATIONS,)) -> dict[str, StudyExperiment]:
    """All experiments by name; those over the load once for each number of applications."""
    made = []
    for count in applications:
        suffix = "" if count == USUAL_APPLICATIONS else f"@{count}"
        made += [
            StudyExperiment(f"load{suffix}", "io-nodes", count, POINTS, (*EXACT, Method("mckp"), *BLURRED)),
            StudyExperiment(f"osts{suffix}", "osts", count, POINTS, PLAIN),
            StudyExperiment(f"applications{suffix}", "applications", count, NINE_POINTS, PLAIN),
        ]
    spread = tuple(Method("bestbdw", placement) for placement in PLACEMENTS)
    made += [
        StudyExperiment(f"spread-{count}", "io-nodes", count, (0.2, 0.5, 0.8), spread)
        for count in (20, 40, 80, 120)
    ]
    return {experiment.name: experiment for experiment in made}


@dataclass(frozen=True, slots=True)
class Batch:
    """A few sets of one experiment at one point: the unit of work and of resuming."""

    experiment: StudyExperiment
    point: float
    first: int
    sets: int
    seed: int

    @property
    def key(self) -> str:
        """What identifies the batch in the results file."""
        return f"{self.experiment.name}/{self.point:.2f}/{self.first}+{self.sets}/{self.seed}"


def batches(experiment: StudyExperiment, sets: int, seed: int) -> Iterator[Batch]:
    """All of an experiment's work, `sets` sets at each point."""
    for point in experiment.points:
        for first in range(0, sets, BATCH):
            yield Batch(experiment, point, first, min(BATCH, sets - first), seed)


def run_batch(batch: Batch, profiles: Sequence[Profile]) -> list[TrialRow]:
    """Every set of the batch under every method; equal seeds give equal sets, whatever else has run."""
    experiment = batch.experiment
    rows = []
    for index in range(batch.first, batch.first + batch.sets):
        rng = Random(f"{batch.seed}/{experiment.name}/{batch.point:.2f}/{index}")
        workload, least = draw_set(profiles, experiment.applications, batch.point, rng)
        for method, figures in try_methods(workload, experiment.methods, profiles, rng).items():
            rows.append(TrialRow(batch.point, index, least, method, **figures))
    return rows


def run_experiment(
    work: Sequence[Batch],
    profiles: Sequence[Profile],
    results: Results,
    jobs: int,
    progress: Callable[[int, int], None],
) -> list[TrialRow]:
    """All rows of the work, those of finished batches from the results file."""
    left = unfinished({batch.key: batch for batch in work}, results)
    before = len(work) - len(left)
    progress(before, len(work))
    with local_engine(jobs, "spawn") as engine:
        one = partial(run_batch, profiles=profiles)
        for done, _ in enumerate(run_shards(engine, one, left, results), before + 1):
            progress(done, len(work))
    rows = [row for batch in work for row in results.rows(batch.key)]
    return sorted(rows, key=lambda row: (row.point, row.index))


class Results(Kept[Batch, list[TrialRow]]):
    """Finished batches, one JSON line each, appended as they finish."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, list[TrialRow]] = {}
        for number, kept in read_lines(path):
            try:
                self._rows[kept["batch"]] = [_row(plain) for plain in kept["rows"]]
            except (ValueError, KeyError, TypeError):
                raise DataError(f"{path}: line {number} is not a finished batch") from None

    def finished(self, shards: Mapping[str, Batch]) -> set[str]:
        """The keys of the batches that have been run."""
        return shards.keys() & self._rows.keys()

    def rows(self, key: str) -> list[TrialRow]:
        """The rows of a batch, none when it has not been run."""
        return self._rows.get(key, [])

    def keep(self, key: str, batch: Batch, rows: list[TrialRow]) -> None:
        """Keep a finished batch."""
        self._rows[key] = rows
        append_line(self._path, {"batch": key, "rows": [asdict(row) for row in rows]})


def _row(plain: dict[str, object]) -> TrialRow:
    method = plain.pop("method")
    if not isinstance(method, dict):
        raise TypeError("method")
    return TrialRow(method=Method(**method), **plain)  # type: ignore[arg-type]
