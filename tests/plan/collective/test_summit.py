"""The ranking against somebody else's sweep on a parallel file system: Summit, GPFS, 52 ranks on 4 nodes.

The profile is of another machine, so only what follows from counts can be right: how many aggregators work.
"""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from pathlib import Path

from penstock.plan.collective.access import Access
from penstock.plan.collective.predictor import forecast
from penstock.plan.collective.romio import Hints
from penstock.plan.collective.surrogates import Surrogates
from penstock.units import KIB, MIB


def measured(shared_dir: Path) -> dict[tuple[int, int], float]:
    """Median seconds of the collective writes by aggregators and buffer."""
    path = shared_dir / "data" / "romio-hints" / "summit_gpfs_romio_hint_sweep.csv"
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["op"] == "write" and row["hint_set"] == "cb":
                buffer_bytes = int(row["cb_buffer"].removesuffix("M")) * MIB
                found[int(row["cb_nodes"]), buffer_bytes].append(float(row["total_s"]))
    return {key: statistics.median(seconds) for key, seconds in found.items()}


def test_summit_sweep_prefers_four_aggregators_as_forecast(shared_dir: Path, surrogates: Surrogates) -> None:
    real = measured(shared_dir)
    assert len(real) == 10
    access = Access(52, 4, 33575 * KIB, 33575 * KIB)
    options = [Hints(count, size, "*:1", romio_cb_write="enable") for count, size in real]
    said = dict(zip(real, (one.seconds for one in forecast(surrogates, access, options)), strict=True))
    for seconds in (real, said):
        four = [took for (count, _), took in seconds.items() if count == 4]
        two = [took for (count, _), took in seconds.items() if count == 2]
        assert max(four) < min(two)
    # What the forecast would choose is within 15 % of the best that was measured.
    choice = min(said, key=lambda key: said[key])
    assert real[choice] <= 1.15 * min(real.values())
