"""Table V against a real client: an 8 KiB sequential writer and a reader, each at its own setting, ratios only.

usage: ./run bench table_v [--data FILE.csv] [--seconds 15]

FILE.csv has the columns of our own measurements on a real 2.15.8 client over a link of 10 ms (`w_pages`, `w_flight`,
`r_pages`, `r_flight`, `w_mbps`, `r_mbps`). The simulated twin `emulated-10ms` runs the same settings; the
client's two targets belong to one server. Each figure is the ratio to both at 1024 x 8; repeats are averaged.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.evaluate.ceilings import Place, switches
from penstock.evaluate.drivers import Course
from penstock.evaluate.independent import plan_of
from penstock.evaluate.request import Request
from penstock.evaluate.trial import WARMUP_S, Trial, perform
from penstock.knobs import Setting
from penstock.simulate.cluster import find_cluster

DATA = Path(__file__).parents[2] / "shared" / "data" / "lustre-rewriting" / "table_v.csv"
TWIN, PAIR = "emulated-10ms", "table-v-one-server"
USUAL = (1024, 8, 1024, 8)
#: Pages and flight of the writer, then of the reader.
Cell = tuple[int, int, int, int]
#: What writer and reader got.
Rates = tuple[float, float]


def measured(path: Path) -> dict[Cell, Rates]:
    """The real client's rates, repeats averaged."""
    found: dict[Cell, list[Rates]] = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            w_pages, w_flight, r_pages, r_flight = (
                int(row[name]) for name in ("w_pages", "w_flight", "r_pages", "r_flight")
            )
            cell = (w_pages, w_flight, r_pages, r_flight)
            found.setdefault(cell, []).append((float(row["w_mbps"]), float(row["r_mbps"])))
    return {
        cell: (statistics.fmean(w for w, _ in rates), statistics.fmean(r for _, r in rates))
        for cell, rates in found.items()
    }


def simulated(cells: Sequence[Cell], seconds: float) -> dict[Cell, Rates]:
    """The twin's rates."""
    plan = plan_of(Request(("default",), seconds, cluster=find_cluster(TWIN)), PAIR, 0)
    places = tuple(Place(0, job.osts[0]) for job in plan.jobs)
    found = {}
    for w_pages, w_flight, r_pages, r_flight in cells:
        chosen = (Setting(pages=w_pages, flight=w_flight), Setting(pages=r_pages, flight=r_flight))
        run = perform(Trial(plan, Course(seconds, WARMUP_S, switches=switches(places, chosen))))
        ((read, write),) = run.clients
        found[w_pages, w_flight, r_pages, r_flight] = (write, read)
    return found


def ratios(rates: Mapping[Cell, Rates]) -> dict[Cell, Rates]:
    """Against both at their default."""
    base = rates[USUAL]
    return {cell: (write / base[0], read / base[1]) for cell, (write, read) in rates.items()}


def table(real: Mapping[Cell, Rates], twin: Mapping[Cell, Rates]) -> str:
    """Both side by side, in Markdown."""
    lines = [
        "| writer | reader | writer: real | simulated | reader: real | simulated |",
        "|---|---|---|---|---|---|",
    ]
    for cell, (write, read) in sorted(real.items(), reverse=True):
        w_pages, w_flight, r_pages, r_flight = cell
        mine = twin[cell]
        lines.append(
            f"| {w_pages} x {w_flight} | {r_pages} x {r_flight} | {write:.2f} | {mine[0]:.2f} | {read:.2f} | "
            f"{mine[1]:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=15.0)
    chosen = parser.parse_args()
    if not chosen.data.is_file():
        parser.error(f"{chosen.data}: no such file; give --data")
    real = measured(chosen.data)
    print(table(ratios(real), ratios(simulated(list(real), chosen.seconds))))


if __name__ == "__main__":
    main()
