"""Knobs: what may be turned, over which values, where, when a turn acts, and what it is for.

A file system arrives as one `KnobSpace` declaration (see `penstock.spaces`); everything between the rooms
speaks in knob ids, `Role`s and `Setting`s and knows nothing of the file system behind them.
"""

from __future__ import annotations

from penstock.knobs.candidates import Candidates
from penstock.knobs.knob import Acts, Knob, Role, Scope
from penstock.knobs.setting import Setting
from penstock.knobs.space import Coupling, KnobSpace
from penstock.knobs.target_kind import TargetKind, Way

__all__ = [
    "Acts",
    "Candidates",
    "Coupling",
    "Knob",
    "KnobSpace",
    "Role",
    "Scope",
    "Setting",
    "TargetKind",
    "Way",
]
