"""A page to open: a state directory with a real log, the page in a process of its own, Debian's browser."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from penstock.agent.log import DecisionLog
from penstock.agent.startup import LOG_FILE
from penstock.events import StartEvent, TrialEvent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Result = TypeVar("Result")
TRIAL = TrialEvent(time_s=0.0, gain=1.62, low=1.41, high=1.86, pairs=8)
# A busy machine that compiles the simulator at the same time is slow; what is waited for is a fact.
PATIENCE_MS = 240_000
# Set, screenshots are kept there for somebody to look at.
SCREENSHOTS = os.environ.get("PENSTOCK_SCREENSHOTS")


@pytest.fixture(scope="session")
def compiled() -> None:
    """The simulator is compiled and kept on disk before any page waits for it."""
    pytest.importorskip("numba")
    from penstock.dash.twins import Choice, Twins
    from penstock.simulate.cluster import builtin_cluster

    Twins(Choice(builtin_cluster("c220g5"), "s_rd_rn_1m", "climb")).advance()


@pytest.fixture(scope="session")
def logged(compiled: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state directory of an agent that tuned a simulated client, went through other work, and is gone."""
    from penstock.dash.twins import Choice, Twins
    from penstock.simulate.cluster import builtin_cluster

    directory = tmp_path_factory.mktemp("logged")
    log, began_s = DecisionLog(directory / LOG_FILE), time.time() - 400.0
    log.append(StartEvent(time_s=began_s, mode="tune", policy="weir", interval_s=0.5))
    twins = Twins(Choice(builtin_cluster("c220g5"), "s_rd_rn_1m", "weir"))
    for interval in range(200):
        if interval == 120:
            twins.work("s_wr_rn_8k")
        _, events = twins.advance()
        log.append_all([replace(event, time_s=began_s + event.time_s) for event in events])
    log.append(replace(TRIAL, time_s=began_s + 100.0))
    return directory


def played(story: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on a thread of its own: the browser's driver has a loop on this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, story).result()


@contextlib.contextmanager
def opened(*options: str) -> Iterator[str]:
    """`penstock dash` on a free port; its address, as it prints it."""
    command = [sys.executable, "-m", "penstock", "dash", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()
        assert process.wait(200) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium, driven from here."""
    binary = shutil.which("chromium")
    if binary is None:
        pytest.skip("needs the Debian package chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        # Root, as CI is, may not use the sandbox; the pages opened are our own.
        found = driver.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield found
        found.close()


@contextlib.contextmanager
def page_at(browser: Browser, address: str, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """An open page that has drawn its first figures; whatever its console says fails the test."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        yield page
        assert said == []
    finally:
        context.close()


def keep_screenshot(page: Page, name: str, whole: bool = True) -> None:
    """A picture of the page, kept where somebody asked for pictures."""
    picture = page.screenshot(full_page=whole)
    assert len(picture) > 5000
    if SCREENSHOTS:
        (Path(SCREENSHOTS) / f"{name}.png").write_bytes(picture)
