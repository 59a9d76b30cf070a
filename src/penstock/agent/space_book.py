"""The knob spaces of the targets at hand, asked for once and shared where they are alike."""

from __future__ import annotations

from collections.abc import Callable

from penstock.knobs import KnobSpace
from penstock.snapshot import Target

Signature = tuple[str, tuple[tuple[str, int, int], ...]]


class SpaceBook:
    """Remembers each target's space until told to look again.

    Asking costs system calls, and targets with equal bounds should share one object, so that the model can be
    asked about all of them together.
    """

    def __init__(self, ask: Callable[[Target], KnobSpace]) -> None:
        self._ask = ask
        self._spaces: dict[Target, KnobSpace] = {}
        self._alike: dict[Signature, KnobSpace] = {}

    def space_of(self, target: Target) -> KnobSpace:
        """The target's knobs within its own bounds."""
        found = self._spaces.get(target)
        if found is None:
            space = self._ask(target)
            bounds = tuple((knob.id, knob.floor, knob.ceiling) for knob in space.knobs)
            found = self._spaces[target] = self._alike.setdefault((space.name, bounds), space)
        return found

    def known(self, target: Target) -> KnobSpace | None:
        """What `space_of` answers without asking anybody; None where it would have to ask."""
        return self._spaces.get(target)

    def refresh(self, target: Target) -> None:
        """Ask again next time: the target refused something, reconnected, or is gone."""
        self._spaces.pop(target, None)
