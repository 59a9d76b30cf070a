"""Samples: what was written and how long it took on average, ready for fitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError
from penstock.plan.features import matrix
from penstock.plan.parameters import PARAMETERS, table
from penstock.plan.pattern import WritePattern
from penstock.plan.system import System

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
SHORTEST_S = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """A table of samples on one system: parameters and stripe counts by column, mean seconds, convergence."""

    system: System
    columns: Mapping[str, Floats]
    seconds: Floats
    converged: Mask

    def __len__(self) -> int:
        return int(self.seconds.size)

    @property
    def nodes(self) -> Floats:
        """The write scale (m) of each sample."""
        return self.columns["m"]

    @property
    def scales(self) -> list[int]:
        """The distinct write scales, ascending."""
        return [int(scale) for scale in np.unique(self.nodes)]

    def take(self, mask: Mask) -> Samples:
        """The samples a mask selects."""
        columns = {name: values[mask] for name, values in self.columns.items()}
        return Samples(self.system, columns, self.seconds[mask], self.converged[mask])

    def long_enough(self, shortest_s: float = SHORTEST_S) -> Samples:
        """Only writes that client caches cannot hide."""
        return self.take(self.seconds >= shortest_s)

    def matrix(self, features: Sequence[str]) -> Floats:
        """One row per sample, one column per feature."""
        return matrix(features, self.columns)


def column_names(kind: str) -> tuple[str, ...]:
    """The columns of a table of samples: the parameters, and the stripe count where users choose it."""
    return (*PARAMETERS[kind], "W") if kind == "lustre" else PARAMETERS[kind]


def tabulate(system: System, patterns: Sequence[WritePattern], seconds: Floats, converged: Mask) -> Samples:
    """The parameters of patterns that were measured."""
    columns = table(system, patterns)
    if system.kind == "lustre":
        columns["W"] = np.array([float(pattern.stripes) for pattern in patterns])
    return Samples(system, columns, seconds, converged)


def concatenate(parts: Sequence[Samples]) -> Samples:
    """Several tables of one system as one."""
    if not parts:
        raise DataError("no samples")
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Samples(
        parts[0].system,
        columns,
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.converged for part in parts]),
    )
