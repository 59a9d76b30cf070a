"""`penstock schedule study`: repeats the paper's evaluation, with figures, tables and a check of its claims."""

from __future__ import annotations

import dataclasses
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    NearestChoice,
    StageProgress,
    emit_json,
    json_option,
    refuse_given,
    seed_option,
    write_text,
)
from penstock.errors import UsageError, refusal

if TYPE_CHECKING:
    from penstock.schedule.profile import Profile
    from penstock.schedule.study.gap import Gap
    from penstock.schedule.study.summary import RowSet

EXPERIMENT_NAMES = ("all", "load", "spread", "osts", "applications", "optimum")
EVALUATION_ONLY = ("chosen", "sizes", "data", "sets", "jobs")


class Sizes(click.ParamType[tuple[int, ...]]):
    """Numbers of applications, separated by commas."""

    name = "K[,K...]"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The numbers in the order given, each once."""
        if not isinstance(value, str):
            return value
        words = [word.strip() for word in value.split(",")]
        wrong = next((word for word in words if not (word.isascii() and word.isdigit() and int(word))), None)
        if wrong is not None:
            self.fail(f"{wrong!r} is not a number of applications", param, ctx)
        return tuple(dict.fromkeys(int(word) for word in words))


@click.command(epilog="Example: penstock schedule study --experiment optimum --sets 2 --out study")
@click.option("--site", "site_file", type=click.Path(path_type=Path), help="Replay --trace at this site.")
@click.option(
    "--trace", "trace_file", type=click.Path(path_type=Path), help="Jobs: sacct --parsable2, or SWF."
)
@click.option(
    "--stripes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --trace: the count that jobs have without us, which is the file system's default.",
)
@click.option(
    "--phases",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="With --trace: how often a job computes and writes in turn.",
)
@click.option(
    "--experiment",
    "chosen",
    type=NearestChoice(EXPERIMENT_NAMES),
    default="all",
    show_default=True,
    help="load: Figs. 5, 6, 8-12; spread: and Fig. 7; osts: Fig. 13; optimum: gaps on small sets.",
)
@click.option(
    "--applications",
    "sizes",
    type=Sizes(),
    default="60",
    show_default=True,
    help="How many applications share the platform; many verdicts depend on it. Several: 40,60,80.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Directory with io-node-curves/, ost-curves/, app-curves/; without it the built-in families.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("schedule-study"), show_default=True)
@click.option("--sets", type=click.IntRange(2), default=110, show_default=True, help="Sets at each point.")
@click.option("--jobs", type=click.IntRange(1), help="Processes  [default: all cores]")
@seed_option
@json_option
def study(
    site_file: Path | None,
    trace_file: Path | None,
    stripes: int,
    phases: int,
    chosen: str,
    sizes: tuple[int, ...],
    data: Path | None,
    out: Path,
    sets: int,
    jobs: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Repeat the evaluation over the I/O-load and check the paper's claims.

    Interrupted, it goes on where it stopped when started again with the same --out.

    With --site and --trace it replays a site's own jobs instead, with and without us, and writes one page.
    """
    if site_file is not None or trace_file is not None:
        if site_file is None or trace_file is None:
            raise UsageError("--site and --trace belong together")
        from penstock.cli.schedule_week import WeekPlan, study_week

        refuse_given(EVALUATION_ONLY, "belongs to the evaluation, not to --site and --trace")
        _make_directory(out)
        study_week(WeekPlan(site_file, trace_file, stripes, phases), out, as_json)
        return
    refuse_given(("stripes", "phases"), "belongs to --site and --trace")
    from penstock.schedule.study.claims import check_claims
    from penstock.schedule.study.figures import draw_all
    from penstock.schedule.study.tables import report

    _make_directory(out)
    rows, profiles = _run((chosen, sizes, data), out, (sets, seed), jobs or os.cpu_count() or 1)
    gaps = _gaps(chosen, data, sets, seed)
    findings = [finding for size, some in rows.items() for finding in check_claims(some, size)]
    figures = draw_all(rows, profiles if data else {}, out)
    write_text(out / "study.md", report(rows, findings, gaps))
    if as_json:
        emit_json(
            {
                "sets_per_point": sets,
                "seed": seed,
                "applications": list(sizes),
                "claims": [dataclasses.asdict(finding) for finding in findings],
                "figures": [str(path) for path in figures],
                "tables": str(out / "study.md"),
            }
        )
        return
    for finding in findings:
        verdict = "holds" if finding.holds else "does not hold"
        click.echo(f"{finding.section}, K = {finding.applications}: {finding.claim}: {verdict}")
    click.echo(f"{len(figures)} figures and {out / 'study.md'}")


def _run(
    what: tuple[str, tuple[int, ...], Path | None], out: Path, how: tuple[int, int], workers: int
) -> tuple[dict[int, dict[str, RowSet]], dict[str, tuple[Profile, ...]]]:
    """Run the wanted experiments. Returns their rows by number of applications, and the curves used."""
    from penstock.schedule.study.summary import RowSet
    from penstock.schedule.study.sweep import Results, batches, experiments_of, run_experiment

    chosen, sizes, data = what
    wanted = {name: e for name, e in experiments_of(sizes).items() if _wanted(name, chosen, data)}
    profiles = {curves: _profiles(curves, data) for curves in {e.curves for e in wanted.values()}}
    rows: dict[int, dict[str, RowSet]] = {size: {} for size in sizes}
    for name, experiment in wanted.items():
        work = list(batches(experiment, *how))
        results, some = Results(out / f"{name}.jsonl"), profiles[experiment.curves]
        found = RowSet(run_experiment(work, some, results, workers, partial(StageProgress(), name)))
        base = name.split("@", maxsplit=1)[0]
        # The figure over several numbers of applications is drawn once, beside those of the first number.
        rows[sizes[0] if base.startswith("spread-") else experiment.applications][base] = found
    return rows, profiles


def _wanted(name: str, chosen: str, data: Path | None) -> bool:
    if chosen == "all":
        return data is not None or not name.startswith(("osts", "applications"))
    if chosen in ("osts", "applications") and data is None:
        raise UsageError(f"--experiment {chosen} needs --data with measured curves")
    base = name.split("@", maxsplit=1)[0]
    return base.split("-", maxsplit=1)[0] == chosen or (chosen == "spread" and base == "load")


def _gaps(chosen: str, data: Path | None, sets: int, seed: int) -> list[Gap]:
    from penstock.schedule.study.gap import measure_gaps

    if chosen not in ("all", "optimum"):
        return []
    progress = partial(StageProgress(), "optimum")
    return list(measure_gaps(_profiles("io-nodes", data), sets, seed, progress))


def _profiles(curves: str, data: Path | None) -> tuple[Profile, ...]:
    from penstock.schedule.family import family_profiles
    from penstock.schedule.profile import load_profiles

    return family_profiles() if data is None else load_profiles(curves, data)


def _make_directory(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(out, error) from None
