"""Runs of pages of a file that are in one state, and which extent a page belongs to.

Runs are measured in groups first, which the compiler turns into a few instructions for all of a group's pages.

A block of 64 pages that belong to one extent, or to none, is labelled as a whole, which is one word instead of
four cache lines; only where a block is `MIXED` its pages have labels of their own.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.states import MIXED, UPTODATE

GROUP = 8
BLOCK_BITS = 6
BLOCK_PAGES = 1 << BLOCK_BITS


@kernel
def _group_in_state(w: World, first: int, state: int) -> bool:
    strange = 0
    for i in range(first, first + GROUP):
        strange |= w.page_state[i] ^ state
    return strange == 0


@kernel
def run_in_state(w: World, f: int, page: int, end: int, state: int) -> int:
    """How many pages from `page` on, before `end`, are in a state."""
    first = w.file.state_base[f] + page
    behind = w.file.state_base[f] + end
    i = first
    while i + GROUP <= behind and _group_in_state(w, i, state):
        i += GROUP
    while i < behind and w.page_state[i] == state:
        i += 1
    return i - first


@kernel
def _group_not_cached(w: World, first: int) -> bool:
    # ABSENT and READING have no bit in common with UPTODATE.
    seen = 0
    for i in range(first, first + GROUP):
        seen |= w.page_state[i]
    return seen & UPTODATE == 0


@kernel
def run_not_cached(w: World, f: int, page: int, end: int) -> int:
    """How many pages from `page` on, before `end`, cannot be read without waiting."""
    first = w.file.state_base[f] + page
    behind = w.file.state_base[f] + end
    i = first
    while i + GROUP <= behind and _group_not_cached(w, i):
        i += GROUP
    while i < behind and w.page_state[i] != UPTODATE:
        i += 1
    return i - first


@kernel
def set_state(w: World, f: int, page: int, pages: int, state: int) -> None:
    """Put a run of pages into a state."""
    first = w.file.state_base[f] + page
    for i in range(first, first + pages):
        w.page_state[i] = state


@kernel
def block_of(w: World, f: int, page: int) -> int:
    """The block of a file that a page lies in."""
    return w.file.block_base[f] + (page >> BLOCK_BITS)


@kernel
def extent_at(w: World, f: int, page: int) -> int:
    """The extent that a page belongs to, or none."""
    e = w.block.extent[block_of(w, f, page)]
    return e if e != MIXED else int(w.page_extent[w.file.ext_base[f] + page])


@kernel
def _group_clean(w: World, first: int) -> bool:
    labels = NONE
    for i in range(first, first + GROUP):
        labels &= w.page_extent[i]
    return labels == NONE


@kernel
def _clean_in_mixed(w: World, first: int, behind: int) -> int:
    i = first
    while i + GROUP <= behind and _group_clean(w, i):
        i += GROUP
    while i < behind and w.page_extent[i] == NONE:
        i += 1
    return i - first


@kernel
def clean_run(w: World, f: int, page: int, end: int) -> int:
    """How many pages from `page` on, before `end`, belong to no extent."""
    base = w.file.ext_base[f]
    at = page
    while at < end:
        behind = min(end, (at | (BLOCK_PAGES - 1)) + 1)
        e = w.block.extent[block_of(w, f, at)]
        if e == MIXED:
            at += _clean_in_mixed(w, base + at, base + behind)
        elif e == NONE:
            at = behind
        if at < behind:
            break
    return at - page


@kernel
def _mix(w: World, f: int, page: int) -> None:
    """Let every page of a block have the label that the block had."""
    k = block_of(w, f, page)
    e = w.block.extent[k]
    if e != MIXED:
        first = page - page % BLOCK_PAGES
        base = w.file.ext_base[f]
        for i in range(base + first, base + min(first + BLOCK_PAGES, w.file.pages[f])):
            w.page_extent[i] = e
        w.block.extent[k] = MIXED


@kernel
def label(w: World, f: int, page: int, pages: int, e: int) -> None:
    """Let a run of pages belong to an extent, or to none."""
    end = page + pages
    while page < end:
        behind = min(end, (page | (BLOCK_PAGES - 1)) + 1)
        if behind - page == BLOCK_PAGES:
            w.block.extent[block_of(w, f, page)] = e
        else:
            _mix(w, f, page)
            base = w.file.ext_base[f]
            for i in range(base + page, base + behind):
                w.page_extent[i] = e
        page = behind
