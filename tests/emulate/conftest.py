"""Served clients of both versions, shared by the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.served import Served, served, why_not

FIXTURES = Path(__file__).parent.parent / "fixtures"
RECORDED = {"2.15": "2.15.8", "2.17": "2.17.57"}


def start(tmp_path_factory: pytest.TempPathFactory, layout: str) -> Iterator[Served]:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path_factory.mktemp(f"client-{layout}"), layout=layout) as tree:
        yield tree


@pytest.fixture(scope="session")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from start(tmp_path_factory, "2.15")


@pytest.fixture(scope="session")
def new_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from start(tmp_path_factory, "2.17")


@pytest.fixture(params=["2.15", "2.17"])
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(layout: str, old_tree: Served, new_tree: Served) -> Served:
    """A freshly mounted served client with 4 GiB of memory and two targets."""
    return (old_tree if layout == "2.15" else new_tree).fresh()


@pytest.fixture
def recorded(layout: str) -> Path:
    """What was recorded from a real client of the same version."""
    return FIXTURES / f"lustre-{RECORDED[layout]}"
