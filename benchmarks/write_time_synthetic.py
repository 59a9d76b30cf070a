"""Table VII, Fig. 4, adaptation and planted bottlenecks of the write-time paper, on synthetic campaigns.

usage: ./run bench write_time_synthetic [--per-scale 200] [--per-test-scale 30] [--seeds 1 21 31] [--write]
       ./run bench write_time_synthetic --published [--write]    Fig. 7 alone, which needs no search: minutes
       ./run bench write_time_synthetic --render    all tables of the last run; nothing is measured

Self-consistency, not evidence about real machines. The first seed has all techniques, by the paper's method and the
present one; the others the lasso, the published coefficients and adaptation. What searches chose is kept (--keep), so
an interrupted run goes on where it stopped. All tables are printed. `--write` puts figures and one picture into
docs/explanation/write-time, the other pictures into --keep; `--render` prints the tables of the figures there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.write_time_study import plots
from benchmarks.write_time_study.figures import adaptation, figure_four, figure_seven, table_seven
from benchmarks.write_time_study.planted import planted
from benchmarks.write_time_study.report import TITLES, report
from benchmarks.write_time_study.study import METHODS, Study, StudySize, everything, run_study
from benchmarks.write_time_study.tables import set_masks

from penstock.evaluate.store import default_directory
from penstock.plan.write import error_plots
from penstock.plan.write.accuracy import relative_errors
from penstock.plan.write.prediction import WriteModel
from penstock.plan.write.published import published_model
from penstock.plan.write.techniques import COMPARED

PLACE = Path(__file__).parent.parent / "docs" / "explanation" / "write-time"
SYSTEMS = ("cetus", "titan")
#: Fig. 7 needs no search, so its campaigns are larger than the study's: shares of 200 samples differ by a tenth.
FIGURE_7_PER_SCALE = 150


def figures_of(study: Study, seed: int, *, whole: bool) -> dict[str, Any]:
    """All figures of one system and seed."""
    techniques = COMPARED if whole else ("lasso",)
    models: dict[str, WriteModel] = {
        "published coefficients": published_model(study.system),
        **{f"{method}: lasso": study.model(method, "lasso") for method in METHODS},
    }
    return {
        "seed": seed,
        "table_7": table_seven(study, whole=whole),
        "figure_4": {method: figure_four(study, method, techniques) for method in METHODS},
        "adaptation": adaptation(study, models),
    }


def draw(study: Study, figures: dict[str, Any], place: Path) -> None:
    """Figs. 1, 4, 5 and 6 as pictures."""
    name, samples = study.system.name, study.test.samples
    title = f"{TITLES[name]}, synthetic campaign"
    bars = {
        f"{method}, {part}": {
            technique: tuple(each["test_mse"][part])
            for technique, each in figures["figure_4"][method].items()
        }
        for method in METHODS
        for part in ("converged", "unconverged")
    }
    plots.mse_bars(bars, place / f"mse-{name}.png", title)
    panels = {}
    for label, mask in list(set_masks(samples).items())[:3]:
        truth = samples.seconds[mask]
        panels[f"{label} ({truth.size})"] = {
            technique: (
                truth,
                relative_errors(study.model("present", technique).predict_samples(samples)[mask], truth),
            )
            for technique in COMPARED
        }
    error_plots.signed_errors(panels, place / f"errors-{name}.png", f"{title}: chosen models")


def measure(sizes: Sequence[StudySize], keep: Path, *, pictures: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"per_scale": sizes[0].per_scale, "systems": {}}
    ratios, gains = {}, {}
    for name in SYSTEMS:
        rows = []
        for size in sizes:
            whole = size is sizes[0]
            wanted = everything() if whole else dict.fromkeys(METHODS, ("lasso",))
            study = run_study(name, size, wanted, keep, say)
            rows.append(figures_of(study, size.seed, whole=whole))
            if whole:
                ratios[TITLES[name]] = [max(run.times_s) / min(run.times_s) for run in study.training.runs]
                if pictures:
                    draw(study, rows[0], keep)
        found["systems"][name] = rows
        for kind, each in rows[0]["adaptation"]["published coefficients"].items():
            gains[f"{TITLES[name]}, {kind}"] = each
    found["figure_7"] = sevenths([size.seed for size in sizes])
    found["planted"] = [row for name in SYSTEMS for row in planted(name, sizes[0].per_scale // 4)]
    if pictures:
        title = "Identical runs, synthetic campaign"
        error_plots.variability_cdf(ratios, keep / "variability-synthetic.png", title)
        plots.gain_cdf(gains, PLACE / "gains.png", "Advice by the published coefficients, synthetic campaign")
    return found


def sevenths(seeds: Sequence[int]) -> dict[str, Any]:
    """Fig. 7 of both systems, by seed."""
    found: dict[str, Any] = {}
    for name in SYSTEMS:
        found[name] = [figure_seven(name, FIGURE_7_PER_SCALE, seed) for seed in seeds]
        say(f"{name}: Fig. 7 done")
    return found


def keep_figures(found: dict[str, Any]) -> None:
    """The figures beside the page."""
    (PLACE / "study.json").write_text(json.dumps(rounded(found)) + "\n", encoding="utf-8")


def say(text: str) -> None:
    print(f"write_time: {time.process_time():.0f} CPU s: {text}", file=sys.stderr, flush=True)


def rounded(value: Any) -> Any:
    """Figures as they are kept: enough digits that no share changes."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--per-scale", type=int, default=200)
    parser.add_argument("--per-test-scale", type=int, default=30)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 21, 31])
    parser.add_argument("--keep", type=Path, default=default_directory() / "write-time")
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--published", action="store_true", help="Fig. 7 alone, beside the other figures kept"
    )
    parser.add_argument("--render", action="store_true", help="from the figures of the last run")
    given = parser.parse_args()
    if given.render:
        print(report(json.loads((PLACE / "study.json").read_text("utf-8"))))
        return
    if given.published:
        kept = json.loads((PLACE / "study.json").read_text("utf-8"))
        kept["figure_7"] = sevenths(given.seeds)
        print(report(kept))
        if given.write:
            keep_figures(kept)
        return
    sizes = [StudySize(given.per_scale, given.per_test_scale, seed) for seed in given.seeds]
    found = measure(sizes, given.keep, pictures=given.write)
    print(report(found))
    if given.write:
        keep_figures(found)


if __name__ == "__main__":
    main()
