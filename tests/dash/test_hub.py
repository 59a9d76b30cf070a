"""Between source and browsers: nothing is asked while nobody looks, everybody hears what is new."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from tests.dash.conftest import played

from penstock.dash.history import MOST_TRACKS
from penstock.dash.hub import MOST_SEARCHES, MOST_WATCHERS, Hub
from penstock.dash.request_pace import RequestPace, TooOftenError
from penstock.dash.source import About, Look, Point
from penstock.errors import MissingError, PenstockError


class CountingSource:
    """Counts how often it is looked at; every look brings one more point."""

    def __init__(self) -> None:
        self.about = About("agent", "a test", live=True, period_s=0.01, can=("poke",))
        self.looks = 0
        self.searched: list[str] = []
        self.anew = False

    def look(self) -> Look:
        self.looks += 1
        anew, self.anew = self.anew, False
        return Look(float(self.looks), [Point(float(self.looks), "a", 1e6, 0.0, {"n": 1})], anew=anew)

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        self.searched.append(decision_id)
        return None

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if arguments.get("how") == "hard":
            raise PenstockError("that hurts")
        if arguments.get("how") == "odd":
            raise PenstockError(f"no {arguments['why']} here")
        return {"poked": arguments.get("how")}

    def close(self) -> None:
        pass


def test_source_is_asked_only_while_somebody_watches() -> None:
    source = CountingSource()

    async def story() -> None:
        hub = Hub(source)
        await asyncio.sleep(0.05)
        assert source.looks == 0
        watching = hub.watch()
        for _ in range(5):
            await anext(watching)
        assert source.looks >= 5
        await watching.aclose()  # type: ignore[attr-defined]
        await asyncio.sleep(0.03)
        asked = source.looks
        await asyncio.sleep(0.1)
        assert source.looks == asked

    played(story())


async def missing(hub: Hub, name: str) -> str:
    try:
        await hub.explain(name)
    except PenstockError as error:
        return type(error).__name__
    return "found"


def test_change_that_is_not_there_is_searched_for_once() -> None:
    source = CountingSource()

    async def story() -> None:
        hub = Hub(source)
        told = await asyncio.gather(*(missing(hub, "nope") for _ in range(50)))
        assert set(told) == {"MissingError"}
        assert await missing(hub, "x" * 5000) == "MissingError"
        assert source.searched == ["nope"]

    played(story())


def test_searches_for_many_changes_are_limited() -> None:
    source = CountingSource()

    async def story() -> None:
        told = await asyncio.gather(*(missing(hub, f"d{at}") for at in range(200)))
        assert told.count("MissingError") == len(source.searched) < 100
        assert set(told) == {"MissingError", "TooOftenError"}

    hub = Hub(source)
    played(story())


class BusySource(CountingSource):
    """Finds nothing out while it is `busy`, and nothing at all until the gate opens."""

    def __init__(self) -> None:
        super().__init__()
        self.busy, self.gate = False, threading.Event()

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        super().explain(decision_id)
        assert self.gate.wait(300)
        if self.busy:
            raise PenstockError("too many ask for explain at once: ask again")
        return None


def test_busy_agent_is_not_taken_for_a_change_that_is_not_there() -> None:
    source = BusySource()
    source.gate.set()

    async def story() -> None:
        hub = Hub(source)
        source.busy = True
        assert await missing(hub, "d1") == "PenstockError"
        source.busy = False
        assert await missing(hub, "d1") == "MissingError"
        assert source.searched == ["d1", "d1"]

    played(story())


def test_few_searches_wait_however_slow_they_are() -> None:
    source = BusySource()

    async def story() -> None:
        hub = Hub(source)
        waiting = [asyncio.create_task(missing(hub, f"d{at}")) for at in range(50)]
        await asyncio.sleep(0)
        hub._pace = RequestPace(1e9, 100)
        assert await missing(hub, "later") == "TooOftenError", "the pace alone lets more and more wait"
        left = await asyncio.wait_for(waiting[-1], 300)
        source.gate.set()
        assert left == "TooOftenError"
        assert (await asyncio.gather(*waiting)).count("MissingError") == MOST_SEARCHES

    played(story())


def test_pace_recovers() -> None:
    now = [0.0]
    pace = RequestPace(2.0, 3, clock=lambda: now[0])
    for _ in range(3):
        pace.take()
    with pytest.raises(TooOftenError):
        pace.take()
    now[0] = 0.5
    pace.take()
    with pytest.raises(TooOftenError):
        pace.take()


def test_watchers_share_one_look() -> None:
    source = CountingSource()

    async def story() -> None:
        hub = Hub(source)
        first, second = hub.watch(), hub.watch()
        assert (await anext(first))["view"]["targets"][0]["name"] == "a"
        assert (await anext(second))["view"]["now_s"] >= 1.0
        news, same = await anext(first), await anext(second)
        assert news == same
        assert news["points"][0]["first"] == 1e6
        await first.aclose()  # type: ignore[attr-defined]
        await anext(second)
        await second.aclose()  # type: ignore[attr-defined]

    played(story())


def test_so_many_pages_and_no_more() -> None:
    async def story() -> None:
        hub = Hub(CountingSource())
        open_pages = [hub.watch() for _ in range(MOST_WATCHERS)]
        for page in open_pages:
            await anext(page)
            await anext(page)
        with pytest.raises(PenstockError, match="close one"):
            await anext(hub.watch())
        for page in open_pages:
            await page.aclose()  # type: ignore[attr-defined]

    played(story())


def test_reader_that_never_reads_is_sent_away() -> None:
    async def story() -> None:
        source = CountingSource()
        hub = Hub(source)
        lazy = hub.watch()
        await anext(lazy)
        await anext(lazy)
        while hub.looks < 100:
            await asyncio.sleep(0.01)
        heard = [news async for news in lazy]
        assert len(heard) <= 64

    played(story())


def test_new_run_starts_an_empty_history() -> None:
    async def story() -> None:
        source = CountingSource()
        hub = Hub(source)
        watching = hub.watch()
        for _ in range(4):
            await anext(watching)
        source.anew = True
        while "view" not in (news := await anext(watching)):
            pass
        assert len(news["view"]["targets"][0]["points"]) == 1
        await watching.aclose()  # type: ignore[attr-defined]

    played(story())


def test_of_a_thousand_targets_the_busiest_are_sent() -> None:
    class Crowd(CountingSource):
        def look(self) -> Look:
            self.looks += 1
            points = [Point(float(self.looks), f"t{n:04}", n * 1e3, 0.0, {"n": 1}) for n in range(1000)]
            return Look(float(self.looks), points)

    async def story() -> None:
        watching = Hub(Crowd()).watch()
        sent = (await anext(watching))["view"]["targets"]
        assert [each["name"] for each in sent] == [f"t{n:04}" for n in range(999, 999 - MOST_TRACKS, -1)]
        news = await anext(watching)
        assert {point["target"] for point in news["points"]} == {each["name"] for each in sent}
        await watching.aclose()  # type: ignore[attr-defined]

    played(story())


def test_commands_are_those_the_source_names() -> None:
    async def story() -> None:
        hub = Hub(CountingSource())
        assert await hub.command("poke", {"how": "gently"}) == {"poked": "gently"}
        with pytest.raises(MissingError):
            await hub.command("look", {})
        with pytest.raises(PenstockError, match="hurts"):
            await hub.command("poke", {"how": "hard"})

    played(story())
