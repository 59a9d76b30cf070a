"""The table behind a page: the figures it shows, the commit they were measured at, and the marks of the policies.

`results/figures.json` belongs to `results.md` in the same folder. The table has every row, the page may show less of
it. A test compares the two, and the marks with those of the program: figures of an earlier behaviour may stay, but
the page says so.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.report.page import Section, Table, markdown

BEGINS = "Measured at commit "
_RATIO = re.compile(r"\b\d+\.\d\d\b(?: \[[\d., ]+\])?")


@dataclass(frozen=True, slots=True)
class PageTable:
    """All tables of a page by their section's title, each a heading and rows."""

    commit: str
    marks: Mapping[str, str]
    tables: Mapping[str, Sequence[Sequence[Sequence[str]]]]

    def line(self, present: Mapping[str, str]) -> str:
        """What the page says of its figures, given the marks of the program as it is."""
        if not self.marks:
            return f"{BEGINS}{self.commit}. No figure stands on a policy's behaviour."
        marks = ", ".join(f"`{policy}` {mark[:8]}" for policy, mark in sorted(self.marks.items()))
        old = [policy for policy, mark in sorted(self.marks.items()) if present.get(policy) != mark]
        said = f"{BEGINS}{self.commit}. Marks of behaviour: {marks}."
        if not old:
            return f"{said} They are those of the program as it is."
        names = ", ".join(f"`{policy}`" for policy in old)
        return f"{said} **Measured with an earlier version of {names}**, which behaves differently since."


def read_table(path: Path) -> PageTable:
    document = json.loads(path.read_text(encoding="utf-8"))
    return PageTable(document["commit"], document["marks"], document["tables"])


def write_table(path: Path, table: PageTable) -> None:
    """One line for each row, so that a change of figures shows as such."""
    lines = [
        f'{{"commit": {json.dumps(table.commit)},',
        f' "marks": {json.dumps(dict(table.marks))},',
        ' "tables": {',
    ]
    for title, tables in table.tables.items():
        rows = [",\n   ".join(json.dumps(row, ensure_ascii=False) for row in one) for one in tables]
        lines.append(f"  {json.dumps(title)}: [[\n   " + "],\n  [\n   ".join(rows) + "]],")
    lines[-1] = lines[-1].removesuffix(",")
    path.write_text("\n".join([*lines, "}}", ""]), encoding="utf-8")


#: What a page shows of a section; None where it leaves the section to the table.
OnPage = Callable[[Section], Section | None]


def write_page(
    path: Path, table: PageTable, title: str, lead: Sequence[str], sections: Sequence[Section]
) -> str:
    """Write a table, and its page beside the table's folder. Answers with a line that names both."""
    page = path.parent.with_suffix(".md")
    path.parent.mkdir(exist_ok=True)
    write_table(path, table)
    page.write_text(markdown(title, [*lead, table.line(table.marks)], sections), encoding="utf-8")
    return f"wrote {page} and {path}"


def shortened(sections: Sequence[Section], on_page: OnPage) -> list[Section]:
    """The sections as a page shows them."""
    return [part for section in sections if (part := on_page(section)) is not None]


def rendered(path: Path, title: str, lead: Sequence[str], on_page: OnPage) -> str:
    """The page written anew from its table and the sentences that it has; nothing is measured."""
    table, page = read_table(path), path.parent.with_suffix(".md")
    before = page.read_text(encoding="utf-8")
    measured = next(line for line in before.splitlines() if line.startswith(BEGINS))
    done = write_page(path, table, title, lead, shortened(_sections(before, table), on_page))
    page.write_text(stamped(page.read_text(encoding="utf-8"), measured), encoding="utf-8")
    return done


def without_columns(table: Table, names: Collection[str]) -> Table:
    """A table that leaves out the columns of these headings."""
    kept = [at for at, name in enumerate(table.heading) if name not in names]
    return Table([table.heading[at] for at in kept], [[row[at] for at in kept] for row in table.rows])


def not_in_table(page: str, table: PageTable) -> list[list[str]]:
    """The rows of a page that are not in its table, whose columns may be more."""
    return [
        row
        for title, shown in shown_tables(page).items()
        for heading, *rows in shown
        for row in rows
        if not any(_holds(stored, heading, row) for stored in table.tables.get(title, ()))
    ]


def tables_of(sections: Sequence[Section]) -> dict[str, list[list[list[str]]]]:
    """The tables of sections that are about to be written."""
    return {
        part.title: [[list(table.heading), *(list(row) for row in table.rows)] for table in part.tables]
        for part in sections
        if part.tables
    }


def shown_tables(page: str) -> dict[str, list[list[list[str]]]]:
    """The tables of a page by the title of their section."""
    found: dict[str, list[list[list[str]]]] = {}
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        blocks = re.findall(r"(?:^\|.*\|\n?)+", body, flags=re.MULTILINE)
        if blocks:
            found[title] = [[_cells(line) for line in _rows(block)] for block in blocks]
    return found


def told_ratios(page: str) -> set[str]:
    """The ratios that the page's sentences give, with their intervals."""
    prose = "\n".join(line for line in page.splitlines() if not line.startswith("|"))
    return {found for found in _RATIO.findall(prose) if "[" in found}


def stamped(page: str, line: str) -> str:
    """The page with another line about when it was measured."""
    return re.sub(rf"^{BEGINS}.*$", lambda _: line, page, count=1, flags=re.MULTILINE)


def commit_here() -> str:
    """The commit of the checkout, with a word if it has changes of its own."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def _sections(page: str, table: PageTable) -> list[Section]:
    """The sections that a page has, with their sentences, and with the whole tables."""
    found = []
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        text = [each for each in body.strip().split("\n\n") if each and not each.startswith("|")]
        tables = [Table(heading, rows) for heading, *rows in table.tables.get(title, ())]
        found.append(Section(title, text, (), tables))
    return found


def _holds(stored: Sequence[Sequence[str]], heading: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a stored table has these columns, in this order, and in them this row."""
    whole, *rows = stored
    at: list[int] = []
    for name in heading:
        begin = at[-1] + 1 if at else 0
        if name not in whole[begin:]:
            return False
        at.append(list(whole).index(name, begin))
    return any([each[place] for place in at] == list(row) for each in rows)


def _rows(block: str) -> list[str]:
    lines = block.strip().splitlines()
    return [lines[0], *lines[2:]]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
