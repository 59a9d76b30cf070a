"""A profile: the cost of elemental operations on one machine and directory, as medians with their spread."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from penstock.config import Section, validate
from penstock.errors import DataError, MissingError, UsageError, did_you_mean
from penstock.plan.collective.launch import THREAD_LEVELS, Launcher, Progress, run_tasks
from penstock.plan.scratch import scratch
from penstock.units import KIB, MIB

OPERATIONS = (
    "allreduce",
    "bcast",
    "allgather",
    "alltoall",
    "alltoallv",
    "shuffle",
    "touch",
    "write_first",
    "write_full",
    "write_partial",
    "read",
)
LEAST_REPETITIONS = 7
# A busy machine gets this many at least, however long they take. Fewer would have no spread.
FEWEST_REPETITIONS = 2
LIMIT_S = 240.0
# A point is steady if its interquartile range is at most this share of the median.
STEADY_SPREAD = 0.2
# A point that is not steady is measured again, at most this often.
WATCHED = ("shuffle", "write_full")
MOST_PASSES = 3
MOST_BYTES = 32 * MIB
MAX_PROFILE_BYTES = 20_000_000
TIMEOUT_S = 1800.0

PointKey = tuple[str, int, int, int]
Whole = Annotated[int, Field(ge=1, le=1 << 60)]
Positive = Annotated[float, Field(gt=0)]


def _known(operation: str) -> str:
    if operation not in OPERATIONS:
        raise ValueError(f"not one of {', '.join(OPERATIONS)}{did_you_mean(operation, OPERATIONS)}")
    return operation


def _known_level(level: str) -> str:
    if level not in THREAD_LEVELS:
        raise ValueError(f"not one of {', '.join(THREAD_LEVELS)}{did_you_mean(level, THREAD_LEVELS)}")
    return level


class OperationSample(Section):
    """One operation at one size: the median of its repetitions, and their interquartile range as a share of it."""

    operation: Annotated[str, AfterValidator(_known)]
    ranks: Whole
    aggregators: Whole
    bytes: Whole
    piece_bytes: Whole
    seconds: Positive
    spread: Annotated[float, Field(ge=0)]
    repetitions: Whole


class SurrogateChoice(Section):
    """The surrogate that cross-validation chose for one operation, and how well it did."""

    operation: str
    algorithm: str
    parameters: dict[str, float | int | str]
    r2: float
    rmse_s: float
    relative_rmse: float


class OperationProfile(Section):
    """The samples of one machine and directory. The file holds data only; surrogates are fitted when it is read."""

    format: Literal["penstock-collective-profile-2"] = "penstock-collective-profile-2"
    directory: str
    nodes: Whole
    samples: Annotated[tuple[OperationSample, ...], Field(min_length=1, strict=False)]
    surrogates: Annotated[tuple[SurrogateChoice, ...], Field(strict=False)] = ()
    # Profiles without this entry were measured under MPI_THREAD_MULTIPLE.
    thread_level: Annotated[str, AfterValidator(_known_level)] = "multiple"
    launcher: str = ""
    cores: Whole | None = None

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank counts it was measured at."""
        return tuple(sorted({sample.ranks for sample in self.samples}))

    @property
    def repetitions(self) -> int:
        """What every point has at least; below `LEAST_REPETITIONS` the profile was cut short."""
        return min(sample.repetitions for sample in self.samples)

    def spread(self, operation: str) -> float:
        """The typical spread of an operation's repetitions; below `STEADY_SPREAD` it is steady."""
        return statistics.median(sample.spread for sample in self.of(operation))

    def of(self, operation: str) -> tuple[OperationSample, ...]:
        """The samples of one operation."""
        return tuple(sample for sample in self.samples if sample.operation == operation)


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a profile is taken."""

    directory: Path
    ranks: tuple[int, ...] = (2, 4, 8)
    nodes: int = 1
    repetitions: int = LEAST_REPETITIONS
    #: No further repetition is begun after this time, apart from the fewest of each number of ranks.
    limit_s: float = LIMIT_S

    def __post_init__(self) -> None:
        if not self.ranks or min(self.ranks) < 2:
            raise UsageError("--ranks: elemental operations need at least 2 ranks")
        if self.repetitions < LEAST_REPETITIONS:
            raise UsageError(f"--repetitions {self.repetitions}: medians need at least {LEAST_REPETITIONS}")
        if self.limit_s <= 0:
            raise UsageError(f"--limit {self.limit_s:g} is not a positive time")
        if not 1 <= self.nodes <= min(self.ranks):
            raise UsageError(f"--nodes {self.nodes}: must be 1 to {min(self.ranks)} for these ranks")


def measure(launcher: Launcher, how: Measuring, progress: Progress) -> OperationProfile:
    """Run every elemental operation, in one launch per number of ranks.

    Operations that vary too much are repeated for longer, as far as the time limit allows. More ranks get more of
    that time. Nothing stays in the directory.
    """
    if not how.directory.is_dir():
        raise MissingError(f"{how.directory}: no such directory")
    samples: list[OperationSample] = []
    weights = {ranks: ranks * len(list(design(ranks))) for ranks in how.ranks}
    started = time.monotonic()
    with scratch("penstock-profile-", how.directory, progress) as home:
        for ranks in how.ranks:
            left_s = how.limit_s - (time.monotonic() - started)
            share = weights[ranks] / sum(weight for count, weight in weights.items() if count >= ranks)
            bench = _RankBench(launcher, home, ranks, how.repetitions, left_s * share)
            samples.extend(_samples(ranks, bench.measure(progress)))
    return OperationProfile(
        directory=str(how.directory),
        nodes=how.nodes,
        samples=tuple(samples),
        thread_level=launcher.thread_level,
        launcher=launcher.text,
        cores=len(os.sched_getaffinity(0)),
    )


@dataclass(frozen=True, slots=True)
class _RankBench:
    """One number of ranks: where they write, how often each point is wanted, and the time there is for it."""

    launcher: Launcher
    home: Path
    ranks: int
    repetitions: int
    limit_s: float

    def measure(self, progress: Progress) -> dict[PointKey, list[float]]:
        """All points in turn until they are steady, at most `MOST_PASSES` times, or the time is over."""
        points, pooled = list(design(self.ranks)), defaultdict[PointKey, list[float]](list)
        started = time.monotonic()
        for number in range(MOST_PASSES):
            again = ", once more" if number else ""
            progress(f"{self.ranks} ranks: {len(points)} points x {self.repetitions}{again}")
            spent_s = time.monotonic() - started
            (found,) = run_tasks(
                self.launcher, self.ranks, [self._task(points, self.limit_s - spent_s)], TIMEOUT_S, progress
            )
            _pool(pooled, self.ranks, points, found)
            done, spent_s = len(next(iter(found[0].values()))), time.monotonic() - started
            if done < self.repetitions:
                progress(
                    f"{self.ranks} ranks: {done} of {self.repetitions} repetitions, then the time was over (--limit)"
                )
            if _steady(pooled) or spent_s * (number + 2) / (number + 1) > self.limit_s:
                break
        return pooled

    def _task(self, points: Sequence[dict[str, Any]], limit_s: float) -> dict[str, Any]:
        return {
            "task": "measure_elements",
            "dir": str(self.home.resolve()),
            "points": points,
            "repetitions": self.repetitions,
            "fewest": FEWEST_REPETITIONS,
            "limit_s": limit_s,
        }


def design(ranks: int) -> Iterator[dict[str, Any]]:
    """The points of one rank count: small collectives, shuffles by piece, buffers from 32 KiB to 16 MiB."""
    for size in (4, 64, KIB, 16 * KIB):
        yield {"operation": "allreduce", "bytes": size}
        yield {"operation": "allgather", "bytes": size}
        yield {"operation": "alltoall", "bytes": size}
        yield {"operation": "bcast", "bytes": size}
    for aggregators in _counts(ranks):
        for buffer_bytes in (32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB):
            if aggregators * buffer_bytes <= MOST_BYTES:
                yield from _buffer_points(ranks, aggregators, buffer_bytes)


def _buffer_points(ranks: int, aggregators: int, buffer_bytes: int) -> Iterator[dict[str, Any]]:
    message = max(1, buffer_bytes // ranks)
    shared = {"aggregators": aggregators}
    short = buffer_bytes * 3 // 8
    for piece in (KIB, 16 * KIB, message):
        if piece == message or (piece < message <= 512 * piece):
            yield {
                "operation": "rounds",
                "bytes": buffer_bytes,
                "short_bytes": short,
                "piece_bytes": piece,
                **shared,
            }
    yield {"operation": "touch", "bytes": buffer_bytes, **shared}
    if buffer_bytes in {32 * KIB, MIB}:
        yield {"operation": "alltoallv", "bytes": message, **shared}


def _counts(ranks: int) -> tuple[int, ...]:
    """Aggregator counts: powers of two and all ranks."""
    powers = [1 << power for power in range(ranks.bit_length()) if 1 << power < ranks]
    return (*powers, ranks)


def _pool(
    pooled: dict[PointKey, list[float]],
    ranks: int,
    points: Sequence[dict[str, Any]],
    found: Sequence[dict[str, Any]],
) -> None:
    """Add a pass. Repetitions of the same operation, aggregators, size and piece are pooled."""
    for point, seconds_by_operation in zip(points, found, strict=True):
        for operation, seconds in seconds_by_operation.items():
            size, piece = _sizes(operation, point, ranks)
            pooled[operation, point.get("aggregators", ranks), size, piece] += seconds


def _quartiles(seconds: Sequence[float]) -> tuple[float, float]:
    """The median, and the middle half of the repetitions over it."""
    low, median, high = statistics.quantiles(seconds, n=4)
    return max(median, 1e-9), (high - low) / max(median, 1e-9)


def _steady(pooled: dict[PointKey, list[float]]) -> bool:
    for operation in WATCHED:
        spreads = [_quartiles(seconds)[1] for key, seconds in pooled.items() if key[0] == operation]
        if spreads and statistics.median(spreads) > STEADY_SPREAD:
            return False
    return True


def _samples(ranks: int, pooled: dict[PointKey, list[float]]) -> Iterator[OperationSample]:
    for (operation, aggregators, size, piece), seconds in pooled.items():
        median, spread = _quartiles(seconds)
        yield OperationSample(
            operation=operation,
            ranks=ranks,
            aggregators=aggregators,
            bytes=size,
            piece_bytes=piece,
            seconds=median,
            spread=spread,
            repetitions=len(seconds),
        )


def _sizes(operation: str, point: dict[str, Any], ranks: int) -> tuple[int, int]:
    """The bytes of one message, write or call, and of its pieces."""
    if operation == "shuffle":
        message = max(1, point["bytes"] // ranks)
        return message, min(point["piece_bytes"], message)
    size = point["short_bytes"] if operation == "write_partial" else point["bytes"]
    return size, size


def save_text(profile: OperationProfile) -> str:
    """The profile as the text of its file."""
    return json.dumps(profile.model_dump(), indent=1) + "\n"


def load(path: Path) -> OperationProfile:
    """Read and validate a profile; refusals name file and key."""
    try:
        if path.stat().st_size > MAX_PROFILE_BYTES:
            raise DataError(f"{path}: more than {MAX_PROFILE_BYTES} bytes; not a profile")
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise MissingError(f"{path}: no such file; make one with: penstock plan profile") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise DataError(f"{path}: not a profile")
    return validate(document, OperationProfile, str(path))
