"""Events of a log, written down in tests as they lie in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.events import LogEvent, parse


def as_logged(said: Iterable[Mapping[str, Any]]) -> list[LogEvent]:
    """What a reader makes of these lines: lines that are no events are left out."""
    return [event for one in said if (event := parse(one)) is not None]
