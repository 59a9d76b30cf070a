"""Families of curves: what to assume of an application if only the shape of its curve is known.

A curve ascends, descends, peaks in between, or is flat. A family is a polynomial in the logarithm of the count,
fitted to the normalised curves of its members. One measured bandwidth gives the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.schedule.application import Curve
from penstock.schedule.profile import Profile

FLAT = 0.2
"""Differences below this share of the maximum do not make a trend."""
DEGREE = 3
FLOOR = 0.02
"""A family never promises less than this share of its maximum, whatever the polynomial says."""


@dataclass(frozen=True, slots=True)
class Family:
    """Coefficients of 1, x, x^2 and so on, x = log(n) / log(largest count), for bandwidth / maximum."""

    name: str
    coefficients: tuple[float, ...]

    def relative(self, count: int, largest: int) -> float:
        """Bandwidth on `count` of at most `largest` resources, as a share of the curve's maximum."""
        x = math.log(count) / math.log(largest) if largest > 1 else 0.0
        return max(math.fsum(c * x**power for power, c in enumerate(self.coefficients)), FLOOR)

    def curve(self, largest: int, bytes_per_s: float, at_count: int = 1) -> Curve:
        """The family's curve up to `largest`, through one known bandwidth."""
        scale = bytes_per_s / self.relative(at_count, largest)
        counts = tuple(range(1, largest + 1))
        return Curve(counts, tuple(scale * self.relative(count, largest) for count in counts))


# Fitted by `fit_families` to the 189 MareNostrum 4 curves of J. L. Bez et al.
# (Zenodo 10.5281/zenodo.4016899).
FAMILIES = {
    family.name: family
    for family in (
        Family("ascent", (0.1878, 0.5322, -0.1996, 0.4796)),
        Family("descent", (1.0000, -0.0862, -1.2902, 0.9093)),
        Family("peak", (0.7168, 1.8336, -3.8493, 2.0406)),
        Family("neutral", (0.8547, 0.9314, -1.9228, 1.0258)),
    )
}

MEMBERS = {"ascent": 73, "descent": 13, "peak": 96, "neutral": 7}
"""How many of the 189 curves show each behaviour."""


def classify(curve: Curve) -> str:
    """The family of a curve, by the position of its maximum and by whether the differences matter.

    >>> [classify(Curve((1, 2, 4), y)) for y in ((1, 2, 4), (4, 2, 1), (1, 4, 1), (4, 4, 4.1))]
    ['ascent', 'descent', 'peak', 'neutral']
    """
    top = max(curve.bytes_per_s)
    if min(curve.bytes_per_s) >= (1 - FLAT) * top:
        return "neutral"
    if curve.bytes_per_s[0] == top:
        return "descent"
    return "ascent" if curve.bytes_per_s[-1] == top else "peak"


def fit_families(profiles: Iterable[Profile]) -> dict[str, Family]:
    """Least squares over all measured points of each family that has members."""
    import numpy as np

    points: dict[str, list[tuple[float, float]]] = {}
    for profile in profiles:
        curve, top = profile.curve, max(profile.curve.bytes_per_s)
        scale = math.log(curve.largest) if curve.largest > 1 else 1.0
        points.setdefault(classify(curve), []).extend(
            (math.log(n) / scale, y / top) for n, y in zip(curve.counts, curve.bytes_per_s, strict=True)
        )
    fitted = {}
    for name, members in points.items():
        x, y = np.array(members).T
        coefficients = np.polynomial.polynomial.polyfit(x, y, DEGREE)
        fitted[name] = Family(name, tuple(float(value) for value in coefficients))
    return fitted


def family_profiles(largest: int = 8) -> tuple[Profile, ...]:
    """Profiles for generating sets without measured curves. Each family occurs as often as in the measured data."""
    return tuple(
        Profile(f"{name}-{index}", FAMILIES[name].curve(largest, 1e9))
        for name, members in MEMBERS.items()
        for index in range(members)
    )


def assumed_curve(curve: Curve, families: Mapping[str, Family]) -> Curve:
    """The curve to assume for an application, from its family and its bandwidth on one resource."""
    return families[classify(curve)].curve(curve.largest, curve.at(1))
