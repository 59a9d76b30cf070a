"""Puts everything together that the site is built from: written pages, pages made from the code, linked sources.

Pages lie in docs/ as people read and edit them; links out of it (to source files, to README) work there too. In
the site such a link leads to a copy of that file, so that the site needs nothing beside itself.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.pages import commands, configuration, files, formats, metrics, python
from benchmarks.pages.markdown import fence

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = "zensical.toml"
# Pages of the project that are not in docs/ and belong to the site.
ADOPTED = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
MENTION = re.compile(r"(?<![\w/`(\[])docs/(?:[\w-]+/)?([\w-]+\.md)")
LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh", ".json": "json", ".lua": "lua"}
MADE: Mapping[str, Callable[[], str]] = {
    "reference/configuration.md": configuration.text,
    "reference/metrics.md": metrics.text,
    "reference/files.md": files.text,
    "reference/json.md": formats.text,
    "reference/python.md": python.text,
}


def made_pages() -> dict[str, str]:
    """All pages that come from the code, by path below docs/."""
    made = {f"reference/{path}": text for path, text in commands.pages().items()}
    return {**made, **{path: make() for path, make in MADE.items()}}


def stage(place: Path, made: Mapping[str, str]) -> Path:
    """Make `place` hold the generator's configuration and all it reads; returns the directory of pages."""
    shutil.rmtree(place, ignore_errors=True)
    pages = place / "docs"
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns(CONFIG))
    shutil.copy(DOCS / CONFIG, place / CONFIG)
    for path, text in made.items():
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        (pages / path).write_text(text, encoding="utf-8")
    for source, path in ADOPTED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        (pages / path).write_text(text, encoding="utf-8")
    _Relinker(pages).relink()
    return pages


class _Relinker:
    """Turns links out of docs/, and mere mentions of a page, into links inside the site."""

    def __init__(self, pages: Path) -> None:
        self._pages = pages
        self._by_name = {path.name: path for path in pages.rglob("*.md") if path.name != "index.md"}

    def relink(self) -> None:
        """Every page of the site."""
        for path in sorted(self._pages.rglob("*.md")):
            text = path.read_text(encoding="utf-8")
            path.write_text(self._page(path, text), encoding="utf-8")

    def _page(self, path: Path, text: str) -> str:
        home = DOCS / path.relative_to(self._pages)
        text = LINK.sub(lambda match: f"{match[1]}{self._target(path, home, match[2])}{match[3]}", text)
        return _outside_code(text, lambda prose: MENTION.sub(lambda match: self._mention(path, match), prose))

    def _target(self, path: Path, home: Path, target: str) -> str:
        if ":" in target or (path.parent / target).exists():
            return target
        outside = (home.parent / target).resolve()
        if outside.is_file() and outside.is_relative_to(ROOT) and not outside.is_relative_to(DOCS):
            return os.path.relpath(self._source(outside), path.parent)
        return target

    def _mention(self, path: Path, match: re.Match[str]) -> str:
        page = self._by_name.get(match[1])
        if page is None:
            return match[0]
        return f"[{match[1].removesuffix('.md')}]({os.path.relpath(page, path.parent)})"

    def _source(self, file: Path) -> Path:
        """A page that shows a file of the project."""
        relative = file.relative_to(ROOT)
        if str(relative) in ADOPTED:
            return self._pages / ADOPTED[str(relative)]
        page = self._pages / "source" / f"{relative}.md"
        if not page.exists():
            page.parent.mkdir(parents=True, exist_ok=True)
            shown = fence(file.read_text(encoding="utf-8"), LANGUAGES.get(file.suffix, "text"))
            page.write_text(
                f"---\nsearch:\n  exclude: true\n---\n\n# {relative}\n\n{shown}\n", encoding="utf-8"
            )
        return page


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change what is not within a block of code."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))
