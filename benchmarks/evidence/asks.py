"""Rows: one run of one case under one policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.decide.policies._base import Policy
from penstock.evaluate.tuners import find_policy

DEFAULT, BEST = "default", "best-static"
#: Labels that are not policies: a setting is held throughout.
HELD = (DEFAULT, BEST)
ABLATIONS = Path(__file__).parents[1] / "ablations"


@dataclass(frozen=True, slots=True, order=True)
class Ask:
    """What a row measures. `model` and `guard` are empty if no model is used or nothing is tuned."""

    experiment: str
    cluster: str
    case: str
    label: str
    seconds: float
    seed: int
    model: str = ""
    guard: str = ""

    @property
    def runs(self) -> tuple[str, str, str]:
        """What runs: policy, model and guard."""
        return self.label, self.model, self.guard


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a row: application and wire rates in MB/s, by direction and, if there are phases, by phase.

    `setting` is what was held: pages and RPCs in flight, or a limit in MiB for every target.
    """

    app: float
    wire: float
    read: float
    write: float
    phases: tuple[float, ...] = ()
    setting: tuple[int, ...] | None = None


def policy_of(label: str) -> str:
    """The policy of a label: its name, or its file."""
    file = ABLATIONS / f"{label.replace('-', '_')}.py"
    return str(file) if file.exists() else label


@cache
def class_of(label: str) -> type[Policy]:
    """The class of the policy of a label."""
    return find_policy(policy_of(label))
