"""What other nodes of a fleet say about a kind of work, and what this node can tell them about its own.

Advice is handed in with an interval, like its windows, so that decisions can be made again from a recording. It says
two things: whether this node may explore the work, and which settings proved themselves elsewhere. What another
node says is never taken for a measurement: it names a setting to try first, under this node's own guard.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from penstock.decide.belief import kind_of
from penstock.decide.following import Following, is_contradicted
from penstock.decide.guard.offer import Offer
from penstock.decide.level import Level
from penstock.decide.objective import gain_log2
from penstock.decide.work import Work
from penstock.knobs import Setting

# A setting measured in fewer windows is not told to anybody.
LEAST_WINDOWS = 3
# Work whose requests in flight or bytes of a request differ by more doublings at the default is other work. How long
# a request takes is not compared: on shared servers that depends on what the other nodes do.
APART_LOG2 = (1.0, 1.5)


class GainWord(StrEnum):
    """What a node says of a setting it measured."""

    PROVEN = "proven"
    CONTRADICTED = "contradicted"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class ToldGain:
    """What one node measured of one setting: its gain over the original and its standard error, in doublings."""

    gain_log2: float
    error_log2: float
    windows: int
    word: GainWord


@dataclass(frozen=True, slots=True)
class WorkKind:
    """What tells one kind of work from another on any node of a fleet.

    `home` is the original that gains are relative to, `look` what the work looks like there: requests in flight,
    bytes and seconds of a request, as base-2 logarithms; empty where that is not known.
    """

    fs: str
    targets: str
    work: Work
    home: Setting
    look: tuple[float, ...] = ()

    def like(self, other: WorkKind) -> bool:
        """Whether the two may be the same kind of work."""
        same = (self.fs, self.targets, self.home) == (other.fs, other.targets, other.home)
        return same and self.work.like(other.work) and _look_alike(self.look, other.look)


@dataclass(frozen=True, slots=True)
class WorkFindings:
    """What this node knows of a kind of work.

    `wants` says that it would try something if it might, `explored` that it did and has nothing left to try. It was
    last busy with it at `last_s`.
    """

    kind: WorkKind
    gains: Mapping[Setting, ToldGain]
    wants: bool
    explored: bool
    last_s: float


@dataclass(frozen=True, slots=True)
class ProvenElsewhere:
    """A setting that is proven on another node: what it brought there, and how many nodes found the same."""

    setting: Setting
    gain_log2: float
    windows: int
    node: str
    age_s: float
    agree: int = 1

    @property
    def sentence(self) -> str:
        """Where it was proved, and what it brought there."""
        others = f"; {self.agree} nodes agree" if self.agree > 1 else ""
        return (
            f"proved on node {self.node} {_ago(self.age_s)}, "
            f"{2**self.gain_log2:.1f} times in {self.windows} windows{others}"
        )


@dataclass(frozen=True, slots=True)
class WorkAdvice:
    """What the fleet says about one kind of work: whether to explore it here, and what is proven, best first."""

    kind: WorkKind
    may_explore: bool
    proven: tuple[ProvenElsewhere, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetAdvice:
    """What the fleet says about all kinds of work of this node. Work it does not name is not explored yet."""

    works: tuple[WorkAdvice, ...] = ()

    def about(self, kind: WorkKind) -> WorkAdvice:
        """The advice on a kind of work."""
        found = next((one for one in self.works if one.kind.like(kind)), None)
        return found or WorkAdvice(kind, may_explore=False)


def findings_of(kind: WorkKind, offer: Offer, said: Following) -> WorkFindings:
    """What a unit's record says to other nodes, and what its policy says of its own exploring."""
    return WorkFindings(kind, _told_gains(offer, said), said.wants, said.explored, offer.turn.now_s)


def work_kind(fs: str, targets: str, work: Work, offer: Offer) -> WorkKind:
    """The kind of work of a unit, as other nodes would know it again."""
    known = offer.work.known
    home = offer.turn.unit.home
    look: tuple[float, ...] = ()
    if home in known.measured:
        seen = known.looks.get(kind_of(known.measured[home].level.mean))
        look = seen.mean if seen is not None else ()
    return WorkKind(fs, targets, work, home, look)


def _told_gains(offer: Offer, said: Following) -> dict[Setting, ToldGain]:
    measured, original = offer.work.known.measured, offer.work.reference.level
    if original.count < LEAST_WINDOWS:
        return {}
    return {
        setting: _told(setting, one.level, offer, said)
        for setting, one in measured.items()
        if setting != offer.turn.unit.home and one.level.count >= LEAST_WINDOWS
    }


def _told(setting: Setting, level: Level, offer: Offer, said: Following) -> ToldGain:
    original = offer.work.reference.level
    gain = gain_log2(level.mean, original.mean, offer.limits.objective)
    error = math.hypot(level.error, original.error) / math.log(2)
    word = GainWord.MEASURED
    if _is_proven(setting, offer):
        word = GainWord.PROVEN
    elif setting in said.followed and is_contradicted(setting, offer):
        word = GainWord.CONTRADICTED
    return ToldGain(gain, error, level.count, word)


def _is_proven(setting: Setting, offer: Offer) -> bool:
    proof = offer.work.proofs.get(setting)
    if proof is None or setting not in offer.work.proven:
        return False
    return proof.is_certain(offer.work.reference.level, offer.limits)


def _look_alike(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(abs(a - b) <= most for a, b, most in zip(one, other, APART_LOG2, strict=False))


def _ago(age_s: float) -> str:
    minutes = round(age_s / 60.0)
    if minutes < 1:
        return "just now"
    return f"{minutes} minutes ago" if minutes < 120 else f"{round(age_s / 3600.0)} hours ago"
