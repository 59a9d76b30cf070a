"""`penstock schedule advise` and `guide`: resources for the next job, heuristics for what is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import console, emit_json, json_option
from penstock.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from penstock.schedule.advice import Advice
    from penstock.schedule.command import Commands
    from penstock.schedule.guide import Guidance
    from penstock.schedule.job import Job
    from penstock.schedule.ledger import Ledger
    from penstock.schedule.site import PlatformSection, SiteSection

MOST_OPTIONS = 12


@click.command(epilog="Example: penstock schedule advise site.toml --ledger jobs.jsonl --start")
@click.argument("site_file", metavar="SITE.toml", type=click.Path(path_type=Path))
@click.option("--ledger", "ledger_file", type=click.Path(path_type=Path), help="Jobs that came and went.")
@click.option("--start", is_flag=True, help="Record in the ledger that the next job runs as advised.")
@click.option("--end", "ended", metavar="JOB", help="Record that JOB has ended; advise nothing.")
@json_option
def advise(site_file: Path, ledger_file: Path | None, start: bool, ended: str | None, as_json: bool) -> None:
    """How many and which I/O resources the next job of SITE.toml should use, and why."""
    from penstock.schedule.advice import Occupancy
    from penstock.schedule.advice import advise as decide
    from penstock.schedule.ledger import Ledger
    from penstock.schedule.site import job_of, load_site

    if (start or ended) and ledger_file is None:
        raise UsageError("--start and --end need --ledger")
    if start and ended:
        raise UsageError("--start and --end exclude each other")
    site = load_site(site_file)
    ledger = Ledger(ledger_file) if ledger_file else None
    if ended is not None and ledger is not None:
        _end(ledger, ended, as_json)
        return
    if site.next is None:
        raise ConfigError(f"{site_file}: key 'next' is missing: there is no job to advise")
    job = job_of(site.next, site.platform, site_file.parent)
    running = _running(site, site_file.parent, ledger)
    if any(one.name == job.name for one in running):
        raise ConfigError(f"{site_file}: next: a job called {job.name!r} is running already")
    occupancy = Occupancy(site.platform.resources, running, site.platform.unusable)
    advice = decide(occupancy, job, site.platform.compute_nodes)
    if start and ledger is not None:
        ledger.start(dataclasses.replace(job, resources=advice.resources))
    _show(advice, job, site.platform, len(running), as_json)


def _running(site: SiteSection, base: Path, ledger: Ledger | None) -> list[Job]:
    from penstock.schedule.site import job_of

    jobs = {section.name: job_of(section, site.platform, base) for section in site.running}
    for job in ledger.running if ledger else ():
        if any(resource >= site.platform.resources for resource in job.resources):
            raise ConfigError(f"ledger: job {job.name!r} uses resources the platform does not have")
        jobs[job.name] = job
    return list(jobs.values())


def _end(ledger: Ledger, name: str, as_json: bool) -> None:
    job = ledger.end(name)
    if as_json:
        emit_json({"ended": name, "freed": list(job.resources), "running": len(ledger.running)})
    else:
        click.echo(
            f"{name} has ended and leaves {len(job.resources)} resources; {len(ledger.running)} jobs run"
        )


def _show(advice: Advice, job: Job, platform: PlatformSection, running: int, as_json: bool) -> None:
    names = [_name(platform, resource) for resource in advice.resources]
    commands = _commands(advice, job, platform, names)
    if as_json:
        plain = dataclasses.asdict(advice) | {
            "count": len(advice.resources),
            "resources": list(advice.resources),
            "names": names,
            "running_jobs": running,
            "commands": dataclasses.asdict(commands),
        }
        emit_json(plain)
        return
    screen = console()
    screen.print(f"{advice.job}: {len(names)} {platform.kind} resources: {', '.join(names)}", soft_wrap=True)
    screen.print(f"Why ({advice.rule}): {advice.reason}", soft_wrap=True)
    screen.print(
        f"I/O-load {advice.io_load_before:.3f} -> {advice.io_load_after:.3f}, {running} jobs running"
    )
    for title, lines in (("Do", commands.user), ("or, as root", commands.admin), ("Undo", commands.undo)):
        for line in lines:
            screen.print(f"{title + ':':<13}{line}", soft_wrap=True, markup=False)
    if advice.options:
        _print_options(advice)


def _print_options(advice: Advice) -> None:
    from rich.table import Table

    table = Table(title="What other counts would do")
    for heading in ("count", "share in I/O", "slowdown", "idle nodes: own", "others'", "I/O-load"):
        table.add_column(heading, justify="right")
    best = min(option.idle_nodes for option in advice.options)
    near = sorted(advice.options, key=lambda option: option.idle_nodes - best)[:MOST_OPTIONS]
    for option in sorted(near, key=lambda option: option.count):
        mark = "*" if option.count == len(advice.resources) else ""
        table.add_row(
            f"{mark}{option.count}",
            f"{100 * option.io_share:.1f} %",
            f"{option.slowdown:.2f}",
            f"{option.own_idle_nodes:.2f}",
            f"{option.others_idle_nodes:.2f}",
            f"{option.io_load:.3f}",
        )
    console().print(table)


def _name(platform: PlatformSection, resource: int) -> str:
    if platform.names:
        return platform.names[resource]
    if platform.kind == "ost":
        return f"{platform.fsname}-OST{resource:04x}"
    return f"{platform.kind}-{resource}"


def _commands(advice: Advice, job: Job, platform: PlatformSection, names: Sequence[str]) -> Commands:
    from penstock.schedule.command import named_commands, ost_commands

    if platform.kind != "ost":
        return named_commands(names, platform.kind)
    directory = job.directory or "DIRECTORY"
    return ost_commands(job.name, advice.resources, directory, platform.fsname)


@click.command(epilog="Example: penstock schedule guide --know nodes,volume,compute,family")
@click.option("--know", default="nodes", show_default=True, help="Comma-separated; see --json for the words.")
@json_option
def guide(know: str, as_json: bool) -> None:
    """Which heuristics to use, given what is known of the applications (Table II, after our study)."""
    from penstock.schedule.guide import KNOWLEDGE
    from penstock.schedule.guide import guide as recommend

    known = [word.strip() for word in know.split(",") if word.strip()]
    found = recommend(known)
    if as_json:
        words = {word: {"difficulty": how, "what": what} for word, (how, what) in KNOWLEDGE.items()}
        emit_json(dataclasses.asdict(found) | {"known": known, "words": words})
        return
    _print_guidance(found)


def _print_guidance(found: Guidance) -> None:
    from penstock.schedule.guide import KNOWLEDGE

    click.echo(f"Use --allocation {found.allocation} --placement {found.placement}: {found.reason}.")
    for name, facts in found.missing[:1]:
        click.echo(f"{name} would do better; it also needs")
        for fact in facts:
            click.echo(f"  {fact} ({KNOWLEDGE[fact][0]}): {KNOWLEDGE[fact][1]}")
