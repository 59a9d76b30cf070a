"""Lists of workloads by name or from a file, for sequences (one after the other) and interference (one a client).

A file has one workload a line, as the CARAT authors' files do: `rnd_r_1_io_1m`, `fivestreamwriternd_io_8k`, or our
own name `s_rd_rn_1m`. Empty lines and lines that begin with # are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.config import read
from penstock.errors import DataError, UsageError, did_you_mean
from penstock.evaluate.authors_lists import Works
from penstock.workload import parse_workload

MOST_WORKLOADS = 100
_SINGLE = re.compile(r"(seq|rnd)_([rw])_1_io_([0-9]+[kmg]?)")
_FIVE = re.compile(r"fivestream(read|write)(rnd)?_io_([0-9]+[kmg]?)")


def our_name(word: str) -> str:
    """A workload in our words, whether the authors' name or ours is given.

    >>> our_name("rnd_r_1_io_1m"), our_name("fivestreamwrite_io_16m"), our_name("f_rd_rn_8k")
    ('s_rd_rn_1m', 'f_wr_sq_16m', 'f_rd_rn_8k')
    """
    if found := _SINGLE.fullmatch(word):
        order, way, size = found.groups()
        return f"s_{'rd' if way == 'r' else 'wr'}_{'sq' if order == 'seq' else 'rn'}_{size}"
    if found := _FIVE.fullmatch(word):
        direction, random, size = found.groups()
        return f"f_{'rd' if direction == 'read' else 'wr'}_{'rn' if random else 'sq'}_{size}"
    return word


def parse_list(text: str, source: str) -> Works:
    """The workloads of a file's text, in order."""
    found: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        try:
            found.append(parse_workload(our_name(word)).name)
        except UsageError as error:
            raise DataError(f"{source}:{number}: {error}") from None
    if not 1 <= len(found) <= MOST_WORKLOADS:
        raise DataError(f"{source}: {len(found)} workloads; give 1 to {MOST_WORKLOADS}, one a line")
    return tuple(found)


def find_list(name: str, known: Mapping[str, Works]) -> Works:
    """A list by name, or from a file if the name is none of the known ones."""
    if name in known:
        return known[name]
    path = Path(name)
    if path.suffix or len(path.parts) > 1 or path.is_file():
        return parse_list(read(path), name)
    raise UsageError(
        f"--list {name}: neither a file nor one of {', '.join(known)}{did_you_mean(name, tuple(known))}"
    )


def distinct(known: Mapping[str, Works]) -> tuple[str, ...]:
    """The first name of every list that differs from those before it."""
    first: dict[Works, str] = {}
    for name, works in known.items():
        first.setdefault(works, name)
    return tuple(first.values())


def namesakes(name: str, works: Works, known: Mapping[str, Works]) -> list[str]:
    """The other names of the same list."""
    return [other for other, same in known.items() if same == works and other != name]


def kind_of(works: Sequence[str]) -> str:
    """`read`, `write` or `mixed`, as the paper's Table VI calls them.

    >>> kind_of(("s_rd_rn_1m", "f_rd_sq_8k")), kind_of(("s_rd_rn_1m", "s_wr_sq_8k"))
    ('read', 'mixed')
    """
    ways = {parse_workload(name).direction for name in works}
    return ways.pop() if len(ways) == 1 else "mixed"
