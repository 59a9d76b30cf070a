"""The page in a real browser: what it says, what a click on a change tells, and that everybody can use it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.dash.conftest import keep_screenshot, opened, page_at
from tests.rigs.agents import agent
from tests.rigs.served import served

from penstock.agent.effect import effect_gain
from penstock.agent.log import read_log
from penstock.agent.startup import LOG_FILE
from penstock.events import DecisionEvent, EffectEvent

pytestmark = pytest.mark.live

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")]
# Every text that is shown: how large it is on the screen, and its contrast with what is behind it.
LEGIBILITY = """() => {
  const luminance = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => {
    v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!/^rgba.*, 0\\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest("title, script, noscript") || e.matches(".skip")) continue;
    const style = getComputedStyle(e), svg = e.ownerSVGElement;
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const [a, b] = [luminance(svg ? style.fill : style.color), luminance(behind(e))];
    found.push([e.textContent.trim().slice(0, 40), parseFloat(style.fontSize) * scale,
      (Math.max(a, b) + .05) / (Math.min(a, b) + .05)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def address(logged: Path) -> Iterator[str]:
    """The page over the log of an agent that is gone."""
    with opened("--state-dir", str(logged)) as found:
        yield found


def decisions(state_dir: Path) -> list[DecisionEvent]:
    return [event for event in read_log(state_dir / LOG_FILE) if isinstance(event, DecisionEvent)]


def assert_legible(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]
    texts = page.evaluate(LEGIBILITY)
    assert len(texts) > 20
    assert [text for text in texts if text[1] < 10] == []
    assert [text for text in texts if text[2] < 4.5] == []


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_first_screen_answers_and_is_legible(
    browser: Browser, address: str, logged: Path, width: int, scheme: str
) -> None:
    with page_at(browser, address, width, scheme) as page:
        answer = page.inner_text("#answer")
        assert "1.62 times as fast, 95 % between 1.41 and 1.86" in answer
        assert page.locator("#targets .mark").count() == len(decisions(logged))
        assert page.locator("#targets polyline").count() >= 4
        assert_legible(page)
        keep_screenshot(page, f"overview-{width}-{scheme}")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_click_on_a_change_says_why(
    browser: Browser, address: str, logged: Path, width: int, scheme: str
) -> None:
    chosen = next(each for each in decisions(logged) if each.reason == "promising")
    with page_at(browser, address, width, scheme) as page:
        # Marks of changes close to each other overlap: a click is sent to the mark itself.
        page.dispatch_event(f"#targets .mark[data-id='{chosen.id}']", "click")
        page.wait_for_selector("#why[open] .maps svg")
        said = page.inner_text("#why")
        assert chosen.sentence[1:] in said
        assert "The guard let it through." in said
        assert re.search(r"Over the last 0.50 s at pages \d+, flight \d+.*MB/s read", said)
        assert page.locator("#why figure").count() == 2
        assert page.locator("#why figure rect > title").count() >= 2 * 99
        assert_legible(page)
        keep_screenshot(page, f"why-{width}-{scheme}", whole=False)


def test_change_that_was_judged_tells_its_outcome(browser: Browser, address: str, logged: Path) -> None:
    effects = [event for event in read_log(logged / LOG_FILE) if isinstance(event, EffectEvent)]
    with page_at(browser, address) as page:
        page.dispatch_event(f"#targets .mark[data-id='{effects[-1].decision}']", "click")
        page.wait_for_selector("#why[open] dl")
        gain = effect_gain(effects[-1])
        assert gain is not None
        assert f"{gain.words} what the original brings" in page.inner_text("#why")


def test_keyboard_alone_opens_and_closes_a_change(browser: Browser, address: str) -> None:
    with page_at(browser, address) as page:
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('mark')"):
                break
        chosen = page.evaluate("document.activeElement.dataset.id")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#why[open][data-id='{chosen}']")
        page.keyboard.press("Escape")
        page.wait_for_selector("#why", state="hidden")
        assert page.evaluate("document.activeElement.dataset.id") == chosen
        page.focus("nav [data-view=node]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#node h1")
        assert page.get_attribute("nav [aria-current]", "data-view") == "node"


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_node_screen_tells_what_happened(browser: Browser, address: str, width: int, scheme: str) -> None:
    with page_at(browser, f"{address}&node", width, scheme) as page:
        page.wait_for_selector("#node .notes")
        assert "the agent started, mode tune, policy weir" in page.inner_text("#node .notes")
        keep_screenshot(page, f"node-{width}-{scheme}")


def test_everything_comes_from_this_server(browser: Browser, address: str) -> None:
    with page_at(browser, address) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert len(asked) > 5
        assert [url for url in asked if not url.startswith(address.partition("#")[0])] == []


def test_running_agent_is_followed_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with (
        served(tmp_path / "client", plain=True) as client,
        agent(client, state, "--mode", "tune", "--policy", "random"),
        opened("--state-dir", str(state)) as address,
        page_at(browser, address) as page,
    ):
        page.wait_for_selector("#changes tbody tr:nth-child(3)")
        newest = page.get_attribute("#changes tbody tr:first-child button", "data-id")
        page.wait_for_selector(f"#changes tbody tr:first-child button:not([data-id='{newest}'])")
        page.click("nav [data-view=node]")
        page.wait_for_selector("#node [role=meter]")
        said = page.inner_text("#node")
        assert "tune" in said and "This page only shows" in said
        assert page.locator("#node button").count() == 0
        keep_screenshot(page, "node-agent-1280-light")


def test_token_lets_the_page_switch_the_mode(browser: Browser, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with (
        served(tmp_path / "client", plain=True) as client,
        agent(client, state, "--mode", "advise", "--policy", "random") as running,
        opened("--state-dir", str(state), "--control") as address,
        page_at(browser, address) as page,
    ):
        assert "#token=" in address and "token" not in page.url
        page.wait_for_selector("#advice li")
        page.click("nav [data-view=node]")
        page.click("#node button:text-is('observe')")
        page.wait_for_selector("#node dd:text-is('observe')")
        assert running.ask("status")["mode"] == "observe"


def test_recording_shows_who_moved_and_what_it_brought(browser: Browser, tmp_path: Path) -> None:
    directory = "sys/fs/lustre/osc/fs-OST0000-osc-ffff888011112222"
    lines = []
    for second in range(20):
        stats = (
            f"snapshot_time {second}.0 secs.nsecs\nread_bytes {second} samples [bytes] 1 1 {second * 10**8}\n"
        )
        files = {
            "proc/fs/lustre/osc/fs-OST0000-osc-ffff888011112222/stats": stats,
            f"{directory}/max_pages_per_rpc": "1024\n",
            f"{directory}/max_rpcs_in_flight": f"{8 if second < 10 else 32}\n",
            f"{directory}/max_dirty_mb": "2000\n",
        }
        lines.append(json.dumps({"t": float(second), "files": files}))
    (tmp_path / "osc.jsonl").write_text("\n".join(lines) + "\n")
    with opened("--recording", str(tmp_path / "osc.jsonl")) as address, page_at(browser, address) as page:
        assert page.locator("#targets .mark").count() == 1
        assert "there is nothing to compare" in page.inner_text("#how")
        assert "flight 8 -> 32" in page.inner_text("#changes")
        assert "100 MB/s" in page.inner_text("#targets")
