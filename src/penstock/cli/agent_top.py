"""`penstock agent top`: a live screen for administrators."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import DURATION, console, emit_json, json_option, state_dir_option
from penstock.errors import PenstockError
from penstock.serve.screen import Size, View, compose, rows

if TYPE_CHECKING:
    from rich.console import RenderableType

MODES = {"o": "observe", "a": "advise", "t": "tune"}
_SEQUENCES = {
    b"\x1b": "escape",
    **{
        b"\x1b" + bracket + letter: name
        for bracket in (b"[", b"O")
        for letter, name in ((b"A", "up"), (b"B", "down"), (b"H", "home"), (b"F", "end"))
    },
    **{
        b"\x1b[" + digit + b"~": name
        for digit, name in (
            (b"1", "home"),
            (b"4", "end"),
            (b"5", "page up"),
            (b"6", "page down"),
            (b"7", "home"),
            (b"8", "end"),
        )
    },
}
_ENDED = frozenset(_SEQUENCES) - {b"\x1b"}
# The number of lines that each key scrolls.
_FAR = 10**6
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -10, "page down": 10, "home": -_FAR, "end": _FAR}
_ANSWER_S = 2.0
# The width of a screen printed to a file or a pipe.
PRINTED_COLUMNS = 120


@click.command(epilog="Example: penstock agent top")
@click.option("--every", type=DURATION, default="1s", show_default=True, help="Time between two looks.")
@click.option("--once", is_flag=True, help="Print one screen and leave; so it does without a terminal.")
@state_dir_option
@json_option
def top(every: float, once: bool, state_dir: Path, as_json: bool) -> None:
    """Watch a running agent: throughput, setting, last change and why, guard and node budget.

    Keys: up, down, PgUp, PgDn, Home and End choose a target or scroll a text, p pauses or resumes a target, P
    everything, m changes the mode, e explains the last change, q leaves. Whoever may read the socket may watch; only
    root and the agent's user may change anything. Exit 7 when no agent answers at the start; one that goes away later
    is waited for.
    """
    screen = Top(state_dir)
    screen.look()
    if screen.trouble is not None:
        raise screen.trouble
    if as_json:
        emit_json(screen.status or {})
    elif once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        # A pipe has no width of its own.
        terminal = console()
        width = terminal.width if terminal.is_terminal else min(terminal.width, PRINTED_COLUMNS)
        terminal.print(screen.frame(Size(width, max(24, terminal.height))))
    else:
        _watch(screen, every)


class Top:
    """The content of the screen and the actions of keys. It knows the agent only through its socket."""

    def __init__(self, state_dir: Path) -> None:
        from penstock.agent.startup import SOCKET_FILE

        self._socket = state_dir / SOCKET_FILE
        self.status: dict[str, Any] | None = None
        #: Why there is no status, if so.
        self.trouble: PenstockError | None = None
        self.view = View()

    def look(self) -> None:
        """Ask the agent anew; when it does not answer, say so and keep trying."""
        try:
            self.status, self.trouble = self._ask("status"), None
        except PenstockError as error:
            self.status, self.trouble = None, error
            self.view = replace(self.view, message=str(error))
            return
        names = [row.name for row in rows(self.status)]
        if self.view.chosen not in names:
            self.view = replace(self.view, chosen=names[0] if names else "")

    def frame(self, size: Size) -> RenderableType:
        from rich.text import Text

        lines = compose(self.status, self.view, size, time.time())
        return Text("\n").join(Text(line.text, style=line.style, no_wrap=True) for line in lines)

    def press(self, key: str) -> bool:
        """Obey a key; false when it was the one to leave by."""
        if self.view.pane:
            self._scroll(key)
            return True
        if self.view.asking:
            self.view = replace(self.view, asking=False)
            if key in MODES:
                self._tell("mode", f"mode {MODES[key]}", mode=MODES[key])
            return True
        if key in ("q", "escape", "\x03"):
            return False
        self.view = replace(self.view, message="", asking=key == "m")
        if key in _STEPS:
            self._choose(_STEPS[key])
        elif key == "p" and self.view.chosen:
            self._toggle(self.view.chosen)
        elif key == "P":
            self._toggle("*")
        elif key == "e":
            self._explain()
        return True

    def _scroll(self, key: str) -> None:
        """Move within a pane; any other key closes it."""
        if key in _STEPS:
            most = sum(1 + len(line) // 40 for line in self.view.pane)
            self.view = replace(self.view, scroll=max(0, min(self.view.scroll + _STEPS[key], most)))
        else:
            self.view = replace(self.view, pane=(), scroll=0)

    def _choose(self, step: int) -> None:
        names = [row.name for row in rows(self.status or {})]
        if names:
            at = names.index(self.view.chosen) if self.view.chosen in names else 0
            self.view = replace(self.view, chosen=names[max(0, min(at + step, len(names) - 1))])

    def _toggle(self, name: str) -> None:
        verb = "resume" if name in (self.status or {}).get("paused", ()) else "pause"
        self._tell(verb, f"{verb}d {'everything' if name == '*' else name}", target=name)

    def _tell(self, verb: str, done: str, **arguments: str) -> None:
        try:
            self._ask(verb, **arguments)
        except PenstockError as error:
            self.view = replace(self.view, message=str(error))
        else:
            self.view = replace(self.view, message=done)
            self.look()

    def _explain(self) -> None:
        from penstock.cli.decision_lines import explanation
        from penstock.events import DecisionEvent, EffectEvent, parse

        known = {row.name: row for row in rows(self.status or {})}
        row = known.get(self.view.chosen)
        if row is None or row.last is None:
            self.view = replace(self.view, message="nothing to explain: no change yet")
            return
        try:
            found = self._ask("explain", id=row.last["id"])
        except PenstockError as error:
            self.view = replace(self.view, message=str(error))
        else:
            decision, effect = parse(found["decision"]), parse(found["effect"])
            if isinstance(decision, DecisionEvent):
                lines = explanation(decision, effect if isinstance(effect, EffectEvent) else None)
                self.view = replace(self.view, pane=tuple(lines), scroll=0)
            else:
                self.view = replace(self.view, message="the agent answers in words of another version")

    def _ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        from penstock.agent.control import request

        return request(self._socket, verb, timeout_s=_ANSWER_S, **arguments)


def _watch(screen: Top, every_s: float) -> None:
    from rich.live import Live

    terminal = console()
    with _keys(), Live(console=terminal, screen=True, auto_refresh=False) as live:
        due_s = time.monotonic()
        while True:
            live.update(screen.frame(Size(terminal.width, terminal.height)), refresh=True)
            key = _key(max(0.0, due_s + every_s - time.monotonic()))
            if key is not None and not screen.press(key):
                return
            if time.monotonic() >= due_s + every_s:
                due_s = time.monotonic()
                screen.look()


@contextlib.contextmanager
def _keys() -> Iterator[None]:
    """Read keys one by one without echo. The terminal is restored afterwards in any case."""
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key(wait_s: float) -> str | None:
    """The next key within a time, or None."""
    ready, _, _ = select.select([sys.stdin], [], [], wait_s)
    if not ready:
        return None
    raw = os.read(sys.stdin.fileno(), 1)
    if not raw:
        return "q"
    if raw == b"\x1b":
        while select.select([sys.stdin], [], [], 0.05)[0] and len(raw) < 4 and raw not in _ENDED:
            raw += os.read(sys.stdin.fileno(), 1)
        return _SEQUENCES.get(raw, "")
    return raw.decode("utf-8", "replace")
