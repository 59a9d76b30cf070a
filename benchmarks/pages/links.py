"""Checks links without a network: of the built site, and of the Markdown files as they lie in the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchmarks.pages.stage import DOCS, LINK, MADE, ROOT

# What a browser fetches by itself; none of it may come from elsewhere.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
# These `link`s are only told to search engines.
TOLD = ("canonical", "alternate", "next", "prev")


class _Page(HTMLParser):
    """The links, the ids and what is fetched of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        fetched = values.get(FETCHED.get(tag, ""), "")
        if fetched and not (tag == "link" and values.get("rel") in TOLD):
            self.fetched.append(fetched)


def site_problems(site: Path) -> Iterator[str]:
    """Links and fragments that lead nowhere, and whatever would be fetched from another machine."""
    for path in sorted(site.rglob("*.html")):
        page = _parsed(path)
        where = path.relative_to(site)
        for url in page.fetched:
            if urlsplit(url).netloc:
                yield f"{where}: fetches {url}"
        for url in (*page.links, *page.fetched):
            yield from (f"{where}: {problem}" for problem in _problems(site, path, url))


def _problems(site: Path, path: Path, url: str) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or url.startswith("#__") or path.name == "404.html":
        return
    target = path
    if parts.path:
        base = site if parts.path.startswith("/") else path.parent
        target = (base / unquote(parts.path).lstrip("/")).resolve()
        target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(site.resolve()) or not target.is_file():
        yield f"{url} leads nowhere"
    elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in _parsed(target).ids:
        yield f"{url}: no such place on that page"


@cache
def _parsed(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def project_problems(root: Path = ROOT) -> Iterator[str]:
    """Links of the Markdown files, and paths of pages named in code, that lead to no file of the project."""
    for path in (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))):
        for match in LINK.finditer(_without_code(path.read_text(encoding="utf-8"))):
            target = (path.parent / match[2]).resolve()
            if ":" not in match[2] and not target.exists() and not _is_made(target):
                yield f"{path.relative_to(root)}: {match[2]} leads nowhere"
    for room in ("src", "tests", "benchmarks", "packaging", "examples"):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".toml", ".sh", ".conf") and path.is_file():
                for match in re.finditer(
                    r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8", errors="replace")
                ):
                    if not (root / match[0]).exists():
                        yield f"{path.relative_to(root)}: {match[0]} leads nowhere"


def _is_made(target: Path) -> bool:
    """Whether the site has a page there that is made from the code."""
    made = {DOCS / path for path in MADE}
    return target in made or (target.suffix == ".md" and target.parent == DOCS / "reference" / "cli")


def _without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
