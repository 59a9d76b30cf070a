"""Workloads that read, by name: `ra_seq_1m_4` is four threads that each read a file from end to end in calls of 1 MiB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from penstock.errors import UsageError

_NAME = re.compile(r"ra_(?P<how>seq|rand|stride|back|files|heads)_(?P<size>64k|256k|1m|4m)_(?P<count>[1-9][0-9]?)")
NAMES = ("ra_seq_1m_1", "ra_seq_1m_4", "ra_rand_1m_4", "ra_stride_1m_1", "ra_back_1m_1", "ra_files_1m_4", "ra_heads_1m_1")
_BLOCKS = {"64k": 1, "256k": 4, "1m": 16, "4m": 64}
# Files of 1.5 GiB; of every fourth call's worth one is read in strides; 8 MiB are the head of a file.
FILE_BLOCKS, STRIDE, HEAD_BLOCKS = 24576, 4, 128


@dataclass(frozen=True, slots=True)
class ReadingWorkload:
    """How `threads` threads read: `how` is the order of their calls, each of `call_blocks`.

    `files` is how many files one thread has open and reads in turn.
    """

    name: str
    how: str
    call_blocks: int
    threads: int
    files: int = 1
    file_blocks: int = FILE_BLOCKS

    def spread(self, osts: int) -> int:
        """Over how many OSTs its files lie: all of its work goes to one, as in the recordings."""
        return min(osts, 1)


@dataclass(frozen=True, slots=True)
class Call:
    """One read() of a thread's file number `file`, which is opened before if `opens`."""

    file: int
    first: int
    blocks: int
    opens: bool = False


def is_reading(name: str) -> bool:
    """Whether a workload's name is meant to be one of these."""
    return name.startswith("ra_")


def parse_reading(name: str) -> ReadingWorkload:
    """The workload of a name.

    >>> parse_reading("ra_seq_64k_4").threads, parse_reading("ra_files_1m_4").files
    (4, 4)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise UsageError(f"unknown workload {name!r}; workloads that read look like {', '.join(NAMES)}")
    how, blocks, count = match["how"], _BLOCKS[match["size"]], int(match["count"])
    if how == "files":
        return ReadingWorkload(name, how, blocks, 1, count)
    return ReadingWorkload(name, how, blocks, count)


def calls_of(work: ReadingWorkload, rng: Random) -> Iterator[Call]:
    """One thread's calls, without end: a file that was read is followed by another."""
    while True:
        for at, first in enumerate(_order(work, rng)):
            for file in range(work.files):
                yield Call(file, first, work.call_blocks, opens=at == 0)


def _order(work: ReadingWorkload, rng: Random) -> Iterator[int]:
    """Where the calls on one file begin."""
    size = work.call_blocks
    last = work.file_blocks - size
    if work.how == "rand":
        for _ in range(work.file_blocks // size):
            yield rng.randrange(last // size + 1) * size
    elif work.how == "stride":
        yield from range(0, last + 1, STRIDE * size)
    elif work.how == "back":
        yield from range(last - last % size, -1, -size)
    elif work.how == "heads":
        yield from range(0, max(HEAD_BLOCKS, size), size)
    else:
        yield from range(0, last + 1, size)
