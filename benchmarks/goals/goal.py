"""A goal, what was measured of it, and how much of everything is run."""

from __future__ import annotations

from dataclasses import dataclass

POLICY = "weir"


@dataclass(frozen=True, slots=True)
class Goal:
    """One line of the table. It is met by values at least as large as `wanted`, or at most where `at_most` says so.

    Without a wanted value the line is there to compare with.
    """

    group: str
    what: str
    wanted: float | None
    value: float | None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is nothing to reach or nothing was measured."""
        if self.wanted is None or self.value is None:
            return None
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted

    @property
    def row(self) -> list[str]:
        """The line as text."""
        sign = "<=" if self.at_most else ">="
        wanted = "" if self.wanted is None else f"{sign} {self.wanted:g}"
        value = "not measured" if self.value is None else f"{self.value:.3f}"
        answers = {True: "yes", False: "**no**", None: ""}
        return [self.group, self.what, wanted, value, answers[self.met]]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run: seeds of every run, and the share of the worlds and of the time."""

    seeds: int = 3
    worlds: float = 1.0
    time: float = 1.0

    def seconds(self, full_s: float) -> float:
        """A run's length."""
        return max(1.0, full_s * self.time)

    def draws(self, full: int) -> int:
        """How many worlds are drawn."""
        return max(1, round(full * self.worlds))


WHOLE, QUICK = Extent(), Extent(seeds=1, worlds=1.0 / 3.0)
