"""Chooses aggregators: which nodes should write, with how many processes, and over how many targets.

Every candidate is predicted with the same model as the original. The time to move data to the aggregators is added.
If the original lies in the model's training range, so do all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.plan.storage import STAGES, StorageSystem
from penstock.plan.write.location import balanced, in_use
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.prediction import Range, WriteModel


@dataclass(frozen=True, slots=True)
class WriteAdvice:
    """How to write. `seconds` is the whole adapted write: `write_s` and, before it, `move_s`.

    `speedup` compares it with the observed time where there is one, else with the predicted time.
    """

    pattern: WritePattern
    write_s: float
    move_s: float
    speedup: float
    changed: bool

    @property
    def seconds(self) -> float:
        """Moving the data to the aggregators and writing it."""
        return self.write_s + self.move_s


def adapt(
    model: WriteModel,
    system: StorageSystem,
    pattern: WritePattern,
    observed_s: float | None = None,
    *,
    free_moves: bool = False,
) -> WriteAdvice:
    """The best of the candidates, or the unchanged pattern if none is faster.

    The model's error e = predicted - observed is assumed to be the same for the original and the candidate. So the
    adapted write takes t'' - e. (The paper prints the opposite sign.) Without an observation e is zero.
    `free_moves` leaves the time to move the data out, as the paper's Fig. 7 does.
    """
    choices = [pattern, *candidates(model, system, pattern)]
    predicted, *others = model.seconds(system, choices)
    before = predicted if observed_s is None else observed_s
    best = WriteAdvice(pattern, before, 0.0, 1.0, changed=False)
    for choice, raw in zip(choices[1:], others, strict=True):
        write_s = corrected(raw, predicted, before)
        move_s = 0.0 if free_moves else moving_seconds(system, pattern, choice)
        if write_s + move_s < best.seconds * (1 - 1e-9):
            best = WriteAdvice(choice, write_s, move_s, before / (write_s + move_s), changed=True)
    return best


def corrected(adapted_s: float, predicted_s: float, observed_s: float) -> float:
    """The adapted prediction minus the model's error on the original.

    If the error exceeds the whole prediction, the ratio is used instead, because a write takes some time.
    """
    error = predicted_s - observed_s
    if adapted_s - error > 0.05 * observed_s:
        return adapted_s - error
    return max(adapted_s, 0.05 * predicted_s) * observed_s / predicted_s


def moving_seconds(system: StorageSystem, original: WritePattern, adapted: WritePattern) -> float:
    """The time until the busiest aggregator node has received what the others hold."""
    arriving = (
        original.total_bytes / adapted.nodes - min(adapted.cores, original.cores) * original.burst_bytes
    )
    return max(0.0, arriving) / system.service.interconnect_bytes_per_s


def candidates(model: WriteModel, system: StorageSystem, pattern: WritePattern) -> Iterator[WritePattern]:
    """Fewer nodes, fewer processes, other stripe counts; the nodes balanced over every forwarding stage."""
    sizes = model.seen("K") or Range(0, float("inf"))
    for count in _node_counts(model, system, pattern):
        locations = balanced(system, pattern.locations, count)
        for cores in _halves(pattern.cores):
            burst = -(-pattern.total_bytes // (count * cores))
            if burst / 1e6 > max(sizes.high, pattern.burst_bytes / 1e6):
                continue
            for stripes in _stripe_counts(model, system, pattern):
                yield replace(pattern, locations=locations, cores=cores, burst_bytes=burst, stripes=stripes)


def _node_counts(model: WriteModel, system: StorageSystem, pattern: WritePattern) -> list[int]:
    nodes = pattern.nodes
    used = [in_use(system, stage, pattern.locations)[0] for stage in STAGES[system.kind]]
    even = {k * each for each in used for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)}
    wanted = {*_halves(nodes), *(count for count in even if count <= nodes)}
    seen = model.seen("m") or Range(1, float("inf"))
    return sorted(count for count in wanted if count >= min(nodes, seen.low))


def _stripe_counts(model: WriteModel, system: StorageSystem, pattern: WritePattern) -> Sequence[int]:
    if system.lustre is None:
        return (pattern.stripes,)
    seen = model.seen("W") or Range(1, 64)
    most = int(min(system.lustre.osts, max(seen.high, pattern.stripes)))
    powers = [1 << power for power in range(most.bit_length())]
    return sorted({pattern.stripes, *(width for width in powers if width >= seen.low)})


def _halves(number: int) -> list[int]:
    """A number and what repeated halving, rounded up, makes of it, down to one.

    >>> _halves(12)
    [12, 6, 3, 2, 1]
    """
    found = [number]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found
