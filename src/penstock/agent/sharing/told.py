"""What one node tells the others: the kinds of work it knows, and what settings brought there."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.decide.fleet_advice import GainWord, ToldGain, WorkKind
from penstock.knobs import Setting

# No gain is believed to be larger than this many doublings, whoever says so.
MOST_LOG2 = 7.0
MOST_WINDOWS = 10_000
MOST_TEXT = 256
MOST_LOOK_LOG2 = 64.0
# Gains are over the original, so work is told apart by it; requests in flight and their size by whole doublings.
GroupKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class DatedGain:
    """What a node measured of a setting, and when it last did, in seconds since 1970."""

    told: ToldGain
    time_s: float


@dataclass(frozen=True, slots=True)
class MemberWork:
    """One kind of work on one node; of one job, where jobs are told. `explored_s` is when nothing was left to try."""

    kind: WorkKind
    job: str
    gains: Mapping[Setting, DatedGain]
    explored_s: float | None = None
    #: Equal for what different nodes call the same work, apart from work on the edge between two.
    key: GroupKey = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", group_key(self.kind, self.job))

    @property
    def words(self) -> frozenset[tuple[Setting, GainWord]]:
        """What it proves and what it contradicts."""
        return frozenset(
            (setting, dated.told.word)
            for setting, dated in self.gains.items()
            if dated.told.word is not GainWord.MEASURED
        )


@dataclass(frozen=True, slots=True)
class MemberFile:
    """All that one node tells; `facts` describe the node."""

    node: str
    made_by: str
    works: tuple[MemberWork, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


def group_key(kind: WorkKind, job: str) -> GroupKey:
    """What groups the same work of different nodes."""
    size = kind.work.request_log2
    rounded = None if math.isnan(size) else round(size)
    look = tuple(round(value) for value in kind.look[:2])
    return (kind.fs, kind.targets, kind.work.kind, rounded, tuple(sorted(kind.home.items())), look, job)


def tellable(kind: WorkKind) -> WorkKind:
    """The same, as a file may hold it: who mounts a file system may give it any name."""
    fs = kind.fs
    if not fs.isprintable() or len(fs) > MOST_TEXT:
        fs = f"odd-name-{hashlib.sha256(fs.encode(errors='surrogatepass')).hexdigest()[:16]}"
    look = kind.look if all(abs(value) <= MOST_LOOK_LOG2 for value in kind.look) else ()
    return kind if (fs, look) == (kind.fs, kind.look) else replace(kind, fs=fs, look=look)


def believable(told: ToldGain) -> ToldGain | None:
    """The same, within what a file may hold; None where it is no number."""
    if math.isnan(told.gain_log2) or math.isnan(told.error_log2):
        return None
    gain = min(max(told.gain_log2, -MOST_LOG2), MOST_LOG2)
    return ToldGain(
        gain, min(told.error_log2, MOST_LOG2), min(told.windows, MOST_WINDOWS), GainWord(told.word)
    )
