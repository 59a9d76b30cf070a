"""`penstock schedule study`: the paper's evaluation again, with figures, tables and its claims checked."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import NearestChoice, console, emit_json, json_option, seed_option, write_text
from penstock.errors import AccessError, PenstockError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.schedule.profile import Profile
    from penstock.schedule.study.gap import Gap

EXPERIMENT_NAMES = ("all", "load", "spread", "osts", "applications", "optimum")


@click.command(epilog="Example: penstock schedule study --data curves/ --out study/ --sets 110")
@click.option(
    "--experiment",
    "chosen",
    type=NearestChoice(EXPERIMENT_NAMES),
    default="all",
    show_default=True,
    help="load: Figs. 5, 6, 8-12; spread: and Fig. 7; osts: Fig. 13; optimum: gaps on small sets.",
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
    chosen: str, data: Path | None, out: Path, sets: int, jobs: int | None, seed: int, as_json: bool
) -> None:
    """Repeat the evaluation over the I/O-load and check the paper's claims.

    Interrupted, it goes on where it stopped when started again with the same --out.
    """
    from penstock.schedule.study.claims import check_claims
    from penstock.schedule.study.figures import draw_all
    from penstock.schedule.study.summary import RowSet
    from penstock.schedule.study.sweep import EXPERIMENTS, Results, batches, run_experiment
    from penstock.schedule.study.tables import report

    _make_directory(out)
    wanted = {name: e for name, e in EXPERIMENTS.items() if _wanted(name, chosen, data)}
    profiles = {curves: _profiles(curves, data) for curves in {e.curves for e in wanted.values()}}
    rows: dict[str, RowSet] = {}
    screen = console(stderr=True)
    for name, experiment in wanted.items():
        work = list(batches(experiment, sets, seed))
        results = Results(out / f"{name}.jsonl")
        with _Progress(screen, name) as progress:
            some = profiles[experiment.curves]
            workers = jobs or os.cpu_count() or 1
            rows[name] = RowSet(run_experiment(work, some, results, workers, progress))
    gaps = _gaps(chosen, data, sets, seed)
    findings = check_claims(rows)
    figures = draw_all(rows, profiles if data else {}, out)
    write_text(out / "study.md", report(rows, findings, gaps))
    if as_json:
        emit_json(
            {
                "sets_per_point": sets,
                "seed": seed,
                "claims": [dataclasses.asdict(finding) for finding in findings],
                "figures": [str(path) for path in figures],
                "tables": str(out / "study.md"),
            }
        )
        return
    for finding in findings:
        verdict = "holds" if finding.holds else "does not hold"
        click.echo(f"{finding.section}: {finding.claim}: {verdict}")
    click.echo(f"{len(figures)} figures and {out / 'study.md'}")


def _wanted(name: str, chosen: str, data: Path | None) -> bool:
    if chosen == "all":
        return data is not None or name not in ("osts", "applications")
    if chosen in ("osts", "applications") and data is None:
        raise UsageError(f"--experiment {chosen} needs --data with measured curves")
    return name.split("-", maxsplit=1)[0] == chosen or (chosen == "spread" and name == "load")


def _gaps(chosen: str, data: Path | None, sets: int, seed: int) -> list[Gap]:
    from penstock.schedule.study.gap import measure_gaps

    if chosen not in ("all", "optimum"):
        return []
    with _Progress(console(stderr=True), "optimum") as progress:
        return list(measure_gaps(_profiles("io-nodes", data), sets, seed, progress))


def _profiles(curves: str, data: Path | None) -> tuple[Profile, ...]:
    from penstock.schedule.family import family_profiles
    from penstock.schedule.profile import load_profiles

    return family_profiles() if data is None else load_profiles(curves, data)


def _make_directory(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except PermissionError:
        raise AccessError(f"{out}: permission denied") from None
    except OSError as error:
        raise PenstockError(f"{out}: {error.strerror}") from None


class _Progress:
    """A bar on a terminal, ten lines elsewhere."""

    def __init__(self, screen: Console, name: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._screen = screen
        self._name = name
        self._told = -1
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=screen, disable=not screen.is_terminal)
        self._task = self._bar.add_task(name, total=None)

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return self._advance

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def _advance(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)
        tenth = 10 * done // total
        if not self._screen.is_terminal and tenth > self._told:
            self._told = tenth
            click.echo(f"penstock: {self._name}: {done} of {total}", err=True)
