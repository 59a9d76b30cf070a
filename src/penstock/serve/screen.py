"""The screen of `penstock agent top`, composed as lines: what is shown, apart from any terminal.

Everything fits 80 columns and any height from ten lines up; a larger terminal shows longer names, the reason of
each last change and more targets. With a thousand targets the busy ones come first.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.gains import Gain
from penstock.serve.status import effect_sentence, is_busy, rate_words

KEYS = "up/down/PgUp/PgDn/Home/End choose  p pause  P all  m mode  e explain  q quit"
PANE_KEYS = "up/down/PgUp/PgDn scroll   any other key: back"
ASK_MODE = "mode: o observe   a advise   t tune   any other key: leave it"
LABEL_WIDTH, MOST_LABEL = 17, 48
SETTING_WIDTH, RATE_WIDTH = 15, 9
# Everything but the label and the last change.
FIXED_WIDTH = 2 * RATE_WIDTH + 1 + SETTING_WIDTH + 10
FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class Size:
    """Rows and columns of the terminal."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line and how it looks."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """What the person at the keyboard sees beside the figures."""

    chosen: str = ""
    message: str = ""
    asking: bool = False
    pane: tuple[str, ...] = ()
    scroll: int = 0


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """One target, ready to show."""

    name: str
    label: str
    #: What it moved in its last interval, in words, a column each.
    rates: tuple[str, str]
    busy: bool
    setting: str
    state: str
    last: Mapping[str, Any] | None


def rows(status: Mapping[str, Any]) -> list[ScreenRow]:
    """The targets of a status document: busy ones first, each part in the order of names."""
    found = [_row(entry) for entry in status.get("targets", ())]
    return sorted(found, key=lambda row: (not row.busy, row.name))


def compose(status: Mapping[str, Any] | None, view: View, size: Size, now_s: float) -> list[Line]:
    """The whole screen: at most `size.height` lines of at most `size.width` characters."""
    clock = time.strftime("%H:%M:%S", time.localtime(now_s))
    if status is None:
        body = [Line(f"penstock  {clock}", "bold"), Line(""), Line(view.message or "no agent", "red")]
    elif view.pane:
        body = _pane(status, view, size, clock)
    else:
        body = _overview(status, view, size, now_s)
    lines = [*body[: size.height - 1], Line(_footer(view), "reverse")]
    return [Line(line.text[: size.width], line.style) for line in lines]


def _overview(status: Mapping[str, Any], view: View, size: Size, now_s: float) -> list[Line]:
    known = rows(status)
    width = _label_width(known, size)
    head = [*_head(status, size, now_s), Line(_heading(width), "bold underline")]
    below = _below(status, known, view, size)
    room = max(FEWEST_ROWS, size.height - len(head) - len(below) - 1)
    shown, hidden = _slice(known, view.chosen, room)
    table = [_target_line(row, view, now_s, width) for row in shown]
    if hidden:
        table[-1] = Line(f"... {hidden + 1} more targets below", "dim")
    if not known:
        table = [Line("no targets: is a file system mounted?", "yellow")]
    padding = [Line("")] * (room - len(table))
    return [*head, *table, *padding, *below]


def _head(status: Mapping[str, Any], size: Size, now_s: float) -> list[Line]:
    mode, paused = str(status["mode"]), "*" in status["paused"]
    first = (
        f"penstock  {mode}{' (paused)' if paused else ''}  {status['policy']}  "
        f"every {status['interval_s']:g} s  up {_age(status['uptime_s'])}"
    )
    clock = time.strftime("%H:%M:%S", time.localtime(now_s))
    style = "bold yellow" if paused else {"tune": "bold green", "advise": "bold cyan"}.get(mode, "bold")
    return [
        Line(f"{first:<{size.width - 8}}{clock}", style),
        Line(_node(status.get("node") or {}, status.get("jobs") or ())),
        Line(effect_sentence(status.get("effect"))),
    ]


def _label_width(known: Sequence[ScreenRow], size: Size) -> int:
    """As wide as the longest name where the terminal has room for it beside the last change."""
    longest = max((len(row.label) + 1 for row in known), default=LABEL_WIDTH)
    room = size.width - FIXED_WIDTH - 20
    return max(LABEL_WIDTH, min(longest, room, MOST_LABEL))


def _heading(width: int) -> str:
    setting = f"{'pages/RPCs/MiB':<{SETTING_WIDTH}}"
    return f"{'target':<{width}}{'rd MB/s':>{RATE_WIDTH}}{'wr MB/s':>{RATE_WIDTH}} {setting}{'state':<10}last change"


def _node(node: Mapping[str, Any], jobs: Sequence[str]) -> str:
    mib = 1 << 20
    parts = [f"dirty {node.get('dirty_limits_bytes', 0) / mib:.0f}"]
    budget = node.get("dirty_budget_bytes")
    if budget:
        part = min(1.0, node["dirty_limits_bytes"] / budget)
        parts[0] += f" of {budget / mib:.0f} MiB [{'#' * round(10 * part):.<10}]"
    left = node.get("memory_available_ratio")
    if left is not None:
        parts.append(f"memory left {left:.0%}")
    if jobs:
        parts.append("jobs " + " ".join(jobs[:3]) + (f" +{len(jobs) - 3}" if len(jobs) > 3 else ""))
    return "  ".join(parts)


