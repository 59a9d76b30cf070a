"""Worlds for training and evaluation: a named scenario, from a file or drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.config import read
from penstock.errors import ConfigError, UsageError
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import Cluster, find_cluster
from penstock.simulate.scenario import ScenarioFile, parse_scenario, scenario_cluster, scenario_plan

# Stands for the cluster of worlds that are drawn, each of which has its own, and how their names begin.
DRAWN = "drawn"
_DRAWN_NAME = "world-"


@dataclass(frozen=True, slots=True)
class DescribedWorld:
    """The text of a scenario and its name. Cluster files that it names are looked up in `directory`.

    `families` describe the kind of world, if known; see `penstock.train.draws`.
    """

    name: str
    text: str
    families: tuple[str, ...] = ()
    directory: str = "."

    @property
    def source(self) -> str:
        return f"{self.name}.toml"

    def scenario(self) -> ScenarioFile:
        """The text, read and checked."""
        return parse_scenario(self.text, self.source)

    def plan(self, seed: int) -> Plan:
        """The plan to simulate, with these random numbers."""
        scenario = self.scenario()
        cluster = cluster_of(scenario, Path(self.directory), self.source)
        return scenario_plan(scenario, cluster, seed, self.source)

    def jobs(self) -> tuple[tuple[int, ...], ...]:
        """For each job of the scenario, the indices of the plan's jobs, one per client."""
        found: list[tuple[int, ...]] = []
        following = 0
        scenario = self.scenario()
        for job in scenario.job:
            count = len(scenario.clients_of(job))
            found.append(tuple(range(following, following + count)))
            following += count
        return tuple(found)


def name_of_draw(seed: int, number: int) -> str:
    """The name of a world that is drawn."""
    return f"{_DRAWN_NAME}{seed}-{number}"


def is_drawn(name: str) -> bool:
    """Whether a world of this name was drawn."""
    return name.startswith(_DRAWN_NAME)


def cluster_of(scenario: ScenarioFile, directory: Path, source: str) -> Cluster:
    """The cluster that a scenario describes. A file that it names is in `directory`."""
    try:
        base = find_cluster(scenario.cluster, directory)
    except UsageError as error:
        raise ConfigError(f"{source}: cluster: {error}") from None
    return scenario_cluster(scenario, base, source)


def load_world(path: Path) -> DescribedWorld:
    """Load a scenario file. Errors in it are reported now, not when it runs."""
    world = DescribedWorld(path.stem, read(path), directory=str(path.parent))
    world.plan(0)
    return world
