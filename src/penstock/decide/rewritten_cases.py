"""Cases that follow from the law of rewriting, for work that writes over its own data in memory.

What is rewritten has F bytes, d of them dirty, and the wire carries w. Then applications get app = w / (1 - d/F)
until memory is the limit (`penstock.decide.guard.rewriting`). At the usual setting they get less than memory could
give, because a call that meets a page on its way to the server waits until it has arrived. With I bytes in flight,
s of them a request, a call of c bytes meets one with a chance of I (1 + c/s) / F and waits for half of I/w on
average. Few bytes in flight end these waits. Where F does not fit under the dirty limit D, applications get
w / (1 - D/F), so the wire is all that counts.

Three things cannot be told from counters at the usual setting: what memory could give, how long a lone request
takes, and whether anything is gained while the wire is kept as busy as before (on a real client it is not). So there
is a case for each of several values of them. Measurements decide between them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.decide.habits import AS_BUSY, LAW_SHARE, LONE_REQUEST_S, MEMORY_TIMES, NEARLY_FULL
from penstock.decision import Cases
from penstock.knobs import Candidates, Role

if TYPE_CHECKING:
    from penstock.decide.guard.rewriting import Rewriting

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Unknowns:
    """What counters do not tell: what memory could give, in times what applications get; how long a lone request
    takes; and up to which share of the original's rate on the wire anything is gained.
    """

    memory_times: float
    lone_s: float
    busiest: float


def with_rewritten(cases: Cases, seen: Rewriting, candidates: Candidates, least_drain: float) -> Cases:
    """The cases with those of the law beside them; the same where too little is known.

    A candidate that would send less than `least_drain` of what the original sends is expected to bring nothing.
    """
    size = seen.file_bytes
    if size is None or seen.sent <= 0 or seen.in_flight <= 0 or seen.call_bytes <= 0:
        return cases
    unknowns = itertools.starmap(Unknowns, itertools.product(MEMORY_TIMES, LONE_REQUEST_S, (1.0, AS_BUSY)))
    gains = np.stack([_gains(seen, size, candidates, one, least_drain) for one in unknowns])
    surveyed = cases.surfaces["write"]
    votes = cases.weights.get("write", np.ones(len(surveyed)))
    votes = np.concatenate(
        [votes / votes.sum() * (1.0 - LAW_SHARE), np.full(len(gains), LAW_SHARE / len(gains))]
    )
    return replace(
        cases,
        surfaces={**cases.surfaces, "write": np.concatenate([surveyed, gains[:, None, :]])},
        weights={**cases.weights, "write": votes},
        looks={kind: looks for kind, looks in cases.looks.items() if kind != "write"},
    )


def _gains(
    seen: Rewriting, size: float, candidates: Candidates, unknown: Unknowns, least_drain: float
) -> Floats:
    """What every candidate gains over the original, if memory and requests are like this."""
    flights = candidates.column(Role.IN_FLIGHT)
    room = candidates.in_flight_bytes.astype(float)
    request = room / flights
    wire = np.minimum(seen.sent, room / (unknown.lone_s + request / seen.sent))
    # Whatever applications do not get of what memory could give, they wait for pages on their way.
    memory = 1.0 / (unknown.memory_times * seen.written)
    usual = _wait_s(seen.in_flight, seen.request_bytes, seen.sent, seen, size)
    waits = _wait_s(np.minimum(room, seen.in_flight), request, wire, seen, size) / usual
    written = 1.0 / (memory + waits * (1.0 / seen.written - memory))
    piled = size * (1.0 - np.minimum(wire / written, 1.0))
    most = NEARLY_FULL * min(seen.limit, size)
    overflows = piled > most
    written = np.where(overflows & (size > seen.limit), wire / (1.0 - most / size), written)
    gains: Floats = np.log2(np.maximum(written, 1.0) / seen.written)
    unlikely = (wire < least_drain * seen.sent) | (wire > unknown.busiest * seen.sent)
    return np.where(unlikely, np.minimum(gains, 0.0), gains)


def _wait_s(
    flying: Floats | float, request: Floats | float, wire: Floats | float, seen: Rewriting, size: float
) -> Floats:
    """How long a call waits for pages on their way, on average."""
    flying, request = np.asarray(flying, dtype=np.float64), np.asarray(request, dtype=np.float64)
    meets: Floats = np.minimum(flying * (1.0 + seen.call_bytes / request) / size, 1.0)
    return meets * 0.5 * flying / np.asarray(wire, dtype=np.float64)
