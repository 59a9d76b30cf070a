"""Time series as inline SVG: measurements on top, settings below on the same time axis.

Every drawing is made twice, for wide and for narrow pages, so that its text is legible on both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LEFT, RIGHT, TOP, RATE_H, GAP, STEP_H = 56, 10, 40, 190, 32, 96
LEGEND_ROW, AXIS_H = 20, 24
# The CSS class and the width of each of the two versions.
WIDTHS = {"at-wide": 920, "at-narrow": 360}
_DASHES = ("", "8 3", "2 3", "10 3 2 3")
# The units of a time axis. The first one that fits the axis at least five times is used.
_TIMES = ((3600, "h"), (60, "min"), (1, "s"))
KNOB_COLOURS = ("var(--k0)", "var(--k1)", "var(--k2)")


@dataclass(frozen=True, slots=True)
class Series:
    """A named, coloured line of (seconds, value) points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Band:
    """A named stretch of time, such as a phase of a workload."""

    start_s: float
    end_s: float
    name: str


@dataclass(frozen=True, slots=True)
class Mark:
    """The time and the description of a change."""

    t_s: float
    words: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The content of one chart. `steps` are settings, each held until its next point, on a logarithmic scale."""

    title: str
    unit: str
    series: Sequence[Series]
    bands: Sequence[Band] = ()
    marks: Sequence[Mark] = ()
    steps: Sequence[Series] = ()
    #: Points that are further apart than this are not joined.
    gap_s: float = math.inf
    #: The time axis ends here at the earliest, so that several drawings can share one axis.
    until_s: float = 0.0

    @property
    def end_s(self) -> float:
        times = [self.until_s]
        times += [t for line in (*self.series, *self.steps) for t, _ in line.points]
        return max(times) or 1.0

    def legend(self) -> list[tuple[str, str, str]]:
        """The name, colour and dash pattern of every line, and the mark for a change."""
        found = [(f"{s.name} ({self.unit})", s.colour, _dash(i)) for i, s in enumerate(self.series)]
        found += [(s.name, s.colour, _dash(i)) for i, s in enumerate(self.steps)]
        return [*found, *([("▲ changed", "", "")] if self.marks else [])]


def draw(drawing: Drawing) -> str:
    """The chart for wide and for narrow pages."""
    return "".join(
        f'<div class="{name}">{_Canvas(drawing, width).svg()}</div>' for name, width in WIDTHS.items()
    )


def _dash(number: int) -> str:
    return _DASHES[number % len(_DASHES)]


class _Canvas:
    """One drawing at one width."""

    def __init__(self, drawing: Drawing, width: int) -> None:
        self.drawing, self.width = drawing, width
        self.bottom = TOP + RATE_H + (GAP + STEP_H if drawing.steps else 0)
        self.columns = max(1, (width - LEFT) // 190)
        rows = math.ceil(len(drawing.legend()) / self.columns)
        self.height = self.bottom + AXIS_H + LEGEND_ROW * rows + 8

    def svg(self) -> str:
        title = escape(self.drawing.title)
        parts = [f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{title}">']
        parts += [*self._bands(), *self._rates(), *self._steps(), *self._times(), *self._marks()]
        return "\n".join([*parts, *self._legend()]) + "</svg>"

    def x(self, t_s: float) -> float:
        return LEFT + (self.width - LEFT - RIGHT) * t_s / self.drawing.end_s

    def _bands(self) -> list[str]:
        parts = []
        for number, band in enumerate(self.drawing.bands):
            left, right = self.x(band.start_s), self.x(band.end_s)
            shade = "band odd" if number % 2 else "band"
            parts.append(
                f'<rect class="{shade}" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
                f'height="{self.bottom - TOP}"/>'
            )
            # The names of short phases would overlap on a narrow page.
            y = TOP - 6 - (14 * (number % 2) if self.width < 600 else 0)
            parts.append(f'<text x="{left + 3:.1f}" y="{y}" class="soft">{escape(band.name)}</text>')
        return parts

    def _rates(self) -> list[str]:
        lines = self.drawing.series
        top = _round_up(max((value for line in lines for _, value in line.points), default=1.0))

        def y(value: float) -> float:
            return TOP + RATE_H - RATE_H * value / top

        parts = [f'<text x="4" y="{TOP - 14}" class="soft">{escape(self.drawing.unit)}</text>']
        for i in range(5):
            parts += self._level(y(top * i / 4), f"{top * i / 4:g}")
        for number, line in enumerate(lines):
            for part in _unbroken(line.points, self.drawing.gap_s):
                path = " ".join(f"{self.x(t):.1f},{y(value):.1f}" for t, value in part)
                parts.append(_polyline(path, line.colour, _dash(number)))
                if len(part) == 1 and self.drawing.gap_s < math.inf:
                    x, dot = self.x(part[0][0]), y(part[0][1])
                    parts.append(f'<circle cx="{x:.1f}" cy="{dot:.1f}" r="2.5" style="fill:{line.colour}"/>')
        return parts

    def _steps(self) -> list[str]:
        lines = self.drawing.steps
        if not lines:
            return []
        most = max((value for line in lines for _, value in line.points), default=2.0)
        top, floor = max(2, math.ceil(math.log2(max(most, 2.0)))), TOP + RATE_H + GAP + STEP_H

        def y(value: float) -> float:
            return floor - STEP_H * math.log2(max(value, 1.0)) / top

        title = "settings, log scale"
        parts = [f'<text x="4" y="{TOP + RATE_H + GAP - 8}" class="soft">{title}</text>']
        for power in range(0, top + 1, 4 if top > 8 else 2):
            parts += self._level(y(2**power), str(2**power))
        for number, line in enumerate(lines):
            levels = _levels(line.points, self.drawing.end_s)
            # Of many the levels only: the lines between them would be a solid block.
            whole = [[corner for level in levels for corner in level]] if levels else []
            for held in levels if self._dense(levels) else whole:
                path = " ".join(f"{self.x(t):.1f},{y(value):.1f}" for t, value in held)
                parts.append(_polyline(path, line.colour, _dash(number)))
        return parts

    def _dense(self, points: Sequence[object]) -> bool:
        """Whether a vertical line for each of these would hide what it crosses."""
        return len(points) > (self.width - LEFT) / 8

    def _level(self, y: float, label: str) -> list[str]:
        return [
            f'<line class="grid" x1="{LEFT}" x2="{self.width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>',
        ]

    def _times(self) -> list[str]:
        """Round times, as many as fit. The last label stays inside the drawing."""
        end_s, y = self.drawing.end_s, self.bottom + 17
        length_s, unit = next(each for each in _TIMES if end_s >= each[0] * 5 or each[0] == 1)
        step = _tick(end_s / length_s, 8 if self.width > 600 else 4)
        parts = []
        for number in range(int(end_s / length_s / step + 1e-9) + 1):
            x = self.x(number * step * length_s)
            anchor = "start" if number == 0 else "end" if x > self.width - RIGHT - 20 else "middle"
            parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{number * step:g} {unit}</text>')
        return parts

    def _marks(self) -> list[str]:
        """A thin vertical line and a triangle on the axis for each change, with the description as a tooltip."""
        parts = []
        top = self.bottom - 12 if self._dense(self.drawing.marks) else TOP
        for mark in self.drawing.marks:
            x = self.x(mark.t_s)
            parts.append(
                f'<g class="mark"><title>{mark.t_s:.1f} s: {escape(mark.words)}</title>'
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{self.bottom}" style="stroke:var(--ink)" '
                f'opacity=".35"/><path d="M{x:.1f},{self.bottom - 9} l5,9 l-10,0 z"/></g>'
            )
        return parts

    def _legend(self) -> list[str]:
        parts = []
        for number, (name, colour, dash) in enumerate(self.drawing.legend()):
            x = LEFT + (self.width - LEFT) / self.columns * (number % self.columns)
            y = self.bottom + AXIS_H + LEGEND_ROW * (number // self.columns) + 16
            if colour:
                line = f"{x:.0f},{y - 4} {x + 26:.0f},{y - 4}"
                parts.append(_polyline(line, colour, dash))
            parts.append(f'<text x="{x + (32 if colour else 6):.0f}" y="{y}">{escape(name)}</text>')
        return parts


def _levels(points: Sequence[tuple[float, float]], end_s: float) -> list[list[tuple[float, float]]]:
    """The beginning and the end of each value; points that repeat a value are one level."""
    begins = [point for at, point in enumerate(points) if at == 0 or point[1] != points[at - 1][1]]
    ends_s = [t_s for t_s, _ in begins[1:]] + [end_s]
    return [[(t_s, value), (until_s, value)] for (t_s, value), until_s in zip(begins, ends_s, strict=True)]


def _unbroken(points: Sequence[tuple[float, float]], gap_s: float) -> list[list[tuple[float, float]]]:
    parts: list[list[tuple[float, float]]] = []
    for point in points:
        if parts and point[0] - parts[-1][-1][0] <= gap_s:
            parts[-1].append(point)
        else:
            parts.append([point])
    return parts


def _polyline(points: str, colour: str, dash: str) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline fill="none" style="stroke:{colour}" stroke-width="2"{dashed} points="{points}"/>'


def _tick(length: float, most: int) -> float:
    """The smallest round step that divides a length into at most so many parts.

    >>> _tick(120.0, 8), _tick(7.5, 4), _tick(0.3, 4)
    (20.0, 2.0, 0.1)
    """
    least = max(length / most, 1e-6)
    decade: float = 10.0 ** math.floor(math.log10(least))
    return next(float(f"{step * decade:.1g}") for step in (1, 2, 5, 10) if step * decade >= least)


def _round_up(value: float) -> float:
    """The next larger number that divides into four round steps.

    >>> _round_up(1284.0), _round_up(0.0)
    (1600.0, 1.0)
    """
    if value < 1e-300:
        return 1.0
    decade: float = 10.0 ** math.floor(math.log10(value))
    return next(
        step * decade for step in (1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0) if step * decade >= value
    )
