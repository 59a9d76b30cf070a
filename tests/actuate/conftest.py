"""A served client that tests of this room share, and actuators on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.served import Served, served, why_not

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.system import SYSTEM, System
from penstock.snapshot import Target

FIXTURES = Path(__file__).parent.parent / "fixtures"
Make = Callable[..., LustreActuator]


@pytest.fixture(scope="session", params=["2.15", "2.17"])
def any_tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path_factory.mktemp("client"), layout=request.param) as tree:
        yield tree


@pytest.fixture(scope="session")
def modern_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path_factory.mktemp("client"), layout="2.17") as tree:
        yield tree


@pytest.fixture
def client(any_tree: Served) -> Served:
    """A freshly mounted served client of either version: 4 GiB, two targets, defaults 1024, 8, 490."""
    return any_tree.fresh()


@pytest.fixture
def modern(modern_tree: Served) -> Served:
    """A freshly mounted served 2.17 client."""
    return modern_tree.fresh()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A writable copy of a recorded 2.15.8 client: ordinary files, no kernel behind them."""
    root = tmp_path / "tree"
    shutil.copytree(FIXTURES / "lustre-2.15.8" / "tree", root)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (root / "proc/meminfo").write_text("MemTotal:        4007120 kB\n")
    return root


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Builds an actuator with its journal in `state/`; call again for a restarted process."""

    def build(root: Path, system: System = SYSTEM, **options: Any) -> LustreActuator:
        journal = Journal(tmp_path / "state", owner_of(root), system)
        return LustreActuator(root, journal, system=system, **options)

    return build


def first(actuator: LustreActuator) -> Target:
    return actuator.targets()[0]
