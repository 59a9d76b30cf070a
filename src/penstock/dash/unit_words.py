"""The units of knobs, for the page."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.spaces import SPACES

#: The unit of every knob, by file system. A setting belongs to the first file system that has all its knobs.
UNITS = [{knob.id: knob.unit for knob in space.knobs} for space in SPACES]


def named(knob: str, knobs: Iterable[str]) -> str:
    """The name of a knob, with its unit unless that is the name already.

    >>> named("flight", ["pages", "flight", "dirty"]), named("pages", ["pages", "flight"]), named("x", ["x"])
    ('flight (RPCs)', 'pages', 'x')
    """
    units = next((space for space in UNITS if set(knobs) <= set(space)), {})
    return f"{knob} ({units[knob]})" if units.get(knob, knob) != knob else knob
