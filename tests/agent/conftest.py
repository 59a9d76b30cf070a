"""A served client that the agent's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.rigs.served import Served, served, why_not


@pytest.fixture(scope="session")
def served_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with served(tmp_path_factory.mktemp("client"), layout="2.17") as running:
        yield running


@pytest.fixture
def client(served_tree: Served) -> Served:
    """A freshly mounted 2.17 client with two busy targets: 4 GiB, defaults 1024, 8, 490."""
    return served_tree.fresh()
