"""`penstock schedule learn`: bandwidth curves from a site's own finished jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import emit_json, json_option, write_text
from penstock.errors import DataError, MissingError
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.schedule.jobtrace import JobTrace
    from penstock.schedule.learn.curvefile import LearnedApplication
    from penstock.schedule.learn.finished import Joined

MOST_NAMED = 5


@click.command(epilog="Example: penstock schedule learn --accounting examples/jobs.txt --darshan app.darshan")
@click.option(
    "--accounting",
    type=click.Path(path_type=Path),
    required=True,
    help="Finished jobs: sacct --parsable2, or SWF.",
)
@click.option(
    "--darshan",
    "directories",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="Directory with Darshan logs, or one log; may be given several times.",
)
@click.option("--ledger", "ledger_file", type=click.Path(path_type=Path), help="On how many OSTs jobs ran.")
@click.option(
    "--match",
    "patterns",
    multiple=True,
    help="An application: jobs whose name fits the pattern; several times.  [default: every name is one]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("curves.toml"),
    show_default=True,
    help="The result.",
)
@json_option
def learn(
    accounting: Path,
    directories: tuple[Path, ...],
    ledger_file: Path | None,
    patterns: tuple[str, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Turn finished jobs into bandwidth curves with intervals, for `curves = "FILE"` in a site file.

    An application is a job's name with its numbers of nodes and processes. Those that access files in the same way
    are estimated together, so that one with few runs learns from the others.
    """
    from penstock.schedule.jobtrace import load_trace, shown_name
    from penstock.schedule.learn.curvefile import curves_toml, learn_applications
    from penstock.schedule.learn.finished import find_logs, join, read_logs

    trace = load_trace(accounting)
    paths = find_logs(directories)
    if not paths:
        raise MissingError(f"{', '.join(map(str, directories))}: no Darshan logs (*.darshan) there")
    logs, broken = read_logs(paths)
    joined = join(trace.jobs, logs, _granted(ledger_file), patterns)
    if not joined.runs:
        raise DataError(f"{accounting}: no run to learn from: {_reasons(joined, trace, broken)}")
    applications = learn_applications(joined.runs)
    write_text(out, curves_toml(applications, patterns))
    if as_json:
        emit_json(_document(applications, joined, broken) | trace.left_out())
        return
    for one in applications:
        click.echo(_line(one))
    for why, names in joined.left_out.items():
        listed = ", ".join(map(shown_name, names[:MOST_NAMED])) + (" ..." if len(names) > MOST_NAMED else "")
        click.echo(f"Left out, {why}: {len(names)} ({listed})")
    for told in (*trace.remarks(), *broken.values()):
        click.echo(f"Left out, {told}")
    click.echo(
        f"{counted(len(applications), 'application')} from {counted(len(joined.runs), 'run')} in {out}"
    )


def _granted(ledger_file: Path | None) -> dict[str, int]:
    from penstock.schedule.ledger import Ledger

    if ledger_file is None:
        return {}
    if not ledger_file.exists():
        raise MissingError(f"{ledger_file}: no such file (--ledger)")
    return {past.job.name: len(past.job.resources) for past in Ledger(ledger_file).history()}


def _reasons(joined: Joined, trace: JobTrace, broken: Mapping[str, str]) -> str:
    told = [f"{why}: {len(names)}" for why, names in joined.left_out.items()] or ["no log can be read"]
    if broken:
        told.append(f"logs that cannot be read: {len(broken)} (first: {next(iter(broken.values()))})")
    return "; ".join([*told, *trace.remarks()])


def _line(one: LearnedApplication) -> str:
    from penstock.schedule.jobtrace import shown_name

    curve = one.learned.curve
    best = max(curve.counts, key=lambda count: (curve.at(count), -count))
    place = curve.counts.index(best)
    low, high = one.learned.low[place] / 1e9, one.learned.high[place] / 1e9
    return (
        f"{shown_name(one.name)}: {counted(one.learned.runs, 'run')}, {one.access}; fastest on {best}: "
        f"{curve.at(best) / 1e9:.2f} GB/s ({low:.2f} to {high:.2f})"
    )


def _document(
    applications: tuple[LearnedApplication, ...], joined: Joined, broken: dict[str, str]
) -> dict[str, object]:
    def curve(one: LearnedApplication, values: tuple[float, ...]) -> dict[str, float]:
        return {str(count): value for count, value in zip(one.learned.curve.counts, values, strict=True)}

    return {
        "runs": len(joined.runs),
        "applications": [
            {
                "name": one.name,
                "access": one.access,
                "runs": one.learned.runs,
                "bandwidth": curve(one, one.learned.curve.bytes_per_s),
                "low": curve(one, one.learned.low),
                "high": curve(one, one.learned.high),
            }
            for one in applications
        ],
        "left_out": {why: list(names) for why, names in joined.left_out.items()},
        "broken": broken,
    }
