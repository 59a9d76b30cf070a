"""The model's inputs: bandwidth curves, phases, applications, and the set that shares one platform."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from penstock.errors import DataError


@dataclass(frozen=True, slots=True)
class Curve:
    """Bandwidth by number of I/O resources, measured at some counts.

    Counts are positive and increasing, bandwidths positive and finite. The curve need not be monotone.
    """

    counts: tuple[int, ...]
    bytes_per_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.counts or len(self.counts) != len(self.bytes_per_s):
            raise DataError("bandwidth: no measurement at one or more resources")
        if self.counts[0] < 1 or any(a >= b for a, b in zip(self.counts, self.counts[1:], strict=False)):
            raise DataError(f"bandwidth: counts {list(self.counts)} are not positive and increasing")
        for count, value in zip(self.counts, self.bytes_per_s, strict=True):
            if not (math.isfinite(value) and value > 0):
                raise DataError(f"bandwidth[{count}]: {value!r} is not a positive number of bytes per second")

    @property
    def largest(self) -> int:
        """The largest measured count. No application is given more."""
        return self.counts[-1]

    def at(self, count: int) -> float:
        """Bandwidth on `count` resources: linear between measurements, constant outside them.

        >>> curve = Curve((2, 4), (10.0, 30.0))
        >>> [curve.at(n) for n in (1, 2, 3, 4)]
        [10.0, 10.0, 20.0, 30.0]
        """
        right = bisect_left(self.counts, count)
        if right == 0:
            return self.bytes_per_s[0]
        if right == len(self.counts):
            return self.bytes_per_s[-1]
        x0, x1 = self.counts[right - 1], self.counts[right]
        y0, y1 = self.bytes_per_s[right - 1], self.bytes_per_s[right]
        return y1 if count == x1 else y0 + (y1 - y0) * (count - x0) / (x1 - x0)

    def highest(self, most: int) -> float:
        """The highest bandwidth on at most `most` resources.

        >>> Curve((2, 4), (10.0, 30.0)).highest(3)
        20.0
        """
        inner = (y for x, y in zip(self.counts, self.bytes_per_s, strict=True) if x <= most)
        return max((self.at(most), *inner))

    def up_to(self, count: int) -> list[float]:
        """`at` for 1 .. `count`, measured stretch by measured stretch.

        >>> Curve((2, 4), (10.0, 30.0)).up_to(5)
        [10.0, 10.0, 20.0, 30.0, 30.0]
        """
        values = [self.bytes_per_s[0]] * self.counts[0]
        points = list(zip(self.counts, self.bytes_per_s, strict=True))
        for (x0, y0), (x1, y1) in pairwise(points):
            if x0 >= count:
                break
            rise, width = y1 - y0, x1 - x0
            values += [y0 + rise * step / width for step in range(1, width)]
            values.append(y1)
        values += [self.bytes_per_s[-1]] * (count - len(values))
        return values[:count]


@dataclass(frozen=True, slots=True)
class Phase:
    """A computation followed by I/O; either may be empty."""

    compute_s: float
    io_bytes: float


@dataclass(frozen=True, slots=True)
class Application:
    """One running job: its nodes, its curve, its phases and, if they are fixed, its resources."""

    name: str
    compute_nodes: int
    curve: Curve
    phases: tuple[Phase, ...]
    resources: tuple[int, ...] | None = None

    @property
    def compute_s(self) -> float:
        """Compute time over all phases."""
        return math.fsum(phase.compute_s for phase in self.phases)

    @property
    def io_bytes(self) -> float:
        """Volume over all phases."""
        return math.fsum(phase.io_bytes for phase in self.phases)


@dataclass(frozen=True, slots=True)
class ApplicationSet:
    """Applications that share I/O resources (ids 0 .. resources - 1) and compute nodes."""

    resources: int
    compute_nodes: int
    applications: tuple[Application, ...]

    def __post_init__(self) -> None:
        if self.resources < 1:
            raise DataError(f"resources: {self.resources} is not a positive number of I/O resources")
        if not self.applications:
            raise DataError("applications: there is none")
        used = sum(application.compute_nodes for application in self.applications)
        if used > self.compute_nodes:
            raise DataError(
                f"compute_nodes: the applications use {used}, the platform has {self.compute_nodes}"
            )
        names = [application.name for application in self.applications]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"applications: the name {twice!r} occurs twice")
