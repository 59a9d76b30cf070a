"""The options of one simulated run, checked before anything is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.config import read
from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.cluster import Cluster, find_cluster, with_changes
from penstock.simulate.metadata.workloads import is_metadata
from penstock.simulate.reading.reading_workloads import is_reading

#: Knobs that only some workloads have, by the names of their options.
OF_METADATA = ("rpcs", "mod_rpcs", "statahead")
OF_READAHEAD = ("ahead_total", "ahead_file", "ahead_whole", "ahead_async")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run: a workload by name, a scenario's file or recorded requests; and how.

    `seconds`, `warmup` and, for a scenario, `cluster_name` are None if they were not given.
    """

    cluster_name: str | None
    workload: str | None
    scenario: Path | None
    trace: Path | None
    loop: str
    overrides: Sequence[str]
    osts: int | None
    clients: int | None
    shared: bool
    events: Sequence[str]
    wanted: Setting
    policy: str | None
    model: Path | None
    seconds: float | None
    warmup: float | None
    seed: int

    #: Where nothing else is said.
    SECONDS, WARMUP_S, CLUSTER = 20.0, 5.0, "c220g5"

    def __post_init__(self) -> None:
        if self.policy is not None and self.wanted:
            raise UsageError("--policy turns the knobs itself: leave out --pages, --flight and --dirty")
        check_times(self.seconds, self.warmup)
        if sum(given is not None for given in (self.workload, self.scenario, self.trace)) != 1:
            raise UsageError("give --workload, --scenario or --trace, one of them")
        if self.workload is None and (self.clients is not None or self.shared):
            word = "--scenario" if self.trace is None else "--trace"
            raise UsageError(f"{word} says which clients there are and what they share: leave out the others")
        if self.model is not None:
            _check_model(self.policy, self.model)
        if self.is_compiled:
            self._check_knobs()

    @property
    def of_metadata(self) -> bool:
        """Whether a metadata server is asked."""
        return is_metadata(self.workload or "")

    @property
    def of_reading(self) -> bool:
        """Whether readahead is played."""
        return is_reading(self.workload or "")

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled kernels play it."""
        return not (self.of_metadata or self.of_reading)

    def times(self, seconds: float = SECONDS, warmup_s: float = WARMUP_S) -> tuple[float, float]:
        """The measured time and the one before it: as given, else these."""
        return (
            seconds if self.seconds is None else self.seconds,
            warmup_s if self.warmup is None else self.warmup,
        )

    def _check_knobs(self) -> None:
        for what, names, start in (
            ("readahead", OF_READAHEAD, "an ra_"),
            ("metadata", OF_METADATA, "an md_"),
        ):
            if misplaced := next((name for name in names if name in self.wanted), None):
                option = misplaced.replace("_", "-")
                raise UsageError(f"--{option} is a knob of {what}: give {start} workload")

    def cluster(self) -> Cluster:
        """The cluster it runs on, with the changes asked for."""
        osts = [f"layout.ost_count={self.osts}"] if self.osts is not None else []
        if self.scenario is not None:
            base = _scenario_cluster(self.cluster_name, self.scenario)
        else:
            base = find_cluster(self.cluster_name or self.CLUSTER)
        return with_changes(base, [*self.overrides, *osts])


def check_times(seconds: float | None, warmup: float | None) -> None:
    """Refuse a run with a duration of zero or infinity."""
    if seconds is not None and not 0 < seconds <= 1e6:
        raise UsageError(f"--seconds {seconds:g}: give a time above 0 and at most a million")
    if warmup is not None and not 0 <= warmup <= 1e6:
        raise UsageError(f"--warmup {warmup:g}: give a time from 0 to a million")


def _scenario_cluster(name: str | None, scenario: Path) -> Cluster:
    """The cluster a scenario file names, or another instead, with the file's own changes."""
    from penstock.simulate.scenario import parse_scenario, scenario_cluster
    from penstock.train.worlds import cluster_of

    found = parse_scenario(read(scenario), str(scenario))
    if name is not None:
        return scenario_cluster(found, find_cluster(name), str(scenario))
    return cluster_of(found, scenario.parent, str(scenario))


def _check_model(policy: str | None, model: Path) -> None:
    """Refuse a model that no policy of the run would use."""
    from penstock.evaluate.tuners import find_policy

    alone = policy is None or policy in ("best-static", "oracle")
    if alone or not find_policy(str(policy)).uses_model:
        raise UsageError(f"--model {model}: give it with a --policy that uses one, such as carat")
