"""Samples and labels, exactly as the command line documents them.

A sample is three consecutive rows of one series, with RPC bytes of the direction above zero in the middle and the
last row. Its features come from the middle row, from rows before it, and from the setting of the last row. Nothing
measured in the last row is a feature. The label says whether the last row moved more than 1.15 times the bytes per
second of the middle row. With application labels the middle row is the last one of a held setting, and the label says
whether applications got more than 1.15 times as much from the next held setting.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.predict.featuresets import FULL, FeatureSet
from penstock.predict.trees.forest import Floats
from penstock.train.application_label import held_gains
from penstock.train.table import Ints, TraceTable
from penstock.train.worlds import is_drawn

GAIN = 1.15
# Parts of names: of the traces, of our workloads, and of recordings of held settings (random, sequential).
DIRECTION_WORDS = {"read": {"r", "rd", "rr", "sr"}, "write": {"w", "wr", "rw", "sw"}}
TAU = 0.8
WIRE, APPLICATION = "wire", "application"


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The samples of one direction. `middle` are row numbers of the table, `run` numbers the runs.

    `gain` is the ratio of the last row's bytes per second to the middle row's, or of two held settings' applications.
    The label is gain > 1.15.
    """

    direction: str
    middle: Ints
    run: Ints
    label: NDArray[np.bool_]
    gain: Floats
    past: Floats
    candidate: Floats

    def __len__(self) -> int:
        return len(self.middle)

    def none(self) -> Samples:
        """The same without any sample."""
        cut = {one.name: getattr(self, one.name)[:0] for one in fields(self) if one.name != "direction"}
        return replace(self, **cut)

    @property
    def vectors(self) -> Floats:
        """Complete feature vectors, one a row, in the order of `features.names`."""
        return np.hstack([self.past, self.candidate])


def direction_of(workload: str) -> str:
    """The direction a workload's name tells: `seq_r_1_io_8k`, `s_wr_rn_1m`, `rtt10-sw_1m_1`; a mixed one's is read.

    >>> direction_of("rnd_w_1_io_8k"), direction_of("f_rd_sq_1m"), direction_of("rtt10-rw_1m_4")
    ('write', 'read', 'write')
    """
    parts = set(workload.replace("-", "_").split("_"))
    for direction, words in DIRECTION_WORDS.items():
        if parts & words:
            return direction
    raise DataError(f"workload {workload!r} names no direction; expected a part r, rd, w or wr")


def samples(
    table: TraceTable, direction: str, history: int, features: FeatureSet = FULL, label: str = WIRE
) -> Samples:
    """All samples of a direction, with the features of so many intervals before the middle one."""
    mine = _of_direction(table, direction)
    series, number = table.series(), table.observation_no
    moved = table.column(f"{direction}_bytes")
    follows = np.zeros(len(table), dtype=np.bool_)
    follows[1:] = (series[1:] == series[:-1]) & (np.diff(number) == 1)
    is_middle = mine & follows & (moved > 0)
    if label == APPLICATION:
        middle, gain = held_gains(table, direction, follows)
        middle, gain = middle[is_middle[middle]], gain[is_middle[middle]]
    else:
        is_middle[:-1] &= follows[1:] & (moved[1:] > 0)
        is_middle[-1:] = False
        middle = np.flatnonzero(is_middle)
        gain = _gain(moved, table.column("seconds"), middle)
    past = features.past(
        _stack(table.measures(direction), _unbroken(follows), middle, features.depth(history)), direction
    )
    asked = np.stack([table.column(knob_id)[middle + 1] for knob_id in features.knob_ids], axis=-1)
    return Samples(
        direction=direction,
        middle=middle,
        run=_runs(table)[middle],
        label=gain > GAIN,
        gain=gain,
        past=past,
        candidate=features.candidate(asked),
    )


def _of_direction(table: TraceTable, direction: str) -> NDArray[np.bool_]:
    """The rows of a direction: by their workload's name, or, in a random world, where it moves the most."""
    workloads, at = np.unique(table.workload, return_inverse=True)
    drawn = np.array([is_drawn(str(name)) for name in workloads])
    named = [
        not off and direction_of(str(name)) == direction for name, off in zip(workloads, drawn, strict=True)
    ]
    reads = table.column("read_bytes") >= table.column("write_bytes")
    found: NDArray[np.bool_] = np.where(drawn[at], reads == (direction == "read"), np.array(named)[at])
    return found


def _gain(moved: Floats, seconds: Floats, middle: Ints) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = moved / seconds
        return np.nan_to_num(rate[middle + 1] / rate[middle], nan=0.0, posinf=np.finfo(np.float64).max)


def _unbroken(follows: NDArray[np.bool_]) -> Ints:
    """The number of rows directly before each row that belong to its series without a gap."""
    index = np.arange(len(follows))
    return index - np.maximum.accumulate(np.where(follows, 0, index))


def _stack(measures: Floats, unbroken: Ints, middle: Ints, history: int) -> Floats:
    stack = np.full((len(middle), history + 1, measures.shape[1]), np.nan)
    for lag in range(history + 1):
        known = unbroken[middle] >= lag
        stack[known, lag] = measures[middle[known] - lag]
    return stack


def _runs(table: TraceTable) -> Ints:
    """A number per iteration. Iterations of different workloads share it, because whole iterations are held out."""
    return np.asarray(np.unique(table.iteration, return_inverse=True)[1], dtype=np.int64)