def _target_line(row: ScreenRow, view: View, now_s: float, width: int) -> Line:
    text = (
        f"{_fit(row.label, width):<{width}}{row.rates[0]:>{RATE_WIDTH}}{row.rates[1]:>{RATE_WIDTH}} "
        f"{_cut(row.setting):<{SETTING_WIDTH}}{row.state[:9]:<10}{_last(row, now_s)}"
    )
    if row.name == view.chosen:
        return Line(text, "bold reverse")
    return Line(text, "" if row.busy else "dim")


def _last(row: ScreenRow, now_s: float) -> str:
    if row.last is None:
        return "-"
    what = " ".join(_new_value(str(change)) for change in row.last["changes"])
    # The reason stands at the end: it shows where the terminal is wide enough.
    return f"{_age(now_s - row.last['time_s'])} {'' if row.last['made'] else 'adv. '}{what}  {row.last['sentence']}"


def _new_value(change: str) -> str:
    """What a change sets, in few characters.

    >>> _new_value("pages 1024 -> 512")
    'pages=512'
    """
    knob_id, *_, value = change.split(" ")
    return f"{knob_id}={value}"


def _fit(label: str, width: int) -> str:
    """The end of a long name: there the targets differ."""
    return label if len(label) < width else "~" + label[2 - width :]


def _cut(setting: str) -> str:
    """The beginning of a setting that is too long, marked as such."""
    return setting if len(setting) < SETTING_WIDTH else setting[: SETTING_WIDTH - 2] + "~"


def _below(status: Mapping[str, Any], known: Sequence[ScreenRow], view: View, size: Size) -> list[Line]:
    lines = [Line("-" * size.width, "dim")]
    chosen = next((row for row in known if row.name == view.chosen), None)
    if chosen is not None:
        lines.append(Line(chosen.name, "bold"))
        lines += [Line(text) for text in _why(chosen, size.width)]
    lines += [Line(f"note: {problem}", "yellow") for problem in list(status["problems"])[:2]]
    if view.message:
        lines.append(Line(view.message, "bold red"))
    return lines


def _why(row: ScreenRow, width: int) -> list[str]:
    if row.last is None:
        return ["nothing changed yet"]
    verb = "set" if row.last["made"] else "advised"
    gain = row.last.get("gain")
    known = None if gain is None else Gain(gain, row.last.get("low"), row.last.get("high"))
    effect = f"; throughput is {known.words} what it was (before/after)" if known is not None else ""
    text = (
        f"{verb} {', '.join(row.last['changes'])} [{row.last['id']}] because "
        f"{row.last['sentence']} ({row.last['reason']}){effect}"
    )
    return textwrap.wrap(text, width, max_lines=3, placeholder=" ...")


def _pane(status: Mapping[str, Any], view: View, size: Size, clock: str) -> list[Line]:
    """A text over the whole screen, from the line it was scrolled to; the last page stays full."""
    texts = [part for text in view.pane for part in _wrapped(text, size.width)]
    room = size.height - 2
    first = max(0, min(view.scroll, len(texts) - room))
    shown = [Line(text) for text in texts[first : first + room]]
    left = f"  ({len(texts) - first - len(shown)} lines below)" if first + len(shown) < len(texts) else ""
    head = Line(f"penstock  {status['mode']}  {clock}{left}", "bold")
    return [head, *shown, *[Line("")] * (room - len(shown))]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="          ") or [""]


def _footer(view: View) -> str:
    if view.asking:
        return ASK_MODE
    return PANE_KEYS if view.pane else KEYS


def _slice(known: Sequence[ScreenRow], chosen: str, room: int) -> tuple[list[ScreenRow], int]:
    """The rows that fit, around the chosen one, and how many are left out below."""
    at = next((i for i, row in enumerate(known) if row.name == chosen), 0)
    first = max(0, min(at - room + 2, len(known) - room))
    shown = list(known[first : first + room])
    return shown, len(known) - first - len(shown)


def _row(entry: Mapping[str, Any]) -> ScreenRow:
    setting = entry.get("setting") or {}
    read, written = rate_words([entry], unit="")
    return ScreenRow(
        name=str(entry["target"]),
        label=str(entry["short"]),
        rates=(read.replace(" ", ""), written.replace(" ", "")),
        busy=is_busy(entry),
        setting="/".join(str(value) for value in setting.values()),
        state=str(entry.get("state") or ""),
        last=entry.get("last_change"),
    )


def _age(seconds: float) -> str:
    """A duration in at most five characters.

    >>> _age(5), _age(600), _age(36000), _age(999999)
    ('5s', '10m', '10h', '12d')
    """
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"
