"""The prediction: exact operation counts times measured operation costs.

Rounds are sequential and aggregators work in parallel. So the time of a call is the sum over the rounds of the
slowest aggregator (exchange plus write), plus the operations that happen once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.plan.collective.access import Access
from penstock.plan.collective.counts import INT_BYTES, OFFSET_BYTES, Aggregator, Counts, count
from penstock.plan.collective.romio import Hints, resolve
from penstock.plan.collective.surrogates import Query, Surrogates


@dataclass(frozen=True, slots=True)
class Term:
    """An elemental operation at one size, and how often a call waits for it."""

    query: Query
    times: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The share of one kind of operation in a prediction."""

    times: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Part:
    """The time of all operations of one kind and size, and the relative error of their surrogate by
    cross-validation.
    """

    query: Query
    seconds: float
    relative_rmse: float


@dataclass(frozen=True, slots=True)
class CallForecast:
    """The predicted time of one call under some hints, and its composition.

    It holds for every call except a job's first, which also touches fresh buffers and takes `first_extra_s` longer.
    `error_ratio` is the typical relative error, from the cross-validation of the surrogates.
    """

    hints: Hints
    counts: Counts
    seconds: float
    first_extra_s: float
    operations: dict[str, Cost]
    parts: tuple[Part, ...]

    @property
    def error_ratio(self) -> float:
        """The surrogates' errors, weighed by their shares of the time, as if independent."""
        squares = sum((part.seconds * part.relative_rmse) ** 2 for part in self.parts)
        return float(squares**0.5 / self.seconds) if self.seconds else 0.0


def doubt(one: CallForecast, other: CallForecast) -> float:
    """The relative error to expect in the ratio of two forecasts.

    An operation that both forecasts contain has the same error in both, which cancels. Only the difference in its
    share counts.
    """
    shares: dict[Query, float] = defaultdict(float)
    errors: dict[Query, float] = {}
    for sign, forecasted in ((1.0, one), (-1.0, other)):
        for part in forecasted.parts:
            shares[part.query] += sign * part.seconds / forecasted.seconds
            errors[part.query] = part.relative_rmse
    return float(sum((shares[query] * errors[query]) ** 2 for query in shares) ** 0.5)


def forecast(surrogates: Surrogates, access: Access, options: Sequence[Hints]) -> list[CallForecast]:
    """The forecast of every option; all their operations are asked of the surrogates at once."""
    counted = [count(access, hints) for hints in options]
    terms = [list(_terms(access, hints, counts)) for hints, counts in zip(options, counted, strict=True)]
    touches = [_touch(access, hints, counts) for hints, counts in zip(options, counted, strict=True)]
    flat = [term.query for one in terms for term in one]
    seconds = iter(surrogates.seconds(flat + [query for query in touches if query]))
    priced = [[(term, float(next(seconds))) for term in one] for one in terms]
    extra = [float(next(seconds)) if query else 0.0 for query in touches]
    return [
        _join(surrogates, (hints, counts), parts, first)
        for hints, counts, parts, first in zip(options, counted, priced, extra, strict=True)
    ]


def _join(
    surrogates: Surrogates,
    subject: tuple[Hints, Counts],
    priced: Sequence[tuple[Term, float]],
    first_extra_s: float,
) -> CallForecast:
    times: dict[str, int] = defaultdict(int)
    spent: dict[str, float] = defaultdict(float)
    parts = []
    for term, each_s in priced:
        name = term.query.operation
        times[name] += term.times
        spent[name] += term.times * each_s
        parts.append(Part(term.query, term.times * each_s, surrogates.choices[name].relative_rmse))
    return CallForecast(
        hints=subject[0],
        counts=subject[1],
        seconds=sum(spent.values()),
        first_extra_s=first_extra_s,
        operations={name: Cost(times[name], spent[name]) for name in spent},
        parts=tuple(parts),
    )


def _touch(access: Access, hints: Hints, counts: Counts) -> Query | None:
    """The first touch of the aggregators' buffers, which a job pays once."""
    if not counts.collective:
        return None
    longest = max(one.length_bytes for one in counts.aggregators)
    busy = sum(one.length_bytes > 0 for one in counts.aggregators)
    size = min(resolve(access, hints).buffer_bytes, longest)
    return Query("touch", access.ranks, busy, size, size)


def _terms(access: Access, hints: Hints, counts: Counts) -> Iterator[Term]:
    ranks = access.ranks
    # The Alltoall of each round is part of its shuffle, as it was measured.
    small = (
        ("allgather", counts.allgathers, OFFSET_BYTES),
        ("alltoall", counts.alltoalls - counts.rounds, INT_BYTES),
        ("allreduce", counts.allreduces, INT_BYTES),
        ("bcast", counts.bcasts, INT_BYTES),
    )
    for operation, times, size in small:
        if times and ranks > 1:
            yield Term(Query(operation, ranks, ranks, size, size), times)
    if counts.collective:
        yield from _two_phase_terms(access, hints, counts)
    else:
        yield from _independent_terms(access, counts)


def _two_phase_terms(access: Access, hints: Hints, counts: Counts) -> Iterator[Term]:
    plan = resolve(access, hints)
    longest = max(counts.aggregators, key=lambda one: one.rounds)
    busy = sum(one.length_bytes > 0 for one in counts.aggregators)
    requests = max(1, 2 * OFFSET_BYTES * access.rows // busy)
    yield Term(Query("shuffle", access.ranks, busy, requests, requests), 1)
    first_buffer = min(plan.buffer_bytes, longest.length_bytes)
    yield from _round_terms(access, counts, longest, first_buffer)


def _round_terms(access: Access, counts: Counts, longest: Aggregator, full_bytes: int) -> Iterator[Term]:
    done = 0
    for batch in longest.batches:
        active = sum(one.rounds > done for one in counts.aggregators)
        size = batch.size_bytes
        if batch.senders:
            message = max(1, size // access.ranks)
            piece = min(access.block_bytes, message)
            yield Term(Query("shuffle", access.ranks, active, message, piece), batch.rounds)
            if batch.reads_first:
                yield Term(Query("read", access.ranks, active, size, size), batch.rounds)
            later = batch.rounds - (done == 0)
            if done == 0:
                yield Term(Query("write_first", access.ranks, active, size, size), 1)
            if later:
                kind = "write_full" if size == full_bytes else "write_partial"
                yield Term(Query(kind, access.ranks, active, size, size), later)
        done += batch.rounds


def _independent_terms(access: Access, counts: Counts) -> Iterator[Term]:
    """Every rank writes for itself, all at once."""
    calls = max(counts.per_rank_writes)
    size = max(1, max(counts.per_rank_bytes) // calls)
    ranks = access.ranks
    yield Term(Query("write_first", ranks, ranks, size, size), 1)
    if calls > 1:
        yield Term(Query("write_full", ranks, ranks, size, size), calls - 1)
    if counts.reads:
        yield Term(Query("read", ranks, ranks, size, size), max(counts.per_rank_reads))
