"""The interface between a served tree and its simulation: figures out, settings in, time passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.knobs import Setting


@dataclass(frozen=True, slots=True)
class Sums:
    """One row of a `stats` file: how many samples, their range, their sum and the sum of their squares."""

    count: int = 0
    low: int = 0
    high: int = 0
    total: int = 0
    squares: int = 0


@dataclass(frozen=True, slots=True)
class Direction:
    """What one direction of a data path did since the beginning.

    `pages_bins[i]` counts RPCs of up to 2**i pages; `flight_bins[i]` those sent as the i-th in flight, the
    last bin holding all beyond.
    """

    size: Sums = Sums()
    usec: Sums = Sums()
    in_flight: int = 0
    pages_bins: Sequence[int] = ()
    flight_bins: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class OscFigures:
    """The figures of one data path at one instant."""

    read: Direction = Direction()
    write: Direction = Direction()
    dirty_bytes: int = 0
    grant_bytes: int = 0


@dataclass(frozen=True, slots=True)
class MountFigures:
    """The applications' calls on the whole mount since the beginning.

    `read_usec` are the times of reads, where they are known. `async_readaheads` counts batches that another thread
    than the reader asked for, `ahead_limited` how often the limit of all files left too little room.
    """

    read: Sums = Sums()
    write: Sums = Sums()
    open: Sums = Sums()
    close: Sums = Sums()
    fsync: Sums = Sums()
    read_usec: Sums = Sums()
    async_readaheads: int = 0
    ahead_limited: int = 0


@dataclass(frozen=True, slots=True)
class MetadataFigures:
    """The operations on the metadata server since the beginning, with their times in microseconds.

    `looked` counts whatever looks something up, opens among them; `asked` the applications' calls of stat.
    """

    looked: Sums = Sums()
    asked: Sums = Sums()
    created: Sums = Sums()
    unlinked: Sums = Sums()
    closed: Sums = Sums()
    pinged: Sums = Sums()


class SimulatedClient(Protocol):
    """A client whose time passes when told. Values are taken as stored: refusing is the tree's part."""

    def run_until(self, t_s: float) -> None:
        """Let everything happen up to that time."""
        ...

    def osc(self, index: int) -> OscFigures:
        """The figures of one data path, numbered from zero."""
        ...

    def mount(self) -> MountFigures:
        """The applications' side."""
        ...

    def metadata(self) -> MetadataFigures:
        """The metadata server's side."""
        ...

    def apply_metadata(self, rpcs: int, mod_rpcs: int, statahead: int) -> None:
        """Put new values in force for the connection to the metadata server and for statahead."""
        ...

    def apply_readahead(self, setting: Setting) -> None:
        """Put new limits of readahead in force, in MiB."""
        ...

    def apply(self, index: int, setting: Setting) -> None:
        """Put new values in force for one data path."""
        ...
