"""`penstock schedule generate`: a job trace for a site, as long as wanted."""

from __future__ import annotations

from pathlib import Path
from random import Random

import click

from penstock.cli.options import NearestChoice, emit_json, json_option, seed_option, write_text


@click.command(epilog="Example: penstock schedule generate --site examples/schedule/week.toml --jobs 200")
@click.option("--site", "site_file", type=click.Path(path_type=Path), required=True, help="Its applications.")
@click.option("--jobs", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--days", type=click.FloatRange(0, min_open=True), default=7.0, show_default=True)
@click.option(
    "--others",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="Share of jobs that no application matches.",
)
@click.option("--format", "form", type=NearestChoice(["sacct", "swf"]), default="sacct", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("trace.txt"), show_default=True)
@seed_option
@json_option
def generate(
    site_file: Path, jobs: int, days: float, others: float, form: str, out: Path, seed: int, as_json: bool
) -> None:
    """Write a trace of jobs of the site's applications, and of others, for `schedule study --trace`."""
    from penstock.schedule.jobtrace import JobTrace
    from penstock.schedule.site import load_site
    from penstock.schedule.tracegen import TracePlan, generate_trace, sacct_text, swf_text

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
        click.echo(f"{len(made)} jobs, at most {most} nodes at once, in {out}")
