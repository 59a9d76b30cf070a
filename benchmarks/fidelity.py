"""Does the simulator behave like the real testbed? Compares with the 12 measured response surfaces.

Writes docs/explanation/fidelity.md.

usage: ./run bench fidelity [--seconds 62] [--seed 7] [--only NAME ...] [--render] [--tables]

Needs the traces beside the project (../shared/data/lustre-traces). --render rebuilds the page from the figures of the
last run, --tables prints those that the page leaves out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from benchmarks import fidelity_latency_page, fidelity_page, fidelity_real, fidelity_rewriting_page

from penstock.report.heatmap import draw_maps
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.protocol import Cell, random_walk, recorded_rhythm
from penstock.spaces import LUSTRE
from penstock.workload import parse_workload

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "explanation" / "fidelity"
VALIDATION = ("rnd_r_1_io_16m", "rnd_w_1_io_1m", "seq_r_1_io_16m", "seq_w_1_io_8k")
NAMES = {
    f"{order}_{way}_1_io_{size}": f"s_{short}_{order_short}_{size}"
    for way, short in (("r", "rd"), ("w", "wr"))
    for order, order_short in (("seq", "sq"), ("rnd", "rn"))
    for size in ("8k", "1m", "16m")
}


@dataclass(frozen=True, slots=True)
class Figures:
    """One workload, simulated against real."""

    workload: str
    validation: bool
    seconds: float
    spearman: float
    default_ratio: float
    optimum_ratio: float
    top_five: float
    spread: float
    simulated: dict[str, float]
    real: dict[str, float]
    worst: list[tuple[int, int, float]]


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks with ties averaged."""
    order = values.argsort(kind="stable")
    found = np.empty(len(values))
    found[order] = np.arange(len(values), dtype=float)
    for value in np.unique(values):
        same = values == value
        found[same] = found[same].mean()
    return found


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def summarise(cells: list[Cell]) -> dict[str, float]:
    seconds = sum(cell.seconds for cell in cells)
    rpcs = sum(cell.totals.rpcs for cell in cells)
    usec = sum(cell.totals.rpc_usec for cell in cells)
    size = sum(cell.totals.rpc_bytes for cell in cells)
    return {
        "in_flight": usec / 1e6 / seconds,
        "dirty_mb": sum(cell.dirty_bytes for cell in cells) / seconds / 1e6,
        "pages_per_rpc": size / 4096 / rpcs,
        "latency_us": usec / rpcs,
        "wire_mbps": size / seconds / 1e6,
        "app_mbps": sum(cell.totals.app_bytes for cell in cells) / seconds / 1e6,
    }


def measure(name: str, traces: Path, seconds: float, seed: int) -> Figures:
    work = parse_workload(NAMES[name])
    plan = named_plan(builtin_cluster("c220g5"), NAMES[name], seed=seed)
    cells = random_walk(plan, LUSTRE.candidates(), seconds, recorded_rhythm(work))
    simulated = {(c.setting["pages"], c.setting["flight"]): c.app_mbps for c in cells}
    real = fidelity_real.surface(traces, name)
    draw_maps(OUT / f"{name}.png", name, {"simulated (random walk)": simulated}, real)
    keys = sorted(real)
    a, b = np.array([real[k] for k in keys]), np.array([simulated[k] for k in keys])
    best = keys[int(a.argmax())]
    five = [int(i) for i in np.argsort(-b, kind="stable")[:5]]
    off = sorted(keys, key=lambda k: -abs(np.log(simulated[k] / real[k])))[:4]
    return Figures(
        workload=name,
        validation=name in VALIDATION,
        seconds=seconds,
        spearman=spearman(a, b),
        default_ratio=simulated[1024, 8] / real[1024, 8],
        optimum_ratio=simulated[best] / real[best],
        top_five=float(a[five].mean() / np.sort(a)[-5:].mean()),
        spread=float(b.max() / b.min()),
        simulated=summarise(cells),
        real=fidelity_real.emergent(traces, name),
        worst=[(k[0], k[1], simulated[k] / real[k]) for k in off],
    )


def kept() -> list[dict[str, Any]]:
    """The figures of the last run, by workload."""
    places = [OUT / f"{name}.json" for name in NAMES]
    return [json.loads(place.read_text("utf-8")) for place in places if place.is_file()]


def sections() -> list[tuple[ModuleType, dict[str, Any]]]:
    """The other comparisons that were made: what writes each, and its figures."""
    from benchmarks import fidelity_tuner

    writers = {
        "latency": fidelity_latency_page,
        "rewriting": fidelity_rewriting_page,
        "tuner": fidelity_tuner,
    }
    places = {OUT / f"{name}.json": writer for name, writer in writers.items()}
    return [
        (writer, json.loads(place.read_text("utf-8"))) for place, writer in places.items() if place.is_file()
    ]


def write_page() -> None:
    """The page from the figures of the last runs."""
    parts = sections()
    worth = [goal for writer, found in parts if hasattr(writer, "goals") for goal in writer.goals(found)]
    page = ROOT / "docs" / "explanation" / "fidelity.md"
    second = "\n".join(writer.section(found) for writer, found in parts)
    page.write_text(fidelity_page.render(kept(), second, worth), encoding="utf-8")
    print("wrote docs/explanation/fidelity.md", file=sys.stderr)


def print_tables() -> None:
    """What the page leaves out."""
    print(fidelity_page.tables(kept()), *(writer.tables(found) for writer, found in sections()), sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=62.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", nargs="*", choices=list(NAMES), default=list(NAMES))
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "data" / "lustre-traces")
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--tables", action="store_true")
    chosen = parser.parse_args()
    if chosen.tables:
        print_tables()
        return 0
    OUT.mkdir(parents=True, exist_ok=True)
    if not chosen.render:
        if not chosen.traces.is_dir():
            print(
                f"skipped: {chosen.traces} is not there (real traces, not part of the project)",
                file=sys.stderr,
            )
            return 0
        for name in chosen.only:
            started = time.perf_counter()
            figures = measure(name, chosen.traces, chosen.seconds, chosen.seed)
            (OUT / f"{name}.json").write_text(json.dumps(asdict(figures), indent=1) + "\n", encoding="utf-8")
            print(
                f"{name}: rho {figures.spearman:.3f}, {time.perf_counter() - started:.0f} s", file=sys.stderr
            )
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
