"""`penstock evaluate scenarios` and `robust`: policies in described worlds and in random worlds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    PolicyName,
    StageProgress,
    emit_json,
    json_option,
    prepare_simulator,
    seed_option,
    together,
)
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES
from penstock.errors import UsageError
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.request import Terms
    from penstock.train.worlds import DescribedWorld

PATH = click.Path(path_type=Path)
GUARD = {"auto": None, "on": True, "off": False}
SECONDS = 120.0


#: Policies, how they run, and where results are kept: the same for every experiment.
lab_options = together(
    click.option(
        "--policy",
        "policies",
        type=PolicyName((*POLICY_NAMES, *EXPERIMENT_NAMES)),
        multiple=True,
        help="Judge this one; repeat to compare others with it. [default: what the agent ships with]",
    ),
    seed_option,
    click.option(
        "--guard", type=NearestChoice(tuple(GUARD)), default="auto", show_default=True,
        help="The agent's guard around policies; auto: around those made for it.",
    ),
    click.option(
        "--model", metavar="shipped|own|FILE",
        help="What learned policies ask; own: trained on this cluster, other seeds. [default: shipped]",
    ),
    click.option("--workers", type=click.IntRange(1, 256), help="Processes. [all cores]"),
    click.option("--cache-dir", type=PATH, help="Where results are kept. [the user's cache directory]"),
    click.option("--fresh", is_flag=True, help="Neither use nor keep cached results."),
    json_option,
)  # fmt: skip
_world_options = together(
    lab_options,
    click.option("--seconds", type=DURATION, default=SECONDS, show_default=True, help="Measured time."),
    click.option(
        "--seeds", type=click.IntRange(1, 1000), default=1, show_default=True,
        help="Run every world with so many seeds from --seed on; figures are means over them.",
    ),
    click.option("--no-search", is_flag=True, help="Leave out the best static setting."),
)  # fmt: skip


@click.command(epilog="Example: penstock evaluate scenarios examples/cluster/bad-day.toml --no-search")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE.toml...")
@_world_options
def scenarios(files: Sequence[Path], as_json: bool, **options: Any) -> None:
    """Any described world: the default, the best static setting, and policies on all its clients.

    The best static setting is one for all clients: the best total among those that leave every job with at least
    200 requests four fifths of what it gets at the default. It is chosen on another seed. `nudge`, the default with
    one change of half a second, always runs too: it shows what chance does.
    """
    prepare_simulator()
    from penstock.train.worlds import load_world

    _run([load_world(path) for path in files], as_json, **options)


@click.command(epilog="Example: penstock evaluate robust --draws 1 --seconds 5 --seeds 2 --no-search")
@click.option(
    "--draws", type=click.IntRange(1, 100_000), default=24, show_default=True, help="How many worlds."
)
@click.option(
    "--family", "families", multiple=True, metavar="NAME", help="Only worlds of this family; repeat."
)
@click.option("--without", multiple=True, metavar="NAME", help="No worlds of this family; repeat.")
@_world_options
def robust(
    draws: int, families: tuple[str, ...], without: tuple[str, ...], as_json: bool, seed: int, **options: Any
) -> None:
    """Worlds drawn at random: hardware, work and company, as docs/reference/worlds.md says.

    Each row holds its scenario as text, so that it can be run alone. `nudge`, the default with one change of half a
    second, always runs too: it shows what chance does.
    """
    prepare_simulator()
    from penstock.train.draws import FAMILIES, draw_worlds

    for family in (*families, *without):
        NearestChoice(FAMILIES).convert(family, None, None)
    _run(list(draw_worlds(seed, draws, families, without)), as_json, seed=seed, **options)


def _run(worlds: Sequence[DescribedWorld], as_json: bool, **options: Any) -> None:
    from penstock.cli.world_tables import show_worlds
    from penstock.evaluate.scenarios import evaluate_worlds

    started = time.monotonic()
    terms = _terms(**options)
    with open_lab(**options) as lab:
        document = evaluate_worlds(lab, worlds, terms, search=not options["no_search"])
    click.echo(f"penstock: {counted(len(worlds), 'world')} took {time.monotonic() - started:.0f} s", err=True)
    if as_json:
        emit_json(document)
    else:
        show_worlds(document)


def _terms(policies: tuple[str, ...], seconds: float, guard: str, model: str | None, **rest: Any) -> Terms:
    if not 1 <= seconds <= 1e5:
        raise UsageError(f"--seconds {seconds:g}: give a time from 1 to 100,000")
    from penstock.evaluate.request import OWN, SHIPPED, Terms

    if model == OWN:
        raise UsageError("--model own: each of these worlds would need its own; give it with one cluster")
    model = None if model == SHIPPED else model
    chosen = checked_policies(policies, model)
    return Terms(chosen, seconds, rest["seed"], rest["seeds"], GUARD[guard], model)


def checked_policies(policies: Sequence[str], model: str | None) -> tuple[str, ...]:
    """Each policy once, the shipped one where none is named; one that cannot be loaded is an error now, and so is a
    model file.
    """
    from penstock.evaluate.request import OWN, SHIPPED
    from penstock.evaluate.tuners import find_policy, make_predictor, shipped_policy

    chosen = tuple(dict.fromkeys(policies)) or (shipped_policy(),)
    for policy in chosen:
        if policy not in ("oracle", "best-static"):
            find_policy(policy)
            if model not in (None, OWN, SHIPPED):
                make_predictor(policy, Path(str(model)))
    return chosen


def open_lab(workers: int | None, cache_dir: Path | None, fresh: bool, **_: Any) -> Lab:
    """A lab with the store and the workers asked for, which says on stderr how far it is."""
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.store import Store, default_directory

    return Lab(Store(None if fresh else cache_dir or default_directory()), workers, StageProgress())
