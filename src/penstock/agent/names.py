"""Short names for targets, used if they are unambiguous on the node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.errors import MissingError, did_you_mean
from penstock.snapshot import Target

MOST_NAMED = 6


def alone_in_their_place(targets: Iterable[Target]) -> frozenset[Target]:
    """The targets that share file system and resource with no other target. A second mount would cause that."""
    known = tuple(targets)
    shared = Counter((target.fs, target.resource) for target in known)
    return frozenset(t for t in known if t.resource and shared[t.fs, t.resource] == 1)


def short_names(targets: Iterable[Target]) -> dict[Target, str]:
    """`scratch-OST0003` where that is unambiguous, else the whole name."""
    known = tuple(targets)
    alone = alone_in_their_place(known)
    return {target: f"{target.fs}-{target.resource}" if target in alone else target.name for target in known}


def resolve(name: str, targets: Iterable[Target]) -> str:
    """The full name of a target or file system, from its full or short name.

    Raises `MissingError` with the nearest name if there is none.
    """
    names: dict[str, str] = {}
    for target, short in short_names(targets).items():
        names |= {short: target.name, target.name: target.name, target.fs: target.fs}
    if name not in names:
        near = did_you_mean(name, names) or _what_there_is(tuple(names))
        raise MissingError(f"{name}: no such target or file system on this client{near}")
    return names[name]


def _what_there_is(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"; there is {', '.join(names[:MOST_NAMED])}{more}" if names else "; there is none at all"
