"""`penstock train survey`: what every setting brings, case by case, for the policy `weir`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli.options import DURATION, console, emit_json, json_option, progress, seed_option, write_bytes


@click.command(epilog="Example: penstock train survey --cluster c220g5 --drawn 80 --out survey.json")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where the survey file goes.")
@click.option(
    "--cluster",
    "clusters",
    multiple=True,
    default=("c220g5",),
    show_default=True,
    help="Built-in cluster or a TOML file, its patterns surveyed as they are; may be given several times.",
)
@click.option(
    "--drawn",
    type=click.IntRange(0, 2000),
    default=60,
    show_default=True,
    help="Cases beside those with work and hardware drawn at random around the first cluster.",
)
@click.option(
    "--seconds",
    type=DURATION,
    default=4.0,
    show_default=True,
    help="Time a setting is measured; writes four times as long.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@seed_option
@json_option
def survey(
    out: Path, clusters: tuple[str, ...], drawn: int, seconds: float, workers: int, seed: int, as_json: bool
) -> None:
    """Hold all 99 settings in many simulated cases and keep what they brought and how the counters looked.

    Five-stream workloads are never surveyed: they are what policies are judged by.
    """
    from penstock.predict import surveyfile
    from penstock.train import survey as making

    say = progress()
    drafts = [draft for cluster in clusters for draft in making.named(cluster)]
    drafts += making.drawn(clusters[0], drawn, seed)
    found = making.survey(drafts, seconds, seed, workers, say)
    raw = surveyfile.dump(found)
    write_bytes(out, raw)
    digest = surveyfile.parse(raw, str(out)).digest
    if as_json:
        emit_json({"out": str(out), "cases": len(found.cases), "bytes": len(raw), "sha256": digest})
    else:
        console().print(f"{len(found.cases)} cases in {out} ({len(raw) // 1024} KiB, sha256 {digest[:12]})")
