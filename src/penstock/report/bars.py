"""A bar chart of ratios to the default: one row per workload, a bar for the policy, a mark for the best static
setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from penstock.report.timeline import WIDTHS

ROW, RIGHT = 22, 84
# The width of a figure beside a bar.
FIGURE = 36
# The width of one letter of a name, and the largest share of the chart that names may take.
LETTER, NAMES_SHARE = 7, 0.42


@dataclass(frozen=True, slots=True)
class Bar:
    """The ratios of one workload to its default. `best` is None if no static setting was searched."""

    name: str
    value: float
    best: float | None


def draw(title: str, bars: Sequence[Bar], policy: str = "policy", unit: str = "default") -> str:
    """The chart as SVG, for wide and for narrow pages. The dashed line is what the values are multiples of."""
    return "".join(
        f'<div class="{name}">{_svg(title, bars, (policy, unit), width)}</div>'
        for name, width in WIDTHS.items()
    )


def _svg(title: str, bars: Sequence[Bar], words: tuple[str, str], width: int) -> str:
    _, unit = words
    left = min(16 + LETTER * max((len(bar.name) for bar in bars), default=0), int(NAMES_SHARE * width))
    most = 1.1 * max([2.0, *(bar.value for bar in bars), *(bar.best or 0.0 for bar in bars)])
    bottom = ROW * len(bars) + 4

    def x(ratio: float) -> float:
        return left + (width - left - RIGHT) * ratio / most

    parts = [f'<svg viewBox="0 0 {width} {bottom + 30}" role="img" aria-label="{escape(title)}">']
    for number, bar in enumerate(bars):
        y = ROW * number + 4
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(bar.name)}</text>')
        parts.append(
            f'<rect x="{left}" y="{y}" width="{max(x(bar.value) - left, 0.5):.1f}" height="{ROW - 6}" '
            f'style="fill:var(--policy)"><title>{escape(bar.name)}: {bar.value:.2f} x {escape(unit)}</title></rect>'
        )
        if bar.best is not None:
            parts.append(
                f'<rect x="{x(bar.best) - 2:.1f}" y="{y - 2}" width="4" height="{ROW - 2}" style="fill:var(--best)">'
                f"<title>best static: {bar.best:.2f} x {escape(unit)}</title></rect>"
            )
        end = x(max(bar.value, bar.best or 0.0)) + 8
        if end - 8 < x(1) < end + FIGURE:
            # Otherwise the line of the default would cross the figure.
            end = x(1) + 8
        # Print both figures: beside the mark of the best setting a single one would be taken for the wrong one.
        beside = f" of {bar.best:.2f}" if bar.best is not None else ""
        parts.append(f'<text x="{end:.1f}" y="{y + 13}">{bar.value:.2f}{beside}</text>')
    parts.append(
        f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="0" y2="{bottom}" stroke-dasharray="4 3" stroke-width="2" '
        f'style="stroke:var(--ink)"/>'
    )
    best = any(bar.best is not None for bar in bars)
    return "\n".join([*parts, *_legend(words, best, bottom + 20)]) + "</svg>"


def _legend(words: tuple[str, str], best: bool, y: int) -> list[str]:
    """A coloured square for each bar, and a dashed line for what is 1."""
    policy, unit = words
    signs = [(0, f'<rect x="0" y="{y - 9}" width="12" height="9" style="fill:var(--policy)"/>', policy)]
    line = f'<line x1="126" x2="126" y1="{y - 11}" y2="{y + 1}" stroke-dasharray="4 3" style="stroke:var(--ink)"/>'
    signs.append((116, line, f"{unit} = 1"))
    if best:
        mark = f'<rect x="222" y="{y - 11}" width="4" height="12" style="fill:var(--best)"/>'
        signs.append((216, mark, "best static, held"))
    return [f'{sign}<text x="{x + 18}" y="{y}">{escape(told)}</text>' for x, sign, told in signs]
