"""What one target refused or rounded. It is kept while the process runs, so that it is not tried again."""

from __future__ import annotations

import errno
import logging
from dataclasses import dataclass, field

from penstock.actuate.knob_errors import DENIED, RefusedError
from penstock.knobs import Setting

log = logging.getLogger(__name__)
_READ_ONLY = DENIED | {errno.EROFS}


@dataclass(slots=True)
class LearnedBounds:
    """The refused and rounded values of one target."""

    floors: dict[str, int] = field(default_factory=dict)
    ceilings: dict[str, int] = field(default_factory=dict)
    read_only: dict[str, str] = field(default_factory=dict)
    becomes: dict[tuple[str, int], int] = field(default_factory=dict)

    def refuse(self, name: str, error: RefusedError, before: Setting) -> str:
        """Remember a refusal of the target with this name; logs what was learned and returns the error's text."""
        if error.errno == errno.ERANGE and error.value >= 0:
            if error.value > before[error.knob_id]:
                known = self.ceilings.get(error.knob_id, error.value)
                self.ceilings[error.knob_id] = min(known, error.value - 1)
            else:
                known = self.floors.get(error.knob_id, error.value)
                self.floors[error.knob_id] = max(known, error.value + 1)
            log.warning("%s: learned a bound: %s", name, error)
        elif error.errno in _READ_ONLY:
            if error.knob_id not in self.read_only:
                log.warning("%s: observing %s only: %s", name, error.knob_id, error)
            self.read_only[error.knob_id] = f"{error.knob_id} cannot be set: {error}"
        return str(error)
