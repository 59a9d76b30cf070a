"""Whether a line of a log is an event whose fields can be believed to have their types.

Logs are sent around, merged and edited. Whoever reads them counts on numbers being numbers, and one line that is not
so must not cost the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

# Far beyond any time or rate, and far from where sums of squares overflow.
LARGEST = 1e18
Check = Callable[[Any], bool]


def is_number(value: object) -> bool:
    """Whether this is a finite number of a sane size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (
        math.isfinite(value) and abs(value) <= LARGEST if isinstance(value, float) else abs(value) <= LARGEST
    )


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _numbers(value: object) -> bool:
    return isinstance(value, dict) and all(one is None or is_number(one) for one in value.values())


def _settings(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, int) and not isinstance(one, bool) and is_number(one) for one in value.values()
    )


def _windows(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and is_number(one.get("t0"))
        and is_number(one.get("t1"))
        and one["t1"] > one["t0"]
        and _numbers(one.get("metrics"))
        and _settings(one.get("setting", {}))
        for one in value
    )


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


_TEXTS = (
    "event",
    "target",
    "fs",
    "resource",
    "reason",
    "sentence",
    "job",
    "user",
    "what",
    "mode",
    "policy",
)
_FIELDS: Mapping[str, Check] = {
    **dict.fromkeys(("time_s", "t_s", "before_bytes_per_s", "after_bytes_per_s"), is_number),
    **dict.fromkeys(("gain", "low", "high", "pairs", "confidence", "interval_s"), _optional(is_number)),
    **dict.fromkeys(_TEXTS, _optional(_text)),
    **dict.fromkeys(("id", "decision"), _optional(_text)),
    **dict.fromkeys(("changes", "made", "jobs"), _optional(_texts)),
    **dict.fromkeys(("before", "wanted"), _settings),
    "actual": _optional(_settings),
    "history": _optional(_windows),
    "evidence": _optional(lambda value: isinstance(value, dict)),
}
# What cannot be left out of a kind.
_NEEDED = {"job": ("time_s",), "trial": ("time_s", "gain", "low", "high", "pairs")}
# What a page shows of each; logs of earlier versions, and lines that somebody wrote by hand, may lack it.
_SHOWN = {
    "decision": ("id", "time_s", "target", "before", "wanted", "changes", "reason", "sentence"),
    "effect": ("time_s", "target", "decision", "before_bytes_per_s", "after_bytes_per_s"),
}


def is_sound(event: object) -> bool:
    """Whether it is an object of which every known field has its type and nothing that readers need is missing."""
    if not isinstance(event, dict):
        return False
    if not all(check(event[name]) for name, check in _FIELDS.items() if name in event):
        return False
    kind = event.get("event")
    return all(event.get(name) is not None for name in _NEEDED.get(str(kind), ()))


def can_be_drawn(event: Mapping[str, Any]) -> bool:
    """Whether a sound event has everything that a page shows of its kind."""
    return all(event.get(name) is not None for name in _SHOWN.get(str(event.get("event")), ("time_s",)))
