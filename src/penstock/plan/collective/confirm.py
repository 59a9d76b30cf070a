"""Tries hints for real: runs the job's own write with each candidate in turn and compares them statistically."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from penstock.errors import MissingError, PenstockError
from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate
from penstock.plan.collective.counts import count
from penstock.plan.collective.launch import Launcher, run_tasks
from penstock.plan.scratch import scratch

TIMEOUT_S = 1800.0
WARM_UPS = 1
# Which ranks share a core, and with whom, is settled at the start of a launch and lasts. On a busy machine the same
# write took 5 ms in one launch and 500 ms in another. So many short launches tell more than one long one.
LAUNCH_REPETITIONS = 5
FEWEST_LAUNCHES = 3
WAKE_UP_BYTES = 8
# A winner must be faster by this ratio and with this confidence.
LEAST_GAIN = 1.02
CONFIDENCE = 0.95
# A candidate leaves the race only with this confidence, because every batch is another chance to lose by bad luck.
LOST_CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class HintTrial:
    """One candidate's real seconds, in the order of the repetitions.

    `launches` says how many of them each start of MPI gave; without it that is not known.
    """

    candidate: Candidate
    seconds: tuple[float, ...]
    launches: tuple[int, ...] = ()

    @property
    def median_s(self) -> float:
        """The middle of its repetitions."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class HintBench:
    """Where and how real writes are run."""

    launcher: Launcher
    directory: Path
    repetitions: int = 15
    seed: int = 0
    #: A further batch is not started once the total would exceed this time.
    limit_s: float = 120.0


def try_all(
    bench: HintBench,
    access: Access,
    options: Sequence[Candidate],
    clock: Callable[[], float] = time.monotonic,
) -> list[HintTrial]:
    """Run every candidate once per repetition, in a new order each time, in launches of a few repetitions.

    A launch that would exceed the time that the bench allows is not started, apart from the first.
    """
    started, done = clock(), 0
    trials = [HintTrial(option, ()) for option in options]
    while done < bench.repetitions:
        before_s = clock()
        count = min(LAUNCH_REPETITIONS, bench.repetitions - done)
        one = replace(bench, repetitions=count, seed=bench.seed * 1000 + done)
        trials = more(trials, _launch(one, access, options))
        done += count
        now_s = clock()
        if now_s - started + (now_s - before_s) > bench.limit_s:
            break
    return trials


def _launch(bench: HintBench, access: Access, options: Sequence[Candidate]) -> list[HintTrial]:
    """All repetitions in one launch.

    A run counts only if the kernel counted exactly the calls that the hints imply. A hint without effect is an error,
    not a slow candidate.
    """
    if not bench.directory.is_dir():
        raise MissingError(f"{bench.directory}: no such directory")
    order = _order(len(options), bench)
    cases = [case(access, options[number]) for number in order]
    with scratch("penstock-confirm-", bench.directory) as home:
        task = {"task": "write_cases", "dir": str(home.resolve()), "cases": cases}
        (answers,) = run_tasks(bench.launcher, access.ranks, [task], TIMEOUT_S)
    seconds: list[list[float]] = [[] for _ in options]
    for number, answer in zip(order, answers, strict=True):
        _check(access, options[number], answer)
        seconds[number].append(answer["seconds"])
    return [
        HintTrial(option, tuple(taken[WARM_UPS:]), (bench.repetitions,))
        for option, taken in zip(options, seconds, strict=True)
    ]


def more(trials: Sequence[HintTrial], later: Sequence[HintTrial]) -> list[HintTrial]:
    """The trials with further repetitions appended. Trials that did not run again stay as they are."""
    added = {trial.candidate.name: trial for trial in later}
    return [_longer(one, added[one.candidate.name]) if one.candidate.name in added else one for one in trials]


def _longer(one: HintTrial, later: HintTrial) -> HintTrial:
    return HintTrial(one.candidate, one.seconds + later.seconds, one.launches + later.launches)


def in_the_race(trials: Sequence[HintTrial]) -> list[Candidate]:
    """No hints, and every candidate that has lost neither to no hints nor to the fastest."""
    best = min(trials, key=lambda trial: trial.median_s)
    none = next(trial for trial in trials if trial.candidate.name == "none")
    return [
        trial.candidate
        for trial in trials
        if trial is none or not any(beats(rival, trial, LOST_CONFIDENCE) for rival in (best, none))
    ]


