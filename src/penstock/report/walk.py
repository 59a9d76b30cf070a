"""A response surface as a small SVG heat map, with the path of a tuner on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

CELL_W, CELL_H, LEFT, TOP, BOTTOM = 26, 20, 34, 6, 58
_COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
Place = tuple[int, int]
# The signs have a dark edge around a light line, so that they are visible on every colour. They differ by shape.
_LINE = (
    'fill="none" stroke="#fff" stroke-width="2.5" style="paint-order:stroke;filter:drop-shadow(0 0 1px #000)"'
)
_SQUARE = "M4,3 h18 v14 h-18 z"
_DIAMOND = "M13,2 L21,10 L13,18 L5,10 z"
_STAR = "M13,2 l2.4,5.4 l5.6,.6 l-4.2,3.8 l1.2,5.6 l-5,-2.9 l-5,2.9 l1.2,-5.6 l-4.2,-3.8 l5.6,-.6 z"
#: The meaning of the signs, for captions.
SIGNS = "□ default, ◇ best of short runs, ☆ best over longer runs, ○ where the tuner ended"


@dataclass(frozen=True, slots=True)
class Landscape:
    """The value of every setting, and the path of a tuner over them.

    `best` is the best setting known from longer runs, if there is one. `unit` is the unit of the values.
    """

    title: str
    surface: Mapping[Place, float]
    path: Sequence[Place]
    default: Place
    best: Place | None = None
    unit: str = "{:.0f} MB/s"


def draw(shown: Landscape) -> str:
    """The map: pages per RPC on the x axis, RPCs in flight on the y axis; brighter is faster.

    `SIGNS` explains the signs.
    """
    surface = shown.surface
    pages, flights = (sorted({place[axis] for place in surface}) for axis in range(2))
    width, height = LEFT + CELL_W * len(pages) + 4, TOP + CELL_H * len(flights) + BOTTOM
    top = max(surface.values()) or 1.0

    def corner(place: Place) -> tuple[float, float]:
        return (
            LEFT + CELL_W * _nearest(pages, place[0]),
            TOP + CELL_H * (len(flights) - 1 - _nearest(flights, place[1])),
        )

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(shown.title)}">']
    for place, value in surface.items():
        x, y = corner(place)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{CELL_W}" height="{CELL_H}" fill="{_colour(value / top)}">'
            f"<title>{place[0]} x {place[1]}: {shown.unit.format(value)}</title></rect>"
        )
    parts += _ticks(pages, flights, corner)
    parts += _scale(top, shown.unit, width, height)
    middles = [(x + CELL_W / 2, y + CELL_H / 2) for x, y in map(corner, shown.path)]
    if len(middles) > 1:
        line = " ".join(f"{x},{y}" for x, y in middles)
        for colour, thick in (("#000", 4), ("#fff", 1.8)):
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="{thick}" points="{line}"/>')
    parts.append(_sign(_SQUARE, corner(shown.default), "default"))
    parts.append(_sign(_DIAMOND, corner(max(surface, key=lambda place: surface[place])), "best here"))
    if shown.best is not None:
        parts.append(_sign(_STAR, corner(shown.best), "best over longer runs"))
    if middles:
        x, y = middles[-1]
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="#fff" stroke="#000" stroke-width="1.5"/>')
    return "\n".join(parts) + "</svg>"


def _sign(shape: str, corner: tuple[float, float], words: str) -> str:
    x, y = corner
    return f'<path d="{shape}" transform="translate({x} {y})" {_LINE}><title>{words}</title></path>'


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


def _scale(top: float, unit: str, width: int, height: int) -> list[str]:
    """The colour scale, from zero to the highest value, with its unit."""
    left, right, y, steps = LEFT, width - 4, height - 22, 32
    wide = (right - left) / steps
    bar = [
        f'<rect x="{left + wide * i:.1f}" y="{y}" width="{wide + 0.5:.1f}" height="7" '
        f'fill="{_colour((i + 0.5) / steps)}"/>'
        for i in range(steps)
    ]
    words = f'<text x="{right}" y="{y + 19}" text-anchor="end">{escape(unit.format(top))}</text>'
    return [*bar, f'<text x="{left}" y="{y + 19}">0</text>', words]


def _nearest(values: Sequence[int], value: int) -> int:
    return min(range(len(values)), key=lambda i: abs(values[i] - value))


def _colour(share: float) -> str:
    """Approximately the Viridis colour map.

    >>> _colour(0.0), _colour(1.0)
    ('#440154', '#fde725')
    """
    at = min(max(share, 0.0), 1.0) * (len(_COLOURS) - 1)
    low = min(int(at), len(_COLOURS) - 2)
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(_COLOURS[low], _COLOURS[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
