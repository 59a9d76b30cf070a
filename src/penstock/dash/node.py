"""A node as a source: the socket of its running agent, and the decision log in its state directory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.agent.control import TIMEOUT_S, request
from penstock.agent.log_search import DEADLINE_S
from penstock.agent.startup import LOG_FILE, SOCKET_FILE, WINDOWS_FILE
from penstock.dash.history import MOST_POINTS
from penstock.dash.recorded_points import RecordedPoints, joined, thinned
from penstock.dash.source import About, Look, Point
from penstock.dash.tail import LogTail
from penstock.errors import ExitCode, MissingError, PenstockError, UnreachableError
from penstock.events import DecisionEvent, LogEvent
from penstock.target_kinds import KINDS

ANSWER_S = 2.0
# Of a running agent the page draws this much.
LIVE_S = 900.0
# A request to explain waits for others and then searches; the agent limits both.
EXPLAIN_S = TIMEOUT_S + DEADLINE_S + 1.0
# The commands that a page with a token may send. The agent decides, by the user who runs the page, whether it obeys.
VERBS = ("mode", "pause", "resume", "restore")


class NodeSource:
    """Follows the log, and asks the agent for its status while one runs. Reading the log costs the agent nothing.

    If the log may not be read, only the last change of every target is known. The agent then explains it.
    """

    def __init__(self, state_dir: Path) -> None:
        if not state_dir.is_dir():
            raise MissingError(
                f"{state_dir}: no such state directory (--state-dir names it; --simulate needs none)"
            )
        self._dir = state_dir
        self._socket = state_dir / SOCKET_FILE
        self._tail = LogTail(state_dir / LOG_FILE)
        self._recorded = RecordedPoints(state_dir / WINDOWS_FILE)
        self._told: dict[str, str] = {}
        self.running = self._answers()
        if not self.running and not self._tail.path.exists():
            raise MissingError(f"{state_dir}: no agent answers and there is no decision log")

    @property
    def about(self) -> About:
        """A running agent is polled every second, a log without an agent less often."""
        kind = "agent" if self.running else "log"
        title = f"agent in {self._dir}" if self.running else f"decision log in {self._dir}; no agent runs"
        can = VERBS if self.running else ()
        return About(kind, title, self.running, period_s=1.0 if self.running else 5.0, can=can)

    def look(self) -> Look:
        """The status from the agent, and what is new in the log."""
        events: list[LogEvent] = self._tail.read()
        since_s = time.time() - LIVE_S if self.running else 0.0
        points = joined(logged_points(events), self._recorded.read(since_s))
        try:
            status: dict[str, Any] | None = request(self._socket, "status", ANSWER_S)
            self.running, trouble = True, None
        except PenstockError as error:
            unreached = isinstance(error, UnreachableError)
            status, self.running = None, False
            trouble = "no agent runs here: this is its log" if unreached else str(error)
            events += self._tail.unsettled()
        now_s = time.time()
        if status is not None:
            points = [point for point in points if point.t_s > now_s - LIVE_S]
        points = thinned(points, MOST_POINTS)
        if status is not None:
            points += _points(status, now_s)
            if not self._tail.readable:
                trouble = f"{self._tail.path} may not be read: only the last changes are known"
                events += self._last_changes(status)
        return Look(now_s, points, events, status, trouble=trouble)

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        """Ask the agent, which may read its own log.

        Returns None only if there is no such decision. Raises `PenstockError` if the agent is busy or silent.
        """
        try:
            return request(self._socket, "explain", EXPLAIN_S, id=decision_id)
        except PenstockError as error:
            if error.exit_code != ExitCode.NOT_FOUND:
                raise
            return None

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Pass the command on. The agent knows which user we are and refuses what that user may not do."""
        known = {key: str(arguments[key]) for key in ("mode", "target") if arguments.get(key)}
        return request(self._socket, verb, ANSWER_S, **known)

    def close(self) -> None:
        """Nothing is kept open between two polls."""

    def _answers(self) -> bool:
        try:
            request(self._socket, "status", ANSWER_S)
        except UnreachableError:
            return False
        return True

    def _last_changes(self, status: Mapping[str, Any]) -> Iterator[DecisionEvent]:
        """Report each target's last change as an event, once."""
        for row in status["targets"]:
            change = row.get("last_change")
            if change is None or self._told.get(row["target"]) == change["id"]:
                continue
            self._told[row["target"]] = change["id"]
            setting = dict(row.get("setting") or {})
            made = bool(change["made"])
            yield DecisionEvent(
                **{key: change[key] for key in ("id", "time_s", "reason", "sentence")},
                changes=tuple(change["changes"]),
                target=row["target"],
                before=setting,
                wanted=setting,
                made=tuple(change["changes"]) if made else (),
                actual=setting if made else None,
            )


def _points(status: Mapping[str, Any], now_s: float) -> Iterator[Point]:
    for row in status["targets"]:
        if "void" not in row:
            kind = KINDS[row["kind"]]
            first, second = (float(row[f"{way}_{kind.unit}_per_s"]) for way in kind.way_names)
            yield Point(now_s, str(row["target"]), first, second, dict(row["setting"]), unit=kind.unit)


def logged_points(events: Iterable[LogEvent]) -> Iterator[Point]:
    """The measurements in a log: the windows that decisions were made from."""
    for event in events:
        if not isinstance(event, DecisionEvent):
            continue
        for window in event.history:
            ends_s = event.time_s + window.t1 - event.t_s
            (first, second), unit = window.rates
            # The windows of a tuning group may come from members with other settings. The decision has this target's
            # own setting.
            setting = event.before if window is event.history[-1] else {}
            yield Point(ends_s, event.target, first, second, setting, unit=unit)
