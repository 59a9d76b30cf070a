"""The simulator behind the page: in a browser from the first choice to a comparison, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.dash.conftest import keep_screenshot, opened, page_at, played
from tests.dash.test_page import SIZES, assert_legible
from tests.rigs.served import wait_for

from penstock.dash.book import Book
from penstock.dash.comparing import Comparison
from penstock.dash.hub import Hub
from penstock.dash.simulator import SimulatorSource
from penstock.dash.twins import Choice, Twins
from penstock.dash.why import explain
from penstock.errors import PenstockError
from penstock.simulate.cluster import builtin_cluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("numba")


@pytest.fixture(scope="module")
def address(compiled: None) -> Iterator[str]:
    """The page over the simulator."""
    with opened("--simulate") as found:
        yield found


def test_choose_disturb_and_watch_both_clients(browser: Browser, address: str) -> None:
    with page_at(browser, address) as page:
        page.select_option("#sim-workload", "s_rd_rn_1m")
        page.select_option("#sim-policy", "weir")
        page.click("button:text-is('Start anew')")
        page.select_option("#sim-speed", "20x")
        page.wait_for_selector("#sim-targets .mark")
        page.wait_for_selector("#simulator h1:text('times as fast as the same client left at its defaults')")
        page.click("button:text-is('Another client')")
        page.wait_for_selector("button[aria-pressed=true]:text-is('Another client')")
        page.select_option("#sim-other", "s_wr_rn_8k")
        page.click("button:text-is('Do this now')")
        page.wait_for_selector("#sim-targets text:text-is('s_wr_rn_8k')")
        page.click("button:text-is('Pause')")
        page.wait_for_selector("button:text-is('Go on')")
        page.dispatch_event("#sim-targets .mark >> nth=0", "click")
        page.wait_for_selector("#why[open] .maps svg")
        page.keyboard.press("Escape")
        page.click("nav [data-view=node]")
        page.wait_for_selector("#node .notes")
        assert "from now on: another client does the same work" in page.inner_text("#node .notes")
        assert "Work lost to changes on penstock" in page.inner_text("#node")
        page.click("nav [data-view=simulator]")
        page.wait_for_selector("#sim-targets text:text-is('Another client')")
        assert "pages, flight (RPCs), dirty (MiB); log scale" in page.inner_text("#sim-targets")
        assert "one stream, random writes of 8 KiB" in page.inner_text("#simulator")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_simulator_screen_is_legible(browser: Browser, address: str, width: int, scheme: str) -> None:
    with page_at(browser, address, width, scheme) as page:
        page.wait_for_selector("#sim-targets polyline")
        assert_legible(page)
        keep_screenshot(page, f"simulator-{width}-{scheme}")


def test_compare_policies_on_a_workload_and_on_a_scenario(browser: Browser, address: str) -> None:
    with page_at(browser, address) as page:
        page.click("nav [data-view=compare]")
        page.fill("#compare-seconds", "10")
        page.click("button:text-is('Compare')")
        page.wait_for_selector("#compare-results tbody tr:nth-child(4)")
        assert "times the default" in page.inner_text("#compare-answer")
        page.check("#compare-own")
        page.fill("#compare-scenario", 'clients = 2\n[[job]]\nworkload = "s_rd_rn_1m"\n')
        page.click("button:text-is('Compare')")
        page.wait_for_selector("#compare-answer:text('(the scenario, 10 s each)')")
        page.wait_for_selector("#compare-results tbody tr:nth-child(4)")
        assert_legible(page)
        keep_screenshot(page, "compare-1280-light")
        page.set_viewport_size({"width": 400, "height": 900})
        page.wait_for_selector("#compare-results svg[viewBox^='0 0 3']")
        assert_legible(page)
        keep_screenshot(page, "compare-400-light")


def test_nothing_is_simulated_while_nobody_looks() -> None:
    async def story() -> float:
        hub = Hub(SimulatorSource())
        watching = hub.watch()
        await anext(watching)
        await anext(watching)
        await watching.aclose()  # type: ignore[attr-defined]
        reached = (await hub.view())["now_s"]
        assert (await hub.view())["now_s"] == reached
        return float(reached)

    assert played(story()) > 0.0


@pytest.mark.slow
def test_papers_policies_are_not_said_to_be_guarded() -> None:
    book, twins = Book(), Twins(Choice(builtin_cluster("c220g5"), "s_rd_rn_1m", "carat"))
    while not book.changes():
        book.take(twins.advance()[1])
    told = explain(book, book.changes()[0]["id"])
    assert told is not None and told["guard"].startswith("No guard")
    assert told["map"]["unit"] == "chance"


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("start", {"cluster": "../../etc/passwd"}),
        ("start", {"policy": "/tmp/mine.py"}),
        ("start", {"workload": "s_rd_rn_0x"}),
        ("start", {"seed": "x"}),
        ("disturb", {"what": "earthquake", "on": True}),
        ("work", {"workload": "f_rd_sq_1m"}),
        ("speed", {"speed": "1000x"}),
        ("compare", {"policies": []}),
        ("compare", {"policies": ["/tmp/mine.py"], "cluster": "c220g5", "workload": "s_rd_rn_1m"}),
        ("compare", {"policies": ["weir"], "seconds": 1e9, "cluster": "c220g5", "workload": "s_rd_rn_1m"}),
        ("compare", {"policies": ["weir"], "scenario": "clients = 1"}),
        (
            "compare",
            {"policies": ["weir"], "scenario": 'cluster = "x.toml"\n[[job]]\nworkload = "s_rd_rn_1m"'},
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(verb: str, given: dict[str, Any]) -> None:
    with pytest.raises(PenstockError) as told:
        SimulatorSource().command(verb, given)
    assert "\n" not in str(told.value)


def test_comparison_can_be_cancelled(compiled: None) -> None:
    comparison = Comparison()
    asked = {"policies": ["weir"], "seconds": 600, "cluster": "c220g5", "workload": "s_rd_rn_1m"}
    comparison.start(asked)
    with pytest.raises(PenstockError, match="runs already"):
        comparison.start(asked)
    wait_for(lambda: comparison.document()["share"] > 0.0, 300)
    comparison.cancel()
    assert not comparison.running
    assert comparison.document()["error"] == "cancelled"
