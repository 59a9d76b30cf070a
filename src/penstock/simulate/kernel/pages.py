"""Runs of pages of a file that are in one state.

Runs are measured in blocks first, which the compiler turns into a few instructions for all of a block's pages.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.records import NONE, World
from penstock.simulate.kernel.states import UPTODATE

BLOCK = 8


@kernel
def _block_in_state(w: World, first: int, state: int) -> bool:
    strange = 0
    for i in range(first, first + BLOCK):
        strange |= w.page_state[i] ^ state
    return strange == 0


@kernel
def run_in_state(w: World, f: int, page: int, end: int, state: int) -> int:
    """How many pages from `page` on, before `end`, are in a state."""
    first = w.file.state_base[f] + page
    behind = w.file.state_base[f] + end
    i = first
    while i + BLOCK <= behind and _block_in_state(w, i, state):
        i += BLOCK
    while i < behind and w.page_state[i] == state:
        i += 1
    return i - first


@kernel
def _block_not_cached(w: World, first: int) -> bool:
    # ABSENT and READING have no bit in common with UPTODATE.
    seen = 0
    for i in range(first, first + BLOCK):
        seen |= w.page_state[i]
    return seen & UPTODATE == 0


@kernel
def run_not_cached(w: World, f: int, page: int, end: int) -> int:
    """How many pages from `page` on, before `end`, cannot be read without waiting."""
    first = w.file.state_base[f] + page
    behind = w.file.state_base[f] + end
    i = first
    while i + BLOCK <= behind and _block_not_cached(w, i):
        i += BLOCK
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
def _block_clean(w: World, first: int) -> bool:
    labels = NONE
    for i in range(first, first + BLOCK):
        labels &= w.page_extent[i]
    return labels == NONE


@kernel
def clean_run(w: World, f: int, page: int, end: int) -> int:
    """How many pages from `page` on, before `end`, belong to no extent."""
    first = w.file.ext_base[f] + page
    behind = w.file.ext_base[f] + end
    i = first
    while i + BLOCK <= behind and _block_clean(w, i):
        i += BLOCK
    while i < behind and w.page_extent[i] == NONE:
        i += 1
    return i - first


@kernel
def label(w: World, f: int, page: int, pages: int, e: int) -> None:
    """Let a run of pages belong to an extent, or to none."""
    first = w.file.ext_base[f] + page
    for i in range(first, first + pages):
        w.page_extent[i] = e
