"""A self-contained page that compares series over time: inline SVG, no script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from penstock.report.page import STYLE

WIDTH, HEIGHT, LEFT, BOTTOM = 920, 300, 64, 36


@dataclass(frozen=True, slots=True)
class Series:
    """A named, coloured line of (seconds, value) points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the page shows."""

    title: str
    lead: str
    unit: str
    series: Sequence[Series]
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


def render(page: Page) -> str:
    """The page as HTML."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in page.heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in page.rows
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(page.title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>\n'
        f"<h1>{escape(page.title)}</h1>\n<p>{escape(page.lead)}</p>\n{chart(page.title, page.unit, page.series)}\n"
        f"<table><tr>{head}</tr>\n{body}</table>\n</html>\n"
    )


def chart(title: str, unit: str, series: Sequence[Series]) -> str:
    """The lines alone, as SVG."""
    end_s = max((t for line in series for t, _ in line.points), default=1.0) or 1.0
    top = _round_up(max((value for line in series for _, value in line.points), default=1.0))

    def x(t_s: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * t_s / end_s

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 8) * value / top

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for i in range(5):
        value, t_s = top * i / 4, end_s * i / 4
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        )
        parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.0f}</text>')
        anchor = "end" if i == 4 else "middle"
        parts.append(f'<text x="{x(t_s):.1f}" y="{HEIGHT - 18}" text-anchor="{anchor}">{t_s:.0f} s</text>')
    for i, line in enumerate(series):
        path = " ".join(f"{x(t):.1f},{y(value):.1f}" for t, value in line.points)
        parts.append(f'<polyline fill="none" style="stroke:{line.colour}" stroke-width="2" points="{path}"/>')
        parts.append(
            f'<text x="{LEFT + 12 + 160 * i}" y="{HEIGHT - 3}" style="fill:{line.colour};font-weight:600">'
            f"{escape(line.name)} ({escape(unit)})</text>"
        )
    return "\n".join(parts) + "</svg>"


def _round_up(value: float) -> float:
    """The next number that divides into four round steps.

    >>> _round_up(1284.0), _round_up(0.0)
    (1600.0, 1.0)
    """
    if value <= 0:
        return 1.0
    decade: float = 10.0 ** math.floor(math.log10(value))
    return next(
        step * decade for step in (1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0) if step * decade >= value
    )
