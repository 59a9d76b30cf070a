"""A live GlusterFS mount over a link of a millisecond: defaults, best static setting and agents, round by round.

Every round runs each workload once at the defaults, once at the best static setting, once under an agent as it ships,
which has no survey of such a mount, and on demand once under an agent that knows a short campaign done before on this
mount, on other files. An agent is started for its run alone, so its adaptation counts. The best static setting is
chosen beforehand in runs of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.measure.fio import FioJob, run
from penstock.predict import surveyfile
from penstock.testing.agents import ThisMachine, agent
from penstock.testing.gluster import GlusterMount, mounted
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
    {"ahead": 512},
    {"ahead": 1024},
    {"ahead": 4096},
    {"dirty_ppm": 100_000},
    {"flight": 256, "congested": 192},
    {"ahead": 1024, "dirty_ppm": 100_000},
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


def choose_static(mount: GlusterMount, job: FioJob, seconds: float) -> Mapping[str, int]:
    """The best of the static settings in two short runs each, the defaults among them."""
    rates: dict[int, float] = {}
    settings: tuple[Mapping[str, int], ...] = ({}, *STATIC)
    for place, setting in enumerate(settings):
        with held(mount, setting):
            rates[place] = statistics.fmean(run(job, mount.path, seconds) for _ in range(2))
    return settings[max(rates, key=rates.__getitem__)]


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
) -> list[dict[str, Any]]:
    rows = []
    arms = ["default", "static", *(AGENTS if survey is not None else AGENTS[:1])]
    for name in asked.workloads or WORKLOADS:
        job = WORKLOADS[name]
        best = choose_static(mount, job, asked.search_seconds)
        figures: dict[str, list[float]] = {arm: [] for arm in arms}
        for number in range(asked.rounds):
            at = number % len(arms)
            for arm in arms[at:] + arms[:at]:
                if arm in AGENTS:
                    known = ("--model", str(survey)) if arm == "campaign" else ()
                    figures[arm].append(tuned(mount, job, asked.seconds, home, *known))
                    continue
                with held(mount, best if arm == "static" else {}):
                    figures[arm].append(run(job, mount.path, asked.seconds))
        rows.append(summary(name, best, figures) | {"load": [round(load, 1) for load in os.getloadavg()]})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def summary(name: str, best: Mapping[str, int], figures: Mapping[str, list[float]]) -> dict[str, Any]:
    """Medians of ratios within rounds: what was slow for one arm of a round was slow for all."""
    ratios = {
        arm: [b / a for a, b in zip(figures["default"], rates, strict=True)]
        for arm, rates in figures.items()
        if arm != "default"
    }
    static = statistics.median(ratios["static"])
    return {
        "workload": name,
        "best_static": dict(best),
        "mbps": {arm: [round(rate / 1e6, 1) for rate in rates] for arm, rates in figures.items()},
        "static_vs_default": round(static, 3),
        **{arm: against(ratios[arm], static) for arm in AGENTS if arm in ratios},
    }


def against(ratios: list[float], static: float) -> dict[str, float | None]:
    """What an agent brought beside the defaults, and how much of what the best static setting brings."""
    gain = statistics.median(ratios)
    return {
        "vs_default": round(gain, 3),
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
    parser.add_argument("--search-seconds", type=float, default=4.0)
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
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with mounted(home / "gluster", asked.round_trip_ms / 1000) as mount:
            survey = surveyed(mount, asked.campaign_seconds, home) if asked.campaign_seconds else None
            run(WORKLOADS["sequential write 1m"], mount.path, 1.0)
            rows = measure(mount, asked, home, survey)
    rows = in_order(rows, earlier(asked.out) if asked.workloads else [])
    document = {
        "seconds": asked.seconds,
        "rounds": asked.rounds,
        "round_trip_ms": asked.round_trip_ms,
        "rows": rows,
        **{arm: overall(rows, arm) for arm in AGENTS if all(arm in row for row in rows)},
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    for arm in AGENTS:
        if arm in document:
            print(f"{arm}: {document[arm]}")


if __name__ == "__main__":
    main()
