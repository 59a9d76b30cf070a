"""The operation counts of one collective write in MPICH's ROMIO: every call to network and storage.

The counts follow the two-phase algorithm of MPICH 5 with its general driver. The written range is divided into one
file domain per aggregator. Each aggregator fills its buffer from the first written byte of its domain on, round by
round. All ranks take part in every round. If a round has unwritten bytes, it reads them first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.plan.collective.access import Access
from penstock.plan.collective.romio import CallPlan, Hints, resolve

INT_BYTES = 4
OFFSET_BYTES = 8


@dataclass(frozen=True, slots=True)
class RoundBatch:
    """A number of equal buffers that one aggregator writes, one per round."""

    rounds: int
    size_bytes: int
    reads_first: bool
    senders: int


@dataclass(frozen=True, slots=True)
class Aggregator:
    """The storage operations of one aggregator in the order of rounds. Batches without senders write nothing."""

    start: int
    length_bytes: int
    batches: tuple[RoundBatch, ...]

    @property
    def rounds(self) -> int:
        """How many buffers it takes."""
        return sum(batch.rounds for batch in self.batches)

    @property
    def writes(self) -> int:
        """Calls of pwrite."""
        return sum(batch.rounds for batch in self.batches if batch.senders)

    @property
    def written_bytes(self) -> int:
        """Bytes given to pwrite, the unwritten ones it read before included."""
        return sum(batch.rounds * batch.size_bytes for batch in self.batches if batch.senders)

    @property
    def reads(self) -> int:
        """Calls of pread that fill holes."""
        return sum(batch.rounds for batch in self.batches if batch.senders and batch.reads_first)


@dataclass(frozen=True, slots=True)
class Counts:
    """Everything one collective write does, summed over its ranks unless stated otherwise.

    Collectives are counted as the calls that one rank takes part in. `sends` counts data and request messages,
    including those a rank sends to itself.
    """

    collective: bool
    rounds: int
    aggregators: tuple[Aggregator, ...]
    allgathers: int
    alltoalls: int
    allreduces: int
    bcasts: int
    data_sends: int
    request_sends: int
    per_rank_writes: tuple[int, ...]
    per_rank_bytes: tuple[int, ...]
    per_rank_reads: tuple[int, ...]

    @property
    def writes(self) -> int:
        """All calls of pwrite."""
        return sum(self.per_rank_writes)

    @property
    def reads(self) -> int:
        """All calls of pread."""
        return sum(self.per_rank_reads)

    @property
    def sends(self) -> int:
        """All messages between two ranks."""
        return self.data_sends + self.request_sends


def count(access: Access, hints: Hints) -> Counts:
    """The operations of one collective write under these hints."""
    plan = resolve(access, hints)
    return _two_phase(access, plan) if plan.collective else _independent(access, plan, hints)


def _two_phase(access: Access, plan: CallPlan) -> Counts:
    domains = tuple(_aggregator(access, plan, start, end) for start, end in file_domains(access, plan))
    rounds = max(domain.rounds for domain in domains)
    idle = (0,) * (access.ranks - len(domains))
    return Counts(
        collective=True,
        rounds=rounds,
        aggregators=domains,
        allgathers=2,
        alltoalls=1 + rounds,
        allreduces=1 + (plan.aggregators > 1),
        bcasts=int(plan.aggregators == 1),
        data_sends=sum(batch.rounds * batch.senders for domain in domains for batch in domain.batches),
        request_sends=sum(_requesters(access, domain) for domain in domains),
        per_rank_writes=tuple(domain.writes for domain in domains) + idle,
        per_rank_bytes=tuple(domain.written_bytes for domain in domains) + idle,
        per_rank_reads=tuple(domain.reads for domain in domains) + idle,
    )


def file_domains(access: Access, plan: CallPlan) -> Iterator[tuple[int, int]]:
    """The half-open range each aggregator is responsible for; empty ones where the range runs out."""
    size = -(-access.range_bytes // plan.aggregators)
    start = 0
    for number in range(1, plan.aggregators + 1):
        end = _aligned(number * size, plan.align_bytes)
        if number == plan.aggregators:
            end = max(end, access.range_bytes)
        end = min(end, access.range_bytes)
        yield start, max(start, end)
        start = max(start, end)


def _aligned(offset: int, unit: int) -> int:
    """The nearest multiple of the unit, upwards from the middle."""
    if not unit:
        return offset
    below = offset % unit
    return offset - below if below < unit - below else offset + unit - below


def _aggregator(access: Access, plan: CallPlan, start: int, end: int) -> Aggregator:
    first = access.first_data(start)
    if first >= end:
        return Aggregator(start, 0, ())
    last = access.last_data(end)
    return Aggregator(first, last - first, tuple(_batches(access, first, last, plan.buffer_bytes)))


def _batches(access: Access, first: int, last: int, buffer_bytes: int) -> Iterator[RoundBatch]:
    """The rounds of one file domain, with equal rounds combined.

    While blocks have full length, the senders and holes of a buffer depend only on its start within a slot. That
    repeats, so one period of buffers stands for all, however long the file is.
    """
    short_row = access.range_bytes if access.last_block_bytes == access.block_bytes else _last_row(access)
    position = first
    while position < last:
        border = min(short_row, last) if position < short_row else last
        full = (border - position) // buffer_bytes
        if full < 2:
            end = min(position + buffer_bytes, last)
            yield RoundBatch(1, end - position, *_window(access, position, end))
            position = end
            continue
        period = _period(access, buffer_bytes)
        for phase in range(min(period, full)):
            start = position + phase * buffer_bytes
            times = full // period + (phase < full % period)
            yield RoundBatch(times, buffer_bytes, *_window(access, start, start + buffer_bytes))
        position += full * buffer_bytes


def _last_row(access: Access) -> int:
    return (access.rows - 1) * access.ranks * access.slot_bytes


def _period(access: Access, buffer_bytes: int) -> int:
    """The number of buffers after which the same position in a slot comes again.

    Buffers of whole rows are all alike.
    """
    if buffer_bytes >= access.ranks * access.slot_bytes:
        return 1
    return access.slot_bytes // math.gcd(access.slot_bytes, buffer_bytes)


def _window(access: Access, start: int, end: int) -> tuple[bool, int]:
    """Whether a buffer reads before it writes, and how many ranks send to it."""
    data_start = access.first_data(start)
    if data_start >= end:
        return False, 0
    return not access.covers(start, end), access.owners(data_start, access.last_data(end))


def _requesters(access: Access, domain: Aggregator) -> int:
    if not domain.length_bytes:
        return 0
    return access.owners(domain.start, domain.start + domain.length_bytes)


def _independent(access: Access, plan: CallPlan, hints: Hints) -> Counts:
    """Independent writes of every rank: one contiguous write, data sieving through a buffer, or block by block."""
    from penstock.plan.collective.sieve import rank_writes

    work = [rank_writes(access, plan.sieve_bytes)] * access.ranks
    return Counts(
        collective=False,
        rounds=0,
        aggregators=(),
        allgathers=0 if hints.romio_cb_write == "disable" else 2,
        alltoalls=0,
        allreduces=0,
        bcasts=0,
        data_sends=0,
        request_sends=0,
        per_rank_writes=tuple(one.writes for one in work),
        per_rank_bytes=tuple(one.written_bytes for one in work),
        per_rank_reads=tuple(one.reads for one in work),
    )
