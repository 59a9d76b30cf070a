"""`penstock schedule generate`: a paper's application set, or a job trace for a site, as long as wanted."""

from __future__ import annotations

from pathlib import Path
from random import Random

import click

from penstock.cli.options import (
    FiniteRange,
    NearestChoice,
    emit_json,
    json_option,
    refuse_given,
    seed_option,
    write_text,
)
from penstock.errors import UsageError
from penstock.units import counted

MOST_DAYS = 36500
MOST_LOAD = 1000


@click.command(epilog="Example: penstock schedule generate --applications 60 --load 0.5 --out set.json")
@click.option("--applications", type=click.IntRange(1), help="A set of so many, drawn as in the paper.")
@click.option(
    "--load",
    type=FiniteRange(0, MOST_LOAD, min_open=True),
    default=0.5,
    show_default=True,
    help="The set's least I/O-load, within 0.025.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Its curves: a directory with io-node-curves/ or ost-curves/; without it the built-in families.",
)
@click.option("--curves", type=NearestChoice(["io-nodes", "osts"]), default="io-nodes", show_default=True)
@click.option("--site", "site_file", type=click.Path(path_type=Path), help="A trace of this site's jobs.")
@click.option("--jobs", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--days", type=FiniteRange(0, MOST_DAYS, min_open=True), default=7.0, show_default=True)
@click.option(
    "--others",
    type=FiniteRange(0, 1),
    default=0.3,
    show_default=True,
    help="Share of jobs that no application matches.",
)
@click.option("--format", "form", type=NearestChoice(["sacct", "swf"]), default="sacct", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Default: set.json or trace.txt.")
@seed_option
@json_option
def generate(
    applications: int | None,
    load: float,
    data: Path | None,
    curves: str,
    site_file: Path | None,
    jobs: int,
    days: float,
    others: float,
    form: str,
    out: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Write an application set of the scheduling paper, or a trace of a site's jobs.

    With --applications: 20 resources, 480 compute nodes, a tenth of the applications on 75 % of them, 2 to 20 phases,
    for `schedule allocate|simulate`. With --site: jobs of its applications, and others, for `schedule study --trace`.
    """
    if (applications is None) == (site_file is None):
        raise UsageError("name --applications K for a set, or --site FILE for a trace of its jobs")
    if applications is not None:
        refuse_given(("jobs", "days", "others", "form"), "belongs to --site, not to --applications")
        _set((applications, load, seed), (curves, data), out or Path("set.json"), as_json)
    elif site_file is not None:
        refuse_given(("load", "data", "curves"), "belongs to --applications, not to --site")
        _trace((site_file, jobs, days, others, seed), form, out or Path("trace.txt"), as_json)


def _set(asked: tuple[int, float, int], source: tuple[str, Path | None], out: Path, as_json: bool) -> None:
    from penstock.schedule.family import family_profiles
    from penstock.schedule.profile import load_profiles
    from penstock.schedule.setfile import dump_set
    from penstock.schedule.study.trial import draw_set

    (applications, load, seed), (curves, data) = asked, source
    if data is None and curves != "io-nodes":
        raise UsageError(f"--curves {curves} needs --data with measured curves")
    profiles = family_profiles() if data is None else load_profiles(curves, data)
    made, least = draw_set(profiles, applications, load, Random(seed))
    write_text(out, dump_set(made))
    if as_json:
        emit_json(
            {
                "applications": len(made.applications),
                "resources": made.resources,
                "compute_nodes": made.compute_nodes,
                "least_io_load": least,
                "out": str(out),
            }
        )
    else:
        click.echo(f"{len(made.applications)} applications, I/O-load at least {least:.3f}, in {out}")


def _trace(asked: tuple[Path, int, float, float, int], form: str, out: Path, as_json: bool) -> None:
    from penstock.schedule.jobtrace import JobTrace
    from penstock.schedule.site import load_site
    from penstock.schedule.tracegen import TracePlan, generate_trace, sacct_text, swf_text

    site_file, jobs, days, others, seed = asked
    site = load_site(site_file)
    # A pattern is a name that fits itself, once its signs are letters.
    names = tuple(dict.fromkeys(one.match.translate({42: "1", 63: "1"}) for one in site.application))
    plan = TracePlan(jobs, days, site.platform.compute_nodes, names, others)
    made = generate_trace(plan, Random(seed))
    write_text(out, sacct_text(made) if form == "sacct" else swf_text(made, site.platform.compute_nodes))
    most = JobTrace(made, 0).nodes
    if as_json:
        emit_json({"jobs": len(made), "most_nodes": most, "applications": list(names), "out": str(out)})
    else:
        click.echo(f"{counted(len(made), 'job')}, at most {counted(most, 'node')} at once, in {out}")
