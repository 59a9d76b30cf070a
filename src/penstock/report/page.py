"""A self-contained HTML page: first the answer and one picture, then sections of text, drawings and tables.

The page needs no network. A short script makes its tables sortable; everything else works without it. The same
content can be written as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

HOME = Path(__file__).parent
#: The style sheet, which the web page shares.
DESIGN = HOME / "design.css"

# A cell that is a number: with a sign, a unit, an interval, or nothing measured.
_NUMBER = re.compile(r"([-+<>~]?\d[\d.,]*( ?[A-Za-z%/]+)?( (\[|±).*)?|[-–]|none|)$")
# Longer cells are sentences, which wrap.
_SENTENCE = 32


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and its caption. Small ones are placed side by side."""

    caption: str
    svg: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells. A cell in backquotes is a command to type."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs, drawings and tables."""

    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


def render(
    title: str,
    lead: Sequence[str],
    sections: Sequence[Section],
    answer: str = "",
    picture: Figure | None = None,
) -> str:
    """The page as HTML. The answer in one sentence and the picture that shows it come first."""
    links = " ".join(f'<a href="#{_anchor(part.title)}">{escape(part.title)}</a>' for part in sections)
    heading = (
        f'<p class="title">{escape(title)}</p>\n<h1>{_inline(answer)}</h1>'
        if answer
        else f"<h1>{escape(title)}</h1>"
    )
    first = heading + (_figure(picture) if picture is not None else "")
    looks = _read("design.css") + _read("page.css")
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{looks}</style>\n'
        f'<div class="hero">{first}</div>\n{_paragraphs(lead)}<nav aria-label="Sections">{links}</nav>\n'
        + "".join(_section(part) for part in sections)
        + "<script>"
        + _read("sort.js")
        + "</script></html>\n"
    )


def markdown(title: str, lead: Sequence[str], sections: Sequence[Section], answer: str = "") -> str:
    """The page as Markdown, without drawings."""
    parts = [f"# {title}", *([answer] if answer else []), *lead]
    for section in sections:
        parts += [f"## {section.title}", *section.text]
        parts += [_markdown_table(table) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _read(name: str) -> str:
    return (HOME / name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())


def _paragraphs(text: Sequence[str]) -> str:
    return "".join(f"<p>{_inline(each)}</p>\n" for each in text)


def _section(section: Section) -> str:
    large = "".join(_figure(figure) for figure in section.figures if not figure.small)
    small = "".join(_figure(figure) for figure in section.figures if figure.small)
    maps = f'<div class="maps">{small}</div>\n' if small else ""
    tables = "".join(_table(table) for table in section.tables)
    heading = f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>\n'
    return heading + _paragraphs(section.text) + large + tables + maps


def _figure(figure: Figure) -> str:
    return f"<figure><figcaption>{escape(figure.caption)}</figcaption>{figure.svg}</figure>\n"


def _table(table: Table) -> str:
    looks = [_look(cells) for cells in zip(*table.rows, strict=True)] or [""] * len(table.heading)
    head = "".join(
        f'<th scope="col"{look}>{escape(heading)}</th>'
        for heading, look in zip(table.heading, looks, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(*each) for each in zip(table.heading, looks, row, strict=True)) + "</tr>\n"
        for row in table.rows
    )
    rows = f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"
    return f'<div class="wide"><table class="sortable">{rows}</table></div>\n'


def _cell(heading: str, look: str, text: str) -> str:
    """A table cell with its column heading, because on a narrow page every cell is on its own line."""
    return f'<td{look} data-label="{escape(heading)}">{_inline(text)}</td>'


def _look(cells: Sequence[str]) -> str:
    """The class of a column: numbers are aligned to the right, sentences wrap, words stay on one line."""
    if any(len(cell) > _SENTENCE for cell in cells):
        return ' class="prose"'
    return ' class="num"' if all(_NUMBER.match(cell) for cell in cells) else ""


def _inline(text: str) -> str:
    """Text as HTML: escaped, backquotes become code, double stars become strong."""
    parts = escape(text).split("`")
    marked = "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))
    pieces = marked.split("**")
    return "".join(f"<b>{p}</b>" if i % 2 else p for i, p in enumerate(pieces))


def _markdown_table(table: Table) -> str:
    lines = [table.heading, ["---"] * len(table.heading), *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
