"""One self-contained page of sections: text, inline SVG and tables; no script, no network. Also as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--faint:#d0d7de;--soft:#f6f8fa;
--default:#9a6700;--policy:#1a7f37;--best:#0969da}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--faint:#30363d;--soft:#161b22;
--default:#d29922;--policy:#3fb950;--best:#58a6ff}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:960px;
margin:2rem auto;padding:0 1rem}svg{width:100%;height:auto}
text{fill:var(--ink);font:12px system-ui,sans-serif}
.grid{stroke:var(--faint)}table{border-collapse:collapse;width:100%;font-size:14px}
td,th{border-bottom:1px solid var(--faint);padding:.3rem .6rem;text-align:left}
"""
_WIDER = """
h2{margin-top:2.5rem}.wide{overflow-x:auto;margin:1rem 0}.wide svg{min-width:640px}
.maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(260px,1fr));gap:1rem}
figure{margin:0}figcaption{font-size:13px}td{font-variant-numeric:tabular-nums;white-space:nowrap}
td.num,th.num{text-align:right}code{font-size:12px;background:var(--soft);padding:0 .2rem;user-select:all}
nav a{margin-right:1rem}a{color:var(--best)}
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and what it shows. Small ones stand side by side."""

    caption: str
    svg: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; a cell in backquotes is something to type."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, paragraphs, drawings, tables."""

    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


def render(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The page as HTML."""
    links = " ".join(f'<a href="#{_anchor(part.title)}">{escape(part.title)}</a>' for part in sections)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}{_WIDER}</style>\n'
        f"<h1>{escape(title)}</h1>\n{_paragraphs(lead)}<nav>{links}</nav>\n"
        + "".join(_section(part) for part in sections)
        + "</html>\n"
    )


def markdown(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The same without the drawings."""
    parts = [f"# {title}", *lead]
    for section in sections:
        parts += [f"## {section.title}", *section.text]
        parts += [_markdown_table(table) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())


def _paragraphs(text: Sequence[str]) -> str:
    return "".join(f"<p>{_inline(each)}</p>\n" for each in text)


def _section(section: Section) -> str:
    large = "".join(
        f'<figure><div class="wide">{f.svg}</div><figcaption>{escape(f.caption)}</figcaption></figure>\n'
        for f in section.figures
        if not f.small
    )
    small = "".join(
        f"<figure>{f.svg}<figcaption>{escape(f.caption)}</figcaption></figure>\n"
        for f in section.figures
        if f.small
    )
    maps = f'<div class="maps">{small}</div>\n' if small else ""
    tables = "".join(_table(table) for table in section.tables)
    heading = f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>\n'
    return heading + _paragraphs(section.text) + large + tables + maps


def _table(table: Table) -> str:
    head = "".join(f"<th{_class(c, i)}>{escape(c)}</th>" for i, c in enumerate(table.heading))
    body = "".join(
        "<tr>"
        + "".join(f"<td{_class(table.heading[i], i)}>{_inline(c)}</td>" for i, c in enumerate(row))
        + "</tr>\n"
        for row in table.rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>\n'


def _class(heading: str, column: int) -> str:
    return ' class="num"' if column and heading not in ("command", "best static", "setting", "seen") else ""


def _inline(text: str) -> str:
    """Escaped, with what stands in backquotes set as code and in double stars as strong."""
    parts = escape(text).split("`")
    marked = "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))
    pieces = marked.split("**")
    return "".join(f"<b>{p}</b>" if i % 2 else p for i, p in enumerate(pieces))


def _markdown_table(table: Table) -> str:
    lines = [table.heading, ["---"] * len(table.heading), *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
