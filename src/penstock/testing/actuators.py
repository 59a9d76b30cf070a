"""What every actuator owes its users. Call `check_actuator` from a test with whatever builds yours.

def test_my_actuator_obeys():
    check_actuator(lambda: Rig(MyActuator(somewhere), target))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.decision import Receipt
from penstock.errors import KnobError
from penstock.knobs import Knob, KnobSpace, Setting
from penstock.ports import Actuator
from penstock.snapshot import Target


@dataclass(frozen=True, slots=True)
class Rig:
    """An actuator and a target of its that nobody else touches meanwhile."""

    actuator: Actuator
    target: Target

    def get(self) -> Setting:
        return self.actuator.get(self.target)

    def try_set(self, wanted: Setting) -> Receipt | None:
        """Set; None where the actuator refuses by raising."""
        try:
            return self.actuator.set(self.target, wanted)
        except KnobError:
            return None


RigFactory = Callable[[], Rig]


def check_actuator(make: RigFactory) -> None:
    """Every check of the suite, each on a fresh rig. Raises AssertionError at the first breach."""
    check_get_covers_the_space_and_lies_within_it(make)
    check_set_is_in_force_when_it_returns(make)
    check_set_predicts_as_the_space_does(make)
    check_set_of_what_is_in_force_changes_nothing(make)
    check_set_of_one_knob_leaves_uncoupled_ones_alone(make)
    check_set_refuses_an_unknown_knob(make)
    check_set_out_of_bounds_is_refused_whole(make)
    check_restore_brings_back_the_original(make)
    check_restore_twice_is_restore_once(make)
    check_restore_of_an_untouched_target_changes_nothing(make)
    check_original_is_what_restore_brings_back(make)


def check_get_covers_the_space_and_lies_within_it(make: RigFactory) -> None:
    """Every knob has a value, and what is in force is legal."""
    rig = make()
    space = rig.actuator.space(rig.target)
    assert set(space.ids) <= set(rig.get())
    space.check(rig.get())


def check_set_is_in_force_when_it_returns(make: RigFactory) -> None:
    """The receipt tells what get tells."""
    rig = make()
    for wanted in _some(rig):
        receipt = rig.actuator.set(rig.target, wanted)
        assert receipt.error is None
        assert receipt.actual == rig.get()
        assert receipt.exact


def check_set_predicts_as_the_space_does(make: RigFactory) -> None:
    """Rounding and side effects are those that the space declares."""
    rig = make()
    space = rig.actuator.space(rig.target)
    for wanted in _some(rig):
        expected = space.settle(rig.get(), wanted)
        assert rig.actuator.set(rig.target, wanted).actual == expected


def check_set_of_what_is_in_force_changes_nothing(make: RigFactory) -> None:
    """X -> X is no change."""
    rig = make()
    before = rig.get()
    assert rig.actuator.set(rig.target, before).actual == before
    assert rig.get() == before


def check_set_of_one_knob_leaves_uncoupled_ones_alone(make: RigFactory) -> None:
    """Only declared side effects happen."""
    rig = make()
    space = rig.actuator.space(rig.target)
    rig.actuator.set(rig.target, _some(rig)[0])
    for knob in settable(space):
        before = rig.get()
        receipt = rig.actuator.set(rig.target, Setting({knob.id: knob.values[-1]}))
        may_move = {knob.id} | {c.affects for c in space.couplings if knob.id in c.when}
        after = rig.get()
        assert receipt.actual == after
        assert all(after[other] == before[other] for other in before if other not in may_move)


def check_set_refuses_an_unknown_knob(make: RigFactory) -> None:
    """A name outside the allow-list is an error, and nothing moves."""
    rig = make()
    before = rig.get()
    try:
        rig.actuator.set(rig.target, Setting(no_such_knob=1))
    except KnobError:
        pass
    else:
        raise AssertionError("an unknown knob was not refused")
    assert rig.get() == before


def check_set_out_of_bounds_is_refused_whole(make: RigFactory) -> None:
    """One impossible value keeps the whole group from moving, and the receipt says why."""
    rig = make()
    space = rig.actuator.space(rig.target)
    before = rig.get()
    first, last = settable(space)[0], settable(space)[-1]
    moved = next(value for value in first.values if value != before[first.id])
    receipt = rig.try_set(Setting({first.id: moved, last.id: last.ceiling * 4 + 1}))
    assert receipt is None or receipt.error
    assert rig.get() == before


def check_restore_brings_back_the_original(make: RigFactory) -> None:
    """However often it was set."""
    rig = make()
    original = rig.get()
    for wanted in _some(rig):
        rig.actuator.set(rig.target, wanted)
    receipt = rig.actuator.restore(rig.target)
    assert receipt.error is None
    assert receipt.actual == rig.get() == original


def check_restore_twice_is_restore_once(make: RigFactory) -> None:
    """Repeating it does no harm."""
    rig = make()
    original = rig.get()
    rig.actuator.set(rig.target, _some(rig)[0])
    rig.actuator.restore(rig.target)
    assert rig.actuator.restore(rig.target).actual == original


def check_restore_of_an_untouched_target_changes_nothing(make: RigFactory) -> None:
    """Never set, nothing to bring back."""
    rig = make()
    before = rig.get()
    rig.actuator.restore(rig.target)
    assert rig.get() == before


def check_original_is_what_restore_brings_back(make: RigFactory) -> None:
    """Whatever is set meanwhile: policy and guard rely on it and keep no original of their own."""
    rig = make()
    before = rig.get()
    assert rig.actuator.original(rig.target) in (None, before)
    for wanted in _some(rig):
        rig.actuator.set(rig.target, wanted)
        assert rig.actuator.original(rig.target) == before or rig.get() == before
    rig.actuator.restore(rig.target)
    assert rig.actuator.original(rig.target) in (None, rig.get())


def settable(space: KnobSpace) -> tuple[Knob, ...]:
    """The knobs that may be written while jobs run; others are advice, and refusing them is right."""
    return tuple(knob for knob in space.knobs if space.may_set(knob.id))


def _some(rig: Rig) -> list[Setting]:
    knobs = settable(rig.actuator.space(rig.target))
    low = Setting({knob.id: knob.values[0] for knob in knobs})
    high = Setting({knob.id: knob.values[-1] for knob in knobs})
    middle = Setting({knob.id: knob.values[len(knob.values) // 2] for knob in knobs})
    return [low, middle, high, low.replace({knobs[0].id: high[knobs[0].id]})]
