"""A gain with its confidence interval on a scale of ratios, as SVG. 1 means no difference."""

from __future__ import annotations

import math
from html import escape

from penstock.report.timeline import WIDTHS

HEIGHT, MIDDLE = 62, 24
# The scale covers at least this range, in powers of two.
LEAST_EDGE, AIR = 0.25, 1.3


def draw(gain: float, low: float | None = None, high: float | None = None) -> str:
    """The drawing for wide and for narrow pages. Without an interval it is a single dot."""
    return "".join(
        f'<div class="{name}">{_svg(gain, low or gain, high or gain, min(width, 620))}</div>'
        for name, width in WIDTHS.items()
    )


def _svg(gain: float, low: float, high: float, width: int) -> str:
    edge = AIR * max(LEAST_EDGE, *(abs(math.log2(max(value, 1e-3))) for value in (low, high)))

    def x(ratio: float) -> float:
        return 20 + (width - 40) * (math.log2(max(ratio, 1e-3)) + edge) / (2 * edge)

    colour = "var(--good)" if low > 1.0 else "var(--bad)" if high < 1.0 else "var(--twin)"
    words = f"gain {gain:.2f}, interval {low:.2f} to {high:.2f}"
    parts = [
        f'<svg viewBox="0 0 {width} {HEIGHT}" style="max-width:{width}px" role="img" aria-label="{escape(words)}">',
        f'<line class="grid" x1="6" x2="{width - 6}" y1="{MIDDLE}" y2="{MIDDLE}"/>',
        f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="8" y2="40" style="stroke:var(--ink)" stroke-dasharray="3 3"/>',
        f'<text x="{x(1):.1f}" y="56" text-anchor="middle">1 = no difference</text>',
        '<text x="6" y="56" class="soft">slower</text>',
        f'<text x="{width - 6}" y="56" text-anchor="end" class="soft">faster</text>',
    ]
    if high > low:
        parts.append(
            f'<line x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{MIDDLE}" y2="{MIDDLE}" style="stroke:{colour}" '
            'stroke-width="7"/>'
        )
        parts.append(f'<text x="{x(low) - 4:.1f}" y="14" text-anchor="end">{low:.2f}</text>')
        parts.append(f'<text x="{x(high) + 4:.1f}" y="14">{high:.2f}</text>')
    parts.append(
        f'<circle cx="{x(gain):.1f}" cy="{MIDDLE}" r="7" style="fill:{colour};stroke:var(--paper)"/>'
    )
    return "\n".join(parts) + "</svg>"
