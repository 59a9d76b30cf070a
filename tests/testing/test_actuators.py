"""The actuator suite accepts our actuators and catches bad ones."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from tests.rigs.queueing import Hardware, Load, QueueingTarget
from tests.rigs.served import served, why_not

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.decision import Receipt
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.testing.actuators import Rig, check_actuator

pytestmark = pytest.mark.live


def queueing() -> QueueingTarget:
    return QueueingTarget(Hardware(1e9, 1e-4, 0.0), [Load(0.0, 1 << 20, 1e-3)], seed=1)


def test_actuator_suite_accepts_the_queueing_target() -> None:
    def make() -> Rig:
        target = queueing()
        return Rig(target, target.target)

    check_actuator(make)


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
def test_actuator_suite_accepts_a_served_lustre_client(tmp_path: Path, layout: str) -> None:
    if why_not():
        pytest.skip(why_not() or "")
    numbers = count()
    with served(tmp_path / "client", layout=layout, osts=1) as tree:

        def make() -> Rig:
            tree.fresh()
            journal = Journal(tmp_path / f"state-{next(numbers)}", owner_of(tree.root))
            actuator = LustreActuator(tree.root, journal)
            return Rig(actuator, actuator.targets()[0])

        check_actuator(make)


class Forgetful(QueueingTarget):
    def restore(self, target: Target) -> Receipt:
        return Receipt(target, Setting(), self.get(target))


class Liar(QueueingTarget):
    def set(self, target: Target, wanted: Setting) -> Receipt:
        before = self.get(target)
        super().set(target, wanted)
        return Receipt(target, wanted, before.replace(wanted))


@pytest.mark.parametrize("kind", [Forgetful, Liar])
def test_actuator_suite_catches(kind: type[QueueingTarget]) -> None:
    def make() -> Rig:
        target = kind(Hardware(1e9, 1e-4, 0.0), [Load(0.0, 1 << 20, 1e-3)], seed=1)
        return Rig(target, target.target)

    with pytest.raises(AssertionError):
        check_actuator(make)
