"""What a model is taught about rewriting in memory: labels of half-second intervals at the best held setting.

usage: ./run bench rewriting_label [--workload f_wr_rn_1m] [--setting 8 1] [--runs 3] [--seconds 200]

Walks the simulator by the papers' protocol (a random setting after every probe) and prints, for the setting that is
best when held and for the default, how often the label says "gain", by what the wire carries (as CARAT and DIAL are
taught) and by what applications wrote.
"""

from __future__ import annotations

import argparse

import numpy as np

from penstock.evaluate.ownmodels import OwnWorld
from penstock.ports import Ports
from penstock.predict.featuresets import PRINTED
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.train.collect import Walk, tabulate, walk
from penstock.train.samples import GAIN, samples
from penstock.train.table import TraceTable, join

USUAL = (1024, 8)


def walked(world: OwnWorld, workload: str, number: int, seconds: float) -> TraceTable:
    probe = Probe(Simulation(world.plan(workload, number)))
    how = Walk(LUSTRE.candidates(), round(seconds / 0.5), 0.5, f"own/{workload}/{number}")
    return tabulate(workload, number + 1, list(walk(Ports(probe, probe, probe), how)))


def shares(table: TraceTable, setting: tuple[int, int]) -> dict[str, float]:
    """Over the intervals in which a setting came into force: labels that say gain, and mean rates in MB/s."""
    found = samples(table, "write", 1, PRINTED)
    after, seconds = found.middle + 1, table.column("seconds")
    mine = (table.column("pages")[after] == setting[0]) & (table.column("flight")[after] == setting[1])
    wire, app = (table.column(f"write_{name}") / seconds / 1e6 for name in ("bytes", "app_bytes"))
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.nan_to_num(app[after] / app[found.middle], posinf=np.inf) > GAIN
    return {
        "intervals": float(mine.sum()),
        "gain by wire": float(found.label[mine].mean()),
        "gain by application": float(gained[mine].mean()),
        "wire MB/s": float(wire[after][mine].mean()),
        "application MB/s": float(app[after][mine].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workload", default="f_wr_rn_1m")
    parser.add_argument("--setting", type=int, nargs=2, default=[8, 1])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=200.0)
    chosen = parser.parse_args()
    world = OwnWorld(builtin_cluster("c220g5"))
    table = join([walked(world, chosen.workload, number, chosen.seconds) for number in range(chosen.runs)])
    for setting in (tuple(chosen.setting), USUAL):
        row = ", ".join(f"{name} {value:.2f}" for name, value in shares(table, setting).items())
        print(f"{chosen.workload} {setting[0]} x {setting[1]}: {row}")


if __name__ == "__main__":
    main()
