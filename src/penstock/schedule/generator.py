"""Random application sets of a chosen I/O intensity, as in section V-C of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from penstock.errors import UsageError
from penstock.schedule.application import Application, ApplicationSet, Phase
from penstock.schedule.profile import Profile

CLASSES = ((0.10, 0.75), (0.30, 0.20), (0.60, 0.05))
"""Large, medium and small applications: their share of the applications and of the compute nodes."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The properties of a generated set. `load` is the expected I/O-load with one resource per application."""

    applications: int
    load: float
    resources: int = 20
    compute_nodes: int = 480
    life_s: float = 5000.0
    fewest_phases: int = 2
    most_phases: int = 20

    def __post_init__(self) -> None:
        if not 1 <= self.applications <= self.compute_nodes:
            raise UsageError(
                f"{self.applications} applications do not fit {self.compute_nodes} compute nodes"
            )
        if not 0 < self.load * self.resources < self.applications:
            raise UsageError(
                f"load {self.load:g}: {self.applications} applications on one of {self.resources} "
                f"resources each cause a load between 0 and {self.applications / self.resources:g}"
            )


def generate(scenario: Scenario, profiles: Sequence[Profile], rng: Random) -> ApplicationSet:
    """A set drawn from the scenario: equal random states give equal sets."""
    bound = ratio_bound(scenario.load * scenario.resources / scenario.applications)
    nodes = split_nodes(scenario.applications, scenario.compute_nodes)
    rng.shuffle(nodes)
    applications = []
    for index, compute_nodes in enumerate(nodes):
        profile = rng.choice(profiles)
        phases = rng.randint(scenario.fewest_phases, scenario.most_phases)
        io_s = scenario.life_s / (1 + rng.uniform(0.0, bound))
        phase = Phase((scenario.life_s - io_s) / phases, io_s * profile.curve.at(1) / phases)
        name = f"{index:03d}-{profile.name}"
        applications.append(Application(name, compute_nodes, profile.curve, (phase,) * phases))
    return ApplicationSet(scenario.resources, scenario.compute_nodes, tuple(applications))


def ratio_bound(stress: float) -> float:
    """The b for which a compute-to-I/O ratio uniform in [0, b] has the expected I/O share `stress`.

    Solves log(1 + b) = b * stress for 0 < stress < 1.

    >>> round(ratio_bound(math.log(2)), 9)
    1.0
    """
    high = 1.0
    while math.log1p(high) > high * stress:
        high *= 2
    low = 0.0
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if math.log1p(middle) > middle * stress:
            low = middle
        else:
            high = middle
        if middle in (low, high) and low + (high - low) / 2 in (low, high):
            break
    return high


def split_nodes(applications: int, compute_nodes: int) -> list[int]:
    """Whole compute nodes, at least one each, as near to the classes' shares as that allows; all are used.

    >>> split_nodes(10, 480)
    [360, 32, 32, 32, 4, 4, 4, 4, 4, 4]
    """
    large = max(round(CLASSES[0][0] * applications), 1)
    medium = min(round(CLASSES[1][0] * applications), applications - large)
    members = (large, medium, applications - large - medium)
    wished = [
        max(share * compute_nodes / count - 1, 0.0)
        for count, (_, share) in zip(members, CLASSES, strict=True)
        for _ in range(count)
    ]
    spare = compute_nodes - applications
    scale = spare / math.fsum(wished) if any(wished) else 0.0
    exact = [wish * scale for wish in wished]
    nodes = [1 + math.floor(value + 1e-9) for value in exact]
    left = compute_nodes - sum(nodes) if any(wished) else 0
    by_remainder = sorted(range(applications), key=lambda i: (1 + exact[i] - nodes[i], -i), reverse=True)
    for index in by_remainder[:left]:
        nodes[index] += 1
    return nodes
