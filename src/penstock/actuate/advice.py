"""Say what would be set, as commands to paste, instead of setting it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from penstock.actuate.files import KNOB_FILES, check_name
from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Actuator
from penstock.snapshot import Target


def commands(name: str, setting: Mapping[str, int]) -> Iterator[str]:
    """One `lctl` line a knob, in writing order: lctl hides the failure of all but its last parameter.

    >>> list(commands("lustre-OST0000-osc-ff1100010179b000", {"dirty": 64, "pages": 256}))[0]
    'lctl set_param osc.lustre-OST0000-osc-ff1100010179b000.max_pages_per_rpc=256'
    """
    for knob_id, file in KNOB_FILES.items():
        if knob_id in setting:
            yield f"lctl set_param osc.{check_name(name)}.{file}={setting[knob_id]}"


class AdviceActuator:
    """Reads like the actuator it wraps and hands every write to `say`, line by line; nothing is changed.

    The same advice is given once, not at every interval.
    """

    def __init__(self, reader: Actuator, say: Callable[[str], object]) -> None:
        self._reader = reader
        self._say = say
        self._said: dict[Target, Setting] = {}

    def space(self, target: Target) -> KnobSpace:
        """The target's knobs within its bounds."""
        return self._reader.space(target)

    def get(self, target: Target) -> Setting:
        """What is in force now."""
        return self._reader.get(target)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Say how to bring the given knobs about; the receipt tells what stays in force."""
        now = self.get(target)
        moved = Setting({key: value for key, value in wanted.items() if now[key] != value})
        if moved and self._said.get(target) != wanted:
            self._said[target] = wanted
            for line in commands(target.name, moved):
                self._say(line)
        return Receipt(target, wanted, now, "advice only: nothing was changed" if moved else None)

    def restore(self, target: Target) -> Receipt:
        """Nothing was changed, so there is nothing to bring back."""
        return Receipt(target, Setting(), self.get(target))
