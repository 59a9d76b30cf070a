"""A response surface as a small heat map in SVG, with the way a tuner walked on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

CELL_W, CELL_H, LEFT, TOP, BOTTOM = 26, 20, 34, 6, 34
_COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
Place = tuple[int, int]


def draw(title: str, surface: Mapping[Place, float], path: Sequence[Place], default: Place) -> str:
    """Pages per RPC across, RPCs in flight up; brighter is faster. Circle: where the tuner ended."""
    pages, flights = (sorted({place[axis] for place in surface}) for axis in range(2))
    width, height = LEFT + CELL_W * len(pages) + 4, TOP + CELL_H * len(flights) + BOTTOM
    top = max(surface.values()) or 1.0

    def corner(place: Place) -> tuple[float, float]:
        return (
            LEFT + CELL_W * _nearest(pages, place[0]),
            TOP + CELL_H * (len(flights) - 1 - _nearest(flights, place[1])),
        )

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">']
    for place, value in surface.items():
        x, y = corner(place)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{CELL_W}" height="{CELL_H}" fill="{_colour(value / top)}">'
            f"<title>{place[0]} x {place[1]}: {value:.0f} MB/s</title></rect>"
        )
    parts += _ticks(pages, flights, corner)
    middles = [(x + CELL_W / 2, y + CELL_H / 2) for x, y in map(corner, path)]
    if len(middles) > 1:
        line = " ".join(f"{x},{y}" for x, y in middles)
        for colour, thick in (("#000", 4), ("#fff", 1.8)):
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="{thick}" points="{line}"/>')
    best = corner(max(surface, key=lambda place: surface[place]))
    for (x, y), colour in ((corner(default), "#ff9a3c"), (best, "#ff3b6b")):
        parts.append(
            f'<rect x="{x + 1}" y="{y + 1}" width="{CELL_W - 2}" height="{CELL_H - 2}" fill="none" '
            f'stroke="{colour}" stroke-width="2.5"/>'
        )
    if middles:
        x, y = middles[-1]
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="#fff" stroke="#000" stroke-width="1.5"/>')
    return "\n".join(parts) + "</svg>"


def _ticks(pages: Sequence[int], flights: Sequence[int], corner: object) -> list[str]:
    assert callable(corner)
    found = []
    for page in pages[::2]:
        x, _ = corner((page, flights[0]))
        found.append(
            f'<text x="{x + CELL_W / 2}" y="{TOP + CELL_H * len(flights) + 14}" text-anchor="middle">{page}</text>'
        )
    for flight in flights[::2]:
        _, y = corner((pages[0], flight))
        found.append(f'<text x="{LEFT - 4}" y="{y + 14}" text-anchor="end">{flight}</text>')
    middle = LEFT + CELL_W * len(pages) / 2
    below = TOP + CELL_H * len(flights) + 29
    found.append(f'<text x="{middle}" y="{below}" text-anchor="middle">pages per RPC, in flight up</text>')
    return found


def _nearest(values: Sequence[int], value: int) -> int:
    return min(range(len(values)), key=lambda i: abs(values[i] - value))


def _colour(share: float) -> str:
    """Viridis, roughly.

    >>> _colour(0.0), _colour(1.0)
    ('#440154', '#fde725')
    """
    at = min(max(share, 0.0), 1.0) * (len(_COLOURS) - 1)
    low = min(int(at), len(_COLOURS) - 2)
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(_COLOURS[low], _COLOURS[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
