"""`penstock train survey`: makes a survey for the policy `weir`: the gain of every setting, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    console,
    emit_json,
    json_option,
    prepare_simulator,
    progress,
    seed_option,
    write_bytes,
)
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.train.survey import HeldRates


@click.command(epilog="Example: penstock train survey --worlds 1 --seconds 0.5 --out survey.json")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where the survey file goes.")
@click.option(
    "--worlds",
    type=click.IntRange(0, 5000),
    help="Random worlds to survey.  [default: 700, none with --from]",
)
@click.option(
    "--seconds",
    type=DURATION,
    default=12.0,
    show_default=True,
    help="Time a setting is measured.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option(
    "--from",
    "sources",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Recordings or traces of real clients, agents' state directories, one or a directory of several, "
    "or campaigns of `collect --live DIR`; may be repeated.",
)
@click.option(
    "--kind",
    type=NearestChoice(("data", "metadata")),
    default="data",
    show_default=True,
    help="Random worlds of data paths, or of connections to metadata servers.",
)
@seed_option
@json_option
def survey(
    out: Path,
    kind: str,
    worlds: int | None,
    seconds: float,
    workers: int,
    sources: tuple[Path, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Hold settings in random worlds, or take what real clients recorded, and keep what each brought.

    Some families of worlds are never surveyed: they are what policies are judged by. Settings that were not
    measured are filled in from those around them. Of agents' state directories the file knowledge.json is taken:
    each kind of work that was measured at five settings or more, the default among them, is a case.
    """
    from penstock.predict import surveyfile
    from penstock.spaces import LUSTRE
    from penstock.train import metadata_survey
    from penstock.train import survey as making
    from penstock.train.mountsurvey import campaign_rates, is_campaign

    count = worlds if worlds is not None else 0 if sources else 700
    held: list[HeldRates] = []
    space = LUSTRE
    if kind == "metadata":
        if sources:
            raise UsageError("--kind metadata is surveyed in random worlds only: no --from")
        space, held = metadata_survey.SPACE, metadata_survey.metadata_rates(count, seed, progress())
    elif any(is_campaign(directory) for directory in sources):
        if count or not all(is_campaign(directory) for directory in sources):
            raise UsageError("campaigns on mounts make a survey of their own: no --worlds, no other --from")
        space, held = campaign_rates(sources)
    elif sources:
        from penstock.train.recorded_cases import recorded_rates

        held += recorded_rates(sources)
    if count and kind == "data":
        prepare_simulator()
        held += making.surveyed(making.drawn(count, seed), seconds, seed, workers, progress())
    if not held:
        raise UsageError("a survey needs worlds or recordings: give --worlds or --from")
    names = [directory.resolve().name for directory in sources]
    source = ", ".join([*names, *([f"{count} random worlds"] if count else [])])
    settings: dict[str, object] = {"seed": seed} if count else {}
    if count and kind == "data":
        settings = {"seconds": seconds, **settings, "left_out": ", ".join(making.LEFT_OUT)}
    found = making.make_survey(held, source, settings, space)
    raw = surveyfile.dump(found)
    write_bytes(out, raw)
    digest = surveyfile.parse(raw, str(out)).digest
    if as_json:
        emit_json({"out": str(out), "cases": len(found.cases), "bytes": len(raw), "sha256": digest})
    else:
        console().print(f"{len(found.cases)} cases in {out} ({len(raw) // 1024} KiB, sha256 {digest[:12]})")
