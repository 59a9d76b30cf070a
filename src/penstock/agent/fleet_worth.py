"""What tuning would bring a site, said from the logs of agents that only observed.

Every kind of work that nodes noted is compared with cases of which it is known what tuning brings: those of the
package, which are simulated for the most part, and what a fleet proved itself. What like cases gained is what is
expected here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.agent.advice_lines import kind_fields
from penstock.agent.log import read_log
from penstock.agent.node_logs import node_logs
from penstock.agent.sharing.digest import FleetDigest, FleetGain
from penstock.decide.fleet_advice import WorkKind
from penstock.decide.work import Work
from penstock.errors import MissingError
from penstock.events import WorkSeenEvent
from penstock.gains import Gain, from_log2
from penstock.knobs import Setting
from penstock.predict.like_cases import Floats, like_cases
from penstock.predict.tuned_cases import TunedCase
from penstock.units import counted, format_duration

_CERTAIN = 1.96
_LOW, _HIGH = 0.025, 0.975
_DRAWS, _SEED = 4000, 49
# Who gains so much gained.
GAINED_LOG2 = math.log2(1.05)
# How far what the fleet proved is off on one more node, besides its own error.
NODES_APART_LOG2 = 0.1
# What a log may say at most of anything that is added up.
_MOST_S, _MOST_BYTES, _MOST_LOG2 = 1e9, 1e21, 64.0


@dataclass(frozen=True, slots=True)
class SeenWork:
    """One kind of work over all nodes that noted it."""

    kind: WorkKind
    nodes: int
    busy_s: float
    read_bytes: float
    write_bytes: float


@dataclass(frozen=True, slots=True)
class WorkWorth:
    """What tuning would bring a kind of work.

    `gain` is the mean over like cases with the interval of that mean. Between `low` and `high` lies what 95 % of them
    gained; `chance` is the part of them that gained at least 5 %. `cases` is how many they are worth; `proved_on` is
    how many nodes of the fleet itself proved it, where that is what is said.
    """

    seen: SeenWork
    gain: Gain
    low: float
    high: float
    chance: float
    cases: float
    proved_on: int = 0


@dataclass(frozen=True, slots=True)
class FleetWorth:
    """What tuning would bring a site, with 95 % intervals.

    `total` is the busy time over what it would be, `gaining` the part of it that would gain at least 5 %.
    """

    nodes: tuple[str, ...]
    works: tuple[WorkWorth, ...]
    total: Gain
    gaining: tuple[float, float, float]

    @property
    def busy_s(self) -> float:
        """The time in which nodes moved something, added up over nodes."""
        return sum(one.seen.busy_s for one in self.works)


def read_seen(files: Sequence[Path], since_s: float, until_s: float) -> dict[str, list[WorkSeenEvent]]:
    """What each node noted in a period; raises where nobody noted anything."""
    noted = {
        name: [event for event in read_log(path) if isinstance(event, WorkSeenEvent) and _is_usable(event)]
        for name, path in node_logs(files).items()
    }
    noted = {
        name: [one for one in events if since_s <= one.time_s <= until_s] for name, events in noted.items()
    }
    if not any(noted.values()):
        raise MissingError(
            f"{files[0]}: no work noted in that time: agents note it every ten minutes, in mode observe or advise"
        )
    return noted


def fleet_worth(
    noted: Mapping[str, Sequence[WorkSeenEvent]],
    cases: Sequence[TunedCase],
    known: FleetDigest | None = None,
) -> FleetWorth:
    """What tuning would bring the work that nodes noted, by these cases and by what a fleet knows already."""
    rng = np.random.default_rng(_SEED)
    seen = seen_works(noted)
    judged = [_judge(one, cases, known, rng) for one in seen]
    busy_s = np.array([one.busy_s for one in seen])
    drawn = np.array([gains for _, gains in judged])
    middle, low, high = _interval(busy_s.sum() / (busy_s @ np.exp2(-drawn)))
    gaining = _interval(busy_s @ (drawn >= GAINED_LOG2) / busy_s.sum())
    works = tuple(work for work, _ in judged)
    return FleetWorth(tuple(sorted(noted)), works, Gain(middle, low, high), gaining)


def seen_works(noted: Mapping[str, Sequence[WorkSeenEvent]]) -> list[SeenWork]:
    """The same kinds of work of all nodes together, those that took longest first."""
    groups: dict[object, list[tuple[str, WorkSeenEvent]]] = {}
    for node, events in noted.items():
        for event in events:
            groups.setdefault(_group(event), []).append((node, event))
    return sorted((_seen(group) for group in groups.values()), key=lambda one: -one.busy_s)


def _judge(
    seen: SeenWork, cases: Sequence[TunedCase], known: FleetDigest | None, rng: np.random.Generator
) -> tuple[WorkWorth, Floats]:
    """What is said of a kind of work, and draws of what it may gain."""
    proof = _proof(seen.kind, known)
    if proof is not None:
        return _by_proof(seen, proof, rng)
    like = like_cases(seen.kind.work.kind, seen.kind.look, cases)
    if like is None:
        return WorkWorth(seen, Gain(1.0), 1.0, 1.0, 0.0, 0.0), np.zeros(_DRAWS)
    low, high = (from_log2(like.quantile_log2(part)) for part in (_LOW, _HIGH))
    mean, count = _gain(like.mean_log2, like.error_log2), round(like.count, 1)
    return WorkWorth(seen, mean, low, high, like.chance(GAINED_LOG2), count), like.draw(_DRAWS, rng)


def _by_proof(seen: SeenWork, proof: FleetGain, rng: np.random.Generator) -> tuple[WorkWorth, Floats]:
    mean, wide = proof.gain_log2, math.hypot(proof.error_log2, NODES_APART_LOG2)
    low, high = (from_log2(mean + by * _CERTAIN * wide) for by in (-1.0, 1.0))
    drawn = rng.normal(mean, wide, size=_DRAWS)
    chance = float((drawn >= GAINED_LOG2).mean())
    return WorkWorth(seen, _gain(mean, proof.error_log2), low, high, chance, 0.0, proof.agree), drawn


def _proof(kind: WorkKind, known: FleetDigest | None) -> FleetGain | None:
    """The best setting that the fleet proved for such work."""
    for work in known.works if known is not None else ():
        # A node notes all its knobs, the fleet those that are searched.
        home = kind.home.only(*(knob for knob in work.kind.home if knob in kind.home))
        if work.kind.like(WorkKind(kind.fs, kind.targets, kind.work, home, kind.look)):
            return next((gain for gain in work.gains if gain.is_proven), None)
    return None


def _interval(drawn: Floats) -> tuple[float, float, float]:
    """The middle, and between what 95 % lie."""
    middle, low, high = (float(np.quantile(drawn, part)) for part in (0.5, _LOW, _HIGH))
    return middle, low, high


def _gain(mean_log2: float, error_log2: float) -> Gain:
    return Gain(*(from_log2(mean_log2 + by * _CERTAIN * error_log2) for by in (0.0, -1.0, 1.0)))


def _group(event: WorkSeenEvent) -> object:
    size = None if event.request_log2 is None else round(event.request_log2)
    look = tuple(round(value) for value in event.look[:2])
    return (event.fs, event.targets, event.work, size, tuple(sorted(event.home.items())), look)


def _seen(group: Sequence[tuple[str, WorkSeenEvent]]) -> SeenWork:
    events = [event for _, event in group]
    first = events[0]
    alike = [event for event in events if len(event.look) == len(first.look)]
    looks, weights = zip(*(event.look for event in alike), strict=True), [event.busy_s for event in alike]
    look = tuple(float(np.average(column, weights=weights)) for column in looks)
    size = math.nan if first.request_log2 is None else first.request_log2
    return SeenWork(
        WorkKind(first.fs, first.targets, Work(first.work, size), Setting(first.home), look),
        len({node for node, _ in group}),
        sum(event.busy_s for event in events),
        sum(event.read_bytes for event in events),
        sum(event.write_bytes for event in events),
    )


def _is_usable(event: WorkSeenEvent) -> bool:
    """Whether its figures can be added up: anybody may have written a log."""
    return (
        event.work in ("read", "write", "both")
        and 0.0 < event.busy_s < _MOST_S
        and all(0.0 <= count < _MOST_BYTES for count in (event.read_bytes, event.write_bytes))
        and all(abs(value) <= _MOST_LOG2 for value in (*event.look, event.request_log2 or 0.0))
    )


HEADING = ("work", "nodes", "busy", "others gained", "95 % of them", "chance of 5 %", "said by")
CAUTION = (
    "Most cases are simulated, and other simulated worlds gained less than was said of them: "
    "`penstock agent trial` measures it."
)


def cells(one: WorkWorth) -> tuple[str, ...]:
    """A kind of work as a row under `HEADING`."""
    kind = one.seen.kind
    targets = f" ({kind.targets})" if kind.targets else ""
    said_by = counted(max(round(one.cases), 1), "like case")
    if one.proved_on:
        said_by = f"proofs of {counted(one.proved_on, 'node')}"
    elif one.cases == 0.0:
        said_by = "nobody"
    return (
        f"{kind.fs}{targets}: {kind.work}",
        str(one.seen.nodes),
        format_duration(one.seen.busy_s),
        one.gain.with_interval if one.cases or one.proved_on else "-",
        f"{one.low:.2f} to {one.high:.2f} times" if one.cases or one.proved_on else "-",
        f"{one.chance:.0%}" if one.cases or one.proved_on else "-",
        said_by,
    )


def sentence(found: FleetWorth) -> str:
    """What tuning would bring, in words that claim no more than is known."""
    total, (share, least, most) = found.total, found.gaining
    assert total.low is not None and total.high is not None
    nodes = f"{counted(len(found.nodes), 'node')} {'was' if len(found.nodes) == 1 else 'were'}"
    return (
        f"{nodes} busy for {format_duration(found.busy_s)}. By what like work gained "
        f"elsewhere, {share:.0%} of that time would gain at least 5 % (95 %: {least:.0%} to {most:.0%}); tuned, "
        f"the same work would go {total.ratio:.2f} times as fast (95 %: {total.low:.2f} to {total.high:.2f} times)."
    )


def document(found: FleetWorth) -> dict[str, Any]:
    total, (share, least, most) = found.total, found.gaining
    return {
        "nodes": list(found.nodes),
        "busy_s": found.busy_s,
        "gaining_ratio": share,
        "gaining_low": least,
        "gaining_high": most,
        "gain": total.ratio,
        "low": total.low,
        "high": total.high,
        "works": [
            {
                **kind_fields(one.seen.kind),
                "nodes": one.seen.nodes,
                "busy_s": one.seen.busy_s,
                "read_bytes": one.seen.read_bytes,
                "write_bytes": one.seen.write_bytes,
                "gain": one.gain.ratio,
                "mean_low": one.gain.low,
                "mean_high": one.gain.high,
                "low": one.low,
                "high": one.high,
                "verdict": one.gain.verdict.value,
                "chance": one.chance,
                "cases": one.cases,
                "proved_on": one.proved_on,
            }
            for one in found.works
        ],
        "verdict": sentence(found),
    }
