"""Checks of what a policy proposes.

Policies are plug-ins, so the agent checks each proposal before it acts on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.decide.policies._base import Proposal
from penstock.decision import changes
from penstock.errors import KnobError
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window


def as_allowed(proposal: Proposal, window: Window, space: KnobSpace) -> Proposal:
    """The proposal with the values in force for knobs that may not be changed, because somebody else has set them."""
    said: Any = proposal
    if not space.held or not isinstance(said, Proposal) or not isinstance(said.setting, Setting):
        return proposal
    kept = window.setting.only(*(knob_id for knob_id in space.held if knob_id in window.setting))
    return replace(proposal, setting=proposal.setting.replace(kept))


def nonsense(proposal: object, window: Window, space: KnobSpace) -> str | None:
    """What is wrong with a proposal, or None if nothing is. The text continues a sentence that ends in "returned"."""
    if not isinstance(proposal, Proposal):
        return f"{proposal!r:.80}, not a Proposal"
    setting: Any = proposal.setting
    if not isinstance(setting, Setting):
        return f"the setting {setting!r:.80}, not a Setting"
    lost = [knob for knob in window.setting if knob not in setting]
    if lost:
        return f"a setting without {', '.join(lost)}; start from window.setting.replace(...)"
    for knob, value in setting.items():
        if isinstance(value, bool) or not isinstance(value, int):
            return f"{knob}={value!r}, not a whole number"
    try:
        unknown = {knob: value for knob, value in setting.items() if knob not in window.setting}
        moved = {change.knob_id: change.new for change in changes(window.setting, setting)}
        space.check({**unknown, **moved})
    except KnobError as error:
        return f"a setting that cannot be: {error}"
    return _wrong_reason(proposal)


def _wrong_reason(proposal: Proposal) -> str | None:
    said: Any = proposal
    for what, text in (("reason", said.reason), ("sentence", said.sentence)):
        if not isinstance(text, str) or not text.strip():
            return f"the {what} {text!r:.80}; say in words why"
    if not isinstance(said.evidence, Mapping):
        return f"the evidence {said.evidence!r:.80}, not figures by name"
    figures = {**said.evidence, "confidence": said.confidence}
    for name, figure in figures.items():
        if figure is not None and not (isinstance(figure, int | float) and math.isfinite(figure)):
            return f"{name}={figure!r:.80}, not a finite number"
    return None
