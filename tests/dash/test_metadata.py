"""Pages over an agent that tunes metadata: rates in operations a second, beside what moves bytes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.dash.conftest import keep_screenshot, opened, page_at
from tests.dash.test_page import SIZES, assert_legible

from penstock.agent.log import DecisionLog, decision_event, outcome_event, read_log, settled
from penstock.agent.startup import LOG_FILE
from penstock.dash.book import Book
from penstock.dash.history import History
from penstock.dash.node import logged_points
from penstock.dash.paper import node_page
from penstock.dash.source import Point, point_of
from penstock.dash.why import explain
from penstock.evaluate.metadata_runs import loop_of
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata
from penstock.window import Window

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state directory of an agent that tuned a simulated client's creates."""
    directory = tmp_path_factory.mktemp("metadata")
    cluster = builtin_cluster("emulated-10ms").override({"metadata.mod_rpcs": "16"})
    world = MetadataWorld(cluster, parse_metadata("md_create_16"))
    loop, began_s = loop_of(world.probe(), "weir", world), time.time() - 100.0
    log = DecisionLog(directory / LOG_FILE)
    for number in range(120):
        world.engine.run_until(number * INTERVAL_S)
        for step in loop.tick():
            if step.decision is None or not step.decision.changes:
                continue
            wall_s = began_s + world.engine.now_s
            event = decision_event(step.decision, wall_s)
            if step.receipt is not None:
                event = settled(event, outcome_event(step.decision, step.receipt, wall_s))
            log.append(event)
    return directory


def test_points_of_metadata_are_operations(logged: Path) -> None:
    events = list(read_log(logged / LOG_FILE))
    points = [point for point in logged_points(events) if "-mdc-" in point.target]
    assert {point.unit for point in points} == {"operations"}
    assert max(point.second_per_s for point in points) > 250
    history = History()
    history.take([*points, Point(points[0].t_s, "fs-OST0000-osc-1", 1e9, 0.0, {})])
    assert [track["unit"] for track in history.document()] == ["operations", "bytes"]


def test_point_of_a_window_has_its_kinds_ways() -> None:
    cluster = builtin_cluster("emulated-10ms")
    world = MetadataWorld(cluster, parse_metadata("md_stat_4"))
    loop = loop_of(world.probe(), "weir", world)
    world.engine.run_until(5.0)
    loop.tick()
    world.engine.run_until(6.0)
    points = [point_of(step.window, 1.0) for step in loop.tick() if isinstance(step.window, Window)]
    assert len(points) == 2
    assert all(point.first_per_s > 0 and point.second_per_s == 0 for point in points)
    assert {point.unit for point in points} == {"operations"}


def test_kept_page_draws_operations_and_explains_in_them(logged: Path) -> None:
    events, now_s = list(read_log(logged / LOG_FILE)), time.time()
    page = node_page(events, 0.0, now_s, "t")
    assert ">op/s</text>" in page and ">MB/s</text>" not in page
    assert "changed (op/s)" in page
    book = Book()
    book.take(events)
    change = next(one for one in book.changes() if one["kind"] == "change")
    told = explain(book, change["id"])
    assert told is not None
    assert {window["unit"] for window in told["measured"]} == {"operations"}


@pytest.mark.live
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_page_of_metadata_is_legible(browser: Browser, logged: Path, width: int, scheme: str) -> None:
    with opened("--state-dir", str(logged)) as address, page_at(browser, address, width, scheme) as page:
        page.wait_for_selector("#targets article svg")
        assert page.locator("#targets text:text-is('op/s')").count() > 0
        assert "op/s" in page.inner_text("#targets header")
        assert_legible(page)
        keep_screenshot(page, f"metadata-{width}-{scheme}")
