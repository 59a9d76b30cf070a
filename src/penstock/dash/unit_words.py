"""What knobs are counted in, for those who read the page."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.spaces import SPACES

#: Every knob's unit, file system by file system. A setting belongs to the first that has all its knobs.
UNITS = [{knob.id: knob.unit for knob in space.knobs} for space in SPACES]


def named(knob: str, knobs: Iterable[str]) -> str:
    """A knob among those it is set with, and its unit where that is not its own name.

    >>> named("flight", ["pages", "flight", "dirty"]), named("pages", ["pages", "flight"]), named("x", ["x"])
    ('flight (RPCs)', 'pages', 'x')
    """
    units = next((space for space in UNITS if set(knobs) <= set(space)), {})
    return f"{knob} ({units[knob]})" if units.get(knob, knob) != knob else knob
