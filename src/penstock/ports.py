"""The interfaces of the loop to the outside: a real client, a served tree and the simulator implement them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from penstock.decision import Outlook, Receipt
from penstock.knobs import Candidates, KnobSpace, Setting
from penstock.snapshot import NodeSnapshot, Target
from penstock.window import Window

SpaceOf = Callable[[Target], KnobSpace]
"""The knobs of a target, within the bounds that it has now."""


class Clock(Protocol):
    """Monotonic time, real or virtual."""

    def now(self) -> float:
        """Seconds since an arbitrary origin; never runs backwards."""
        ...

    def sleep_until(self, t_s: float) -> None:
        """Return at `t_s` or as soon after it as possible; at once when it has passed."""
        ...


class Observer(Protocol):
    """Reads a node. Never writes anything."""

    def observe(self) -> NodeSnapshot:
        """All targets now. What cannot be read is a `Problem`, not an exception."""
        ...


class Actuator(Protocol):
    """Sets what it is told and never chooses a value. All verbs take effect before they return."""

    def space(self, target: Target) -> KnobSpace:
        """The target's knobs within the bounds this target itself sets."""
        ...

    def get(self, target: Target) -> Setting:
        """What is in force now."""
        ...

    def original(self, target: Target) -> Setting | None:
        """What `restore` would bring back; None if this actuator never changed the target. Nobody else keeps it."""
        ...

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Write the given knobs in the space's order, read all back, report what is really in force."""
        ...

    def restore(self, target: Target) -> Receipt:
        """Bring back what was in force before this actuator first touched the target."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world of one loop or one collection: a real client, a served tree, or the simulator."""

    clock: Clock
    observer: Observer
    actuator: Actuator


@runtime_checkable
class BatchActuator(Actuator, Protocol):
    """An actuator for which setting many targets together is cheaper than one by one."""

    def set_all(self, wishes: Sequence[tuple[Target, Setting]]) -> Sequence[Receipt]:
        """As `set` for each wish, one receipt for each in the same order."""
        ...


class Predictor(Protocol):
    """A trained model: recent windows of targets in, what to expect of each candidate out. Pure."""

    @property
    def history(self) -> int:
        """How many windows before the current one it looks at; with fewer it still answers."""
        ...

    @property
    def digest(self) -> str:
        """The hash that names this very model in decisions and logs."""
        ...

    @property
    def spaces(self) -> Collection[str]:
        """The names of the knob spaces it knows; of others it has nothing to say."""
        ...

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> Sequence[Outlook]:
        """One outlook per target; each history is in time order and ends with the current window."""
        ...
