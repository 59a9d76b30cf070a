from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.simulate.queueing import Hardware, Load, QueueingTarget
from penstock.testing.actuators import ActuatorSuite, Rig
from penstock.testing.served import Served, served, why_not


class TestQueueingTarget(ActuatorSuite):
    @pytest.fixture
    def rig(self) -> Rig:
        target = QueueingTarget(Hardware(1e9, 1e-4, 0.0), [Load(0.0, 1 << 20, 1e-3)], seed=1)
        return Rig(target, target.target)


@pytest.fixture(scope="module", params=["2.15", "2.17"])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path_factory.mktemp("client"), layout=request.param, osts=1) as tree:
        yield tree


class TestServedLustre(ActuatorSuite):
    @pytest.fixture
    def rig(self, tree: Served, tmp_path: Path) -> Rig:
        tree.fresh()
        actuator = LustreActuator(tree.root, Journal(tmp_path / "state", owner_of(tree.root)))
        return Rig(actuator, actuator.targets()[0])