def case(access: Access, option: Candidate) -> dict[str, Any]:
    """The worker's description of one real write."""
    return {
        "bytes_per_rank": access.bytes_per_rank,
        "block_bytes": access.block_bytes,
        "gap_bytes": access.gap_bytes,
        "hints": option.hints.given,
    }


def _order(options: int, bench: HintBench) -> list[int]:
    rng = random.Random(bench.seed)
    order: list[int] = []
    for _ in range(bench.repetitions + WARM_UPS):
        once = list(range(options))
        rng.shuffle(once)
        order += once
    return order


def _check(access: Access, option: Candidate, answer: dict[str, Any]) -> None:
    expected = count(access, option.hints)
    wanted = list(zip(expected.per_rank_writes, expected.per_rank_bytes, strict=True))
    seen = [(calls[0], calls[1]) for calls in answer["per_rank"]]
    # On several hosts the aggregators are other ranks than the first ones, so the ranks are not compared.
    by_bytes = zip(sorted(seen, key=_bytes_first), sorted(wanted, key=_bytes_first), strict=True)
    if not all(wrote_as_counted(one, other) for one, other in by_bytes):
        raise PenstockError(
            f"hints {option.name!r} did not take effect: ranks made {[calls for calls, _ in seen]} writes, "
            f"not {list(expected.per_rank_writes)}; is this ROMIO on a file system without its own driver?"
        )


def _bytes_first(calls_and_bytes: tuple[int, int]) -> tuple[int, int]:
    return calls_and_bytes[1], calls_and_bytes[0]


def wrote_as_counted(seen: tuple[int, int], expected: tuple[int, int]) -> bool:
    """Whether a rank's calls and bytes are the expected ones, apart from the MPI library's own writes.

    MPI libraries now and then write a few bytes to their own pipes, which the kernel counts too.

    >>> wrote_as_counted((6, 4098), (4, 4096)), wrote_as_counted((6, 4096), (4, 4096))
    (True, False)
    """
    calls, moved = seen[0] - expected[0], seen[1] - expected[1]
    return calls <= moved <= WAKE_UP_BYTES * calls


def clear_winner(trials: Sequence[HintTrial]) -> HintTrial | None:
    """The fastest trial, if it beats every other beyond noise; else None."""
    best = min(trials, key=lambda trial: trial.median_s)
    rivals = [trial for trial in trials if trial is not best]
    return best if all(beats(best, rival) for rival in rivals) else None


def beats(one: HintTrial, other: HintTrial, confidence: float = CONFIDENCE) -> bool:
    """Whether one trial is faster than another by a margin that is both significant and worthwhile."""
    return gain(one, other) > LEAST_GAIN and surely_faster(one, other, confidence)


def gain(one: HintTrial, other: HintTrial) -> float:
    """How many times faster one trial is. Repetitions are paired by time, so a slow moment affects both alike."""
    return statistics.median(paired_ratios(one, other))


def surely_faster(one: HintTrial, other: HintTrial, confidence: float = CONFIDENCE) -> bool:
    """Whether the median of the paired ratios exceeds 1 with this confidence.

    The bound is one of the sorted ratios, so it holds for any distribution of noise (sign test). Fewer than five
    pairs cannot prove anything at 95 %, fewer than seven at 99 %.
    """
    ratios = sorted(paired_ratios(one, other))
    place = _bound_place(len(ratios), confidence)
    return place is not None and ratios[place] > 1.0


def paired_ratios(one: HintTrial, other: HintTrial) -> list[float]:
    """The ratio of the two trials in every repetition that both took part in."""
    return [b / a for a, b in zip(one.seconds, other.seconds, strict=False)]


def launch_ratios(one: HintTrial, other: HintTrial) -> list[float]:
    """The median ratio of every launch that both took part in; of each repetition if launches are not known.

    Repetitions of one launch share its luck, so they are no independent witnesses.
    """
    ratios = paired_ratios(one, other)
    lengths = min(one.launches, other.launches, key=len)
    if len(lengths) < FEWEST_LAUNCHES:
        return ratios
    ends = list(accumulate(lengths))
    return [statistics.median(ratios[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def _bound_place(pairs: int, confidence: float) -> int | None:
    """The index of the sorted ratio that lies below the median with this confidence, or None."""
    below = 0.0
    for place in range(pairs):
        below += math.comb(pairs, place) / 2**pairs
        if below > 1 - confidence:
            return place - 1 if place else None
    return None
