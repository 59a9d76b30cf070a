"""The states of a unit by name, the one way from each to the next, and what must hold in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from penstock.decide.guard.record import Switchback, UnitRecord, Visit
from penstock.decide.habits import KEPT_WORKS


class State(StrEnum):
    """Where a unit is."""

    #: The original is in force.
    HOME = "home"
    #: Another setting is in force that did not prove itself yet.
    TRIAL = "trial"
    #: A setting is in force that proved itself.
    HELD = "held"
    #: The original is measured again, to go back to the other setting then.
    LOOK = "look"
    #: Windows may still show what was in force before.
    SETTLING = "settling"


@dataclass(frozen=True, slots=True)
class Leave:
    """Another setting than the original is in force: a visit begins."""

    visit: Visit


@dataclass(frozen=True, slots=True)
class LookBegins:
    """The original is measured again."""

    switchback: Switchback


@dataclass(frozen=True, slots=True)
class LookEnds:
    """The original was measured, or cannot be."""


@dataclass(frozen=True, slots=True)
class Return:
    """The visit is over."""


@dataclass(frozen=True, slots=True)
class Settle:
    """So many windows may still show what was in force before."""

    windows: int


StateChange = Leave | LookBegins | LookEnds | Return | Settle


def transition(record: UnitRecord, *steps: StateChange) -> None:
    """The one place in which a unit's state changes."""
    for step in steps:
        match step:
            case Leave(visit):
                record.visit = visit
            case LookBegins(switchback):
                record.switchback = switchback
            case LookEnds():
                record.switchback = None
            case Return():
                record.visit = None
            case Settle(windows):
                record.settle = windows


def state_of(record: UnitRecord) -> State:
    """Where a unit is now. It only reads, so that any thread may ask."""
    visit, work = record.visit, record.works.get(record.work)
    if record.switchback is not None:
        return State.LOOK
    if record.settle > 0:
        return State.SETTLING
    if visit is None:
        return State.HOME
    return State.HELD if work is not None and visit.place in work.proven else State.TRIAL


def validate(record: UnitRecord) -> tuple[str, ...]:
    """What is wrong with a record, a sentence each; nothing is, as long as only `transition` changes its state."""
    return tuple(_problems(record))


def _problems(record: UnitRecord) -> Iterator[str]:
    visit, look = record.visit, record.switchback
    if record.settle < 0:
        yield f"{record.settle} windows are left to settle"
    if visit is not None and all(visit.place == home for home in record.homes.values()):
        yield f"a visit to the original, {visit.place}"
    # Right after a look the original is in force.
    usual = (*record.homes.values(), *(() if visit is None else (visit.place,)))
    if visit is not None and look is None and record.place not in usual:
        yield f"a visit to {visit.place} while {record.place} is in force"
    if visit is not None and look is not None and visit.place != look.place:
        yield f"a look from {look.place} during a visit to {visit.place}"
    if look is not None and look.taken >= look.windows:
        yield f"a look of {look.windows} windows goes on after {look.taken}"
    if record.works and record.work not in record.works:
        yield f"nothing is known of the work at hand, {record.work}"
    if len(record.works) > KEPT_WORKS:
        yield f"{len(record.works)} kinds of work are kept"
    for name, work in record.works.items():
        if away := [place for place in work.proven if place in record.homes.values()]:
            yield f"{name}: the original is proven: {away[0]}"
