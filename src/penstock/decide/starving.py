"""Reads that starve beside writes on one target, or the other way round, and the setting that relieves them.

Both directions share the slots for requests in flight, and who starves waits behind all that the other one has on its
way. A call that fills every slot by itself has only one request of the other direction before it. So the relief is as
many bytes in flight as one starving call has, in two requests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.decide.habits import LEAST_RELIEF_BYTES, RELIEF_REQUESTS, RELIEF_WINDOWS, STARVING
from penstock.decide.objective import Rates
from penstock.knobs import Candidates, Role, Setting
from penstock.window import DIRECTIONS, Window


@dataclass(slots=True)
class Relief:
    """When who starves may be relieved: a relief that did not help is not tried again soon, even if what was measured
    is forgotten meanwhile. Waits double.
    """

    wait: int = RELIEF_WINDOWS
    since: int = 0

    def waits(self, now: int) -> bool:
        """Whether it is too early, in windows."""
        return now < self.since

    def begin(self, now: int) -> None:
        """A relief is tried."""
        self.since, self.wait = now + self.wait, 2 * self.wait


def starves(rates: Rates) -> bool:
    """Whether both directions are waited for and one of them gets next to nothing."""
    return all(rates.counts) and min(rates.read, rates.write) < STARVING * rates.total


def call_bytes(window: Window) -> float:
    """The size of the calls of the direction that moves less; 0 where it is not known."""
    metrics = window.metrics
    way = min(DIRECTIONS, key=lambda way: metrics.get(f"{way}.bytes") or 0.0)
    calls = metrics.get(f"app.{way}_calls") or 0.0
    return (metrics.get(f"app.{way}_bytes") or 0.0) / calls if calls > 0 else 0.0


def relief(candidates: Candidates, call: float) -> Setting | None:
    """The candidate next to the relief for calls of so many bytes; None where requests cannot be counted
    in bytes."""
    flights, room = candidates.column(Role.IN_FLIGHT), candidates.in_flight_bytes
    if call <= 0 or not np.any(room > 1):
        return None
    request = room / flights
    wanted = max(call / RELIEF_REQUESTS, LEAST_RELIEF_BYTES)
    off = np.abs(np.log2(request / wanted)) + np.abs(np.log2(flights / RELIEF_REQUESTS))
    return candidates[int(np.argmin(off))]
