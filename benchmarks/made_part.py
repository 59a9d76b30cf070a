"""Parts of a page that a benchmark writes: what stands between two marks is replaced, the rest is left alone."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.errors import DataError


def replace_part(page: Path, name: str, text: str) -> None:
    """Put the text between `<!-- made: NAME -->` and `<!-- /made -->`."""
    whole = page.read_text("utf-8")
    pattern = re.compile(rf"(<!-- made: {re.escape(name)} -->\n).*?(<!-- /made -->)", re.DOTALL)
    if not pattern.search(whole):
        raise DataError(f"{page}: no part `<!-- made: {name} -->`")
    page.write_text(pattern.sub(lambda found: f"{found[1]}{text.strip()}\n{found[2]}", whole), "utf-8")
