"""Samples for fitting: what was written and how long it took on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.plan.storage import StorageSystem
from penstock.plan.write.parameters import PARAMETERS, table
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.terms import matrix
from penstock.units import MB

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
SHORTEST_S = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class WriteSamples:
    """A table of samples on one system: parameters and stripe counts by column, mean seconds, convergence."""

    system: StorageSystem
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
    def shapes(self) -> Floats:
        """Nodes, processes and burst of each sample. Samples that differ only in details have equal rows here."""
        return np.column_stack([self.columns[name] for name in ("m", "n", "K")])

    @property
    def scales(self) -> list[int]:
        """The distinct write scales, ascending."""
        return [int(scale) for scale in np.unique(self.nodes)]

    def take(self, mask: Mask) -> WriteSamples:
        """The samples a mask selects."""
        columns = {name: values[mask] for name, values in self.columns.items()}
        return WriteSamples(self.system, columns, self.seconds[mask], self.converged[mask])

    def long_enough(self, shortest_s: float = SHORTEST_S) -> WriteSamples:
        """Only writes that are too long for client caches to hide."""
        return self.take(self.seconds >= shortest_s)

    def matrix(self, features: Sequence[str]) -> Floats:
        """One row per sample, one column per feature."""
        return matrix(features, self.columns)


def column_names(kind: str) -> tuple[str, ...]:
    """The columns of a table of samples: the parameters, the transfer size, and on Lustre the stripe count."""
    return (*PARAMETERS[kind], "T", "W") if kind == "lustre" else (*PARAMETERS[kind], "T")


def tabulate(
    system: StorageSystem, patterns: Sequence[WritePattern], seconds: Floats, converged: Mask
) -> WriteSamples:
    """The parameters of patterns that were measured."""
    return WriteSamples(system, question_columns(system, patterns), seconds, converged)


def question_columns(system: StorageSystem, patterns: Sequence[WritePattern]) -> dict[str, Floats]:
    """The columns of patterns that need not have been measured (T, like K, in 10^6 bytes)."""
    columns = table(system, patterns)
    columns["T"] = np.array([pattern.call_bytes / MB for pattern in patterns])
    if system.kind == "lustre":
        columns["W"] = np.array([float(pattern.stripes) for pattern in patterns])
    return columns
