"""Which CACHE extent lies lowest in a file: counts of extent starts per 64, 4,096 and 262,144 pages.

Lustre keeps extents in a tree ordered by offset; counting starts answers the only two questions asked of it,
"the first" and "the next", in a bounded number of steps, whatever the number of extents.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.pages import block_of, extent_at
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.states import CACHE


@kernel
def note_start(w: World, f: int, page: int, change: int) -> None:
    """An extent that starts here became (+1) or ceased to be (-1) a CACHE extent."""
    w.file.cached_extents[f] += change
    w.block.starts[block_of(w, f, page)] += change
    w.index2[w.file.index2_base[f] + (page >> 12)] += change
    w.index3[w.file.index3_base[f] + (page >> 18)] += change


@kernel
def next_cached(w: World, f: int, page: int) -> int:
    """The first CACHE extent that starts at `page` or later, or none."""
    pages = w.file.pages[f]
    while page < pages:
        if page & 0x3FFFF == 0 and w.index3[w.file.index3_base[f] + (page >> 18)] == 0:
            page += 0x40000
        elif page & 0xFFF == 0 and w.index2[w.file.index2_base[f] + (page >> 12)] == 0:
            page += 0x1000
        elif page & 0x3F == 0 and w.block.starts[block_of(w, f, page)] == 0:
            page += 0x40
        else:
            e = extent_at(w, f, page)
            if e == NONE:
                page += 1
            elif w.extent.start[e] == page and w.extent.state[e] == CACHE:
                return e
            else:
                page = w.extent.start[e] + w.extent.pages[e]
    return NONE
