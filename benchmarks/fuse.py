"""A live GlusterFS mount over a link of a millisecond: defaults, best static setting and agents, round by round.

Every round runs each workload once at the defaults, once at the best static setting, once under an agent as it ships,
which has no survey of such a mount, and on demand once under an agent that knows a short campaign done before on this
mount, on other files. An agent is started for its run alone, so its adaptation counts. The best static setting is
chosen beforehand, in runs that do not count: turn by turn among all candidates, then among the better half of them,
and so on, so that the last two were run seven times each. Ratios are geometric means over rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rigs.agents import ThisMachine, agent
from tests.rigs.gluster import GlusterMount, mounted

from penstock.measure.fio import FioJob, run
from penstock.predict import surveyfile
from penstock.train.mount_trials import MountCampaign, run_campaign
from penstock.train.mountsurvey import campaign_rates
from penstock.train.survey import make_survey

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
    {},
    {"ahead": 512},
    {"ahead": 1024},
    {"ahead": 4096},
    {"dirty_ppm": 100_000},
    {"flight": 256, "congested": 192},
    {"ahead": 4096, "flight": 256, "congested": 192},
    {"ahead": 4096, "flight": 256, "congested": 192, "dirty_ppm": 100_000},
)
# The agents by what they know: nothing but what ships, or a campaign on this mount.
AGENTS = ("tuned", "campaign")
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


@dataclass(slots=True)
class Contender:
    """A static setting and what each of its runs in the search brought, in bytes per second."""

    setting: Mapping[str, int]
    rates: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.rates)


def search_static(mount: GlusterMount, job: FioJob, seconds: float) -> list[Contender]:
    """All static settings, the best one first. Each pass runs those that are left in turns, the second turn in the
    opposite order, and drops the worse half; the next pass has twice as many turns.
    """
    found = [Contender(setting) for setting in STATIC]
    left, turns = len(found), 1
    while left > 1:
        for turn in range(turns):
            for contender in found[:left][:: -1 if turn % 2 else 1]:
                with held(mount, contender.setting):
                    contender.rates.append(run(job, mount.path, seconds))
        found[:left] = sorted(found[:left], key=lambda contender: -contender.mean)
        left, turns = left // 2, 2 * turns
    return found


def tuned(mount: GlusterMount, job: FioJob, seconds: float, home: Path, *options: str) -> float:
    """One run under an agent of its own."""
    with tempfile.TemporaryDirectory(dir=home) as directory:
        state_dir = Path(directory) / "state"
        state_dir.with_suffix(".toml").write_text(CONFIG.format(path=str(mount.path)))
        with agent(ThisMachine(), state_dir, "--mode", "tune", *options) as running:
            rate = run(job, mount.path, seconds)
            running.stop()
    return rate


def surveyed(mount: GlusterMount, seconds: float, home: Path) -> Path:
    """What `train collect --live` and `train survey` make of this mount, on files of their own."""
    campaign, out = home / "campaign", home / "survey.json"
    run_campaign(MountCampaign(mount.path, campaign, seconds, 1), Path("/"), home / "campaign-state", print)
    space, held_rates = campaign_rates([campaign])
    out.write_bytes(surveyfile.dump(make_survey(held_rates, "this mount", {}, space)))
    return out


def measure(
    mount: GlusterMount, asked: argparse.Namespace, home: Path, survey: Path | None
) -> Iterator[dict[str, Any]]:
    """One row a workload, as soon as it is there."""
    arms = ["default", "static", *(AGENTS if survey is not None else AGENTS[:1])]
    for name in asked.workloads or WORKLOADS:
        job, began = WORKLOADS[name], os.getloadavg()[0]
        found = search_static(mount, job, asked.search_seconds)
        figures: dict[str, list[float]] = {arm: [] for arm in arms}
        for number in range(asked.rounds):
            at = number % len(arms)
            for arm in arms[at:] + arms[:at]:
                if arm in AGENTS:
                    known = ("--model", str(survey)) if arm == "campaign" else ()
                    figures[arm].append(tuned(mount, job, asked.seconds, home, *known))
                    continue
                with held(mount, found[0].setting if arm == "static" else {}):
                    figures[arm].append(run(job, mount.path, asked.seconds))
        loads = [round(load, 1) for load in (began, *os.getloadavg())]
        yield summary(name, found, figures) | {"load": loads}


def summary(name: str, found: list[Contender], figures: Mapping[str, list[float]]) -> dict[str, Any]:
    """Means of ratios within rounds: what was slow for one arm of a round was slow for all."""
    ratios = {
        arm: [b / a for a, b in zip(figures["default"], rates, strict=True)]
        for arm, rates in figures.items()
        if arm != "default"
    }
    static = statistics.geometric_mean(ratios["static"])
    # Where the defaults are the best ones both arms are the same: what they differ by is chance, not head-room.
    best = static if found[0].setting else 1.0
    return {
        "workload": name,
        "best_static": dict(found[0].setting),
        "search_mbps": [{"setting": dict(one.setting), "runs": in_mbps(one.rates)} for one in found],
        "mbps": {arm: in_mbps(rates) for arm, rates in figures.items()},
        "static_vs_default": round(static, 3),
        "static_error": round(error(ratios["static"]), 3),
        **{arm: against(ratios[arm], best) for arm in AGENTS if arm in ratios},
    }


def in_mbps(rates: list[float]) -> list[float]:
    return [round(rate / 1e6, 1) for rate in rates]


def error(ratios: list[float]) -> float:
    """The standard error of their geometric mean, as a share of it."""
    logs = [math.log(ratio) for ratio in ratios]
    return statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0


def against(ratios: list[float], static: float) -> dict[str, float | None]:
    """What an agent brought beside the defaults, and how much of what the best static setting brings."""
    gain = statistics.geometric_mean(ratios)
    return {
        "vs_default": round(gain, 3),
        "error": round(error(ratios), 3),
        "median": round(statistics.median(ratios), 3),
        "worst_round": round(min(ratios), 3),
        "headroom_captured": round((gain - 1) / (static - 1), 3) if static >= 1.2 else None,
    }


def overall(rows: list[dict[str, Any]], arm: str) -> dict[str, float | None]:
    """One agent over all workloads."""
    found = [row[arm]["headroom_captured"] for row in rows]
    known = [captured for captured in found if captured is not None]
    return {
        "headroom_captured": round(statistics.fmean(known), 3) if known else None,
        "worst_vs_default": min(row[arm]["vs_default"] for row in rows),
    }


def earlier(path: Path) -> list[dict[str, Any]]:
    """The rows of the last run."""
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"] if path.exists() else []
    return rows


def in_order(rows: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a workload: the new one where there is one."""
    found = {row["workload"]: row for row in (*before, *rows)}
    return [found[name] for name in WORKLOADS if name in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--search-seconds", type=float, default=2.0)
    parser.add_argument("--campaign-seconds", type=float, default=0.0, help="a kind of work; 0: no campaign")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--workload",
        dest="workloads",
        action="append",
        choices=WORKLOADS,
        help="only these; the rest as before",
    )
    parser.add_argument("--round-trip-ms", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    rows = earlier(asked.out) if asked.workloads else []
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with mounted(home / "gluster", asked.round_trip_ms / 1000) as mount:
            survey = surveyed(mount, asked.campaign_seconds, home) if asked.campaign_seconds else None
            run(WORKLOADS["sequential write 1m"], mount.path, 1.0)
            for row in measure(mount, asked, home, survey):
                print(json.dumps(row), flush=True)
                rows = in_order([row], rows)
                write(asked, rows)


def write(asked: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """The document of all rows so far, so that what was measured outlives a run that is cut short."""
    document = {
        "seconds": asked.seconds,
        "rounds": asked.rounds,
        "round_trip_ms": asked.round_trip_ms,
        "rows": rows,
        **{arm: overall(rows, arm) for arm in AGENTS if all(arm in row for row in rows)},
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
