"""One actuator for all file systems of a node. Each target is set by the actuator of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.actuate.fuse import FuseActuator
from penstock.actuate.journal import Journal
from penstock.actuate.journalled import Difference, JournalledActuator, nothing_denied
from penstock.actuate.knobfiles import KnobFiles
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.lustre_metadata import LliteActuator, MdcActuator
from penstock.actuate.lustre_readahead import ReadaheadActuator
from penstock.actuate.nfs import NfsActuator
from penstock.actuate.system import SYSTEM, System
from penstock.decision import Receipt
from penstock.errors import DataError
from penstock.knobs import KnobSpace, Setting
from penstock.knobs.target_kind import DATA
from penstock.observe.fuse.observer import ROOTS, FuseScope
from penstock.observe.lustre.layout import STATAHEAD_KNOBS
from penstock.snapshot import Target
from penstock.spaces import statahead


@dataclass(frozen=True, slots=True)
class Reach:
    """What may be set besides Lustre (which FUSE mounts, node-wide knobs by name), and which knobs are denied.

    `denied` names the knobs of a target that must stay as they are.
    """

    fuse: FuseScope = ROOTS
    node_knobs: frozenset[str] = frozenset()
    denied: Callable[[Target], frozenset[str]] = nothing_denied
    #: What `[scope] kinds` names. Targets of other kinds are only restored.
    sections: frozenset[str] = frozenset({DATA})


class NodeActuator:
    """Sets every target of a node. One process, one journal, not for use from several threads."""

    def __init__(
        self, root: str | Path, journal: Journal, reach: Reach | None = None, *, system: System = SYSTEM
    ) -> None:
        reach = reach or Reach()
        self.journal = journal
        self.reach = reach
        found: tuple[JournalledActuator, ...] = (
            LustreActuator(root, journal, system=system),
            NfsActuator(root, journal, system=system, node_knobs=reach.node_knobs),
            FuseActuator(root, journal, system=system, scope=reach.fuse),
            MdcActuator(root, journal, system=system),
            LliteActuator(root, journal, statahead(), STATAHEAD_KNOBS, system=system),
            ReadaheadActuator(root, journal, system=system),
        )
        self._actuators = {actuator.whole.kind.name: actuator for actuator in found}
        for actuator in found:
            actuator.denied = reach.denied

    def targets(self) -> tuple[Target, ...]:
        """Every target there is now, of the kinds that may be set."""
        sections = self.reach.sections
        found = (one for one in self._actuators.values() if one.whole.kind.section in sections)
        return tuple(target for actuator in found for target in actuator.targets())

    def target_named(self, name: str) -> Target:
        """The target that a journal calls so. Raises `DataError` when no kind has such names.

        An entry says its kind, unless an earlier version wrote it: then the name alone must tell.
        """
        entry = self.journal.get(name)
        own = self._actuators.get(entry.kind) if entry is not None else None
        for actuator in self._actuators.values() if own is None else (own,):
            target = actuator.target_named(name)
            if target is not None:
                return target
        raise DataError(f"the journal names {name!r}, which is no target of a client")

    def space(self, target: Target) -> KnobSpace:
        """The target's knobs within the bounds this target itself sets."""
        return self._of(target).space(target)

    def open(self, target: Target) -> KnobFiles:
        """The target's files, for the length of a `with` block."""
        return self._of(target).open(target)

    def get(self, target: Target) -> Setting:
        """What is in force now."""
        return self._of(target).get(target)

    def original(self, target: Target) -> Setting | None:
        """What a restore would bring back; None if the target was never changed."""
        return self._of(target).original(target)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Write the given knobs, read all back."""
        return self._of(target).set(target, wanted)

    def set_all(self, wishes: Sequence[tuple[Target, Setting]]) -> list[Receipt]:
        """As `set` for each; those of one kind share writes of the journal."""
        receipts: dict[Target, Receipt] = {}
        for actuator in self._actuators.values():
            mine = [(target, wanted) for target, wanted in wishes if self._of(target) is actuator]
            receipts.update((receipt.target, receipt) for receipt in actuator.set_all(mine))
        return [receipts[target] for target, _ in wishes]

    def restore(self, target: Target) -> Receipt:
        """Bring back every original."""
        return self._of(target).restore(target)

    def verify(self, target: Target, *, tuned: bool = True) -> tuple[Difference, ...]:
        """The knobs that do not hold what they should."""
        return self._of(target).verify(target, tuned=tuned)

    def yielded(self, target: Target) -> frozenset[str]:
        """The knobs of a target that belong to its administrator."""
        return self._of(target).yielded(target)

    def notice(self, target: Target) -> None:
        """Give up the knobs that somebody else has set."""
        self._of(target).notice(target)

    def take_back(self, target: Target) -> Setting:
        """Manage yielded knobs again."""
        return self._of(target).take_back(target)

    def commands(self, target: Target, setting: Mapping[str, int]) -> list[str]:
        """The lines an administrator would paste to bring a setting about."""
        return self._of(target).commands(target, setting)

    def _of(self, target: Target) -> JournalledActuator:
        return self._actuators[target.kind.name]
