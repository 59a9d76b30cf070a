"""What a reconnect of a Lustre data path changes: a server with a smaller bulk size lowers limits for everybody."""

from __future__ import annotations

from dataclasses import replace

from penstock.actuate.journal import Baseline, Entry
from penstock.actuate.osc_files import Connection
from penstock.actuate.ownership import recomputed
from penstock.knobs import KnobSpace, Setting

# Lustre moves at most 16 MiB in one request.
MOST_BULK_LOG2 = 12


def baseline_of(connection: Connection) -> Baseline:
    """What an original is seen under: the connection's generation and its bulk size, as far as they are known."""
    said = {"generation": connection.generation, "brw_pages": connection.brw_pages}
    return {name: value for name, value in said.items() if value is not None}


def reconnected(entry: Entry, now: Setting, connection: Connection, space: KnobSpace) -> Entry:
    """The effects of a reconnect: a server with a smaller bulk size reduces max_pages_per_rpc, and the rest is
    recomputed.

    It changes originals and possible values alike: what the server reduced for everybody is the new original.
    """
    seen = baseline_of(connection)
    if connection.generation is None or connection.brw_pages is None or seen == entry.baseline:
        return entry
    limit = connection.brw_pages
    original = entry.original.replace(pages=min(entry.original["pages"], limit))
    possible = dict(entry.possible)
    pages = possible.get("pages", frozenset())
    possible["pages"] = pages | {min(value, limit) for value in pages}
    dirty = possible.get("dirty", frozenset())
    # Several servers may have come and gone since; bulk sizes are powers of two, none below what is left now.
    sizes = [2**k for k in range(MOST_BULK_LOG2 + 1) if 2**k >= now["pages"]]
    cut = frozenset(min(value, size) for value in pages for size in sizes)
    before = replace(entry, possible={**possible, "pages": pages | cut})
    made = recomputed(space, before, now, "dirty", ["pages"])
    if now["dirty"] not in dirty | {original["dirty"]} and now["dirty"] in made:
        original = space.store(original, "pages", original["pages"])
        possible["dirty"] = dirty | {now["dirty"]}
    return replace(entry, original=original, possible=possible, baseline=seen)
