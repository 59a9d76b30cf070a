"""A live GlusterFS mount over a link of a millisecond: defaults, best static setting and agent, round by round.

Every round runs each workload once at the defaults, once at the best static setting and once under an agent that was
started for this run alone, so its adaptation counts. The best static setting is chosen beforehand in runs of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.measure.fio import FioJob, run
from penstock.testing.agents import ThisMachine, agent
from penstock.testing.gluster import GlusterMount, mounted

WORKLOADS = {
    "sequential read 8k": FioJob("read", "8k"),
    "sequential read 1m": FioJob("read", "1m"),
    "sequential write 1m": FioJob("write", "1m"),
    "mixed 1m": FioJob("rw", "1m"),
}
FILES = {
    "flight": "max_background",
    "congested": "congestion_threshold",
    "ahead": "read_ahead_kb",
    "dirty_ppm": "max_ratio_fine",
}
# What a careful administrator would try: more readahead, more requests, more dirty data, and these together.
STATIC: tuple[Mapping[str, int], ...] = (
    {"ahead": 512},
    {"ahead": 1024},
    {"ahead": 4096},
    {"dirty_ppm": 100_000},
    {"flight": 256, "congested": 192},
    {"ahead": 1024, "dirty_ppm": 100_000},
    {"ahead": 4096, "flight": 256, "congested": 192, "dirty_ppm": 100_000},
)
OUT = Path(__file__).parent.parent / "docs" / "reference" / "file-systems" / "fuse.json"
CONFIG = "interval_s = 0.25\n[guard]\njitter_s = 0\n[scope]\nallow_fs = [{path!r}]\n"


def read_knobs(mount: GlusterMount) -> dict[str, int]:
    return {knob: int(mount.knob(file).read_text()) for knob, file in FILES.items()}


@contextmanager
def held(mount: GlusterMount, setting: Mapping[str, int]) -> Iterator[None]:
    """A setting by hand, and what was before."""
    before = read_knobs(mount)
    _write(mount, setting)
    try:
        yield
    finally:
        _write(mount, before)


def _write(mount: GlusterMount, setting: Mapping[str, int]) -> None:
    for knob, value in setting.items():
        mount.knob(FILES[knob]).write_text(f"{value}\n")


def choose_static(mount: GlusterMount, job: FioJob, seconds: float) -> Mapping[str, int]:
    """The best of the static settings in two short runs each, the defaults among them."""
    rates: dict[int, float] = {}
    settings: tuple[Mapping[str, int], ...] = ({}, *STATIC)
    for place, setting in enumerate(settings):
        with held(mount, setting):
            rates[place] = statistics.fmean(run(job, mount.path, seconds) for _ in range(2))
    return settings[max(rates, key=rates.__getitem__)]


def tuned(mount: GlusterMount, job: FioJob, seconds: float, home: Path) -> float:
    """One run under an agent of its own."""
    with tempfile.TemporaryDirectory(dir=home) as directory:
        state_dir = Path(directory) / "state"
        state_dir.with_suffix(".toml").write_text(CONFIG.format(path=str(mount.path)))
        with agent(ThisMachine(), state_dir, "--mode", "tune") as running:
            rate = run(job, mount.path, seconds)
            running.stop()
    return rate


def measure(
    mount: GlusterMount, seconds: float, search_s: float, rounds: int, home: Path
) -> list[dict[str, Any]]:
    rows = []
    for name, job in WORKLOADS.items():
        best = choose_static(mount, job, search_s)
        figures: dict[str, list[float]] = {"default": [], "static": [], "tuned": []}
        for number in range(rounds):
            arms = ["default", "static", "tuned"]
            for arm in arms[number % 3 :] + arms[: number % 3]:
                if arm == "tuned":
                    figures[arm].append(tuned(mount, job, seconds, home))
                    continue
                with held(mount, best if arm == "static" else {}):
                    figures[arm].append(run(job, mount.path, seconds))
        rows.append(summary(name, best, figures))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def summary(name: str, best: Mapping[str, int], figures: Mapping[str, list[float]]) -> dict[str, Any]:
    """Medians of ratios within rounds: what was slow for one arm of a round was slow for all."""
    static = statistics.median(b / a for a, b in zip(figures["default"], figures["static"], strict=True))
    ratios = [b / a for a, b in zip(figures["default"], figures["tuned"], strict=True)]
    gain = statistics.median(ratios)
    return {
        "workload": name,
        "best_static": dict(best),
        "mbps": {arm: [round(rate / 1e6, 1) for rate in rates] for arm, rates in figures.items()},
        "static_vs_default": round(static, 3),
        "tuned_vs_default": round(gain, 3),
        "worst_round": round(min(ratios), 3),
        "headroom_captured": round((gain - 1) / (static - 1), 3) if static >= 1.2 else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--search-seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-trip-ms", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with mounted(home / "gluster", asked.round_trip_ms / 1000) as mount:
            run(WORKLOADS["sequential write 1m"], mount.path, 1.0)
            rows = measure(mount, asked.seconds, asked.search_seconds, asked.rounds, home)
    found = [row["headroom_captured"] for row in rows if row["headroom_captured"] is not None]
    document = {
        "seconds": asked.seconds,
        "rounds": asked.rounds,
        "round_trip_ms": asked.round_trip_ms,
        "rows": rows,
        "headroom_captured": round(statistics.fmean(found), 3) if found else None,
        "worst_vs_default": min(row["tuned_vs_default"] for row in rows),
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    print(f"head-room captured {document['headroom_captured']}, worst {document['worst_vs_default']}")


if __name__ == "__main__":
    main()
