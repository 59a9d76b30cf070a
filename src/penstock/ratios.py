"""What follows from a window: CARAT's six metrics and their parts. None where there is nothing to divide by.

The recipes use exact sums, not histograms. Channel utilisation follows Little's law (the time all requests spent on
the wire, over the interval, over the limit), which stays right where a kernel's histogram of requests in flight is
clipped. It may exceed 1: a client may send a request more than its limit, and requests count when they complete.
"""

from __future__ import annotations

from penstock.knobs import Knob, KnobSpace, Role
from penstock.units import PAGE_BYTES
from penstock.window import DIRECTIONS, Window

# A model may count parts of a request; what is less is rounding, and nothing to divide by.
_LEAST = 1e-9


def request_bytes(window: Window, direction: str) -> float | None:
    """What a request carried, on average."""
    moved = window.metrics.get(f"{direction}.bytes")
    requests = window.metrics.get(f"{direction}.rpcs", 0.0)
    return moved / requests if moved is not None and requests > _LEAST else None


def request_s(window: Window, direction: str) -> float | None:
    """How long a request took from being sent to its answer, on average."""
    requests = window.metrics.get(f"{direction}.rpcs", 0.0)
    usec = window.metrics.get(f"{direction}.usec")
    return usec / 1e6 / requests if usec is not None and requests > _LEAST else None


def in_flight(window: Window, direction: str) -> float | None:
    """How many requests were on their way at a time, on average, by Little's law."""
    usec = window.metrics.get(f"{direction}.usec")
    busy = window.metrics.get(f"{direction}.rpcs", 0.0) > _LEAST
    return usec / (window.seconds * 1e6) if usec is not None and busy else None


def page_latency_us(window: Window, direction: str) -> float | None:
    """The time of all requests over the pages they carried."""
    moved = window.metrics.get(f"{direction}.bytes", 0.0)
    usec = window.metrics.get(f"{direction}.usec")
    busy = window.metrics.get(f"{direction}.rpcs", 0.0) > _LEAST and moved > _LEAST
    return usec / (moved / PAGE_BYTES) if usec is not None and busy else None


def request_utilisation(window: Window, direction: str, space: KnobSpace) -> float | None:
    """What a request carried over what it might have carried."""
    return _over(request_bytes(window, direction), space.of_role(Role.REQUEST_SIZE), window)


def channel_utilisation(window: Window, direction: str, space: KnobSpace) -> float | None:
    """Requests in flight over their limit."""
    return _over(in_flight(window, direction), space.of_role(Role.IN_FLIGHT), window)


def cache_utilisation(window: Window, space: KnobSpace) -> float | None:
    """Unwritten data over its limit, at the end of the interval; where the system says its limit, over that."""
    unwritten, said = window.metrics.get("dirty.bytes"), window.metrics.get("dirty.limit_bytes")
    if said:
        return unwritten / said if unwritten is not None else None
    return _over(unwritten, space.of_role(Role.CACHE_LIMIT), window)


def cache_update_bytes(window: Window) -> float | None:
    """What applications wrote over data that was not sent yet and so never cost a request: an estimate."""
    written, grown = window.metrics.get("app.write_bytes"), window.metrics.get("dirty.grown_bytes")
    sent = window.metrics.get("write.bytes")
    if written is None or grown is None or sent is None:
        return None
    return max(0.0, written - sent - grown)


def carat_metrics(window: Window, space: KnobSpace) -> dict[str, float | None]:
    """CARAT's metrics under the names users know, for each direction and for the cache."""
    found: dict[str, float | None] = {}
    for direction in DIRECTIONS:
        found[f"{direction}.page_utilisation"] = request_utilisation(window, direction, space)
        found[f"{direction}.channel_utilisation"] = channel_utilisation(window, direction, space)
        found[f"{direction}.page_latency_us"] = page_latency_us(window, direction)
        found[f"{direction}.bytes"] = window.metrics.get(f"{direction}.bytes")
    found["dirty.utilisation"] = cache_utilisation(window, space)
    found["cache_update_bytes"] = cache_update_bytes(window)
    return found


def _over(amount: float | None, knob: Knob | None, window: Window) -> float | None:
    """An amount as a share of what a knob allows; None where either is not known."""
    limit = window.setting.get(knob.id, 0) if knob is not None else 0
    return amount / knob.unit_bytes / limit if amount is not None and knob is not None and limit else None
