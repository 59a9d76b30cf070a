"""Pages to keep: the answer first, legible on wide and narrow screens and in both themes, tables that sort."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.dash.conftest import keep_screenshot
from tests.dash.test_page import SIZES, assert_legible

from penstock.agent.log import read_log
from penstock.agent.startup import LOG_FILE
from penstock.agent.switchback import Block, judge
from penstock.cli.agent_report import verdict_page
from penstock.cli.main import cli
from penstock.dash.paper import node_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def kept(logged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`penstock agent report --html` over a real log."""
    page = tmp_path_factory.mktemp("kept") / "node.html"
    done = CliRunner().invoke(cli, ["agent", "report", "--state-dir", str(logged), "--html", str(page)])
    assert done.exit_code == 0
    return page


def open_file(browser: Browser, path: Path, width: int, scheme: str) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(path.as_uri())
    return page


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_node_report_is_legible_and_answers_first(
    browser: Browser, kept: Path, width: int, scheme: str
) -> None:
    page = open_file(browser, kept, width, scheme)
    assert page.inner_text("h1").startswith("1.62 times as fast, 95 % between 1.41 and 1.86")
    picture = page.locator(".hero svg:visible").bounding_box()
    assert picture is not None and picture["y"] + picture["height"] <= 900
    assert_legible(page)
    keep_screenshot(page, f"report-{width}-{scheme}")
    page.context.close()


def test_tables_sort_by_value_and_back(browser: Browser, kept: Path) -> None:
    page = open_file(browser, kept, 1280, "light")
    column = "#every-change--and-why ~ div td[data-label=expected]"
    page.click("th button:text-is('expected')")
    shown = [text for text in page.locator(column).all_inner_texts() if text != "–"]
    assert shown == sorted(shown, key=float)
    page.click("th button:text-is('expected')")
    again = [text for text in page.locator(column).all_inner_texts() if text != "–"]
    assert again == shown[::-1]
    assert page.get_attribute("th:has(button:text-is('expected'))", "aria-sort") == "descending"
    page.context.close()


def test_node_report_prints_on_white_paper(browser: Browser, kept: Path) -> None:
    page = open_file(browser, kept, 1280, "dark")
    page.emulate_media(media="print")
    colours = page.evaluate(
        "[getComputedStyle(document.documentElement)].map((s) => [s.color, s.backgroundColor])[0]"
    )
    assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert not page.locator("nav").is_visible()
    page.context.close()


@pytest.mark.slow
def test_node_report_maps_what_was_expected_and_tells_outcomes(logged: Path) -> None:
    now_s = time.time()
    page = node_page(list(read_log(logged / LOG_FILE)), now_s - 86400, now_s, "t")
    assert "times the original</title>" in page
    assert page.count("best over longer runs</title>") == 0
    assert re.search(r'data-label="outcome">\d', page)
    empty = node_page(list(read_log(logged / LOG_FILE)), 0.0, 1.0, "t")
    assert "Not known yet: nothing was judged." in empty


def test_trial_page_shows_verdict_and_every_pair() -> None:
    blocks = [Block(n % 2 == 0, (1.5e8 if n % 2 == 0 else 1e8) + n * 1e5) for n in range(8)]
    verdict = judge(blocks)
    page = verdict_page(verdict, blocks)
    assert f"<h1>Tuning helps: {verdict.gain:.3f} times as fast" in page
    assert page.count("x default</title>") == 2 * 4
    assert page.count(">untuned</td>") == 4
    assert "Undecided: only 0 pairs" in verdict_page(judge([]), [])
