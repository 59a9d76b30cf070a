"""What a setting must bring for its bytes and requests in flight: others who share the servers wait behind them.

What they lose cannot be seen here, so it is priced. Twice the bytes in flight must bring `fair_share` doublings,
twice the requests `crowd_log2`, and four times that where all slots of the original are full: there whoever adds
requests may only take the turns of others who wait for the same server. Where slots are free a call is merely split.
Where what moves are operations, a slot is full as far as its requests wait behind others instead of travelling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.decide.guard.limits import (
    FULL_AT,
    FULL_FROM,
    FULL_TIMES,
    WAITING_AT,
    WAITING_FROM,
    WAITING_TIMES,
    GuardLimits,
)
from penstock.decide.objective import Rates
from penstock.knobs import Candidates, KnobSpace, Role, Setting
from penstock.knobs.target_kind import BYTES

Floats = NDArray[np.float64]


def fullness(original: Rates, home: Setting, space: KnobSpace) -> float:
    """Whether all slots of the original are full, from 0 to 1."""
    knob = space.of_role(Role.IN_FLIGHT)
    if knob is None or knob.id not in home:
        return 0.0
    if space.kind.unit == BYTES:
        used = (original.read_flight + original.write_flight) / max(home[knob.id], 1)
        return min(max((used - FULL_FROM) / (FULL_AT - FULL_FROM), 0.0), 1.0)
    flights = dict(zip(space.kind.way_names, (original.read_flight, original.write_flight), strict=True))
    used = max(sum(flights[way] for way in space[each].limits) / max(home[each], 1) for each in home)
    return min(max((used - WAITING_FROM) / (WAITING_AT - WAITING_FROM), 0.0), 1.0)


def prices(candidates: Candidates, home: Setting, full: float, limits: GuardLimits) -> Floats:
    """What candidates must bring for what they ask for beyond the original and the default, as base-2 logarithms."""
    space = candidates.space
    knob = space.of_role(Role.IN_FLIGHT)
    flights = candidates.column(Role.IN_FLIGHT)
    usual = max(space.default[knob.id], home.get(knob.id, 1)) if knob is not None else 1
    full_times = FULL_TIMES if space.kind.unit == BYTES else WAITING_TIMES
    crowd = limits.fair_share * limits.crowd_log2 * (1.0 + full_times * full)
    found = crowd * _doublings(flights, float(usual))
    if space.of_role(Role.REQUEST_SIZE) is not None:
        room = (space.in_flight_bytes(space.default.replace(each)) for each in (home, space.default))
        found = found + limits.fair_share * _doublings(candidates.in_flight_bytes, float(max(*room, 1)))
    return found


def price_of(space: KnobSpace, place: Setting, home: Setting, full: float, limits: GuardLimits) -> float:
    """The price of one setting."""
    return float(prices(Candidates(space, [place]), home, full, limits)[0])


def _doublings(amounts: Floats, usual: float) -> Floats:
    found: Floats = np.log2(np.maximum(amounts / max(usual, 1.0), 1.0))
    return found
