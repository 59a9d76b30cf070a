"""The observer on a served tree: real system calls, real errno, reads that really hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from tests.rigs.served import Served, served, wait_for, why_not

from penstock.observe.collector import LustreObserver
from penstock.ratios import carat_metrics
from penstock.snapshot import NodeSnapshot
from penstock.spaces import LUSTRE
from penstock.testing.observers import check_observer
from penstock.window import Void, Window, windows

pytestmark = pytest.mark.live


@pytest.fixture(scope="module", params=["2.15", "2.17"])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with served(tmp_path_factory.mktemp("client"), layout=request.param) as running:
        yield running


@pytest.fixture
def client(tree: Served) -> Served:
    return tree.fresh()


def resources(seen: NodeSnapshot) -> list[str]:
    return [item.target.resource for item in seen.targets]


def observer(client: Served) -> LustreObserver:
    return LustreObserver(client.root, deadline_s=3.0, rescan_s=0.0)


def test_served_client_passes_the_observer_suite(client: Served) -> None:
    made: list[LustreObserver] = []

    def make() -> LustreObserver:
        made.append(observer(client))
        return made[-1]

    check_observer(make, lambda: time.sleep(0.1))
    for watcher in made:
        watcher.close()


def test_served_client_moves_and_its_windows_say_so(client: Served) -> None:
    watcher = observer(client)
    before = watcher.observe()
    found: Sequence[Window | Void] = ()

    def all_moved() -> bool:
        nonlocal found
        found = windows(before, watcher.observe())
        return all(isinstance(item, Window) and item.metrics["read.bytes"] for item in found)

    wait_for(all_moved, every_s=0.1)
    assert len(found) == 2
    for item in found:
        assert isinstance(item, Window)
        found_here = carat_metrics(item, LUSTRE)
        assert found_here["write.page_utilisation"] == pytest.approx(256 / item.setting["pages"])
        assert found_here["read.page_latency_us"] == pytest.approx(5000 / 256)
    watcher.close()


def test_served_client_that_hangs_is_stale_and_comes_back(client: Served) -> None:  # row 9
    watcher = observer(client)
    assert resources(watcher.observe()) == ["OST0000", "OST0001"]
    client.control("block OST0000 stats\n")
    assert resources(seen := watcher.observe()) == ["OST0001"]
    assert any("blocks" in problem.message for problem in seen.problems)
    threads = threading.active_count()
    for _ in range(3):
        assert resources(watcher.observe()) == ["OST0001"]
    assert threading.active_count() == threads
    client.control("clear\n")
    wait_for(lambda: resources(watcher.observe()) == ["OST0000", "OST0001"])
    watcher.close()


@pytest.mark.parametrize("word", ["EACCES", "EIO"])
def test_served_client_that_refuses_a_file_keeps_the_rest(client: Served, word: str) -> None:  # row 10
    client.control(f"fail OST0000 cur_grant_bytes read {word}\n")
    watcher = observer(client)
    seen = watcher.observe()
    assert resources(seen) == ["OST0000", "OST0001"]
    assert "grant.bytes" not in seen.targets[0].gauges
    assert any(problem.message.startswith("cur_grant_bytes: ") for problem in seen.problems)
    client.control("clear\n")
    assert "grant.bytes" in watcher.observe().targets[0].gauges
    watcher.close()


def test_served_client_that_is_remounted_has_new_targets(client: Served) -> None:  # rows 13 to 15
    watcher = observer(client)
    before = watcher.observe()
    client.control("unmount\n")
    assert watcher.observe().targets == ()
    client.control("remount\n")
    after = watcher.observe()
    assert resources(after) == ["OST0000", "OST0001"]
    assert windows(before, after) == ()
    watcher.close()


@pytest.mark.parametrize("fault", ["evict OST0000", "reconnect OST0000 1048576", "deactivate OST0000"])
def test_served_client_that_lost_its_connection_gives_no_window(
    client: Served, fault: str
) -> None:  # rows 16, 17
    watcher = observer(client)
    before = watcher.observe()
    client.control(f"{fault}\n")
    time.sleep(0.2)
    first, second = windows(before, watcher.observe())
    assert isinstance(first, Void)
    assert isinstance(second, Window)
    watcher.close()
