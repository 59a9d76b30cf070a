"""The Lustre version, to be shown only: no decision depends on it."""

from __future__ import annotations

from penstock.observe.kernelfs import KernelFs, read_once
from penstock.observe.lustre.layout import PLACES


def read_version(fs: KernelFs) -> str | None:
    """The client's version as it calls itself; None where it cannot be read."""
    for place in PLACES:
        try:
            text = read_once(fs.path(f"{place}/version"))
        except OSError:
            continue
        return parse_version(text)
    return None


def parse_version(text: bytes) -> str | None:
    """The number alone, from either of the forms in use.

    >>> parse_version(b"2.15.8_dirty\\n"), parse_version(b"lustre: 2.12.9\\nkernel: patchless_client\\n")
    ('2.15.8_dirty', '2.12.9')
    """
    for word in text.decode("utf-8", "replace").split():
        if word[:1].isdigit():
            return word
    return None
