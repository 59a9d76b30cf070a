"""The knob spaces of all targets, read once. Equal spaces share one object."""

from __future__ import annotations

from collections.abc import Callable

from penstock.knobs import KnobSpace
from penstock.snapshot import Target

Signature = tuple[str, tuple[tuple[str, int, int], ...]]


class SpaceBook:
    """Keeps each target's space until `refresh`.

    Reading a space takes system calls. And if targets with equal bounds share one object, the model can be called for
    all of them together.
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
        """Read the space again next time, because the target refused a value, reconnected, or is gone."""
        self._spaces.pop(target, None)
