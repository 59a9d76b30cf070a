"""The hub between the source and the browsers: polls the source, keeps the history and sends updates to all browsers.

While no browser is connected, no timer runs and the source is not polled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from typing import Any

from penstock.dash.book import Book
from penstock.dash.history import History
from penstock.dash.request_pace import RequestPace, TooOftenError
from penstock.dash.source import Look, Source
from penstock.dash.unit_words import UNITS
from penstock.dash.why import explain
from penstock.errors import MissingError, PenstockError
from penstock.events import parse

log = logging.getLogger(__name__)

MOST_WATCHERS = 16
# A browser that does not read its updates is told to reload the page, instead of filling a buffer.
MOST_WAITING = 64
# The agent reads its whole log to find out that a change is not in it.
SEARCHES_PER_S, MOST_SEARCHES = 2.0, 10
MISS_S = 10.0
LONGEST_ID = 100


class Hub:
    """Belongs to one event loop. `looks` counts how often the source was polled."""

    def __init__(self, source: Source, control: bool = False) -> None:
        self.source = source
        self._control = control
        self._watchers: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self._polling: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._one_search = asyncio.Lock()
        #: The searches that run or wait, by the change that they look for.
        self._searching: dict[str, asyncio.Task[dict[str, Any] | None]] = {}
        self._pace = RequestPace(SEARCHES_PER_S, MOST_SEARCHES)
        #: Changes that the source did not find, and until when that is believed.
        self._misses: dict[str, float] = {}
        self._forget()
        self._last = Look(0.0)
        self.looks = 0

    async def view(self) -> dict[str, Any]:
        """Everything the page needs when it opens."""
        async with self._turn:
            about = self.source.about
            if not self.looks or (about.live and not about.virtual and not self._watchers):
                await self._look()
            return self._document()

    async def watch(self) -> AsyncIterator[dict[str, Any]]:
        """Yield updates while a browser is connected; the first update has everything."""
        if len(self._watchers) >= MOST_WATCHERS:
            raise PenstockError(f"{MOST_WATCHERS} pages are open already: close one")
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(MOST_WAITING)
        view = await self.view()
        self._watchers.add(queue)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
            self._polling.add_done_callback(self._polled)
        try:
            yield {"view": view}
            while (news := await queue.get()) is not None:
                yield news
        finally:
            self._watchers.discard(queue)
            if not self._watchers and self._polling is not None:
                self._polling.cancel()
                self._polling = None

    async def explain(self, decision_id: str) -> dict[str, Any]:
        """The explanation of one change.

        Raises `MissingError` if the change is unknown, and another `PenstockError` if that cannot be found out now.
        """
        found = explain(self._book, decision_id)
        if found is None and len(decision_id) <= LONGEST_ID and not self._is_missed(decision_id):
            found = await self._shared_search(decision_id)
        if found is None:
            raise MissingError(f"no change {decision_id!r}")
        return found

    def _is_missed(self, decision_id: str) -> bool:
        """Whether the source did not find it a short time ago."""
        now_s = asyncio.get_running_loop().time()
        self._misses = {name: until_s for name, until_s in self._misses.items() if until_s > now_s}
        return decision_id in self._misses

    async def _shared_search(self, decision_id: str) -> dict[str, Any] | None:
        """Join the search for this change, or begin one. Raises `TooOftenError` if too many wait already."""
        if decision_id not in self._searching:
            self._pace.take()
            if len(self._searching) >= MOST_SEARCHES:
                raise TooOftenError("too many searches of the log: ask again in a few seconds")
            search = asyncio.create_task(self._search(decision_id))
            self._searching[decision_id] = search
            search.add_done_callback(lambda done: self._end_search(decision_id, done))
        # Whoever leaves the page must not end the search for the others.
        return await asyncio.shield(self._searching[decision_id])

    def _end_search(self, decision_id: str, done: asyncio.Task[dict[str, Any] | None]) -> None:
        del self._searching[decision_id]
        if not done.cancelled():
            # Whoever waits is told. If nobody does any more, the error is nobody's.
            done.exception()

    async def _search(self, decision_id: str) -> dict[str, Any] | None:
        """Let the source search for a change, one at a time. What it did not find is not searched for again soon."""
        async with self._one_search:
            told = await asyncio.to_thread(self.source.explain, decision_id)
        if told is None:
            self._misses[decision_id] = asyncio.get_running_loop().time() + MISS_S
            return None
        events = [event for said in told.values() if (event := parse(said)) is not None]
        self._book.take(events)
        return explain(self._book, str(told["decision"]["id"]))

    async def command(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Send a command to the source, and poll it at once."""
        if verb not in self.source.about.can:
            raise MissingError(f"{verb!r} cannot be asked of this source")
        async with self._turn:
            answer = await asyncio.to_thread(self.source.command, verb, arguments)
            self._tell(await self._look())
        return dict(answer)

    def close(self) -> None:
        """Disconnect all browsers."""
        for queue in self._watchers:
            if not queue.full():
                queue.put_nowait(None)

    def _polled(self, task: asyncio.Task[None]) -> None:
        """Poll the source.

        On an unexpected error all browsers are disconnected; they reconnect and see the error again.
        """
        if not task.cancelled() and task.exception() is not None:
            log.error("looking at the source failed", exc_info=task.exception())
            self._polling = None
            self.close()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self.source.about.period_s)
            async with self._turn:
                self._tell(await self._look())

    async def _look(self) -> dict[str, Any]:
        """Poll the source once and return what is new for the browsers."""
        found = await asyncio.to_thread(self.source.look)
        self.looks += 1
        if found.anew:
            self._forget()
        self._last = found
        changed = self._book.take(found.events)
        changes = self._book.changes(changed)
        self._history.take(found.points, changes)
        shown = set(self._history.busiest())
        points = [_point(point) for point in found.points if point.target in shown]
        news = {"points": points, "changes": changes}
        return {"view": self._document()} if found.anew else {**self._standing(), **news}

    def _tell(self, news: dict[str, Any]) -> None:
        for queue in list(self._watchers):
            if queue.full():
                self._watchers.discard(queue)
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(news)

    def _forget(self) -> None:
        self._history, self._book = History(), Book()

    def _document(self) -> dict[str, Any]:
        about = {**asdict(self.source.about), "control": self._control, "units": UNITS}
        changes = self._book.changes()
        return {**self._standing(), "about": about, "targets": self._history.document(), "changes": changes}

    def _standing(self) -> dict[str, Any]:
        """The state that is small enough to be sent with every update."""
        last = self._last
        said = (last.status or {}).get("effect")
        return {
            "now_s": last.now_s,
            "trouble": last.trouble,
            "status": dict(last.status) if last.status is not None else None,
            "worth": self._book.worth(last.effect, said),
            "advice": self._book.advice(),
            "notes": self._book.notes,
            "extra": dict(last.extra),
        }


def _point(point: Any) -> dict[str, Any]:
    return {
        "t_s": point.t_s,
        "target": point.target,
        "first": point.first_per_s,
        "second": point.second_per_s,
        "twin": point.twin_per_s,
        "unit": point.unit,
        "setting": dict(point.setting),
    }
