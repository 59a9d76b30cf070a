"""Ranks the paper's nine configurations for one write on its Blue Gene/Q."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import UsageError
from penstock.plan.collective.bgq.calibrated import VESTA
from penstock.plan.collective.bgq.machine import BgqMachine
from penstock.plan.collective.bgq.operations import (
    CORES,
    NODE_COUNTS,
    RANK_BYTES,
    BgqHints,
    BgqInstance,
    configurations,
    rounds,
    terms,
)

#: A job is a whole number of I/O nodes' compute nodes, and fits the machine.
NODES_OF_AN_IO_NODE = 32
MOST_NODES = 2048


@dataclass(frozen=True, slots=True)
class OperationShare:
    """How often an operation is done, and what all of them take."""

    times: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RankedConfiguration:
    """One configuration with its time and what makes it up; `rounds` counts an incomplete one."""

    hints: BgqHints
    aggregators: int
    rounds: int
    seconds: float
    operations: Mapping[str, OperationShare]


@dataclass(frozen=True, slots=True)
class BgqRanking:
    """All configurations, fastest first, with the default; `outside` says what the paper did not run."""

    instance: BgqInstance
    default: RankedConfiguration
    ranking: tuple[RankedConfiguration, ...]
    outside: tuple[str, ...]

    @property
    def advice(self) -> RankedConfiguration | None:
        """The fastest, or None if that is the default."""
        best = self.ranking[0]
        return None if best.hints == self.default.hints else best


def instance_of(ranks: int, bytes_per_rank: int) -> BgqInstance:
    """The job of so many ranks, one on every core."""
    unit = CORES * NODES_OF_AN_IO_NODE
    if ranks < unit or ranks % unit or ranks > MOST_NODES * CORES:
        raise UsageError(
            f"--ranks {ranks}: the paper's machine runs {CORES} ranks a node on whole groups of "
            f"{NODES_OF_AN_IO_NODE} nodes: a multiple of {unit}, at most {MOST_NODES * CORES}"
        )
    return BgqInstance(ranks // CORES, bytes_per_rank)


def rank_configurations(instance: BgqInstance, machine: BgqMachine = VESTA) -> BgqRanking:
    """Counts times the machine's operations, for each of the nine."""
    found = {hints: _ranked(instance, hints, machine) for hints in configurations()}
    ranking = tuple(sorted(found.values(), key=lambda one: one.seconds))
    return BgqRanking(instance, found[BgqHints()], ranking, tuple(_outside(instance)))


def _ranked(instance: BgqInstance, hints: BgqHints, machine: BgqMachine) -> RankedConfiguration:
    counted = terms(instance, hints)
    each = machine.seconds(counted)
    operations: dict[str, OperationShare] = {}
    for term, seconds in zip(counted, each, strict=True):
        before = operations.get(term.operation, OperationShare(0, 0.0))
        operations[term.operation] = OperationShare(
            before.times + term.times, before.seconds + term.times * float(seconds)
        )
    complete, incomplete, _ = rounds(instance, hints)
    return RankedConfiguration(
        hints=hints,
        aggregators=hints.aggregators(instance.nodes),
        rounds=complete + incomplete,
        seconds=sum(share.seconds for share in operations.values()),
        operations=operations,
    )


def _outside(instance: BgqInstance) -> list[str]:
    said = []
    if not NODE_COUNTS[0] <= instance.nodes <= NODE_COUNTS[-1]:
        said.append(f"{instance.nodes} nodes; the paper ran {NODE_COUNTS[0]} to {NODE_COUNTS[-1]}")
    if not RANK_BYTES[0] <= instance.bytes_per_rank <= RANK_BYTES[-1]:
        said.append(f"{instance.bytes_per_rank} bytes a rank; the paper wrote 1 MB to 256 MB")
    return said
