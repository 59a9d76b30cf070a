"""Bars against the default: one row a workload, the policy's bar, a mark where the best static setting lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from penstock.report.timeline import WIDTHS

ROW, RIGHT = 22, 84
# What a figure beside a bar takes.
FIGURE = 36
# What a letter of the names takes, and the most of the width that they may.
LETTER, NAMES_SHARE = 7, 0.42


@dataclass(frozen=True, slots=True)
class Bar:
    """A workload's figures as ratios to the default; `best` is None where nothing static was searched."""

    name: str
    value: float
    best: float | None


def draw(title: str, bars: Sequence[Bar], policy: str = "policy") -> str:
    """The drawing for wide and for narrow pages; the dashed line is the default."""
    return "".join(
        f'<div class="{name}">{_svg(title, bars, policy, width)}</div>' for name, width in WIDTHS.items()
    )


def _svg(title: str, bars: Sequence[Bar], policy: str, width: int) -> str:
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
            f'style="fill:var(--policy)"><title>{escape(bar.name)}: {bar.value:.2f} x default</title></rect>'
        )
        if bar.best is not None:
            parts.append(
                f'<rect x="{x(bar.best) - 2:.1f}" y="{y - 2}" width="4" height="{ROW - 2}" style="fill:var(--best)">'
                f"<title>best static: {bar.best:.2f} x default</title></rect>"
            )
        end = x(max(bar.value, bar.best or 0.0)) + 8
        if end - 8 < x(1) < end + FIGURE:
            # The default's line would run through the figure.
            end = x(1) + 8
        # Beside the best setting's mark one figure alone would be taken for the mark's.
        beside = f" of {bar.best:.2f}" if bar.best is not None else ""
        parts.append(f'<text x="{end:.1f}" y="{y + 13}">{bar.value:.2f}{beside}</text>')
    parts.append(
        f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="0" y2="{bottom}" stroke-dasharray="4 3" stroke-width="2" '
        f'style="stroke:var(--ink)"/>'
    )
    best = any(bar.best is not None for bar in bars)
    return "\n".join([*parts, *_legend(policy, best, bottom + 20)]) + "</svg>"


def _legend(policy: str, best: bool, y: int) -> list[str]:
    """A square in each colour, and a dashed line for the default."""
    signs = [(0, f'<rect x="0" y="{y - 9}" width="12" height="9" style="fill:var(--policy)"/>', policy)]
    line = f'<line x1="126" x2="126" y1="{y - 11}" y2="{y + 1}" stroke-dasharray="4 3" style="stroke:var(--ink)"/>'
    signs.append((116, line, "default = 1"))
    if best:
        mark = f'<rect x="222" y="{y - 11}" width="4" height="12" style="fill:var(--best)"/>'
        signs.append((216, mark, "best static, held"))
    return [f'{sign}<text x="{x + 18}" y="{y}">{escape(words)}</text>' for x, sign, words in signs]
