"""Bars against the default: one row a workload, the policy's bar, a mark where the best static setting lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, ROW = 920, 210, 60, 22


@dataclass(frozen=True, slots=True)
class Bar:
    """A workload's figures as ratios to the default; `best` is None where nothing static was searched."""

    name: str
    value: float
    best: float | None


def draw(title: str, bars: Sequence[Bar]) -> str:
    """The drawing as SVG; the dashed line is the default."""
    most = 1.1 * max([2.0, *(bar.value for bar in bars), *(bar.best or 0.0 for bar in bars)])
    height = ROW * len(bars) + 30

    def x(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ratio / most

    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">']
    for number, bar in enumerate(bars):
        y = ROW * number + 4
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(bar.name)}</text>')
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{max(x(bar.value) - LEFT, 0.5):.1f}" height="{ROW - 6}" '
            f'style="fill:var(--policy)"><title>{escape(bar.name)}: {bar.value:.2f} x default</title></rect>'
        )
        if bar.best is not None:
            parts.append(
                f'<rect x="{x(bar.best) - 2:.1f}" y="{y - 2}" width="4" height="{ROW - 2}" style="fill:var(--best)">'
                f"<title>best static: {bar.best:.2f} x default</title></rect>"
            )
        end = x(max(bar.value, bar.best or 0.0)) + 8
        parts.append(f'<text x="{end:.1f}" y="{y + 13}">{bar.value:.2f}</text>')
    bottom = ROW * len(bars) + 4
    parts.append(
        f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="0" y2="{bottom}" stroke-dasharray="4 3" stroke-width="2" '
        f'style="stroke:var(--default)"/>'
    )
    for offset, colour, words in (
        (0, "policy", "policy"),
        (110, "default", "default = 1"),
        (240, "best", "best static, held"),
    ):
        parts.append(
            f'<text x="{LEFT + offset}" y="{bottom + 20}" style="fill:var(--{colour});font-weight:600">{words}</text>'
        )
    return "\n".join(parts) + "</svg>"
