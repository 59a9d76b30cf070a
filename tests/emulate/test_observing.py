"""What observes a real client observes a served one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.rigs.served import Served, wait_for

from penstock.observe.collector import LustreObserver
from penstock.testing.observers import check_observer

pytestmark = pytest.mark.live


def test_observer_suite_passes_on_the_served_tree(client: Served) -> None:
    made: list[LustreObserver] = []

    def make() -> LustreObserver:
        made.append(LustreObserver(client.root))
        return made[-1]

    try:
        check_observer(make, advance=lambda: time.sleep(0.12))
    finally:
        for observer in made:
            observer.close()


def test_observer_sees_figures_knobs_and_version(client: Served, layout: str, tmp_path: Path) -> None:
    observer = LustreObserver(client.root)
    wait_for(lambda: observer.observe().targets[0].counters.get("write.bytes", 0.0) > 0)
    seen = observer.observe()
    observer.close()
    assert (seen.version or "").startswith(layout)
    assert [target.target.resource for target in seen.targets] == ["OST0000", "OST0001"]
    first = seen.targets[0]
    assert dict(first.setting) == {"pages": 1024, "flight": 8, "dirty": 490}
    assert first.counters["write.bytes"] > 0
    assert first.gauges["brw.bytes"] == 4 << 20
    assert (first.state, first.active) == ("FULL", True)
    assert not seen.problems
