"""Two questions to the real rows of writes, by iteration: why a best setting fails, and what slows the device.

`echo` asks them of `rnd_w_1_io_8k`, whose best setting in simulation is no better than the default in reality. In a
walk an interval inherits what earlier settings left in the cache, so it is looked at twice: over all intervals, and
over those that begin and end with a backlog, where the setting itself decides how fast pages leave. The same is asked
of a simulated walk. `flash` compares random with sequential writes on the wire, by knob, by OST and by time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from benchmarks import fidelity_real
from numpy.typing import NDArray

from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.protocol import Rhythm, recorded_rhythm, visit
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.units import PAGE_BYTES
from penstock.workload import parse_workload

Floats = NDArray[np.float64]
USUAL = (1024, 8)
# Megabytes of dirty data before and after an interval that count as a backlog, and redraws for an interval of 95 %.
BACKLOG_MB, REDRAWS = 300.0, 1000
#: The columns of an interval: the setting, MB of the application and on the wire, seconds, dirty MB before and after.
PAGES, FLIGHT, APP, WIRE, SECONDS, BEFORE, AFTER = range(7)


def real_intervals(traces: Path, name: str) -> list[tuple[str, Floats]]:
    """The OST and the intervals of every iteration."""
    found = []
    for rows in fidelity_real.iterations(traces, name, "write"):
        table = np.array(
            [
                (
                    float(row["osc_rpc_configuration_current.mppr_value"]),
                    float(row["osc_rpc_configuration_current.mrif_value"]),
                    float(row["llite_stats_write_bytes.samples_sum"]) / 1e6,
                    float(row["ost_write_rpc_bytes_data.samples_sum"]) / 1e6,
                    float(row["actual_record_duration"]),
                    float(before["cur_dirty_bytes"]) / 1e6,
                    float(row["cur_dirty_bytes"]) / 1e6,
                )
                for before, row in pairwise(rows)
            ]
        )
        found.append((rows[0]["ost"], table[table[:, SECONDS] > 0.2]))
    return found


def simulated_intervals(workload: str, cluster: str, seconds: float, seed: int = 7) -> Floats:
    """A walk as the traces were recorded, every setting for about so many seconds."""
    rhythm = recorded_rhythm(parse_workload(workload))
    simulation = Simulation(named_plan(builtin_cluster(cluster), workload, seed=seed))
    settings, rng = list(LUSTRE.candidates()), Random(f"walk/{seed}")
    rounds = max(1, round(seconds / rhythm.interval_s))
    visits = [setting for _ in range(rounds + 1) for setting in rng.sample(settings, len(settings))]
    rows, before = [], 0.0
    for step, setting in enumerate(visits):
        cell = visit(simulation, setting, step * _period(rhythm), rhythm)
        after = float(simulation.world.osc.dirty.sum()) * PAGE_BYTES / 1e6
        moved = (cell.totals.app_bytes / 1e6, cell.totals.rpc_bytes / 1e6)
        rows.append((setting["pages"], setting["flight"], *moved, rhythm.interval_s, before, after))
        before = after
    return np.array(rows[len(settings) :])


def _period(rhythm: Rhythm) -> float:
    return rhythm.interval_s + rhythm.pause_s


def echo(parts: Sequence[Floats], setting: tuple[int, int]) -> dict[str, list[float]]:
    """A setting against the default: what applications got, what the wire carried, and both under a backlog.

    Each is a ratio with its 95 % interval, found by drawing the parts (iterations) again.
    """
    rng = np.random.default_rng(0)
    draws = [np.arange(len(parts)), *rng.integers(0, len(parts), (REDRAWS, len(parts)))]
    found = {}
    for words, column, least in (
        ("app", APP, -1.0),
        ("wire", WIRE, -1.0),
        ("app_backlog", APP, BACKLOG_MB),
        ("wire_backlog", WIRE, BACKLOG_MB),
    ):
        mine, usual = (
            np.array([_sums(part, each, column, least) for part in parts]) for each in (setting, USUAL)
        )
        values = []
        for draw in draws:
            top, base = mine[draw].sum(axis=0), usual[draw].sum(axis=0)
            if top[1] > 0 and base[0] > 0:
                values.append((top[0] / top[1]) / (base[0] / base[1]))
        low, high = np.percentile(values, [2.5, 97.5])
        found[words] = [round(float(each), 3) for each in (values[0], low, high)]
    return found


def _sums(part: Floats, setting: tuple[int, int], column: int, backlog_mb: float) -> tuple[float, float]:
    mine = (part[:, PAGES] == setting[0]) & (part[:, FLIGHT] == setting[1])
    mine &= (part[:, BEFORE] > backlog_mb) & (part[:, AFTER] > backlog_mb)
    return float(part[mine, column].sum()), float(part[mine, SECONDS].sum())


def chunks(walk: Floats, count: int = 24) -> list[Floats]:
    """A walk in as many parts as there are recorded iterations."""
    return list(np.array_split(walk, count))


def flash(traces: Path, size: str) -> dict[str, Any]:
    """Random against sequential writes of one size on the wire: whole, by knob, by OST, by tenth of a run."""
    rnd, seq = (real_intervals(traces, f"{kind}_w_1_io_{size}") for kind in ("rnd", "seq"))
    tables = [np.concatenate([table for _, table in each]) for each in (rnd, seq)]
    by_knob = [
        _rate(tables[0], tables[0][:, knob] == value) / _rate(tables[1], tables[1][:, knob] == value)
        for knob in (PAGES, FLIGHT)
        for value in np.unique(tables[0][:, knob])
    ]
    osts = sorted({ost for ost, _ in rnd} & {ost for ost, _ in seq})
    by_ost = {
        ost: round(
            _rate(np.concatenate([t for o, t in rnd if o == ost]))
            / _rate(np.concatenate([t for o, t in seq if o == ost])),
            3,
        )
        for ost in osts
    }
    tenths = [
        [_rate(np.concatenate([np.array_split(t, 10)[n] for _, t in each])) for n in (0, 9)]
        for each in (rnd, seq)
    ]
    return {
        "whole": round(_rate(tables[0]) / _rate(tables[1]), 3),
        "by_knob": [round(min(by_knob), 3), round(max(by_knob), 3)],
        "by_ost": by_ost,
        "random_first_last": [round(each, 1) for each in tenths[0]],
        "sequential_first_last": [round(each, 1) for each in tenths[1]],
    }


def _rate(table: Floats, mine: NDArray[np.bool_] | None = None) -> float:
    part = table if mine is None else table[mine]
    return float(part[:, WIRE].sum() / part[:, SECONDS].sum())
