"""What an application is: a name, parameters with defaults, and a function that writes its script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.errors import UsageError, did_you_mean
from penstock.simulate.script import Script
from penstock.units import parse_duration, parse_size


@dataclass(frozen=True, slots=True)
class Site:
    """Where an application runs: on so many clients, with so many OSTs; `seed` decides its shuffles."""

    clients: int
    ost_count: int
    seed: int

    def osts(self, count: int, name: str) -> tuple[int, ...]:
        """The first `count` OSTs, or an error that says how many there are."""
        if count > self.ost_count:
            raise UsageError(f"{name}: osts={count}, the cluster has {self.ost_count} OSTs")
        return tuple(range(count))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing a user may change: its default, the bounds within which it makes sense, and what it means."""

    name: str
    default: float
    meaning: str
    kind: Literal["count", "size", "time", "ratio"] = "count"
    least: float = 1
    most: float = 1e15

    def parse(self, text: str) -> float:
        """A value as users write it."""
        value = self._number(text)
        if not self.least <= value <= self.most:
            raise UsageError(f"{self.name}={text}: give {self.least:g} to {self.most:g}")
        return value

    def _number(self, text: str) -> float:
        if self.kind == "size":
            return parse_size(text)
        if self.kind == "time":
            return parse_duration(text)
        try:
            return int(text) if self.kind == "count" else float(text)
        except ValueError:
            raise UsageError(f"{self.name}={text}: not a number") from None


class Values:
    """An application's parameters, each given or at its default."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def count(self, name: str) -> int:
        """A whole number, or a size in bytes."""
        return int(self._values[name])

    def number(self, name: str) -> float:
        """A time in seconds, or a ratio."""
        return float(self._values[name])


@dataclass(frozen=True, slots=True)
class SimulatedApplication:
    """A family member. `source` says where its numbers come from."""

    name: str
    summary: str
    source: str
    parameters: tuple[Parameter, ...]
    write: Callable[[str, Values, Site], Script]

    def script(self, given: Mapping[str, str], site: Site) -> Script:
        """The script with some parameters changed; unknown ones are refused by name."""
        known = {parameter.name: parameter for parameter in self.parameters}
        values = {name: parameter.default for name, parameter in known.items()}
        for name, text in given.items():
            if name not in known:
                raise UsageError(f"{self.name} has no parameter {name!r}{did_you_mean(name, known)}")
            values[name] = known[name].parse(text)
        return self.write(self.name, Values(values), site)
