"""The actuator of a Lustre mount's readahead.

Knobs are written from the outermost inwards: what is written to one may not pass the one it lies under.
"""

from __future__ import annotations

from pathlib import Path

from penstock.actuate.journal import Journal
from penstock.actuate.journalled import TargetWish
from penstock.actuate.lustre_metadata import LliteActuator
from penstock.actuate.system import SYSTEM, System
from penstock.knobs import Setting
from penstock.observe.lustre.layout import READAHEAD_KNOBS
from penstock.observe.meminfo import memory
from penstock.spaces import readahead


class ReadaheadActuator(LliteActuator):
    """Sets the readahead of mounts below a root."""

    def __init__(self, root: str | Path, journal: Journal, *, system: System = SYSTEM) -> None:
        super().__init__(root, journal, readahead(memory(root)[0]), READAHEAD_KNOBS, system=system)

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal with every value within the knob it lies under, unless the original passes it, too."""
        for knob in self.whole.knobs:
            if knob.under and knob.id in goal and goal[knob.id] != wish.entry.original[knob.id]:
                most = goal.get(knob.under, wish.before[knob.under])
                goal = goal.replace({knob.id: min(goal[knob.id], most)})
        return goal
