"""The law for every actuator: a suite to inherit from, as a pytest class with a fixture `rig`.

class TestMine(ActuatorSuite):
    @pytest.fixture
    def rig(self) -> Rig:
        return Rig(MyActuator(...), target)
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock.decision import Receipt
from penstock.errors import KnobError
from penstock.knobs import Setting
from penstock.ports import Actuator
from penstock.snapshot import Target


@dataclass(frozen=True, slots=True)
class Rig:
    """An actuator and a target of its that nobody else touches meanwhile."""

    actuator: Actuator
    target: Target

    def get(self) -> Setting:
        """What is in force."""
        return self.actuator.get(self.target)

    def try_set(self, wanted: Setting) -> Receipt | None:
        """Set; None where the actuator refuses by raising."""
        try:
            return self.actuator.set(self.target, wanted)
        except KnobError:
            return None


class ActuatorSuite:
    """What every actuator guarantees."""

    def test_get_covers_the_space_and_lies_within_it(self, rig: Rig) -> None:
        """Every knob has a value, and what is in force is legal."""
        space = rig.actuator.space(rig.target)
        assert set(space.ids) <= set(rig.get())
        space.check(rig.get())

    def test_set_is_in_force_when_it_returns(self, rig: Rig) -> None:
        """The receipt tells what get tells."""
        for wanted in self._some(rig):
            receipt = rig.actuator.set(rig.target, wanted)
            assert receipt.error is None
            assert receipt.actual == rig.get()
            assert receipt.exact

    def test_set_predicts_as_the_space_does(self, rig: Rig) -> None:
        """Rounding and side effects are those that the space declares."""
        space = rig.actuator.space(rig.target)
        for wanted in self._some(rig):
            expected = space.settle(rig.get(), wanted)
            assert rig.actuator.set(rig.target, wanted).actual == expected

    def test_set_of_what_is_in_force_changes_nothing(self, rig: Rig) -> None:
        """X -> X is no change."""
        before = rig.get()
        assert rig.actuator.set(rig.target, before).actual == before
        assert rig.get() == before

    def test_set_of_one_knob_leaves_uncoupled_ones_alone(self, rig: Rig) -> None:
        """Only declared side effects happen."""
        space = rig.actuator.space(rig.target)
        for knob in space.knobs:
            before = rig.get()
            rig.actuator.set(rig.target, Setting({knob.id: knob.values[0]}))
            may_move = {knob.id} | {c.affects for c in space.couplings if knob.id in c.when}
            after = rig.get()
            assert all(after[other] == before[other] for other in before if other not in may_move)

    def test_set_refuses_an_unknown_knob(self, rig: Rig) -> None:
        """A name outside the allow-list is an error, and nothing moves."""
        before = rig.get()
        with pytest.raises(KnobError):
            rig.actuator.set(rig.target, Setting(no_such_knob=1))
        assert rig.get() == before

    def test_set_out_of_bounds_is_refused_whole(self, rig: Rig) -> None:
        """One impossible value keeps the whole group from moving, and the receipt says why."""
        space = rig.actuator.space(rig.target)
        before = rig.get()
        first, last = space.knobs[0], space.knobs[-1]
        moved = next(value for value in first.values if value != before[first.id])
        receipt = rig.try_set(Setting({first.id: moved, last.id: last.ceiling * 4 + 1}))
        assert receipt is None or receipt.error
        assert rig.get() == before

    def test_restore_brings_back_the_original(self, rig: Rig) -> None:
        """However often it was set."""
        original = rig.get()
        for wanted in self._some(rig):
            rig.actuator.set(rig.target, wanted)
        receipt = rig.actuator.restore(rig.target)
        assert receipt.error is None
        assert receipt.actual == rig.get() == original

    def test_restore_twice_is_restore_once(self, rig: Rig) -> None:
        """Repeating it does no harm."""
        original = rig.get()
        rig.actuator.set(rig.target, self._some(rig)[0])
        rig.actuator.restore(rig.target)
        assert rig.actuator.restore(rig.target).actual == original

    def test_restore_of_an_untouched_target_changes_nothing(self, rig: Rig) -> None:
        """Never set, nothing to bring back."""
        before = rig.get()
        rig.actuator.restore(rig.target)
        assert rig.get() == before

    @staticmethod
    def _some(rig: Rig) -> list[Setting]:
        space = rig.actuator.space(rig.target)
        low = Setting({knob.id: knob.values[0] for knob in space.knobs})
        high = Setting({knob.id: knob.values[-1] for knob in space.knobs})
        middle = Setting({knob.id: knob.values[len(knob.values) // 2] for knob in space.knobs})
        return [low, middle, high, low.replace({space.ids[0]: high[space.ids[0]]})]
