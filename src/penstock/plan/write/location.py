"""The location of a job: its compute nodes, and which of them share a forwarding component."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError, MissingError, UsageError
from penstock.input_files import read_text
from penstock.plan.storage import STAGES, StorageSystem

Ints = npt.NDArray[np.int64]
_ENTRY = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
MAX_LOCATION_BYTES = 16_000_000


def locate(system: StorageSystem, nodes: int, locations: str) -> Ints:
    """The node numbers of a job: `compact` (one run), `scattered` (balanced over all) or those in a file."""
    check_nodes(system, nodes)
    if locations == "compact":
        return np.arange(nodes, dtype=np.int64)
    if locations == "scattered":
        # Evenly spaced numbers would miss a component if blocks differ by one node, so nodes are dealt out in turn.
        return balanced(system, np.arange(system.compute.nodes, dtype=np.int64), nodes)
    return _listed(system, nodes, Path(locations))


def check_nodes(system: StorageSystem, nodes: int) -> None:
    """Refuse a job that is empty or larger than its machine."""
    if not 1 <= nodes <= system.compute.nodes:
        raise UsageError(f"--nodes {nodes}: {system.name} has 1 to {system.compute.nodes} nodes")


def _listed(system: StorageSystem, nodes: int, path: Path) -> Ints:
    listed = parse_locations(_read(path), str(path))
    if listed.size != nodes:
        raise DataError(f"{path}: lists {listed.size} nodes, --nodes says {nodes}")
    if int(listed[-1]) >= system.compute.nodes:
        raise DataError(
            f"{path}: node {listed[-1]} is not one of {system.name}'s 0..{system.compute.nodes - 1}"
        )
    return listed


def _read(path: Path) -> str:
    try:
        return read_text(path, MAX_LOCATION_BYTES)
    except MissingError:
        raise MissingError(f"--locations {path}: not compact, scattered or a file") from None


def parse_locations(text: str, source: str) -> Ints:
    """Node numbers and ranges (`0-127`) separated by commas or white space; `#` starts a comment.

    >>> parse_locations("0-2, 7  # edge", "x").tolist()
    [0, 1, 2, 7]
    """
    found: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in line.split("#")[0].replace(",", " ").split():
            match = _ENTRY.fullmatch(word)
            if match is None:
                raise DataError(
                    f"{source}: line {number}: {word[:40]!r} is not a node number or range like 0-127"
                )
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first or last - first > 10_000_000:
                raise DataError(f"{source}: line {number}: range {word!r} runs backwards or is too long")
            found.extend(range(first, last + 1))
    nodes, counts = np.unique(np.asarray(found, dtype=np.int64), return_counts=True)
    if nodes.size == 0:
        raise DataError(f"{source}: lists no node")
    if counts.max() > 1:
        raise DataError(f"{source}: node {nodes[counts.argmax()]} is listed twice")
    return nodes


def in_use(system: StorageSystem, stage: str, nodes: Ints) -> tuple[int, int]:
    """How many components of a stage these nodes use, and how many nodes the busiest component serves."""
    _, counts = np.unique(system.component_of(stage, nodes), return_counts=True)
    return int(counts.size), int(counts.max())


def balanced(system: StorageSystem, nodes: Ints, count: int) -> Ints:
    """`count` of the nodes, chosen so that the components of every stage carry as equal a share as they can.

    Nodes are taken in rounds, each round giving one node to every component still holding one: first over
    the coarsest stage, within it over the finer ones.
    """
    stages = sorted(STAGES[system.kind], key=lambda name: system.stages[name].components)
    rank = np.zeros(nodes.size, dtype=np.int64)
    order: Ints = np.arange(nodes.size, dtype=np.int64)
    for stage in reversed(stages):
        component = system.component_of(stage, nodes)
        order = np.lexsort((nodes, rank, component))
        run = np.concatenate([[0], np.flatnonzero(np.diff(component[order])) + 1])
        length = np.diff(np.concatenate([run, [nodes.size]]))
        rank[order] = np.arange(nodes.size) - np.repeat(run, length)
    order = np.lexsort((nodes, rank))
    return np.sort(nodes[_spread(order, rank, count)])


def _spread(order: Ints, rank: Ints, count: int) -> Ints:
    """The first `count` of `order`; the last, partial round is spread evenly over its components."""
    last = rank[order[count - 1]]
    before, partial = order[rank[order] < last], order[rank[order] == last]
    wanted = count - before.size
    picked = (2 * np.arange(wanted, dtype=np.int64) + 1) * partial.size // (2 * wanted)
    return np.concatenate([before, partial[picked]])
