"""Small pieces of Markdown that several pages are made of."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence

MADE = "<!-- Made from the code by benchmarks/pages; edits here are lost. -->"


def page(title: str, *parts: str) -> str:
    """A whole page."""
    return "\n\n".join((f"# {title}", MADE, *(part.strip("\n") for part in parts if part.strip()))) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold anything but line breaks."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def code(text: object) -> str:
    """A value or a name as code, nothing where there is none."""
    words = str(text)
    return f"`{words}`" if words else ""


def prose(docstring: str | None) -> str:
    """A docstring as paragraphs: its line breaks are those of the source, not the reader's."""
    text = inspect.cleandoc(docstring or "").replace("\b", "")
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text))


def _paragraph(text: str) -> str:
    """Prose in one line; an example of a session, or lines that are indented on purpose, as code."""
    if text.startswith((">>>", "    ")) or re.search(r"^\s{4}", text, re.MULTILINE):
        return fence(textwrap.dedent(text), "python")
    return re.sub(r"\s*\n\s*", " ", text).strip()


def fence(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def _cell(text: str) -> str:
    """Pipes end a cell, but within code they do not, and a backslash would be shown."""
    parts = re.split(r"(`[^`]*`)", text.replace("\n", " "))
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts).strip()
