"""A simulated client that only reads ahead, as the served tree needs it."""

from __future__ import annotations

from collections import Counter

from penstock.emulate.served_client import Direction, MetadataFigures, MountFigures, OscFigures, Sums
from penstock.knobs import Setting
from penstock.simulate.reading.read_path import BLOCK_BYTES, BLOCK_PAGES, Traffic
from penstock.simulate.reading.reading_client import ReadingClient

_PAGES_BINS, _FLIGHT_BINS = 11, 32


class SimulatedReadingClient:
    """A client whose files all lie on the first OST. Its other data paths are idle."""

    def __init__(self, client: ReadingClient) -> None:
        self._client = client

    def run_until(self, t_s: float) -> None:
        self._client.engine.run_until(t_s)

    def osc(self, index: int) -> OscFigures:
        """The figures of one data path."""
        if index:
            return OscFigures()
        path = self._client.path
        return OscFigures(read=_direction(path.traffic, path.slots.used))

    def mount(self) -> MountFigures:
        """What applications read; all their calls have one size."""
        reads = self._client.reads
        size = self._client.work.call_blocks * BLOCK_BYTES
        if not reads.calls:
            return MountFigures()
        took = (reads.least_usec, reads.most_usec, reads.usec, reads.usec_squares)
        return MountFigures(
            read=Sums(reads.calls, size, size, reads.calls * size, reads.calls * size * size),
            read_usec=Sums(reads.calls, *(int(usec) for usec in took)),
            async_readaheads=reads.by_itself,
            ahead_limited=self._client.budget.refused,
        )

    def metadata(self) -> MetadataFigures:
        """Opening and closing files is not simulated here."""
        return MetadataFigures()

    def apply_metadata(self, rpcs: int, mod_rpcs: int, statahead: int) -> None:
        """Nothing is asked of the metadata server."""

    def apply_readahead(self, setting: Setting) -> None:
        """Put limits in force as they are."""
        self._client.set(self._client.setting.replace(setting))

    def apply(self, index: int, setting: Setting) -> None:
        """Put values in force as they are; requests of fewer than 16 pages count as such."""
        if not index:
            self._client.set(self._client.setting.replace(setting))


def _direction(traffic: Traffic, in_flight: int) -> Direction:
    if not traffic.requests:
        return Direction(in_flight=in_flight)
    sizes = {blocks * BLOCK_BYTES: count for blocks, count in traffic.answered.items()}
    squares = sum(size * size * count for size, count in sizes.items())
    took = (traffic.least_usec, traffic.most_usec, traffic.usec, traffic.usec_squares)
    return Direction(
        size=Sums(traffic.requests, min(sizes), max(sizes), traffic.bytes, squares),
        usec=Sums(traffic.requests, *(int(usec) for usec in took)),
        in_flight=in_flight,
        pages_bins=_pages_bins(traffic.sent),
        flight_bins=_binned(traffic.flying, _FLIGHT_BINS),
    )


def _pages_bins(sent: Counter[int]) -> list[int]:
    """Requests by their pages, in powers of two."""
    bins: Counter[int] = Counter()
    for blocks, count in sent.items():
        bins[(blocks * BLOCK_PAGES - 1).bit_length()] += count
    return _binned(bins, _PAGES_BINS)


def _binned(counts: Counter[int], bins: int) -> list[int]:
    found = [0] * bins
    for at, count in counts.items():
        found[min(at, bins - 1)] += count
    return found
